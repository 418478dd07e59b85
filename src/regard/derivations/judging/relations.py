"""Two sides and a sign: decided on random instances, in the limit of the regime, or by shapes."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.derivations.judging.arithmetic import BALLS, FLOATS, Arithmetic
from regard.derivations.judging.evaluate import Evaluator, OutOfRange
from regard.derivations.judging.indices import assignments, index_letters, ranges
from regard.derivations.judging.instances import Instance, choose_sizes, with_particular
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.values import IllShaped, Value, same_shape
from regard.derivations.notation.syntax import Condition, Expression
from regard.derivations.notation.tokens import NotUnderstood

__all__ = ["Instances", "Relation", "decide_exact", "decide_rounded", "show", "spell"]

TOLERANCE = 1e-9
_ZERO = 1e-16  # balls carry some 90 digits, derivatives 20; draws are of size one
_FLOOR = 1e-4  # draws are of size one, so a side that is exactly zero may round to this times the tolerance
_FAILURES = {
    "=": "the two sides differ",
    "≠": "the two sides are equal",
    "⊥": "they are not perpendicular",
    "<": "it is not less",
    ">": "it is not greater",
    "≤": "it is greater",
    "≥": "it is less",
}
_SIGNS = {"<": np.less, ">": np.greater, "≤": np.less_equal, "≥": np.greater_equal}


@dataclass(frozen=True, kw_only=True)
class Relation:
    """left sign right, with the conditions that its free indices are under and one way to read it."""

    left: Expression
    sign: str
    right: Expression
    conditions: tuple[Condition, ...] = ()
    premises: tuple["Relation", ...] = ()
    is_one_a_vector: bool = False
    avoids_fixed: bool = False
    is_distinct: bool = False
    excluded: tuple[str, ...] = ()
    first_index: int = 1


@dataclass(frozen=True, kw_only=True)
class Instances:
    """Pairs of values of a relation's two sides, on one instance, for each telling choice of its free indices."""

    scope: Scope
    relation: Relation

    def pairs(
        self, instance: Instance, arithmetic: Arithmetic
    ) -> "Iterator[tuple[dict[str, int], Value, Value, Evaluator]]":
        """(indices, left, right, evaluator) for each assignment of the free indices."""
        relation = self.relation
        evaluator = Evaluator(
            scope=self.scope,
            instance=instance,
            arithmetic=arithmetic,
            is_one_a_vector=relation.is_one_a_vector,
            excluded=relation.excluded,
            first_index=relation.first_index,
        )
        setting = self.scope.setting
        letters = index_letters((relation.left, relation.right), setting)
        over = ranges((relation.left, relation.right), self.scope)
        chosen = assignments(
            {letter: over[letter] for letter in letters},
            relation.conditions,
            instance,
            avoid_fixed=relation.avoids_fixed,
            is_distinct=relation.is_distinct,
        )
        if not chosen:
            raise NotUnderstood("no index meets the conditions that are written.")
        missing: OutOfRange | None = None
        for indices in chosen:
            at = evaluator.at(**indices)
            try:
                left, right = at(relation.left), at(relation.right)
            except OutOfRange as error:
                missing = error
                continue
            chosen = []
            yield indices, left, right, at
        if chosen and missing is not None:
            raise missing

    def premises_hold(self, instance: Instance) -> np.ndarray:
        """For each draw, whether everything that the relation supposes (γ > 1) is so."""
        total = instance.num_draws * instance.num_stages
        holds = np.ones(total, dtype=bool)
        for premise in self.relation.premises:
            evaluator = Evaluator(scope=self.scope, instance=instance, arithmetic=BALLS)
            left, right = evaluator(premise.left), evaluator(premise.right)
            for k in range(total):
                x, y = (side.array[k % side.array.shape[0], 0, 0] for side in (left, right))
                holds[k] &= {">": bool(x > y), "<": bool(x < y), "≥": bool(x >= y), "≤": bool(x <= y)}.get(
                    premise.sign, True
                )
        return holds

    def base(self, **changes: Any) -> Instance:
        """The smallest instance of the setting, or one that differs from it."""
        setting = self.scope.setting
        sizes = changes.pop("sizes", None) or choose_sizes(setting)
        return Instance(setting=setting, sizes=with_particular(setting, sizes, self.scope.sizes), **changes)


