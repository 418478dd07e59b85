"""Designs: a symbol that the question leaves open is filled in, and the question's goal decides."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from flint import ctx

from regard.derivations.context.environment import growing_instead
from regard.derivations.judging.evaluator import Evaluator
from regard.derivations.judging.exact import PRECISION
from regard.derivations.judging.findings import Finding, Note, NoteKind, OpenBecause, left_open
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.judge import decide, shown
from regard.derivations.judging.relations import Sides, spell
from regard.derivations.judging.scope import CONSTANTS, Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption, SymbolMeaning
from regard.derivations.judging.values import BALLS, FLOATS, Arithmetic, IllShaped
from regard.derivations.notation.parser import parse_source
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.syntax import Expression, Number, Product, Sum, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.problem import Design, Question

Designs = Mapping[str, Expression]
Driven = Mapping[str, tuple[float, ...]]
SHOWN_GAP = 0.01
_SHOWN_SCALE = 32.0
_DOUBLINGS = tuple(2.0**power for power in range(10))
_PARTS = 64
_REFINEMENTS = 2


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
        is_free = is_bare and (not scope.declares(symbol) or _is_usual(symbol, scope))
        if is_free or (_is_counted(symbol) and not scope.knows(symbol)):
            scope = scope.with_letter(SymbolMeaning(name=describe(symbol), tends="infinity"))
    return scope


def _is_usual(symbol: Symbol, scope: Scope) -> bool:
    """True for a number that the problem only has because many write it, and that the author has not defined."""
    found = scope.lookup(symbol)
    meaning = None if found is None else found.meaning  # a name that could not be read
    return meaning is not None and Assumption.USUAL in meaning.assume and meaning.is_number and meaning.formula is None


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
class _DesignAttempt:
    """The designs that a student has filled in, and the goal that they are to reach."""

    scope: Scope
    question: Question
    design: Design
    own: Designs

    @property
    def goals(self) -> list[Sides]:
        chains = read_chains(self.design.goal)
        return [Sides(left=chain.sides[0], sign=chain.signs[0].text, right=chain.sides[1]) for chain in chains]

    def solved(self) -> Scope:
        """The scope with these designs, and the problem's first solution for what is still open."""
        return solved(self.scope, self.question, self.own)

    def decided(self, solution: int = 0) -> Finding:
        """Whether the goal, all of it, is reached beside that solution's other parts."""
        scope = solved(self.scope, self.question, self.own, solution)
        findings = [decide(goal, scope) for goal in self.goals]
        return next((finding for finding in findings if not finding.is_true), findings[-1])

    def only(self, name: str) -> "_DesignAttempt":
        return replace(self, own={name: self.own[name]})

    def forbidden_symbol(self, name: str) -> str | None:
        """A symbol on which a design depends and may not: M = v_a sᵀ/‖s‖² is another matrix for each s."""
        reached = Scope(setting=self.question.setting).reach(self.own[name])
        return next((symbol for symbol in self.design.without if symbol in reached), None)

    def scaled(self, name: str) -> "_DesignAttempt":
        """The same attempt with β times one of its designs."""
        return replace(self, own={**self.own, name: scaled(self.own[name])})


def scaled(design: Expression) -> Expression:
    """β times a design."""
    return Product((Symbol("beta"), design), (False,))


def judge_designs(scope: Scope, question: Question, own: Designs) -> dict[str, Finding]:
    """A finding for each open symbol that the student has filled in."""
    assert question.design is not None
    attempt = _DesignAttempt(scope=scope, question=question, design=question.design, own=own)
    missing = [name for name in question.design.symbols if name not in own]
    explained = {name: _explained(finding, attempt, name) for name, finding in _decided(attempt).items()}
    return {name: _beside(missing, finding) if missing else finding for name, finding in explained.items()}


def reaches_goal(scope: Scope, question: Question, own: Designs, name: str) -> bool:
    """Whether one of the designs that the student has filled in reaches the goal, as `judge_designs` finds it."""
    assert question.design is not None
    attempt = _DesignAttempt(scope=scope, question=question, design=question.design, own=own)
    return _decided(attempt)[name].is_true and attempt.forbidden_symbol(name) is None


