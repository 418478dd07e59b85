"""The steps of a document, judged question by question in reading order: recognised for what they are, then decided."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from regard.derivations.context.designs import bind, judge_designs, open_symbol, solved
from regard.derivations.context.formulas import Formula, JudgedStep, index_conditions, step_at
from regard.derivations.context.placing import PlacedFormula
from regard.derivations.context.recognition import (
    RecognisedStep,
    as_condition,
    as_coordinates,
    as_definition,
    as_distribution,
    at_particular_values,
    differ_in_general,
    is_driven_elsewhere,
    is_in_the_other_case,
    is_left_to_chance,
    is_number,
    is_spelt_out,
    readable,
    tends,
)
from regard.derivations.context.surroundings import is_denied, is_example, is_supposed, premises_in_prose
from regard.derivations.judging.findings import Finding, NoteKind, not_understood, true
from regard.derivations.judging.judge import decide, shown
from regard.derivations.judging.relations import Sides, read_side
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption, Setting, SymbolMeaning
from regard.derivations.notation.signs import relation_signs, unread_signs
from regard.derivations.notation.statements import Chain, first_chain
from regard.derivations.notation.syntax import Accent, Apply, Expression, Infinity, Symbol, children, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.problem import Problem, Question

_BINDS = ("=", "≈", "∼", "∝", "∈")
_DESIGNS = ("=", "≈", "∝")
_UNIT = Symbol("i")
_AT_VALUES = NoteKind.AT_GIVEN_VALUES.note()


@dataclass(frozen=True)
class LastSide:
    """The last side of the chain above, and the last side before it that was still right."""

    side: tuple[Token, ...]
    anchor: tuple[Token, ...]
    is_wrong: bool = False


@dataclass(frozen=True, kw_only=True)
class StepDecider:
    """Decides a step by what names mean where it stands, or by what they may have been meant to mean.

    `before` is the scope before a query that is only tentative; `intended` has the problem's own query in it, and
    counts where the text has another one (`has_slipped`).
    """

    scope: Scope
    intended: Scope
    before: Scope | None = None
    has_slipped: bool = False
    is_strict: bool = False

    def decide(self, sides: Sides, last: LastSide, formula: Formula) -> Finding:
        """The finding on a step; beside a tentative query, it may be about the one before."""
        finding = self._decide(sides, last, formula)
        if finding.is_true or self.before is None:
            return finding
        without = replace(self, scope=self.before)._decide(sides, last, formula)
        return without if without.is_true or finding.is_false else finding

    def _decide(self, sides: Sides, last: LastSide, formula: Formula) -> Finding:
        """The finding on a step; one that fails is looked at again wherever else it may have been meant."""
        particular = at_particular_values((*formula.siblings, *formula.chains), self.scope)
        at_values = decide(replace(sides, is_particular=True), particular) if particular is not None else None
        if at_values is not None and at_values.is_true:
            return at_values.with_notes([_AT_VALUES])
        finding = self._found(sides, self.scope)
        finding = at_values if at_values is not None and not finding.is_true else finding
        if finding.kind == "not understood":
            return self._elsewhere(sides, formula) or finding
        if not finding.is_false:
            return finding
        if sides.sign == "≠" and self._found(replace(sides, sign="="), self.scope).is_false:
            return differ_in_general(formula.surroundings)
        return self._elsewhere(sides, formula) or self._after_slip(sides, last) or finding

    def _found(self, sides: Sides, scope: Scope) -> Finding:
        """The finding; read strictly, an = that only holds in the limit is false."""
        finding = decide(sides, scope)
        if not (self.is_strict and finding.is_approximation_meant):
            return finding
        return replace(finding, kind="false", reason="The two sides are equal only in the limit")

    # -- elsewhere ---------------------------------------------------------------------------------------------------
    def _elsewhere(self, sides: Sides, formula: Formula) -> Finding | None:
        """A failure that is true at values that came before it, or in the setting's alternative."""
        earlier = tuple(chain for chain in formula.earlier if is_number(chain, self.scope))
        nearby = at_particular_values((*earlier, *formula.siblings, *formula.chains), self.scope)
        if earlier and nearby is not None and (found := decide(replace(sides, is_particular=True), nearby)).is_true:
            return found.with_notes([_AT_VALUES])
        other = self.scope.setting.otherwise
        return None if other is None else self._otherwise(sides, other, nearby, formula.passage)

    def _otherwise(self, sides: Sides, other: Setting, particular: Scope | None, passage: str) -> Finding | None:
        """A step that needs more than the question says is left open, unless the text says so or it is a reading."""
        both = sides.expressions(self.scope)
        if other.changed is not None and other.changed.isdisjoint(self.scope.reach(*both)):
            return None
        if self.scope.setting.is_complex and not other.is_complex and _is_complex(*both):
            return None
        found = self._found(sides, replace(self.scope, setting=other))
        if not found.is_true and particular is not None:
            found = decide(replace(sides, is_particular=True), replace(particular, setting=other))
        if other.reading and found.is_true:
            return found.with_notes([NoteKind.OTHER_READING.note(other.reading)])
        if found.kind != "true":
            return None
        if any(word in passage.lower() for word in other.said_by):
            return found.with_notes([NoteKind.ASSUMED_IN_TEXT.note(other.assuming)])
        return Finding(kind="unknown", reason=f"True if {other.assuming}, which the question does not say")

    # -- after a slip ------------------------------------------------------------------------------------------------
    def _after_slip(self, sides: Sides, last: LastSide) -> Finding | None:
        """A false step that is right but for an earlier slip: in the term before it, or in the query."""
        if last.is_wrong and last.anchor:
            corrected = self._found(replace(sides, left=last.anchor), self.scope)
            if corrected.is_true:
                return _not_judged("This line is right; the error is in the line before", corrected)
        for scope in self._intended_scopes(sides) if self.has_slipped else ():
            intended = self._found(sides, scope)
            if intended.is_true and not intended.is_approximation_meant:
                reason = "True for a correct query, but not for the q you wrote above"
                return _not_judged(reason, intended)
        return None

    def _intended_scopes(self, sides: Sides) -> Iterator[Scope]:
        """Scopes in which the query is the one that was asked for, its scale called β or as the step calls it."""
        yield self.intended
        for symbol in _bare_symbols(sides, self.scope):
            if symbol.name != "beta" and not self.scope.is_constant(symbol) and tends(symbol, self.scope):
                yield self.intended.with_meaning(SymbolMeaning(name="beta", formula=symbol))


