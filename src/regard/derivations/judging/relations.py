"""Relations: as written, in every sensible reading, and on instances of their setting."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from regard.derivations.judging.calculus import Loss, losses_in, varied_in
from regard.derivations.judging.evaluator import PLAIN, Convention, Evaluator, OutOfRange
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.indices import assignments, index_letters, ranges
from regard.derivations.judging.instances import POOL, Instance, choose_sizes, with_particular
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Size
from regard.derivations.judging.values import (
    BALLS,
    FLOATS,
    Arithmetic,
    IllShaped,
    Value,
    Work,
    add,
    same_shape,
    show_ball,
)
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Condition,
    Derivative,
    Expectation,
    Expression,
    Label,
    Number,
    Ones,
    describe,
    letters_in,
    mapped,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import GREEK, NotUnderstood, Token

_ZERO = Number(Fraction(0))
_BARS = ("\\|", "\\rVert")
_MAY_GO_BARE = ("sin", "cos", "log", "exp")
_LARGEST_SIZE = 128
_MANY_SIZES = 8
_FREE_SIZES = (Size(), Size(minimum=3))  # not even, nor made of others
_WIDENED, _CLEAR_LEAD = (1.0, 6.0, 40.0), 0.15
# How far each premise is met, by the gap between its sides: above 0 if it is.
PICKING: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    ">": lambda gap: gap,
    "≥": lambda gap: np.where(gap == 0, 1.0, gap),
    "<": lambda gap: -gap,
    "≤": lambda gap: np.where(gap == 0, 1.0, -gap),
    "≠": np.abs,
}
_GREEK = {command.removeprefix("\\"): letter for letter, command in reversed(GREEK.items())}


# -- instances ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Relation:
    """left sign right, with the conditions that its free indices are under and one way to read its shorthand."""

    left: Expression
    sign: str
    right: Expression
    conditions: tuple[Condition, ...] = ()
    premises: tuple["Relation", ...] = ()
    convention: Convention = PLAIN


class Pair(NamedTuple):
    """Both sides' values at one choice of the free indices, and the notes on how names were read."""

    left: Value
    right: Value
    indices: Mapping[str, int]
    notes: tuple[Note, ...]

    def aligned(self) -> tuple[Value, Value]:
        """Both sides in one shape, or IllShaped."""
        try:
            return same_shape(self.left, self.right)
        except IllShaped:
            shapes = self.left.describe_shape(), self.right.describe_shape()
            error = IllShaped("the left side is {}, the right side {}".format(*shapes))
            error.notes = self.notes
            raise error from None


