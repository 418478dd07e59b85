"""Statements recognised for what they are: conditions, the regime, values, definitions, distributions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from regard.derivations.context.formulas import members
from regard.derivations.context.surroundings import Surroundings, regime_words
from regard.derivations.judging.findings import Finding, NoteKind, true
from regard.derivations.judging.judge import decide
from regard.derivations.judging.relations import Sides, read_side
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.setting import Assumption, SymbolMeaning
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import (
    Expression,
    Infinity,
    Matrix,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    Transpose,
    describe,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.reading.phrases import any_of
from regard.derivations.results import StepKind

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
_Law = tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class RecognisedStep:
    """What a step is and what was found; `scope` is what names mean after it, where it has changed."""

    kind: StepKind
    finding: Finding
    scope: Scope | None = None


def readable(side: Sequence[Token], scope: Scope) -> Expression | None:
    """A side read in the plain way; None if it is empty or cannot be read."""
    try:
        return read_side(side, scope) if side else None
    except NotUnderstood:
        return None


def as_condition(left: Expression | None, sign: str, right: Expression | None, scope: Scope) -> RecognisedStep | None:
    """Conditions on indices, and words about the regime: i ≠ a, β → ∞, λ > 0."""
    if not isinstance(left, Symbol):
        return None
    setting = scope.setting
    is_index = not left.subscripts and left.name in setting.free and not setting.is_complex
    if is_index and sign in _ON_INDICES:
        return _supposed("A condition on an index")
    if is_value(left, right, scope) and sign in _ON_NUMBERS:
        return _supposed("A particular value" if sign == "=" else "A condition on a number")
    is_driven = tends(left, scope) and sign in _ON_SCALES and isinstance(right, Infinity | Number)
    is_new_scale = isinstance(right, Infinity) and sign == "→" and not scope.knows(left)
    return _supposed("The regime") if is_driven or is_new_scale else None


def _supposed(reason: str) -> RecognisedStep:
    return RecognisedStep(kind="supposition", finding=true(reason))


def differ_in_general(surroundings: Surroundings) -> Finding:
    """What is to be said of x ≠ y where the sides differ on some instances and are equal on others."""
    words = f"{surroundings.before} {surroundings.after}"
    if _IN_GENERAL.search(words):
        return true("The two sides differ in general, though not for all inputs")
    return Finding(kind="unknown", reason="The two sides differ for some inputs and are equal for others")


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
    return meaning.formula is None and meaning.index is None and meaning.is_number


def _is_drawn_matrix(symbol: Symbol, scope: Scope) -> bool:
    """True for a matrix or vector that the problem leaves open."""
    meaning = scope.find(symbol).meaning if scope.knows(symbol) else None
    return meaning is not None and meaning.formula is None and not meaning.is_number


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


# -- definitions -------------------------------------------------------------------------------------------------------
def as_definition(left: Symbol, sign: str, right: tuple[Token, ...], scope: Scope) -> RecognisedStep:
    """The definition of a symbol; what it is defined by must have a value, or the step is judged for it."""
    if sign == "∈":
        return RecognisedStep(kind="definition", finding=true("Introduces a new symbol"))
    expression = read_side(right, scope)
    finding = decide(Sides(left=right, sign="=", right=right), scope)
    if finding.has_note(NoteKind.ANY_NUMBER):
        reason = "Defined in terms of undefined symbols"
        return RecognisedStep(kind="definition", finding=Finding(kind="unknown", reason=reason, notes=finding.notes))
    if not finding.is_true:
        return RecognisedStep(kind="step" if finding.is_false else "definition", finding=finding)
    defined = replace(finding, kind="true", reason="Defines a new symbol")
    meaning = _meaning(left, expression, finding, scope)
    return RecognisedStep(kind="definition", finding=defined, scope=scope.with_meaning(meaning))


def _meaning(left: Symbol, expression: Expression, finding: Finding, scope: Scope) -> SymbolMeaning:
    """The symbol, or the whole family where its subscript is a free index: x_i = … defines every x_i."""
    script = left.subscripts[0] if len(left.subscripts) == 1 else None
    index = script.name if isinstance(script, Symbol) else None
    if index is None or index not in scope.setting.free:
        return SymbolMeaning(name=describe(left), formula=expression, swaps=finding.swaps)
    over = scope.setting.free[index]
    return SymbolMeaning(name=left.name, index=index, over=over, formula=expression, swaps=finding.swaps)


def as_coordinates(left: Symbol, sides: Sides, scope: Scope) -> RecognisedStep | None:
    """v = A x with a new letter x names the coordinates of a known v: x = (AᵀA)⁻¹Aᵀv, if v is spanned by A at all."""
    product = _product(sides, scope) if sides.sign == "=" and scope.knows(left) else None
    if product is None:
        return None
    *known, new = product.factors
    is_new = isinstance(new, Symbol) and not new.subscripts and not scope.declares(new)
    if not is_new or any(symbol == new for factor in known for symbol in symbols(factor)):
        return None
    if decide(sides, scope).kind not in ("unknown", "ill-shaped"):
        return None
    wider = scope.with_meaning(SymbolMeaning(name=describe(new), formula=_solved(known, left)))
    if decide(sides, wider).kind != "true":
        return None
    return RecognisedStep(kind="definition", finding=true(f"Defines {describe(new)} as the coordinates"), scope=wider)


def _product(sides: Sides, scope: Scope) -> Product | None:
    try:
        right = read_side(sides.right, scope)
    except NotUnderstood:
        return None
    return right if isinstance(right, Product) else None


def _solved(matrices: list[Expression], vector: Expression) -> Expression:
    """(AᵀA)⁻¹Aᵀv, where A is the product of the matrices."""
    matrix = _times(*matrices)
    return _times(Power(_times(Transpose(matrix), matrix), Negative(Number(Fraction(1)))), Transpose(matrix), vector)


def _times(*factors: Expression) -> Expression:
    return factors[0] if len(factors) == 1 else Product(factors, (False,) * (len(factors) - 1))


# -- distributions -----------------------------------------------------------------------------------------------------
def as_distribution(left: Symbol, right: Sequence[Token], scope: Scope) -> RecognisedStep:
    """What left ∼ right says: the law of a known random number, or a new random symbol."""
    law = _normal_law(right)
    known = scope.find(left).meaning if scope.knows(left) else None
    if known is not None and known.is_random_number and law is not None:
        return RecognisedStep(kind="given", finding=_compared(law, known))
    renamed = _renamed(left, law, scope) if known is None or Assumption.ANY in known.assume else None
    introduced = true("Introduces a random symbol")
    return RecognisedStep(kind="given" if known is not None else "definition", finding=introduced, scope=renamed)


def _renamed(left: Symbol, law: _Law | None, scope: Scope) -> Scope | None:
    """The scope in which another letter stands for the problem's one random number, or for its distance from a mean.

    ε ∼ N(0, ½) beside γ ∼ N(1, ½) is γ − 1.
    """
    numbers = [meaning for meaning in scope.meanings.values() if meaning.is_random_number]
    if len(numbers) != 1 or law is None or law[1] != Fraction(numbers[0].variance or 0):
        return None
    shift = law[0] - Fraction(numbers[0].mean)
    known = Symbol(numbers[0].name)
    formula = known if shift == 0 else Sum((known, Number(shift) if shift > 0 else Negative(Number(-shift))))
    return scope.with_meaning(SymbolMeaning(name=describe(left), formula=formula))


def _normal_law(tokens: Sequence[Token]) -> _Law | None:
    """Mean and variance of N(1, ½), where both are plain numbers."""
    place = next((k for k, token in enumerate(tokens) if token.text == "N"), None)
    if place is None or len(tokens) < place + 5 or tokens[place + 1].kind != "open":
        return None
    try:
        mean, variance = (_rational(part) for part in members(tokens[place + 2 : -1]))
    except (NotUnderstood, ValueError):
        return None
    return mean, variance


def _rational(node: Expression) -> Fraction:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Quotient):
        return _rational(node.top) / _rational(node.bottom)
    raise ValueError("not a plain number")


def _compared(law: _Law, meaning: SymbolMeaning) -> Finding:
    mean, variance = law
    known = Fraction(meaning.variance or 0)
    if mean == Fraction(meaning.mean) and variance == known:
        return true("Given by the problem")
    if mean == Fraction(meaning.mean) and variance**2 == known:
        return Finding(kind="unknown", reason="The second number may be a standard deviation")
    given = f"N({meaning.mean:g}, {meaning.variance:g})"
    return Finding(
        kind="false",
        reason="The problem gives another distribution",
        method="the problem's distribution",
        counterexample=f"the problem gives {given}, the text N({float(mean):g}, {float(variance):g})",
    )