def _bare_symbols(sides: Sides, scope: Scope) -> set[Symbol]:
    read = (readable(side, scope) for side in (sides.left, sides.right))
    return {symbol for side in read if side is not None for symbol in symbols(side) if not symbol.subscripts}


def _is_complex(*nodes: Expression) -> bool:
    """True if something is about complex numbers: it conjugates, takes a real or imaginary part, or holds an i."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, Accent) or (isinstance(node, Apply) and node.function in ("re", "im")) or node == _UNIT:
            return True
        pending += children(node)
    return False


def _not_judged(reason: str, finding: Finding) -> Finding:
    return Finding(kind="unknown", reason=reason, notes=finding.notes, is_after_slip=True)


# -- the steps of one question -----------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class TentativeQuery:
    """A query that is tried out to the end of its paragraph, and what was in force before it."""

    paragraph: int
    scope: Scope
    design_findings: Mapping[str, Finding]


@dataclass(kw_only=True)
class QuestionJudge:
    """Judges the formulas of one question one after the other; remembers definitions, designs and the chain above.

    `scope` is what names mean at the place that has been reached, `intended` what they would mean with the problem's
    own solution.
    """

    problem: Problem
    question: Question
    is_strict: bool = False
    designs: dict[str, Expression] = field(default_factory=dict)
    scope: Scope = field(init=False)
    intended: Scope = field(init=False)
    _base: Scope = field(init=False)
    _design_findings: dict[str, Finding] = field(init=False, default_factory=dict)
    _last: LastSide | None = field(init=False, default=None)
    _tentative: TentativeQuery | None = field(init=False, default=None)
    _settled: frozenset[str] = field(init=False, default=frozenset())
    _replaced: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self._base = Scope(setting=self.question.setting, neighbours=_neighbours(self.problem, self.question))
        self.intended = solved(self._base, self.question)
        self.scope = self.intended

    # -- designs are looked for first, since two of them may share one goal ------------------------------------------
    def prepare(self, formulas: Sequence[Formula]) -> None:
        """Find the designs of the question and judge them together; random symbols are random from the start."""
        for chain in (chain for formula in formulas for chain in formula.chains if chain.signs[0].text == "∼"):
            left = readable(chain.sides[0], self.scope)
            if isinstance(left, Symbol):
                self.scope = as_distribution(left, chain.sides[1], self.scope).scope or self.scope
        if self.question.design is None:
            return
        asserted = [formula for formula in formulas if not is_supposed(formula.surroundings)]
        supposed = [formula for formula in formulas if formula not in asserted]
        found = self._designs_in(asserted)
        self._settled = frozenset(found)
        for others in ([f for f in supposed if not is_denied(f.surroundings)], supposed):
            found = {**self._designs_in(others), **found}
        if found:
            self.designs = found
            self._design_findings = self._judged_designs(found)

    def _designs_in(self, formulas: Sequence[Formula]) -> dict[str, Expression]:
        """The first design of every open symbol among formulas."""
        found: dict[str, Expression] = {}
        for chain in (chain for formula in formulas for chain in formula.chains):
            for place, sign in enumerate(chain.signs):
                name = self._open_symbol(readable(chain.sides[place], self.scope))
                if name is not None and name not in found and sign.text in _DESIGNS:
                    expression = self._design_expression(chain.sides[place + 1 :])
                    if expression is not None and not (
                        isinstance(expression, Infinity) or self._is_spelt_out(expression)
                    ):
                        found[name] = expression
        return found

    def _design_expression(self, sides: Sequence[Sequence[Token]]) -> Expression | None:
        """What a symbol is designed as; in q_1 = q_2 = β μ_a that is the last of them."""
        expression = readable(sides[0], self.scope)
        is_open = len(sides) > 1 and self._open_symbol(expression) is not None
        return self._design_expression(sides[1:]) if is_open else expression

    def _judged_designs(self, found: dict[str, Expression]) -> dict[str, Finding]:
        try:
            return judge_designs(self._base, self.question, found)
        except (UnknownSymbol, NotUnderstood) as error:
            return dict.fromkeys(found, not_understood(error))

    def _is_spelt_out(self, expression: Expression | None) -> bool:
        """True for a query given entry by entry: it serves particular keys, which the goal says nothing about."""
        return expression is not None and is_spelt_out(expression, self.scope)

    def _open_symbol(self, expression: Expression | None) -> str | None:
        return open_symbol(expression, self.question, self._base)

    # -- chains ------------------------------------------------------------------------------------------------------
    def judge(self, formula: Formula) -> list[JudgedStep]:
        """Every step of a formula with its finding."""
        conditions = (*formula.conditions, *index_conditions(formula.chains, self.question.setting))
        steps: list[JudgedStep] = []
        for chain in formula.chains:
            before = f"{formula.surroundings.before} {chain.before}"
            around = replace(formula.surroundings, before=before)
            steps += self._judge_chain(chain, replace(formula, surroundings=around, conditions=conditions))
        return steps

    def judge_without_effect(self, formula: Formula) -> list[JudgedStep]:
        """The findings on a formula of another question, without taking up anything that it defines."""
        before = self.scope, self._last, self._design_findings, self._tentative
        steps = self.judge(formula)
        self.scope, self._last, self._design_findings, self._tentative = before
        return steps

    def defines_part_of(self, formula: Formula) -> bool:
        """True if a formula speaks of something that the document has designed or defined."""
        sides = [readable(side, self.scope) for chain in formula.chains for side in chain.sides]
        reached = self.scope.reach(*(side for side in sides if side is not None))
        own = {key for key, meaning in self.scope.own.items() if meaning.formula is not None}
        return bool(reached & {*self.designs, *(own - self.intended.own.keys())})

    def _judge_chain(self, chain: Chain, formula: Formula) -> list[JudgedStep]:
        steps = []
        last = LastSide(chain.sides[0], chain.sides[0])
        if not chain.sides[0] and self._last is not None:
            last = self._last
        for place, (sign, right) in enumerate(zip(chain.signs, chain.sides[1:], strict=True)):
            found = self._step(last, sign.text, right, formula)
            self.scope = found.scope or self.scope
            steps.append(step_at(chain, place, found.kind, found.finding))
            last = LastSide(right, last.anchor, is_wrong=True) if found.finding.is_false else LastSide(right, right)
        if not chain.is_nested and last.side:
            self._last = last
        return steps

    def _step(self, last: LastSide, sign: str, right: tuple[Token, ...], formula: Formula) -> RecognisedStep:
        if not last.side or not right:
            return RecognisedStep(kind="step", finding=not_understood("One side of the relation is missing"))
        try:
            found = self._recognised(last, sign, right, formula)
            return replace(found, finding=shown(found.finding))
        except NotUnderstood as error:
            return RecognisedStep(kind="step", finding=not_understood(error))
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            reason = f"Internal error while checking this step: {type(error).__name__}: {error}"
            return RecognisedStep(kind="step", finding=not_understood(reason))

    def _recognised(self, last: LastSide, sign: str, right: tuple[Token, ...], formula: Formula) -> RecognisedStep:
        """A condition, what the problem gives, a design or definition, or else a step to be decided."""
        left, target = readable(last.side, self.scope), readable(right, self.scope)
        condition = as_condition(left, sign, target, self.scope)
        if condition is not None:
            return condition
        if (left, sign, target) in self._givens:
            return RecognisedStep(
                kind="given", finding=true("Given by the problem"), scope=self._given_query(left, target)
            )
        if isinstance(left, Symbol) and sign in _BINDS:
            named = as_coordinates(left, Sides(left=last.side, sign=sign, right=right), self.scope)
            bound = named or self._bound_in(formula, left, Sides(left=last.side, sign=sign, right=right))
            if bound is not None:
                return bound
        return self._decided(last, sign, right, formula)

    def _given_query(self, left: Expression | None, right: Expression | None) -> Scope | None:
        """The scope with the query that the problem gives, where the text had gone on with another one."""
        name = describe(left) if isinstance(left, Symbol) else ""
        is_other = name in self._asked and name in self.scope.own
        return bind(self.scope, name, right) if is_other and right is not None else None

    @cached_property
    def _givens(self) -> list[tuple[Expression | None, str, Expression | None]]:
        chains = map(first_chain, self.question.given)
        return [
            (readable(chain.sides[0], self.scope), chain.signs[0].text, readable(chain.sides[1], self.scope))
            for chain in chains
        ]

    # -- designs and definitions -------------------------------------------------------------------------------------
    def _bound_in(self, formula: Formula, left: Symbol, sides: Sides) -> RecognisedStep | None:
        """A design or definition; one that is denied, or only tentative, lasts to the end of its paragraph."""
        is_tentative = self._is_tentative(left, formula)
        if not is_tentative and describe(left) in self._asked:
            self._end_tentative_query()
        tentative = TentativeQuery(paragraph=formula.paragraph, scope=self.scope, design_findings=self._design_findings)
        bound = self._bound(left, sides)
        if bound is None or not (is_tentative or (bound.finding.is_false and is_denied(formula.surroundings))):
            return bound
        self._tentative = self._tentative or tentative
        if not bound.finding.is_false:
            return bound
        return replace(bound, kind="supposition", finding=_never_false(bound.finding))

    def _is_tentative(self, left: Symbol, formula: Formula) -> bool:
        """Whether a query is only tentative: under a condition beside the document's own, or as an example."""
        name, around = self._open_symbol(left) or describe(left), formula.surroundings
        if self.question.design is not None:
            return name in self._settled and is_supposed(around)
        return name in self._asked and (is_supposed(around) or is_example(around))

    def end_tentative_query(self, paragraph: int) -> None:
        """Where another paragraph begins, a tentative query is given up."""
        if self._tentative is not None and self._tentative.paragraph != paragraph:
            self._end_tentative_query()

    def _end_tentative_query(self) -> None:
        if self._tentative is not None:
            self.scope, self._design_findings = self._tentative.scope, dict(self._tentative.design_findings)
            self._tentative = None

    def _bound(self, left: Symbol, sides: Sides) -> RecognisedStep | None:
        """A design, or the definition of a new symbol; None where the symbol is known and the step is to be judged."""
        if sides.sign == "∼":
            return as_distribution(left, sides.right, self.scope)
        if describe(left) in self._asked and self._is_spelt_out(readable(sides.right, self.scope)):
            return RecognisedStep(kind="supposition", finding=true("A particular value"))
        name = self._open_symbol(left)
        if name is not None and name in self._design_findings and sides.sign != "∈":
            return self._designed(name, sides.right)
        if sides.sign == "=" and self.question.design is None and describe(left) in self._asked:
            scope = bind(self.scope, describe(left), read_side(sides.right, self.scope))
            self._replaced |= {describe(left)}
            return RecognisedStep(
                kind="definition", finding=true("The query that the question continues with"), scope=scope
            )
        if self._is_to_be_judged(left, sides):
            return None
        return as_definition(left, sides.sign, sides.right, self.scope)

    def _designed(self, name: str, right: tuple[Token, ...]) -> RecognisedStep:
        expression = read_side(right, self.scope)
        if self._open_symbol(expression) is not None:
            expression = self.designs[name]
        if expression == self.designs[name]:
            finding = self._design_findings[name]
        else:
            finding = self._judged_designs({**self.designs, name: expression})[name]
        if finding.is_false:
            self._design_findings = {**self._design_findings, name: finding}
        return RecognisedStep(kind="design", finding=finding, scope=bind(self.scope, name, expression))

    def _is_to_be_judged(self, left: Symbol, sides: Sides) -> bool:
        """Whether the symbol is known; what is only known in the other case, or may be anything, can be defined."""
        if is_in_the_other_case(left, self.scope) and not decide(sides, self.scope).is_true:
            return False
        is_anything = self.scope.knows(left) and Assumption.ANY in self.scope.find(left).meaning.assume
        is_function = left.name in self.question.setting.functions
        is_known = self.scope.knows(left) or self.scope.is_constant(left) or is_function or self.scope.is_entry(left)
        return is_known and not (is_anything and sides.sign == "=")

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The symbols that any question of the problem leaves open."""
        designs = (question.design for question in self.problem.questions)
        return frozenset(name for design in designs if design is not None for name in design.symbols)

    # -- steps that are decided --------------------------------------------------------------------------------------
    def _decided(self, last: LastSide, sign: str, right: tuple[Token, ...], formula: Formula) -> RecognisedStep:
        around = formula.surroundings
        on_numbers = any(not tends(premise.left, self.scope) for premise in formula.premises)
        on_chance = on_numbers or is_left_to_chance(around, self.scope)
        supposed = is_supposed(around) or on_chance or is_driven_elsewhere(formula.sentence, self.scope)
        premises = (*formula.premises, *premises_in_prose(around)) if supposed else ()
        sides = Sides(left=last.side, sign=sign, right=right, conditions=formula.conditions, premises=premises)
        finding = self._decider().decide(sides, last, formula)
        if supposed:
            return RecognisedStep(kind="supposition", finding=_never_false(finding))
        return RecognisedStep(kind="step", finding=finding)

    def _decider(self) -> StepDecider:
        own = {key: meaning for key, meaning in self.scope.own.items() if key not in self._replaced}
        return StepDecider(
            scope=self.scope,
            intended=replace(self.intended, own={**own, **self.intended.own}),
            before=None if self._tentative is None else self._tentative.scope,
            has_slipped=any(found.is_false for found in self._design_findings.values()) or self._redefines_query(),
            is_strict=self.is_strict,
        )

    def _redefines_query(self) -> bool:
        """True if the text has put a query of its own in the place of the one that the question continues with."""
        return not self._asked.isdisjoint(self.scope.own.keys() - self.intended.own.keys() - self.designs.keys())


def _neighbours(problem: Problem, own: Question) -> dict[str, SymbolMeaning]:
    """The random numbers of other questions."""
    return {
        key: meaning
        for question in problem.questions
        for key, meaning in question.setting.symbols.items()
        if meaning.is_random_number and key not in own.setting.symbols
    }


def _never_false(finding: Finding) -> Finding:
    if not finding.is_false:
        return finding
    return Finding(kind="unknown", reason='Not checked: it depends on the "if …" before it', notes=finding.notes)


# -- the steps of a document -------------------------------------------------------------------------------------------
Judges = Mapping[str, QuestionJudge]


def judges_for(formulas: Sequence[PlacedFormula], problem: Problem, *, is_strict: bool) -> Judges:
    """A judge for every question that a formula may answer, prepared with the designs among all of them."""
    judges: dict[str, QuestionJudge] = {}
    for question in (question for placed in formulas for question in placed.questions):
        if question.id not in judges:
            judges[question.id] = QuestionJudge(problem=problem, question=question, is_strict=is_strict)
            judges[question.id].prepare([other.formula for other in formulas if question in other.questions])
    return judges


def judge_formula(placed: PlacedFormula, judges: Judges) -> list[JudgedStep]:
    """The steps of a formula, as many as it has relation signs."""
    if placed.error is not None:
        return _unread(placed)
    chains = placed.formula.chains
    if not placed.is_answer:
        restated = true("The question, restated")
        return [step_at(chain, place, "given", restated) for chain in chains for place in range(len(chain.signs))]
    if placed.question is None:
        unknown = not_understood("No question of the problem fits this formula")
        return [step_at(chain, place, "step", unknown) for chain in chains for place in range(len(chain.signs))]
    judge = judges[placed.question.id]
    for each in judges.values():
        each.end_tentative_query(placed.formula.paragraph)
    _inherit(judge, judges, placed)
    steps = judge.judge(placed.formula)
    steps = _under_alternatives(steps, placed, judges) if any(step.finding.is_false for step in steps) else steps
    return [*steps, *_unread(placed)]


def _unread(placed: PlacedFormula) -> list[JudgedStep]:
    """An undecided step for each relation sign that no chain holds; for all, if there are no tokens at all."""
    source, chains = placed.source.text, placed.formula.chains
    finding = not_understood(placed.error or "This relation could not be read")
    is_read = placed.error is None
    offsets = unread_signs(source, chains) if is_read else [offset for offset, _ in relation_signs(source)]
    return [
        JudgedStep(kind="step", finding=finding, start=offset if is_read else 0, end=len(source), sign_start=offset)
        for offset in offsets
    ]


def _inherit(judge: QuestionJudge, judges: Judges, placed: PlacedFormula) -> None:
    """What the document has defined carries over: scales everywhere, the rest from one part of a question to the next.

    Without headings there are no parts, and everything carries over.
    """
    for other in (other for other in judges.values() if other is not judge):
        is_sibling = other.question.path[:2] == judge.question.path[:2]
        for key, meaning in other.scope.own.items():
            is_part = is_sibling or not (placed.is_under_heading or key in other.designs)
            is_scale = meaning.tends == "infinity" and meaning.formula is None
            is_open = key not in judge.question.setting.symbols or (is_part and judge.question.design is None)
            is_written = meaning is not other.intended.own.get(key)
            if is_written and key not in judge.scope.own and (is_part or is_scale) and is_open:
                judge.scope = judge.scope.with_meaning(meaning)


def _under_alternatives(steps: list[JudgedStep], placed: PlacedFormula, judges: Judges) -> list[JudgedStep]:
    """If it is unclear which question a step answers, it is refuted only if it fails under every one that fits.

    A step about what the document itself has defined is clear: another question would put its own meaning in.
    """
    assert placed.question is not None
    if judges[placed.question.id].defines_part_of(placed.formula) and not placed.is_lumped:
        return steps
    for other in placed.alternatives:
        others = judges[other.id].judge_without_effect(placed.formula)
        steps = [
            second if _prevails(first, second, is_lumped=placed.is_lumped) else first
            for first, second in zip(steps, others, strict=True)
        ]
    return steps


def _prevails(first: JudgedStep, second: JudgedStep, *, is_lumped: bool) -> bool:
    """Whether the finding under another question counts: true, wrong only after a slip, or true with a probability."""
    if not first.finding.is_false or second.kind in ("definition", "given"):
        return False
    is_chance = is_lumped and second.finding.probability is not None
    if is_chance or second.finding.is_after_slip:
        return True
    return second.finding.is_true and not second.finding.has_note(NoteKind.ANY_NUMBER)
