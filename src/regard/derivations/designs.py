"""Designs: a symbol that the question leaves open is filled in, and the question's goal decides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from flint import ctx

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.evaluate import Evaluator
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.judge import PRECISION, Sides, decide
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.relations import show, spell
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.values import IllShaped
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.syntax import Expression, Product, Symbol, symbols
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.model import Design, Question, SymbolMeaning

__all__ = ["Designs", "bind", "judge_designs", "solved", "with_scales"]

Designs = Mapping[str, Expression]
_SHOWN_GAP = 0.01


def bind(scope: Scope, name: str, formula: Expression) -> Scope:
    """The scope in which an open symbol is the given expression; unknown letters in it are scales that grow."""
    return with_scales(scope, formula).with_meaning(SymbolMeaning(name=name, formula=formula))


def with_scales(scope: Scope, formula: Expression) -> Scope:
    """The scope with every unexplained bare letter of a design taken as a scale: the λ of λ(k_a + k_b)."""
    setting = scope.setting
    inside = {script for symbol in symbols(formula) for script in symbol.subscripts}
    for symbol in symbols(formula):
        is_index = symbol in inside or symbol.name in setting.fixed or symbol.name in setting.sizes
        if symbol.subscripts or is_index or symbol.name in ("e", "pi") or scope._exact(symbol) is not None:
            continue
        scope = scope.with_meaning(SymbolMeaning(name=symbol.name, tends="infinity"))
    return scope


def solved(scope: Scope, question: Question, own: Designs | None = None, solution: int = 0) -> Scope:
    """The scope with the open symbols filled in: the student's own designs, the problem's solution for the rest."""
    if question.design is None:
        return scope
    for name, source in question.design.solutions[solution].items():
        formula = (own or {}).get(name)
        scope = bind(scope, name, parse(tokenize(source)) if formula is None else formula)
    return scope


@dataclass(frozen=True, kw_only=True)
class _Goal:
    design: Design
    sides: Sides


def _goal(design: Design) -> _Goal:
    chain = read_chains(design.goal)[0]
    return _Goal(design=design, sides=Sides(left=chain.sides[0], sign=chain.signs[0].text, right=chain.sides[1]))


def judge_designs(scope: Scope, question: Question, own: Designs) -> dict[str, Finding]:
    """A finding for each open symbol that the student has filled in."""
    assert question.design is not None
    goal = _goal(question.design)
    together = decide(goal.sides, solved(scope, question, own))
    if not together.is_false or len(own) == 1 == len(question.design.symbols):
        return {name: _explained(together, scope, question, own, name) for name in own}
    findings = {name: _alone(goal, scope, question, {name: formula}) for name, formula in own.items()}
    if all(finding.is_true for finding in findings.values()):
        last = list(own)[-1]
        findings[last] = together
    return {name: _explained(finding, scope, question, own, name) for name, finding in findings.items()}


def _alone(goal: _Goal, scope: Scope, question: Question, own: Designs) -> Finding:
    """One design of several, beside each solution's other parts: it is to blame only if none of them saves it."""
    finding: Finding | None = None
    for place in range(len(goal.design.solutions)):
        finding = decide(goal.sides, solved(scope, question, own, place))
        if finding.is_true:
            return finding
    assert finding is not None
    return finding


def _explained(finding: Finding, scope: Scope, question: Question, own: Designs, name: str) -> Finding:
    design = question.design
    assert design is not None
    if finding.is_true:
        return replace(finding, reason=f"it reaches the goal {_plain(design.goal)}: {finding.reason}")
    if not finding.is_false:
        return finding
    shown = _shown(solved(scope, question, own), design)
    remedy = _remedy(scope, question, own, name)
    reason = f"it does not reach the goal {_plain(design.goal)}: {finding.reason}"
    return replace(
        finding,
        reason="; ".join(part for part in (remedy, reason) if part),
        counterexample=shown or finding.counterexample,
    )


def _plain(source: str) -> str:
    text = source.replace("\\approx", "≈").replace("\\frac12", "½").replace("\\top", "ᵀ").replace("^", "")
    return text.replace("\\", "")


def _remedy(scope: Scope, question: Question, own: Designs, name: str) -> str | None:
    """What a growing scale would mend: the design times β."""
    assert question.design is not None
    scale = Symbol("beta")
    scaled = {**own, name: Product((scale, own[name]), (False,))}
    if not decide(_goal(question.design).sides, solved(scope, question, scaled)).is_true:
        return None
    needed = _needed_scale(solved(scope, question, scaled), question.design)
    size = f"; β ≥ {needed:.1f} brings it within {_SHOWN_GAP:g}" if needed is not None else ""
    return f"a scale is missing: β times it, with β large, does{size}"


def _shown(scope: Scope, design: Design, driven: Mapping[str, tuple[float, ...]] | None = None) -> str | None:
    """The quantity that the problem shows for a design that fails, at its own sizes."""
    value = _measured(
        scope,
        design,
        driven or {name: (32.0 if m.tends == "infinity" else 1e-12,) for name, m in scope.meanings.items() if m.tends},
    )
    if value is None or design.show is None:
        return None
    sizes = ", ".join(f"{name} = {size}" for name, size in design.show_at.items() if name == "n") or "here"
    scales = [f"{spell(name)} = 32" for name, m in scope.own.items() if m.tends == "infinity"]
    where = ", ".join([f"at {sizes}", *scales])
    return f"{where}: {design.show_as} is {value:.4g}, not {design.target:g}"


def _measured(scope: Scope, design: Design, driven: Mapping[str, tuple[float, ...]]) -> float | None:
    if design.show is None:
        return None
    instance = Instance(setting=scope.setting, sizes=design.show_at, num_draws=1, driven=driven)
    try:
        with ctx.workprec(PRECISION), np.errstate(all="ignore"):
            value = Evaluator(scope=scope, instance=instance, arithmetic=BALLS)(parse(tokenize(design.show), Reading()))
    except (UnknownSymbol, NotUnderstood, IllShaped):
        return None
    return float(show(value.array[0, 0, 0])) if value.is_scalar else None


def _needed_scale(scope: Scope, design: Design) -> float | None:
    """The least β, to 0.1, from which the shown quantity is within 0.01 of its target."""
    zeros = {name: (1e-40,) for name, m in scope.meanings.items() if m.tends == "zero"}

    def gap(beta: float) -> float:
        value = _measured(
            scope, design, {**zeros, **{name: (beta,) for name, m in scope.meanings.items() if m.tends == "infinity"}}
        )
        return float("inf") if value is None else abs(value - design.target)

    low, high = 0.0, 1.0
    while gap(high) > _SHOWN_GAP:
        low, high = high, 2 * high
        if high > 1000:
            return None
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) > _SHOWN_GAP else (low, middle)
    return round(high + 0.05, 1)