def decide_exact(instances: Instances, *, is_confirmed: bool = True) -> Finding:
    """Whether the relation is so on every instance: equalities and inequalities, floats first, balls to confirm a failure.

    Without confirmation a failure in floats is taken at its word, for callers that go on to look at the limit.
    """
    notes: dict[str, None] = {}
    try:
        for larger, seed in ((0, 1), (2, 2)):
            instance = instances.base(sizes=choose_sizes(instances.scope.setting, larger=larger), seed=seed)
            for _, left, right, evaluator in instances.pairs(instance, FLOATS):
                notes.update(evaluator.notes)
                if not _float_holds(instances.relation.sign, *same_shape(left, right)):
                    failure = (
                        _confirmed(instances) if is_confirmed else Finding(kind="false", reason="the two sides differ")
                    )
                    return failure.with_notes(tuple(notes))
    except IllShaped as error:
        return Finding(
            kind="ill-shaped",
            reason=f"the shapes do not fit: {error}",
            method="shapes",
            counterexample=f"{_sizes_in_words(instances.base())}: {error}",
            notes=tuple(notes),
        )
    return Finding(
        kind="true", reason="it is so on every instance", method="random instances", bound=TOLERANCE, notes=tuple(notes)
    )


def decide_rounded(instances: Instances, places: int) -> Finding:
    """Whether two numbers agree to the decimals that are printed, at the particular values that the text gives."""
    allowance = 0.6 * 10.0**-places
    for indices, left, right, _ in instances.pairs(instances.base(seed=1), FLOATS):
        gap = float(np.max(np.abs(left.array - right.array)))
        if not (left.is_scalar and right.is_scalar and gap <= allowance):
            reached = instances.scope.reach(instances.relation.left, instances.relation.right)
            at = _instance_in_words(instances.base(seed=1), indices, instances.scope, reached)
            shown = f"{at}: the left side is {left.array.flat[0]:.6g}, the right side {right.array.flat[0]:.6g}"
            return Finding(kind="false", reason="the two numbers differ", method="evaluation", counterexample=shown)
    return Finding(kind="true", reason=f"it is so to {places} decimals", method="evaluation", bound=allowance)


def _float_holds(sign: str, left: Value, right: Value) -> bool:
    difference = np.abs(left.array - right.array)
    scale = max(np.abs(left.array).max(initial=_FLOOR), np.abs(right.array).max(initial=_FLOOR))
    if sign == "=":
        return bool(np.all(difference <= TOLERANCE * scale))
    if sign == "≠":
        return bool(np.all(difference.max(axis=(1, 2)) > TOLERANCE * scale))
    if sign == "⊥":
        product = np.sum(left.array * right.array, axis=(1, 2))
        return bool(np.all(np.abs(product) <= TOLERANCE * scale * scale))
    if np.iscomplexobj(difference + left.array):
        raise IllShaped("complex numbers have no order")
    return bool(np.all(_SIGNS[sign](left.array, right.array)))


def _confirmed(instances: Instances) -> Finding:
    """The failure shown again with certified balls, on numbers that can be read; or the relation, if rounding was to blame."""
    is_defined = False
    for instance in _small_instances(instances):
        for indices, left, right, _ in instances.pairs(instance, BALLS):
            left, right = same_shape(left, right)
            if not _is_finite(left, right):
                continue
            is_defined = True
            place = _certainly_fails(instances.relation.sign, left, right)
            if place is not None:
                reached = instances.scope.reach(instances.relation.left, instances.relation.right)
                at = _instance_in_words(instance, indices, instances.scope, reached)
                return _refuted(at, left, right, place, instances.relation.sign)
    if not is_defined:
        raise NotUnderstood("a side is undefined on every instance: it divides by zero.")
    return Finding(kind="true", reason="it is so to 50 digits on every instance", method="certified balls")


def _is_finite(*sides: Value) -> bool:
    return all(entry.is_finite() for side in sides for entry in side.array.flat)


