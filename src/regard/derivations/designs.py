"""Designs: a symbol that the question leaves open is filled in, and the question's goal decides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from regard.derivations.judging.findings import Finding, Note, NoteKind
from regard.derivations.judging.judge import decide, shown
from regard.derivations.judging.readings import Sides
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.notation.parser import parse_source
from regard.derivations.notation.statements import first_chain
from regard.derivations.notation.syntax import Expression, Number, Product, Symbol, describe, symbols
from regard.derivations.problems.model import Design, Question, SymbolMeaning
from regard.derivations.shortfalls import SHOWN_GAP, needed_scale, shortfall

Designs = Mapping[str, Expression]


def open_symbol(expression: Expression | None, question: Question, scope: Scope) -> str | None:
    """The name of the symbol that the question leaves open, if the expression is one, under any spelling."""
    if question.design is None or not isinstance(expression, Symbol):
        return None
    if describe(expression) in question.design.symbols:
        return describe(expression)
    name = scope.find(expression).meaning.name if scope.knows(expression) else None
    return name if name in question.design.symbols else None


def bind(scope: Scope, name: str, formula: Expression) -> Scope:
    """The scope in which an open symbol is the given expression; unknown letters in it are scales that grow."""
    return with_scales(scope, formula).with_meaning(SymbolMeaning(name=name, formula=formula))


def with_scales(scope: Scope, formula: Expression) -> Scope:
    """The scope with every unexplained letter of a design as a scale: the λ of λ(k_a + k_b), the t_1 of t_1μ_a."""
    known = {*scope.setting.fixed, *scope.setting.sizes, *CONSTANTS}
    inside = {script for symbol in symbols(formula) for script in symbol.subscripts}
    for symbol in symbols(formula):
        is_bare = not symbol.subscripts and symbol not in inside and symbol.name not in known
        if (is_bare and not scope.declares(symbol)) or (_is_counted(symbol) and not scope.knows(symbol)):
            scope = scope.with_meaning(SymbolMeaning(name=describe(symbol), tends="infinity"))
    return scope


def _is_counted(symbol: Symbol) -> bool:
    """True for a letter with a number below it: t_1."""
    return len(symbol.subscripts) == 1 and isinstance(symbol.subscripts[0], Number)


def solved(scope: Scope, question: Question, own: Designs | None = None, solution: int = 0) -> Scope:
    """The scope with the open symbols filled in: the student's own designs, the problem's solution for the rest."""
    if question.design is None:
        return scope
    for name, source in question.design.solutions[solution].items():
        formula = (own or {}).get(name)
        scope = bind(scope, name, parse_source(source) if formula is None else formula)
    return scope


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """The designs that a student has filled in, and the goal that they are to reach."""

    scope: Scope
    question: Question
    design: Design
    own: Designs

    @property
    def goal(self) -> Sides:
        chain = first_chain(self.design.goal)
        return Sides(left=chain.sides[0], sign=chain.signs[0].text, right=chain.sides[1])

    def solved(self) -> Scope:
        """The scope with these designs, and the problem's first solution for what is still open."""
        return solved(self.scope, self.question, self.own)

    def decided(self, solution: int = 0) -> Finding:
        """Whether the goal is reached beside that solution's other parts."""
        return decide(self.goal, solved(self.scope, self.question, self.own, solution))

    def only(self, name: str) -> "_Attempt":
        return replace(self, own={name: self.own[name]})

    def scaled(self, name: str) -> "_Attempt":
        """The same attempt with β times one of its designs."""
        return replace(self, own={**self.own, name: Product((Symbol("beta"), self.own[name]), (False,))})


def judge_designs(scope: Scope, question: Question, own: Designs) -> dict[str, Finding]:
    """A finding for each open symbol that the student has filled in."""
    assert question.design is not None
    attempt = _Attempt(scope=scope, question=question, design=question.design, own=own)
    together = attempt.decided()
    findings = dict.fromkeys(own, together)
    if together.is_false and not len(own) == 1 == len(question.design.symbols):
        findings = {name: _alone(attempt.only(name)) for name in own}
        if all(finding.is_true for finding in findings.values()):
            findings[list(own)[-1]] = together
    return {name: _explained(finding, attempt, name) for name, finding in findings.items()}


def _alone(attempt: _Attempt) -> Finding:
    """One design of several, beside each solution's other parts: it is to blame only if none of them saves it."""
    findings = [attempt.decided()]
    for solution in range(1, len(attempt.design.solutions)):
        if findings[-1].is_true:
            break
        findings.append(attempt.decided(solution))
    return findings[-1]


def _explained(finding: Finding, attempt: _Attempt, name: str) -> Finding:
    goal, finding = _plain(attempt.design.goal), shown(finding)
    if finding.is_true:
        return replace(finding, reason=f"it reaches the goal {goal}: {finding.reason}")
    if not finding.is_false:
        return finding
    missed = NoteKind.GOAL_MISSED.note(goal, finding.reason)
    finding = replace(finding, counterexample=shortfall(attempt.solved(), attempt.design) or finding.counterexample)
    scaled = attempt.scaled(name)
    if not scaled.decided().is_true:
        return replace(finding, reason=str(missed))
    reason = "a scale is missing: β times it, with β large, does"
    return replace(finding, reason=reason, notes=(*_needed_scale(scaled), missed, *finding.notes))


def _plain(source: str) -> str:
    for written, plain in (("\\approx", "≈"), ("\\frac12", "½"), ("\\top", "ᵀ"), ("^", ""), ("\\", "")):
        source = source.replace(written, plain)
    return source


def _needed_scale(scaled: _Attempt) -> list[Note]:
    needed = needed_scale(scaled.solved(), scaled.design)
    return [] if needed is None else [NoteKind.NEEDED_SCALE.note(f"{needed:.1f}", f"{SHOWN_GAP:g}")]
