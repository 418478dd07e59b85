"""A new symbol, = expression: it stands for the expression from there on."""

from dataclasses import replace
from fractions import Fraction

from regard.derivations.judging.findings import Finding, NoteKind, true
from regard.derivations.judging.judge import decide
from regard.derivations.judging.readings import Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import (
    Expression,
    Negative,
    Number,
    Power,
    Product,
    Symbol,
    Transpose,
    describe,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import SymbolMeaning
from regard.derivations.recognising import Recognised


def as_definition(left: Symbol, sign: str, right: tuple[Token, ...], scope: Scope) -> Recognised:
    """The definition of a symbol; what it is defined by must have a value, or the step is judged for it."""
    if sign == "∈":
        return Recognised(kind="definition", finding=true("a new symbol is introduced"))
    expression = read_side(right, scope)
    finding = decide(Sides(left=right, sign="=", right=right), scope)
    if finding.has_note(NoteKind.ANY_NUMBER):
        reason = "it is defined by symbols that are not"
        return Recognised(kind="definition", finding=Finding(kind="unknown", reason=reason, notes=finding.notes))
    if not finding.is_true:
        return Recognised(kind="step" if finding.is_false else "definition", finding=finding)
    defined = replace(finding, kind="true", reason="a new symbol is defined")
    meaning = _meaning(left, expression, finding, scope)
    return Recognised(kind="definition", finding=defined, scope=scope.with_meaning(meaning))


def _meaning(left: Symbol, expression: Expression, finding: Finding, scope: Scope) -> SymbolMeaning:
    """The symbol, or the whole family where its subscript is a free index: x_i = … defines every x_i."""
    script = left.subscripts[0] if len(left.subscripts) == 1 else None
    index = script.name if isinstance(script, Symbol) else None
    if index is None or index not in scope.setting.free:
        return SymbolMeaning(name=describe(left), formula=expression, swaps=finding.swaps)
    over = scope.setting.free[index]
    return SymbolMeaning(name=left.name, index=index, over=over, formula=expression, swaps=finding.swaps)


def as_coordinates(left: Symbol, sides: Sides, scope: Scope) -> Recognised | None:
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
    return Recognised(kind="definition", finding=true(f"{describe(new)} names the coordinates"), scope=wider)


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
