"""Bounds on symbols that nothing explains: 0 < β < 1, |a| < 1 and A ≻ 0 say where these lie, and claim nothing."""

from dataclasses import replace

from regard.derivations.context.environment import Recognised
from regard.derivations.judging.findings import true
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.setting import Assumption, SymbolMeaning
from regard.derivations.judging.values import ORDERS
from regard.derivations.notation.syntax import Expression, Norm, Number, Symbol, symbols
from regard.derivations.results import Role

_FLIPPED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
_DEFINITE = "⪰"


def as_bound(left: Expression | None, sign: str, right: Expression | None, scope: Scope) -> Recognised | None:
    """A bound on one open symbol, which is drawn within it from here on; None for any other relation."""
    if left is None or right is None or sign not in (*ORDERS, _DEFINITE):
        return None
    if sign != _DEFINITE and _is_plain(left):
        left, sign, right = right, _FLIPPED[sign], left
    body = left.body if isinstance(left, Norm) and left.order == 0 else left
    found = scope.lookup(body) if isinstance(body, Symbol) else None
    if found is None or found.meaning.formula is not None or not _is_plain(right) or "(" in found.meaning.name:
        return None  # the value of a function that nothing defines is claimed to be there
    meaning, is_zero = found.meaning, isinstance(right, Number) and right.value == 0
    if sign == _DEFINITE:
        if meaning.shape[0] != meaning.shape[1]:  # another one than the rectangular matrix of that name above
            scope = scope.freed({meaning.key: ("matrix",)})
            meaning = replace(scope.meanings[meaning.key], shape=("1", "1"))
        return _recognised(meaning, Assumption.POSITIVE_DEFINITE if is_zero else None, scope)
    if meaning.key not in scope.setting.undeclared - scope.own.keys():
        return None
    if body is not left:
        return _recognised(meaning, None, scope)
    if is_zero and sign in (">", "≥"):
        return _recognised(meaning, Assumption.POSITIVE, scope)
    is_below_one = isinstance(right, Number) and right.value == 1 and sign in ("<", "≤")
    is_probability = is_below_one and Assumption.POSITIVE in meaning.assume
    return _recognised(meaning, Assumption.PROBABILITY if is_probability else None, scope)


def _is_plain(node: Expression) -> bool:
    return all(symbol.name in CONSTANTS for symbol in symbols(node))


def _recognised(meaning: SymbolMeaning, assumption: Assumption | None, scope: Scope) -> Recognised:
    """A bound, with what can be assumed of the symbol unless something is assumed of it already."""
    is_wider = meaning.assume in ((), (Assumption.POSITIVE,)) and meaning.law is None
    if assumption is not None and is_wider:
        bounded = replace(meaning, assume=(assumption,))
        if meaning.key in scope.own:
            scope = scope.with_meaning(bounded)
        else:
            known = {**scope.setting.symbols, meaning.key: bounded}
            scope = replace(scope, setting=replace(scope.setting, symbols=known))
    return Recognised(role=Role.SUPPOSITION, finding=true("A bound on a symbol that is open"), scope=scope)
