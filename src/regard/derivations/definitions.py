"""A new symbol, = expression: it stands for the expression from there on."""

from dataclasses import replace

from regard.derivations.judging.judge import ANY_NUMBER, decide
from regard.derivations.judging.outcome import Finding, true
from regard.derivations.judging.readings import Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Expression, Symbol, describe
from regard.derivations.notation.tokens import Token
from regard.derivations.problems.model import SymbolMeaning
from regard.derivations.recognising import Recognised

__all__ = ["as_definition"]


def as_definition(left: Symbol, sign: str, right: tuple[Token, ...], scope: Scope) -> Recognised:
    """The definition of a symbol; what it is defined by must have a value, or the step is judged for it."""
    if sign == "∈":
        return Recognised(kind="definition", finding=true("a new symbol is introduced"))
    expression = read_side(right, scope)
    finding = decide(Sides(left=right, sign="=", right=right), scope)
    if any(ANY_NUMBER in note for note in finding.notes):
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
