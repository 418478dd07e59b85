"""Relations that must hold on every instance: floats first, certified balls to confirm a failure."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from flint import ctx

from regard.derivations.judging.findings import Finding, Note, ill_shaped, not_understood
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.relations import Instances, Pair
from regard.derivations.judging.values import (
    BALLS,
    CUT_OFF,
    FLOATS,
    ORDERS,
    ROUNDED,
    Arithmetic,
    IllShaped,
    Value,
    first_draws,
    is_complex_ball,
    show_entry,
)
from regard.derivations.notation.syntax import Number, walk
from regard.derivations.notation.tokens import NotUnderstood

PRECISION = 320
TOLERANCE = 1e-9
_ZERO = 1e-16  # balls carry some 90 digits, derivatives 20; draws are of size one
_BLUR = 1e-6
_MANY_DRAWS, _WIDE = 16, 6.0
_FLOOR = 1e-4  # draws are of size one, so a side that is exactly zero may round to this times the tolerance
_FAILURES = {
    "=": "The two sides differ",
    "≠": "The two sides are equal",
    "⊥": "The two sides are not perpendicular",
    "<": "The left side is not less",
    ">": "The left side is not greater",
    "≤": "The left side is greater",
    "≥": "The left side is less",
}
_CONTRARY = {"<": "≥", ">": "≤", "≤": ">", "≥": "<"}


class UndefinedSide(NotUnderstood):
    """A side that has no value for some inputs."""


def decide_exact(instances: Instances, *, is_confirmed: bool = True) -> Finding:
    """Whether the relation holds on every instance.

    A failure is confirmed at once unless it is clear in floats, or one in floats is enough: for callers that go on to
    look at the limit.
    """
    notes: dict[Note, None] = {}
    try:
        for instance in _random_instances(instances):
            for pair in instances.pairs(instance, FLOATS):
                notes.update(dict.fromkeys(pair.notes))
                if not _holds_in_floats(instances.relation.sign, *pair.aligned()):
                    is_clear = instances.relation.sign == "=" and _differ_clearly(*pair.aligned())
                    unconfirmed = _unconfirmed(instances, instance) if is_clear or not is_confirmed else None
                    return (unconfirmed or _confirmed(instances, instance)).with_notes(tuple(notes))
    except IllShaped as error:
        sizes = instances.base().sizes_in_words() or "any numbers"
        return ill_shaped(error, sizes, error.notes).with_notes(tuple(notes))
    return Finding(
        kind="true",
        reason="True for all random inputs tried",
        method="random inputs",
        bound=TOLERANCE,
        notes=tuple(notes),
    )


def may_be_equal(instances: Instances) -> bool:
    """False if the sides of an = have no value in floats for some input, or are too far apart to be equal."""
    pairs = (pair for instance in _random_instances(instances) for pair in instances.pairs(instance, FLOATS))
    return all(_are_finite(*sides) and not _differ_clearly(*sides) for sides in (pair.aligned() for pair in pairs))


def _differ_clearly(left: Value, right: Value) -> bool:
    """True if two sides are far apart in floats: rounding cannot be the reason."""
    scale = _scale(left, right)
    return bool(np.isfinite(scale) and np.any(np.abs(left.array - right.array) > _BLUR * scale))


def _are_finite(left: Value, right: Value) -> bool:
    return bool(np.isfinite(_scale(left, right)))


def _scale(left: Value, right: Value) -> float:
    """The largest magnitude of both sides, or a small one if they are zero."""
    return max(np.abs(left.array).max(initial=_FLOOR), np.abs(right.array).max(initial=_FLOOR))


def _unconfirmed(instances: Instances, failing: Instance) -> Finding:
    """A failure in floats, which is confirmed in balls when it is looked at closely, once."""
    return Finding(kind="false", reason=_FAILURES["="], shown_by=cache(partial(_confirmed_later, instances, failing)))


def _confirmed_later(instances: Instances, failing: Instance) -> Finding:
    try:
        return _confirmed(instances, failing)
    except NotUnderstood as error:
        return replace(not_understood(error), is_undefined=isinstance(error, UndefinedSide))
    except IllShaped as error:
        return ill_shaped(error, notes=error.notes)


def _random_instances(instances: Instances) -> Iterator[Instance]:
    """Instances of two sizes; an inequality may fail for a few inputs only, so it is tried on more, and larger ones."""
    if instances.relation.sign not in ORDERS:
        yield from (instances.base(larger=larger, seed=larger + 1) for larger in (0, 1))
        return
    for larger, widened in ((0, 1.0), (1, 1.0), (0, _WIDE)):
        yield instances.base(larger=larger, seed=larger + 1, num_draws=_MANY_DRAWS, widened=widened)


def _holds_in_floats(sign: str, left: Value, right: Value) -> bool:
    difference, scale = np.abs(left.array - right.array), _scale(left, right)
    if not np.isfinite(scale):
        return False
    if sign == "=":
        return bool(np.all(difference <= TOLERANCE * scale))
    if sign == "≠":
        return bool(np.all(difference.max(axis=(1, 2)) > TOLERANCE * scale))
    if sign == "⊥":
        product = np.sum(left.array * right.array, axis=(1, 2))
        return bool(np.all(np.abs(product) <= TOLERANCE * scale * scale))
    return bool(np.all(ORDERS[sign](_ordered(left.array), _ordered(right.array))))


def _ordered(numbers: np.ndarray) -> np.ndarray:
    """Numbers that have an order: complex ones have it only if they are real, as z z̄ is."""
    if not np.iscomplexobj(numbers):
        return numbers
    if not np.abs(np.imag(numbers)).max() <= TOLERANCE * np.abs(numbers).max(initial=_FLOOR):
        raise NotUnderstood("Complex numbers have no order.")
    return np.real(numbers)


# -- to the decimals that are printed ----------------------------------------------------------------------------------
def decide_printed(instances: Instances, failure: Finding) -> Finding:
    """The finding where every printed decimal, inputs too, may be rounded; the failure if that does not explain it."""
    if not holds_decimals(instances):
        return failure
    if _agree(instances, ROUNDED):
        return Finding(kind="true", reason="True to the printed decimals", method="interval arithmetic")
    if _agree(instances, CUT_OFF):
        reason = "True to the printed decimals only if they are cut off, not rounded"
        return Finding(kind="unknown", reason=reason, method="interval arithmetic")
    return failure


def holds_decimals(instances: Instances) -> bool:
    """True if the relation prints a number with decimals."""
    return any(isinstance(node, Number) and node.places > 0 for side in instances.sides for node in walk(side))


def _agree(instances: Instances, arithmetic: Arithmetic) -> bool:
    """True if both sides may be equal for numbers that round to those printed."""
    for pair in instances.pairs(instances.base(seed=1, num_draws=4), arithmetic):
        left, right = pair.aligned()
        if not all(gap.is_finite() and _is_zero(gap) for gap in (left.array - right.array).flat):
            return False
    return True


# -- confirmed with balls ----------------------------------------------------------------------------------------------
def _confirmed(instances: Instances, failing: Instance) -> Finding:
    """The failure confirmed in balls, on numbers that are easy to read, else where it was seen.

    Or a success, if only rounding failed it.
    """
    is_undefined = is_blurred = False
    for instance in itertools.chain(_small_instances(instances), (failing,)):
        for pair, draw in _draws(instances.pairs(instance, BALLS), instance):
            if not _is_finite(pair.left, pair.right):
                is_undefined = True
                continue
            place = _certain_failure(instances.relation.sign, pair.left, pair.right)
            if place is not None:
                at = instances.in_words(instance, pair.indices, draw)
                return _refuted(instances.relation.sign, at, pair, place)
            is_blurred |= any(bool(ball.rad() > _BLUR) for ball in (pair.left.array - pair.right.array).flat)
    if is_undefined:
        raise UndefinedSide(
            "A side is undefined for some inputs: it divides by zero, or takes the logarithm of zero or less."
        )
    if is_blurred:
        raise UndefinedSide("Rounding hides whether the two sides agree.")
    return Finding(kind="true", reason="True to 50 digits for all random inputs tried", method="interval arithmetic")


def confirmed(finding: Finding) -> Finding:
    """A failure with its counterexample, or what a closer look finds instead of a failure."""
    if finding.shown_by is None:
        return finding
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        closer = finding.shown_by()
    if not closer.is_false:
        return closer.with_notes(finding.notes)
    explained = {"explained_by": finding.explained_by, "corrected_by": finding.corrected_by}
    return replace(closer, reason=finding.reason, notes=finding.notes, elsewhere=finding.elsewhere, **explained)


def _draws(pairs: Iterable[Pair], instance: Instance) -> Iterator[tuple[Pair, int]]:
    """Each draw of each pair by itself, both sides in one shape."""
    for pair in pairs:
        left, right = pair.aligned()
        for draw in range(instance.num_draws):
            one, other = (side.with_array(side.array[draw % len(side.array)][None]) for side in (left, right))
            yield pair._replace(left=one, right=other), draw


def _small_instances(instances: Instances) -> Iterator[Instance]:
    """Instances with numbers that are easy to read first; noise hides nothing in the very first ones."""
    meanings = instances.scope.meanings
    gone = {name: (0.0,) for name in instances.regime if meanings[name].tends == "zero"}
    for (is_plain, larger), seed in itertools.product(((True, 0), (False, 0), (False, 1)), range(3)):
        if gone and is_plain:
            yield instances.base(larger=larger, seed=seed, num_draws=1, is_plain=is_plain, driven=gone)
        yield instances.base(larger=larger, seed=seed, num_draws=1, is_plain=is_plain)


def _is_finite(*sides: Value) -> bool:
    return all(entry.is_finite() for side in sides for entry in side.array.flat)


def _certain_failure(sign: str, left: Value, right: Value) -> tuple[int, int] | None:
    """The entry at which the relation certainly fails, or None."""
    lefts, rights = first_draws(left, right)
    if sign == "≠":
        return (0, 0) if all(_is_zero(x - y) for x, y in zip(lefts.flat, rights.flat, strict=True)) else None
    if sign == "⊥":
        product = sum((x * y for x, y in zip(lefts.flat, rights.flat, strict=True)), start=lefts.flat[0] * 0)
        return None if _is_zero(product) else (0, 0)
    for row, column in np.ndindex(*lefts.shape):
        if _entry_fails(sign, lefts[row, column] - rights[row, column]):
            return row, column
    return None


def _entry_fails(sign: str, gap: Any) -> bool:
    """Whether left − right certainly contradicts the sign; an order between complex numbers is never certain."""
    if sign == "=":
        return not _is_zero(gap)
    return _is_zero(gap.imag) and bool(ORDERS[_CONTRARY[sign]](gap.real, 0))


def _is_zero(x: Any) -> bool:
    """True unless the ball is certainly different from zero, beyond what rounding could blur."""
    return not bool(abs(x) > _ZERO)


def _refuted(sign: str, at: str, pair: Pair, place: tuple[int, int]) -> Finding:
    lefts, rights = first_draws(pair.left, pair.right)
    return Finding(
        kind="false",
        reason=_FAILURES[sign],
        method="random inputs, confirmed with interval arithmetic",
        counterexample=f"{at or 'always'}: {show_entry(pair.left, pair.right, place)}",
        value=_number(lefts[place]),
        bound=_number(rights[place]),
    )


def _number(ball: Any) -> float | None:
    return None if is_complex_ball(ball) else float(ball.mid())