@dataclass(frozen=True)
class SharedInputs:
    """What versions of one relation share: inputs, and evaluators that remember the parts which a change leaves."""

    instances: dict[Any, Instance] = field(default_factory=dict)
    evaluators: dict[Any, list[tuple[Evaluator, Mapping[str, int]]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Instances:
    """The instances of a relation in its scope; versions of one relation may share theirs."""

    scope: Scope
    relation: Relation
    work: Work = field(default_factory=Work)
    shared: SharedInputs | None = None

    @property
    def sides(self) -> tuple[Expression, Expression]:
        """The left and the right side."""
        return self.relation.left, self.relation.right

    @cached_property
    def reached(self) -> frozenset[str]:
        """The names of all symbols that the relation depends on."""
        return self.scope.reach(*self.sides)

    @cached_property
    def regime(self) -> tuple[str, ...]:
        """The symbols in the relation that tend somewhere."""
        meanings = self.scope.meanings
        return tuple(sorted(name for name in self.reached if name in meanings and meanings[name].tends))

    @cached_property
    def _letters(self) -> dict[str, str]:
        """The free letters of the relation, with the sizes that they run over."""
        letters = index_letters(self.sides, self.scope.setting)
        over = ranges(self.sides, self.scope) if letters else {}
        return {letter: over[letter] for letter in letters}

    @cached_property
    def _losses(self) -> Mapping[str, Loss]:
        """The losses that nothing defines."""
        return losses_in(self.sides, self.scope) if self.scope.setting.is_own else {}

    @cached_property
    def chances(self) -> frozenset[str]:
        """The symbols that are random in a way that nothing says."""
        return unexplained_chances(self.sides, self.scope)

    def pairs(self, instance: Instance, arithmetic: Arithmetic) -> Iterator[Pair]:
        """Both sides for each telling assignment of the free indices; a member that is out of range is passed over."""
        missing: OutOfRange | None = None
        is_empty = True
        for at, indices in self._places(instance, arithmetic):
            try:
                left, right = at(self.relation.left), at(self.relation.right)
            except OutOfRange as error:
                missing = error
                continue
            except IllShaped as error:
                error.notes = tuple(at.notes)
                raise
            is_empty = False
            yield Pair(left, right, indices, tuple(at.notes))
        if is_empty and missing is not None:
            raise missing

    def _places(self, instance: Instance, arithmetic: Arithmetic) -> list[tuple[Evaluator, Mapping[str, int]]]:
        """An evaluator for each telling assignment of the free indices."""
        if self.shared is None:
            return self._evaluators(instance, arithmetic)
        places, key = self.shared.evaluators, (id(instance), arithmetic)
        if key not in places:
            places[key] = self._evaluators(instance, arithmetic)
        return places[key]

    def _evaluators(self, instance: Instance, arithmetic: Arithmetic) -> list[tuple[Evaluator, Mapping[str, int]]]:
        convention = self.relation.convention
        evaluator = Evaluator(
            scope=self.scope,
            instance=instance,
            arithmetic=arithmetic,
            convention=convention,
            work=self.work,
            losses=self._losses,
            varied=varied_in(self.sides, self.scope) if self.scope.setting.has_differentials else (),
            chances=self.chances,
        )
        chosen = assignments(
            self._letters,
            self.relation.conditions,
            instance,
            avoid_fixed=convention.avoids_fixed,
            is_distinct=convention.is_distinct,
        )
        if not chosen:
            raise NotUnderstood("No index satisfies the stated conditions.")
        return [(evaluator.at(**indices) if indices else evaluator, indices) for indices in chosen]

    def leads(self, instance: Instance) -> np.ndarray:
        """For each draw how far the premises of the relation (γ > 1) are met: the least lead, above 0 if all are.

        Those of a drive are met only if they are at every stage.
        """
        least = np.full((instance.num_stages, instance.num_draws), np.inf)
        evaluator = Evaluator(scope=self.scope, instance=instance, arithmetic=FLOATS, work=self.work)
        for premise in self.relation.premises:
            gap = add(evaluator(premise.left), evaluator(premise.right).negated()).array
            if np.iscomplexobj(gap) or (gap.shape[1:] != (1, 1) and premise.sign != "≠"):
                raise NotUnderstood("This condition is not supported.")
            lead = np.broadcast_to(PICKING[premise.sign](gap).max(axis=(1, 2)), least.size)
            least = np.minimum(least, np.nan_to_num(lead, nan=-np.inf).reshape(least.shape))
        return least.min(axis=0)

    def base(self, *, larger: int = 0, **changes: Any) -> Instance:
        """The smallest instance of the setting, or one that differs from it, its draws picked to meet the premises.

        `larger` takes larger sizes.
        """
        if self.shared is None:
            return self._base(larger, changes)
        known = self.shared.instances
        key = (
            larger,
            *((name, tuple(value.items()) if name == "driven" else value) for name, value in changes.items()),
        )
        if key not in known:
            known[key] = self._base(larger, changes)
        return known[key]

    def _base(self, larger: int, changes: Mapping[str, Any]) -> Instance:
        instance = self.unconditional(larger=larger, **changes)
        return self._picked(instance) if self.relation.premises else instance

    def unconditional(self, *, larger: int = 0, **changes: Any) -> Instance:
        """An instance whose draws need not meet the premises."""
        setting = self.scope.setting
        particular = self.scope.sizes
        if any(size > _LARGEST_SIZE for size in particular.values()):
            particular = self._without_large(particular)
        is_chance = any(is_moment(node) for side in self.sides for node in walk(side))  # a mean is over few numbers
        used = self._used_sizes if is_chance or len(setting.sizes) > _MANY_SIZES else None
        sizes = choose_sizes(setting, 0 if is_chance else larger, used)
        if is_chance and larger:
            free = {name for name in self._used_sizes & sizes.keys() if setting.sizes[name] in _FREE_SIZES}
            sizes = {name: size + larger if name in free else size for name, size in sizes.items()}
        sizes = with_particular(setting, sizes, particular)
        return Instance(setting=setting, sizes=sizes, **changes)

    def _without_large(self, particular: Mapping[str, int]) -> Mapping[str, int]:
        """The particular sizes without large ones that the relation has nothing to do with."""
        used = self._used_sizes
        for name, size in particular.items():
            if size > _LARGEST_SIZE and name in used:
                raise NotUnderstood(f"{name} = {size} is too large to try.")
        return {name: size for name, size in particular.items() if size <= _LARGEST_SIZE}

    @cached_property
    def _used_sizes(self) -> frozenset[str]:
        """The sizes that the relation names, and those of its symbols."""
        meanings = self.scope.meanings
        used = {letter for side in self.sides for letter in letters_in(side)}
        used |= {describe(symbol) for side in self.sides for symbol in symbols(side)}
        for name in self.reached & meanings.keys():
            used |= {*meanings[name].shape, meanings[name].over or ""}
        return frozenset(used)

    def _picked(self, instance: Instance) -> Instance:
        """The instance with draws that meet the premises, by a clear lead if there are such draws."""
        num_draws = instance.num_draws
        for widened in _WIDENED:
            pool = replace(instance, num_draws=POOL, widened=widened * instance.widened)
            leads = self.leads(pool)
            for least in (_CLEAR_LEAD, 0.0):
                picked = np.flatnonzero(leads > least)
                if len(picked) >= num_draws or (len(picked) and not least):
                    return replace(pool, num_draws=num_draws, picked=tuple(np.resize(picked, num_draws).tolist()))
        raise NotUnderstood("No input was found that meets the stated conditions.")

    def in_words(self, instance: Instance, indices: Mapping[str, int], draw: int = 0) -> str:
        """The sizes, the indices, and the scalars that the relation depends on: n = 3, i = 2, β = 1.5."""
        parts = [sizes] if (sizes := instance.sizes_in_words()) else []
        parts += [f"{letter} = {place + 1}" for letter, place in indices.items()]
        for name in sorted(self.reached):
            meaning = self.scope.meanings.get(name)
            if meaning is not None and meaning.formula is None and meaning.is_number and meaning.index is None:
                parts.append(f"{spell(name)} = {show_ball(instance.draw(meaning, BALLS)[draw, 0, 0])}")
        return ", ".join(parts)


def unexplained_chances(sides: Sequence[Expression], scope: Scope) -> frozenset[str]:
    """The symbols that stand only inside means and variances, where nothing says how any of them is random."""
    if not scope.setting.is_own:
        return frozenset()
    inside = [node for side in sides for node in walk(side) if is_moment(node)]
    meanings = {name: scope.meanings[name] for name in scope.reach(*inside) if name in scope.meanings} if inside else {}
    if not meanings or any(meaning.law is not None or meaning.is_law for meaning in meanings.values()):
        return frozenset()
    outside = scope.reach(*(mapped(side, lambda node: _ZERO if is_moment(node) else node) for side in sides))
    drawn = {name for name, meaning in meanings.items() if meaning.formula is None} - outside
    large = {name for name in drawn if name[0].isupper()}  # X is random, a and b are not
    return frozenset(large or drawn)


def is_moment(node: Expression) -> bool:
    """True for E[x], Var(x) and Cov(x, y) without a law or a condition."""
    body = node.body if isinstance(node, Expectation) and not node.given and node.law is None else node
    return isinstance(body, Apply) and body.function in ("mean", "var", "cov")


def spell(name: str) -> str:
    """A symbol's name with Greek letters as such.

    >>> spell("mu_a"), spell("phi(x_1)"), spell("q")
    ('μ_a', 'φ(x_1)', 'q')
    """
    base = re.split(r"[_(]", name, maxsplit=1)[0]
    return _GREEK.get(base.rstrip("′"), base) + name[len(base) :]


# -- readings ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Sides:
    """A relation as written: two sides in tokens, the sign between them, the conditions in force.

    `is_particular` says that the text gives its letters particular values, so that decimals may be rounded.
    """

    left: tuple[Token, ...]
    sign: str
    right: tuple[Token, ...]
    conditions: tuple[Condition, ...] = ()
    premises: tuple[Relation, ...] = ()
    is_particular: bool = False

    def expressions(self, scope: Scope) -> tuple[Expression, Expression]:
        """Both sides read in the plain way."""
        return read_side(self.left, scope), read_side(self.right, scope)


@dataclass(frozen=True, kw_only=True)
class ReadRelation:
    """A relation under one reading, the scope that goes with it, and what to say about the reading."""

    relation: Relation
    scope: Scope
    notes: tuple[Note, ...] = ()


def read_side(tokens: Sequence[Token], scope: Scope) -> Expression:
    """A side read in the plain way."""
    return parse(tokens, scope.reading)


def readings(sides: Sides, scope: Scope) -> Iterator[ReadRelation]:
    """Every sensible reading; NotUnderstood if the relation cannot be parsed in any way."""
    first: NotUnderstood | None = None
    is_read = False
    for reading in _ways_to_parse(sides, scope):
        try:
            left, right = parse(sides.left, reading), parse(sides.right, reading)
        except NotUnderstood as error:
            first = first or error
            continue
        is_read = True
        plain = Relation(left=left, sign=sides.sign, right=right, conditions=sides.conditions, premises=sides.premises)
        yield ReadRelation(relation=plain, scope=scope)
        yield from _other_readings(plain, scope)
    if not is_read:
        assert first is not None
        raise first


def _ways_to_parse(sides: Sides, scope: Scope) -> Iterator[Reading]:
    """Whether a slash, a bare function or a derivative takes in what follows: 1/2x, cos tθ, ∇ xᵀy."""
    tokens = (*sides.left, *sides.right)
    wide_slash = (False, True) if any(token.text == "/" for token in tokens) else (False,)
    has_bare = any(a.text[1:] in _MAY_GO_BARE and b.kind != "open" for a, b in itertools.pairwise(tokens))
    wide_argument = (True, False) if has_bare else (True,)
    bases = (None, 2, 10) if any(token.text in ("log", "\\log") for token in tokens) else (None,)
    has_sum = any(token.text == "\\sum" for token in tokens) and any(token.text in "+-" for token in tokens)
    wide_sum = (False, True) if has_sum else (False,)
    wide_derivative = (True, False) if any(token.text in ("\\nabla", "\\partial") for token in tokens) else (True,)
    norms = _ways_to_read_norms(tokens) if scope.setting.is_own else (False,)
    for is_spectral, is_sum_wide, base, is_slash_wide, is_argument_wide, is_derivative_wide in itertools.product(
        norms, wide_sum, bases, wide_slash, wide_argument, wide_derivative
    ):
        yield replace(
            scope.reading,
            is_spectral=is_spectral,
            is_sum_wide=is_sum_wide,
            base=base,
            is_slash_wide=is_slash_wide,
            is_argument_wide=is_argument_wide,
            is_derivative_wide=is_derivative_wide,
        )


def _ways_to_read_norms(tokens: Sequence[Token]) -> tuple[bool, ...]:
    """Whether ‖A‖₂ is the spectral norm: beside ‖A‖_F or ‖A‖_* it is, elsewhere it may be."""
    texts = [token.text for token in tokens]
    after = {
        third for bar, below, third in zip(texts, texts[1:], texts[2:], strict=False) if bar in _BARS and below == "_"
    }
    if "2" not in after:
        return (False,)
    return (True,) if after & {"F", "*"} else (False, True)


def _other_readings(plain: Relation, scope: Scope) -> Iterator[ReadRelation]:
    with_ones = _with_ones(plain, scope)
    if with_ones is not None:
        yield ReadRelation(relation=with_ones, scope=scope, notes=(NoteKind.VECTOR_OF_ONES.note(),))
    for convention, note in _conventions(plain, scope):
        yield ReadRelation(relation=replace(plain, convention=convention), scope=scope, notes=(note,))
    for swaps in _swaps(plain, scope):
        for relation in (plain, with_ones):
            if relation is not None:
                yield ReadRelation(relation=relation, scope=replace(scope, swaps=swaps))


def _with_ones(plain: Relation, scope: Scope) -> Relation | None:
    sides = (plain.left, plain.right)
    if scope.setting.ones is None or not any(_is_one(node) for side in sides for node in walk(side)):
        return None
    left, right = (Ones() if _is_one(side) else side for side in sides)
    return replace(plain, left=left, right=right, convention=Convention(is_one_a_vector=True))


def _is_one(node: Expression) -> bool:
    return isinstance(node, Number) and node.value == 1


def _conventions(plain: Relation, scope: Scope) -> Iterator[tuple[Convention, Note]]:
    setting = scope.setting
    sides = (plain.left, plain.right)
    num_letters = len(index_letters(sides, setting))
    if num_letters > 1:
        yield Convention(is_distinct=True), NoteKind.DISTINCT_INDICES.note()
    if num_letters and setting.fixed:
        others = NoteKind.UNFIXED_INDEX.note(", ".join(sorted(setting.fixed)))
        yield Convention(avoids_fixed=True, is_distinct=True), others
        if num_letters > 1:
            yield Convention(avoids_fixed=True), others
    if any(isinstance(node, Derivative) for side in sides for node in walk(side)):
        yield Convention(layout="denominator"), NoteKind.LAYOUT.note("denominator")
        yield Convention(layout="numerator"), NoteKind.LAYOUT.note("numerator")
    if _counts_with_indices(sides, scope):
        yield Convention(first_index=0), NoteKind.INDEX_FROM_ZERO.note()
    if setting.fixed and any(_has_label(node) for side in sides for node in walk(side)):
        for name in setting.fixed:
            yield Convention(excluded=(name,)), NoteKind.OTHERS.note(name)


def _counts_with_indices(sides: Sequence[Expression], scope: Scope) -> bool:
    """True if a free index also stands as a number, the k of 10000^{2k/d}, unless a sum says where it begins."""
    nodes = [node for side in sides for node in walk(side)]
    if any(isinstance(node, BigOperator) and node.lower not in (None, _ZERO) for node in nodes):
        return False
    found = [symbol for side in sides for symbol in symbols(side)]
    inside = {script for symbol in found for script in symbol.subscripts}
    bare = {symbol for symbol in found if not symbol.subscripts}
    return any(symbol.name in scope.setting.free for symbol in bare) and bool(bare - inside)


def _has_label(node: Expression) -> bool:
    return isinstance(node, BigOperator) and any(isinstance(part, Label) for part in node.conditions)


def _swaps(relation: Relation, scope: Scope) -> Iterator[dict[str, str]]:
    """Declared names that people also use for another declared symbol."""
    found = (*symbols(relation.left), *symbols(relation.right))
    used = {scope.find(symbol).meaning.name for symbol in found if scope.knows(symbol)}
    declared = scope.setting.symbols
    for canonical, others in scope.setting.aliases.items():
        for other in others:
            if other in declared and other in used and canonical in declared:
                yield {other: canonical}
