"""Every sensible way to read a relation as it is written, the plain one first."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.derivations.judging.evaluation import Convention
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.indices import free_letters
from regard.derivations.judging.relations import Relation
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import (
    BigOperator,
    Condition,
    Expression,
    Label,
    Number,
    Ones,
    children,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood, Token

_MAY_GO_BARE = ("sin", "cos", "log", "exp")


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
class _Read:
    """A relation under one reading, the scope that goes with it, and what to say about the reading."""

    relation: Relation
    scope: Scope
    notes: tuple[Note, ...] = ()


def read_side(tokens: Sequence[Token], scope: Scope) -> Expression:
    """A side read in the plain way."""
    return parse(tokens, Reading(functions=scope.functions, is_complex=scope.setting.is_complex))


def readings(sides: Sides, scope: Scope) -> Iterator[_Read]:
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
        yield _Read(relation=plain, scope=scope)
        yield from _other_readings(plain, scope)
    if not is_read:
        assert first is not None
        raise first


def _ways_to_parse(sides: Sides, scope: Scope) -> Iterator[Reading]:
    """Whether a slash or a bare function takes in what follows: 1/2x, cos tθ."""
    tokens = (*sides.left, *sides.right)
    wide_slash = (False, True) if any(token.text == "/" for token in tokens) else (False,)
    has_bare = any(a.text[1:] in _MAY_GO_BARE and b.kind != "open" for a, b in itertools.pairwise(tokens))
    wide_argument = (True, False) if has_bare else (True,)
    for is_slash_wide, is_argument_wide in itertools.product(wide_slash, wide_argument):
        yield Reading(
            is_slash_wide=is_slash_wide,
            is_argument_wide=is_argument_wide,
            functions=scope.functions,
            is_complex=scope.setting.is_complex,
        )


def _other_readings(plain: Relation, scope: Scope) -> Iterator[_Read]:
    with_ones = _with_ones(plain, scope)
    if with_ones is not None:
        yield _Read(relation=with_ones, scope=scope, notes=(NoteKind.VECTOR_OF_ONES.note(),))
    for convention, note in _conventions(plain, scope):
        yield _Read(relation=replace(plain, convention=convention), scope=scope, notes=(note,))
    for swaps in _swaps(plain, scope):
        for relation in (plain, with_ones):
            if relation is not None:
                yield _Read(relation=relation, scope=replace(scope, swaps=swaps))


# -- a 1 that is a vector of ones --------------------------------------------------------------------------------------
def _with_ones(plain: Relation, scope: Scope) -> Relation | None:
    sides = (plain.left, plain.right)
    if scope.setting.ones is None or not any(_holds_one(side) for side in sides):
        return None
    left, right = (Ones() if _is_one(side) else side for side in sides)
    return replace(plain, left=left, right=right, convention=Convention(is_one_a_vector=True))


def _is_one(node: Expression) -> bool:
    return isinstance(node, Number) and node.value == 1


def _holds_one(node: Expression) -> bool:
    return _is_one(node) or any(_holds_one(child) for child in children(node))


# -- indices -----------------------------------------------------------------------------------------------------------
def _conventions(plain: Relation, scope: Scope) -> Iterator[tuple[Convention, Note]]:
    setting = scope.setting
    sides = (plain.left, plain.right)
    if any(free_letters(side, setting) for side in sides):
        names = ", ".join(sorted(setting.fixed))
        different = NoteKind.DISTINCT_INDICES.note()
        others = NoteKind.UNFIXED_INDEX.note(names) if names else different
        yield Convention(is_distinct=True), different
        yield Convention(avoids_fixed=True, is_distinct=True), others
        yield Convention(avoids_fixed=True), others
    if _counts_with_indices(sides, scope):
        yield Convention(first_index=0), NoteKind.INDEX_FROM_ZERO.note()
    if any(_has_label(side) for side in sides):
        for name in setting.fixed:
            yield Convention(excluded=(name,)), NoteKind.OTHERS.note(name)


def _counts_with_indices(sides: Sequence[Expression], scope: Scope) -> bool:
    """True if a free index also stands as a number: the k of 10000^{2k/d}."""
    found = [symbol for side in sides for symbol in symbols(side)]
    inside = {script for symbol in found for script in symbol.subscripts}
    bare = {symbol for symbol in found if not symbol.subscripts}
    return any(symbol.name in scope.setting.free for symbol in bare) and bool(bare - inside)


def _has_label(node: Expression) -> bool:
    if isinstance(node, BigOperator) and any(isinstance(part, Label) for part in node.conditions):
        return True
    return any(_has_label(child) for child in children(node))


# -- names used for two things -----------------------------------------------------------------------------------------
def _swaps(relation: Relation, scope: Scope) -> Iterator[dict[str, str]]:
    """Declared names that people also use for another declared symbol."""
    found = (*symbols(relation.left), *symbols(relation.right))
    used = {scope.find(symbol).meaning.name for symbol in found if scope.knows(symbol)}
    declared = scope.setting.symbols
    for canonical, others in scope.setting.aliases.items():
        for other in others:
            if other in declared and other in used and canonical in declared:
                yield {other: canonical}
