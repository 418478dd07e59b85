"""Matrices that are m×n elsewhere, but that a relation makes sense for only if they are square: the X of det X, X⁻¹."""

from collections.abc import Iterator
from dataclasses import replace

from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Apply, Expression, Negative, Number, Power, Symbol, walk
from regard.derivations.notation.tokens import NotUnderstood

_OF_SQUARES = ("trace", "det", "logdet")


def with_squares(sides: Sides, scope: Scope) -> Scope | None:
    """The scope in which such matrices are square; None if there are none."""
    try:
        nodes = [node for side in sides.expressions(scope) for node in walk(side)]
    except NotUnderstood:
        return None
    found = {}
    for symbol in _square(nodes):
        known = scope.lookup(symbol)
        meaning = known.meaning if known is not None else None
        if (
            meaning is not None
            and meaning.formula is None
            and "1" not in meaning.shape
            and len(set(meaning.shape)) == 2
        ):
            found[meaning.key] = replace(meaning, shape=(meaning.shape[0], meaning.shape[0]))
    return replace(scope, own={**scope.own, **found}) if found else None


def _square(nodes: list[Expression]) -> Iterator[Symbol]:
    """The symbols of which a determinant, a trace, an inverse or a power is taken."""
    for node in nodes:
        match node:
            case Apply(function, (Symbol() as body,)) if function in _OF_SQUARES:
                yield body
            case Power(Symbol() as body, Number() | Negative(Number())):
                yield body