def _small_instances(instances: Instances) -> Iterator[Instance]:
    setting = instances.scope.setting
    for (is_plain, larger), seed in itertools.product(((True, 0), (False, 0), (False, 1)), range(3)):
        yield instances.base(sizes=choose_sizes(setting, larger=larger), seed=seed, num_draws=1, is_plain=is_plain)


def _certainly_fails(sign: str, left: Value, right: Value) -> tuple[int, int] | None:
    """The entry at which the relation certainly fails, or None."""
    rows, columns = max(left.shape, right.shape)
    lefts, rights = (np.broadcast_to(side.array[0], (rows, columns)) for side in (left, right))
    if sign == "≠":
        return (0, 0) if all(_is_zero(x - y) for x, y in zip(lefts.flat, rights.flat, strict=True)) else None
    if sign == "⊥":
        product = sum((x * y for x, y in zip(lefts.flat, rights.flat, strict=True)), start=lefts.flat[0] * 0)
        return None if _is_zero(product) else (0, 0)
    for place in np.ndindex(rows, columns):
        if _entry_fails(sign, lefts[place] - rights[place]):
            return int(place[0]), int(place[1])
    return None


def _entry_fails(sign: str, gap: Any) -> bool:
    """Whether left − right certainly contradicts the sign; an order between complex numbers is never certain."""
    if sign == "=":
        return not _is_zero(gap)
    if _is_complex(gap):
        return False
    return {"<": bool(gap >= 0), ">": bool(gap <= 0), "≤": bool(gap > 0), "≥": bool(gap < 0)}[sign]


def _is_complex(x: Any) -> bool:
    return type(x).__name__ == "acb"


def _is_zero(x: Any) -> bool:
    """True unless the ball is certainly different from zero, beyond what rounding could blur."""
    return not bool(abs(x) > _ZERO)


def _refuted(at: str, left: Value, right: Value, place: tuple[int, int], sign: str) -> Finding:
    x, y = (np.broadcast_to(side.array[0], max(left.shape, right.shape))[place] for side in (left, right))
    entry = "" if max(left.shape, right.shape) == (1, 1) else f" (entry {place[0] + 1},{place[1] + 1})"
    return Finding(
        kind="false",
        reason=_FAILURES[sign],
        method="random instances, confirmed with certified balls",
        counterexample=f"{at}: the left side is {show(x)}, the right side {show(y)}{entry}",
        value=_number(x),
        bound=_number(y),
    )


def show(ball: Any) -> str:
    """A ball as a reader wants to see it."""
    if _is_complex(ball):
        re, im = show(ball.real), show(ball.imag)
        return re if im == "0" else f"{re} {'−' if im.startswith('-') else '+'} {im.lstrip('-')}i"
    if not bool(abs(ball) > 1e-30):
        return "0"
    number = float(ball.mid())
    return f"{number:.6g}" if abs(number) < 1e300 else f"e^{float(abs(ball).log().mid()):.6g}"


def _number(ball: Any) -> float | None:
    return None if _is_complex(ball) else float(ball.mid())


def _sizes_in_words(instance: Instance) -> str:
    return ", ".join(f"{name} = {size}" for name, size in instance.sizes.items()) or "any numbers"


def _instance_in_words(instance: Instance, indices: dict[str, int], scope: Scope, reached: frozenset[str]) -> str:
    """The sizes, indices and scalars of an instance."""
    parts = [f"{name} = {size}" for name, size in instance.sizes.items()]
    parts += [f"{letter} = {place + 1}" for letter, place in indices.items()]
    for name in sorted(reached):
        meaning = scope.meanings.get(name)
        if meaning is not None and meaning.formula is None and meaning.shape == ("1", "1") and meaning.index is None:
            value = instance.draw(meaning, BALLS)
            parts.append(f"{spell(name)} = {show(value[0, 0, 0])}")
    return ", ".join(parts)


_GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega".split(),
        "αβγδεζηθικλμνξπρστυφχψω",
        strict=True,
    )
)


def spell(name: str) -> str:
    """A symbol's name with Greek letters as such."""
    base, _, script = name.partition("_")
    return _GREEK.get(base, base) + (f"_{script}" if script else "")
