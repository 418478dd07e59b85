"""Statements that are not judged: conditions on indices, the regime, particular values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.derivations.formulas import Formula, Kind
from regard.derivations.judging.outcome import Finding, true
from regard.derivations.judging.readings import read_side
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.spellings import CASE_NOTE
from regard.derivations.notation.syntax import Expression, Infinity, Number, Symbol, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import SymbolMeaning

__all__ = ["Recognised", "as_condition", "at_particular_values", "is_in_the_other_case", "readable", "tends"]

_LARGEST_SIZE = 40
_ON_INDICES = ("≠", "∉", "∈", "=", "<", ">", "≤", "≥")
_ON_NUMBERS = ("=", "<", ">", "≤", "≥", "≠", "≈")
_ON_SCALES = ("→", ">", "≫", "≪", "≥")


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """What a step is and what was found; `scope` is what names mean after it, where it has changed."""

    kind: Kind
    finding: Finding
    scope: Scope | None = None
    is_supposed: bool = False


def readable(side: Sequence[Token], scope: Scope) -> Expression | None:
    """A side read in the plain way; None if it is empty or cannot be read."""
    try:
        return read_side(side, scope) if side else None
    except NotUnderstood:
        return None


def as_condition(left: Expression | None, sign: str, right: Expression | None, scope: Scope) -> Recognised | None:
    """Conditions on indices, and words about the regime: i ≠ a, β → ∞, λ > 0."""
    if not isinstance(left, Symbol):
        return None
    setting = scope.setting
    is_index = not left.subscripts and left.name in setting.free and not setting.is_complex
    if is_index and sign in _ON_INDICES:
        return _supposed("a condition on an index")
    if is_value(left, right, scope) and sign in _ON_NUMBERS:
        return _supposed("a particular value" if sign == "=" else "a condition on a number")
    is_driven = tends(left, scope) and sign in _ON_SCALES and isinstance(right, Infinity | Number)
    is_new_scale = isinstance(right, Infinity) and sign == "→" and not scope.knows(left)
    return _supposed("the regime") if is_driven or is_new_scale else None


def _supposed(reason: str) -> Recognised:
    return Recognised(kind="supposition", finding=true(reason))


def tends(symbol: Expression, scope: Scope) -> bool:
    """True for a symbol that is driven somewhere in the regime."""
    return isinstance(symbol, Symbol) and scope.knows(symbol) and scope.find(symbol).meaning.tends is not None


def is_in_the_other_case(symbol: Symbol, scope: Scope) -> bool:
    """True for a symbol that is only known with its letter in the other case: K_a where there is k_a."""
    return scope.knows(symbol) and CASE_NOTE in (scope.find(symbol).note or "")


# -- particular values -------------------------------------------------------------------------------------------------
def is_value(left: Expression | None, right: Expression | None, scope: Scope) -> bool:
    """True if left = right gives a letter a particular value: n = 10, β = 5, γ_1 = γ_2."""
    if right is None or left == right or not _is_drawn(left, scope):
        return False
    return _is_made_of_numbers(right) or _is_drawn(right, scope)


def _is_drawn(symbol: Expression | None, scope: Scope) -> bool:
    """True for a size, or a number that the problem leaves open: what a text may give a particular value."""
    if not isinstance(symbol, Symbol):
        return False
    if not symbol.subscripts and symbol.name in scope.setting.sizes:
        return True
    if not scope.knows(symbol) or is_in_the_other_case(symbol, scope):
        return False
    meaning = scope.find(symbol).meaning
    return meaning.formula is None and meaning.index is None and meaning.shape == ("1", "1")


def _is_made_of_numbers(node: Expression) -> bool:
    """True for 10, ½, log 196."""
    return not isinstance(node, Infinity) and all(symbol.name in CONSTANTS for symbol in symbols(node))


def at_particular_values(formula: Formula, scope: Scope) -> Scope | None:
    """The scope at the particular values that the sentence gives, None if it gives none."""
    particular = scope
    for chain in (chain for chain in (*formula.siblings, *formula.chains) if chain.signs[0].text == "="):
        left, right = readable(chain.sides[0], scope), readable(chain.sides[1], scope)
        if not isinstance(left, Symbol) or not is_value(left, right, scope):
            continue
        if left.name not in scope.setting.sizes:
            meaning = SymbolMeaning(name=scope.find(left).meaning.name, formula=right)
            particular = particular.with_meaning(meaning)
        elif isinstance(right, Number) and right.value in range(2, _LARGEST_SIZE + 1):
            particular = replace(particular, sizes={**particular.sizes, left.name: int(right.value)})
    return None if particular is scope else particular
