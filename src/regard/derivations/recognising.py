"""Statements that are not judged: conditions on indices, the regime, particular values."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from regard.derivations.context import Surroundings, regime_words
from regard.derivations.formulas import Kind
from regard.derivations.judging.findings import Finding, NoteKind, true
from regard.derivations.judging.readings import read_side
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Expression, Infinity, Matrix, Number, Product, Symbol, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import SymbolMeaning
from regard.derivations.reading.phrases import any_of

_SMALLEST_SIZE = 2
_ON_INDICES = ("≠", "∉", "∈", "=", "<", ">", "≤", "≥")
_ON_NUMBERS = ("=", "<", ">", "≤", "≥", "≠", "≈")
_IN_GENERAL = re.compile(any_of("in_general"), re.IGNORECASE)
_DRIVES = re.compile(
    r"(?<![A-Za-z\\_])(\\[a-z]+|[A-Za-z])\s?(?:\\(?:to|rightarrow|longrightarrow)(?![a-z])|→)\s?\{?"
    r"([+-]?\s?(?:\\infty|∞|\d+(?:\.\d+)?)\^?[+-]?)"
)
_LETTER = re.compile(r"\\[a-z]+|(?<![A-Za-z\\])[A-Za-zα-ω](?![A-Za-z])")
_END = {"infinity": re.compile(r"\+?\s?(?:\\infty|∞)"), "zero": re.compile(r"0\^?\+?")}
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


def differ_in_general(surroundings: Surroundings) -> Finding:
    """What is to be said of x ≠ y where the sides differ on some instances and are equal on others."""
    words = f"{surroundings.before} {surroundings.after}"
    if _IN_GENERAL.search(words):
        return true("the two sides differ in general, though not on every instance")
    return Finding(kind="unknown", reason="the two sides differ on some instances, and are equal on others")


def tends(symbol: Expression, scope: Scope) -> bool:
    """True for a symbol that is driven somewhere in the regime."""
    return isinstance(symbol, Symbol) and scope.knows(symbol) and scope.find(symbol).meaning.tends is not None


def is_in_the_other_case(symbol: Symbol, scope: Scope) -> bool:
    """True for a symbol that is only known with its letter in the other case: K_a where there is k_a."""
    found = scope.lookup(symbol)
    return found is not None and found.note is not None and found.note.kind is NoteKind.OTHER_CASE


def is_driven_elsewhere(written: str, scope: Scope) -> bool:
    r"""True if a text drives a scale, or a size, where the regime in force does not: \beta \to 0, n \to \infty."""
    for name, target in _DRIVES.findall(written):
        symbol = Symbol(name.removeprefix("\\"))
        if symbol.name in scope.setting.sizes and not scope.knows(symbol):
            return True
        if tends(symbol, scope) and _END[scope.find(symbol).meaning.tends or ""].fullmatch(target) is None:
            return True
    return False


def is_left_to_chance(surroundings: Surroundings, scope: Scope) -> bool:
    """True if a formula stands under a condition on a random number, which no regime drives: when γ is large."""
    letters = (name for words in regime_words(surroundings) for name in _LETTER.findall(words))
    found = (scope.lookup(Symbol(name.removeprefix("\\"))) for name in letters)
    return any(symbol is not None and symbol.meaning.is_random_number for symbol in found)


# -- particular values -------------------------------------------------------------------------------------------------
def is_value(left: Expression | None, right: Expression | None, scope: Scope) -> bool:
    """True if left = right gives a letter a particular value: n = 10, β = 5, β = log n, γ_1 = γ_2, P = (0 1; 1 0)."""
    if right is None or left == right or not isinstance(left, Symbol):
        return False
    if isinstance(right, Matrix):
        return _is_drawn_matrix(left, scope) and is_spelt_out(right, scope)
    sizes = () if left.name in scope.setting.sizes else tuple(scope.setting.sizes)
    return _is_drawn(left, scope) and (_is_made_of(right, (*CONSTANTS, *sizes)) or _is_drawn(right, scope))


def is_number(chain: Chain, scope: Scope) -> bool:
    """True if a chain gives a letter a plain number as its value: n = 10."""
    right = readable(chain.sides[1], scope)
    return chain.signs[0].text == "=" and right is not None and _is_made_of(right, CONSTANTS)


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


def _is_drawn_matrix(symbol: Symbol, scope: Scope) -> bool:
    """True for a matrix or vector that the problem leaves open."""
    meaning = scope.find(symbol).meaning if scope.knows(symbol) else None
    return meaning is not None and meaning.formula is None and meaning.shape != ("1", "1")


def is_spelt_out(node: Expression, scope: Scope) -> bool:
    """True for a matrix of numbers and scales, with or without a factor: 5 (1, 0), (β, β, 0)."""
    if isinstance(node, Product):
        return any(isinstance(factor, Matrix) for factor in node.factors) and _has_only_scales(node, scope)
    return isinstance(node, Matrix) and _has_only_scales(node, scope)


def _has_only_scales(node: Expression, scope: Scope) -> bool:
    return all(symbol.name in CONSTANTS or tends(symbol, scope) for symbol in symbols(node))


def _is_made_of(node: Expression, names: Sequence[str]) -> bool:
    """True for 10, ½, log 196, and for what has no other letters than these."""
    return not isinstance(node, Infinity) and all(symbol.name in names for symbol in symbols(node))


def at_particular_values(chains: Iterable[Chain], scope: Scope) -> Scope | None:
    """The scope at the particular values that a text gives, None if it gives none."""
    particular = scope
    for chain in (chain for chain in chains if chain.signs[0].text == "="):
        left, right = readable(chain.sides[0], scope), readable(chain.sides[1], scope)
        if isinstance(left, Symbol) and right is not None and is_value(left, right, scope):
            particular = _set(left, right, particular)
    return None if particular is scope else particular


def _set(left: Symbol, right: Expression, scope: Scope) -> Scope:
    """The scope with a letter at a particular value; a matrix also sets the sizes of its rows and columns."""
    if left.name in scope.setting.sizes and not scope.knows(left):
        if not isinstance(right, Number) or right.value.denominator != 1 or right.value < _SMALLEST_SIZE:
            return scope
        return replace(scope, sizes={**scope.sizes, left.name: int(right.value)})
    meaning = scope.find(left).meaning
    if meaning.index is not None:
        return scope
    scope = scope.with_meaning(SymbolMeaning(name=meaning.name, formula=right))
    return replace(scope, sizes={**scope.sizes, **_sizes_of(right, meaning)}) if isinstance(right, Matrix) else scope


def _sizes_of(matrix: Matrix, meaning: SymbolMeaning) -> dict[str, int]:
    shape = (len(matrix.rows), len(matrix.rows[0]))
    return {name: size for name, size in zip(meaning.shape, shape, strict=True) if not name.isdigit()}