def _decided(attempt: _DesignAttempt) -> dict[str, Finding]:
    """The finding on all designs together; where they fail, on each alone."""
    together = attempt.decided()
    findings = dict.fromkeys(attempt.own, together)
    if together.is_false and not len(attempt.own) == 1 == len(attempt.design.symbols):
        findings = {name: _alone(attempt.only(name)) for name in attempt.own}
        if all(finding.is_true for finding in findings.values()):
            findings[list(attempt.own)[-1]] = together
    return findings


def _beside(missing: list[str], finding: Finding) -> Finding:
    """A design that misses its goal beside the problem's solution may reach it beside something else."""
    if not finding.is_false:
        return finding
    reason = f"Looks wrong beside the usual {', '.join(missing)}, which were not found"
    return left_open(OpenBecause.DOUBTFUL, reason, finding.notes)


def _alone(attempt: _DesignAttempt) -> Finding:
    """One design of several, beside each solution's other parts: it fails only if it fails beside all of them."""
    findings = [attempt.decided()]
    for solution in range(1, len(attempt.design.solutions)):
        if findings[-1].is_true:
            break
        findings.append(attempt.decided(solution))
    return findings[-1]


def _explained(finding: Finding, attempt: _DesignAttempt, name: str) -> Finding:
    goal, finding = _plain(attempt.design.goal), shown(finding)
    if finding.is_true and (symbol := attempt.forbidden_symbol(name)):
        reason = f"Looks wrong if it has to work for every {spell(symbol)}, since it depends on {spell(symbol)}"
        return left_open(OpenBecause.DOUBTFUL, reason, finding.notes)
    if finding.is_true:
        return replace(finding, reason=f"Reaches the goal {goal}. {finding.reason}")
    if not finding.is_false:
        return finding
    if finding.kind == "ill-shaped" and (letter := _own_letter(attempt, name)):
        return left_open(OpenBecause.DOUBTFUL, f"Looks wrong if {spell(letter)} is a number", finding.notes)
    reached = sorted({describe(symbol) for symbol in symbols(attempt.own[name])})
    for letter, scope in growing_instead(attempt.scope, reached):
        if replace(attempt, scope=scope).decided().is_true:
            return left_open(OpenBecause.DOUBTFUL, f"Looks wrong if {spell(letter)} vanishes here", finding.notes)
    if _is_close(attempt.solved(), attempt.design):
        reason = f"Looks wrong as a limit: it comes within {SHOWN_GAP:g} of the goal {goal}, but no closer"
        return left_open(OpenBecause.DOUBTFUL, reason, finding.notes)
    finding = replace(finding, counterexample=shortfall(attempt.solved(), attempt.design) or finding.counterexample)
    finding = replace(finding, notes=tuple(note for note in finding.notes if note.kind is not NoteKind.READ_AS))
    with_factor = attempt.scaled(name)
    if not with_factor.decided().is_true:
        return replace(finding, reason=f"Does not reach the goal {goal}. {finding.reason}")
    reason = f"Missing a scale factor: {_scaled_in_words(name, attempt.own[name])} with β large would work"
    missed = NoteKind.GOAL_MISSED.note(goal)
    return replace(finding, reason=reason, notes=(*_needed_scale(with_factor), missed, *finding.notes))


def _own_letter(attempt: _DesignAttempt, name: str) -> str | None:
    """A letter of a design that the question does not have, so that nothing says what it is."""
    setting = Scope(setting=attempt.question.setting)
    for symbol in symbols(attempt.own[name]):
        found = setting.lookup(symbol)
        if found is None or Assumption.USUAL in found.meaning.assume:
            return describe(symbol)
    return None


def _scaled_in_words(name: str, design: Expression) -> str:
    """β times a design: q = β(k_a + k_b)."""
    terms = design.terms if isinstance(design, Sum) else (design,)
    if not all(isinstance(term, Symbol) for term in terms):
        return f"β times this {name}"
    inside = " + ".join(spell(describe(term)) for term in terms)
    return f"{name} = β({inside})" if len(terms) > 1 else f"{name} = β {inside}"


def _plain(source: str) -> str:
    for written, plain in (
        ("\\approx", "≈"),
        ("\\quad ", ""),
        ("\\frac12", "½"),
        ("\\top", "ᵀ"),
        ("^", ""),
        ("\\", ""),
    ):
        source = source.replace(written, plain)
    return source


def _needed_scale(scaled: _DesignAttempt) -> list[Note]:
    needed = needed_scale(scaled.solved(), scaled.design)
    return [] if needed is None else [NoteKind.NEEDED_SCALE.note(f"{needed:.1f}", f"{SHOWN_GAP:g}")]


# -- how far a design falls short --------------------------------------------------------------------------------------
def _is_close(scope: Scope, design: Design) -> bool:
    """True if a design whose scale is a number is close to its goal at the sizes that the problem shows."""
    found = _measured(scope, design, _driven(scope, (_SHOWN_SCALE,), vanishing=1e-12), BALLS)
    return found is not None and abs(found[0] - design.target) <= SHOWN_GAP


def shortfall(scope: Scope, design: Design) -> str | None:
    """The quantity that the problem shows for a design that fails, at its own sizes."""
    found = _measured(scope, design, _driven(scope, (_SHOWN_SCALE,), vanishing=1e-12), BALLS)
    if found is None or math.isnan(found[0]):
        return None
    sizes = ", ".join(f"{name} = {size}" for name, size in design.show_at.items() if name == "n") or "here"
    scales = [f"{spell(name)} = {_SHOWN_SCALE:g}" for name in _scales_in(scope, design)]
    where = ", ".join([f"at {sizes}", *scales])
    return f"{where}: {design.show_as} is {found[0]:.4g}, not {design.target:g}"


def _scales_in(scope: Scope, design: Design) -> list[str]:
    """The scales that the shown quantity depends on."""
    assert design.show is not None
    reached = scope.reach(parse_source(design.show))
    return sorted(name for name, m in scope.meanings.items() if m.tends == "infinity" and name in reached)


def needed_scale(scope: Scope, design: Design) -> float | None:
    """The least scale, to 0.1, from which the shown quantity is within 0.01 of its target; None if none is known."""
    high = _first_close(scope, design, _DOUBLINGS)
    if high is None:
        return None
    low = high / 2 if high > 1 else 0.0
    for _ in range(_REFINEMENTS):
        points = np.linspace(low, high, _PARTS + 1)[1:]
        close = _first_close(scope, design, tuple(points)) or high
        low, high = close - (high - low) / _PARTS, close
    return round(high + 0.05, 1)


def _first_close(scope: Scope, design: Design, scales: tuple[float, ...]) -> float | None:
    """The first of some scales at which the shown quantity is close to its target, in floats."""
    found = _measured(scope, design, _driven(scope, scales, vanishing=1e-40), FLOATS)
    if found is None:
        return None
    found = found * len(scales) if len(found) == 1 else found
    close = (scale for scale, value in zip(scales, found, strict=True) if abs(value - design.target) <= SHOWN_GAP)
    return next(close, None)


def _measured(scope: Scope, design: Design, driven: Driven, arithmetic: Arithmetic) -> list[float] | None:
    """The shown quantity at each stage of a drive."""
    if design.show is None:
        return None
    instance = Instance(setting=scope.setting, sizes=design.show_at, num_draws=1, driven=driven)
    try:
        with ctx.workprec(PRECISION), np.errstate(all="ignore"):
            value = Evaluator(scope=scope, instance=instance, arithmetic=arithmetic)(parse_source(design.show))
    except (UnknownSymbol, NotUnderstood, IllShaped):
        return None
    if not value.is_scalar:
        return None
    numbers = value.array[:, 0, 0]
    if not arithmetic.is_certified:
        return [float(number.real) for number in numbers]
    return [float(ball.real.mid()) if ball.is_finite() else math.nan for ball in numbers]


def _driven(scope: Scope, scales: tuple[float, ...], vanishing: float) -> Driven:
    zeros = (vanishing,) * len(scales)
    return {name: scales if m.tends == "infinity" else zeros for name, m in scope.meanings.items() if m.tends}
