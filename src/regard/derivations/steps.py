"""The steps of one question, judged in reading order: each is recognised for what it is, then decided."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from regard.derivations.asides import Aside, is_example
from regard.derivations.context import is_denied, is_supposed, premises_in_prose
from regard.derivations.deciding import Footing, Last
from regard.derivations.definitions import as_coordinates, as_definition
from regard.derivations.designs import bind, judge_designs, open_symbol, solved
from regard.derivations.distributions import as_distribution
from regard.derivations.formulas import Formula, JudgedStep, index_conditions, step_at
from regard.derivations.judging.findings import Finding, not_understood, true
from regard.derivations.judging.judge import decide, shown
from regard.derivations.judging.readings import Sides, read_side
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.notation.statements import Chain, first_chain
from regard.derivations.notation.syntax import Expression, Infinity, Symbol, describe
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import Problem, Question, SymbolMeaning
from regard.derivations.recognising import (
    Recognised,
    as_condition,
    is_driven_elsewhere,
    is_in_the_other_case,
    is_left_to_chance,
    is_spelt_out,
    readable,
    tends,
)

_BINDS = ("=", "≈", "∼", "∝", "∈")
_DESIGNS = ("=", "≈", "∝")


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
    _last: Last | None = field(init=False, default=None)
    _aside: Aside | None = field(init=False, default=None)
    _settled: frozenset[str] = field(init=False, default=frozenset())
    _replaced: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self._base = Scope(setting=self.question.setting, neighbours=_neighbours(self.problem, self.question))
        self.intended = solved(self._base, self.question)
        self.scope = self.intended

    # -- designs are looked for first, since two of them may share one goal ------------------------------------------
    def prepare(self, formulas: Sequence[Formula]) -> None:
        """Find the designs of the question and judge them together; what is random is so from the start."""
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

    def second_opinion(self, formula: Formula) -> list[JudgedStep]:
        """What this judge says of a formula that another judges, without taking up anything that it defines."""
        before = self.scope, self._last, self._design_findings, self._aside
        steps = self.judge(formula)
        self.scope, self._last, self._design_findings, self._aside = before
        return steps

    def defines_part_of(self, formula: Formula) -> bool:
        """True if a formula speaks of something that the document has designed or defined."""
        sides = [readable(side, self.scope) for chain in formula.chains for side in chain.sides]
        reached = self.scope.reach(*(side for side in sides if side is not None))
        own = {key for key, meaning in self.scope.own.items() if meaning.formula is not None}
        return bool(reached & {*self.designs, *(own - self.intended.own.keys())})

    def _judge_chain(self, chain: Chain, formula: Formula) -> list[JudgedStep]:
        steps = []
        last = Last(chain.sides[0], chain.sides[0])
        if not chain.sides[0] and self._last is not None:
            last = self._last
        for place, (sign, right) in enumerate(zip(chain.signs, chain.sides[1:], strict=True)):
            found = self._step(last, sign.text, right, formula)
            self.scope = found.scope or self.scope
            steps.append(step_at(chain, place, found.kind, found.finding, is_supposed=found.is_supposed))
            last = Last(right, last.anchor, is_wrong=True) if found.finding.is_false else Last(right, right)
        if not chain.is_nested and last.side:
            self._last = last
        return steps

    def _step(self, last: Last, sign: str, right: tuple[Token, ...], formula: Formula) -> Recognised:
        if not last.side or not right:
            return Recognised(kind="step", finding=not_understood("one side of the relation is missing"))
        try:
            found = self._recognised(last, sign, right, formula)
            return replace(found, finding=shown(found.finding))
        except NotUnderstood as error:
            return Recognised(kind="step", finding=not_understood(error))
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            reason = f"the judge failed on it: {type(error).__name__}: {error}"
            return Recognised(kind="step", finding=not_understood(reason))

    def _recognised(self, last: Last, sign: str, right: tuple[Token, ...], formula: Formula) -> Recognised:
        """A condition, what the problem gives, a design or definition, or else a step to be decided."""
        left, target = readable(last.side, self.scope), readable(right, self.scope)
        condition = as_condition(left, sign, target, self.scope)
        if condition is not None:
            return condition
        if (left, sign, target) in self._givens:
            return Recognised(kind="given", finding=true("the problem gives it"), scope=self._given_query(left, target))
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
    def _bound_in(self, formula: Formula, left: Symbol, sides: Sides) -> Recognised | None:
        """A design or definition; one that is denied, or only tried out, lasts to the end of its paragraph."""
        is_passing = self._is_passing(left, formula)
        if not is_passing and describe(left) in self._asked:
            self._return()
        aside = Aside(paragraph=formula.paragraph, scope=self.scope, design_findings=self._design_findings)
        bound = self._bound(left, sides)
        if bound is None or not (is_passing or (bound.finding.is_false and is_denied(formula.surroundings))):
            return bound
        self._aside = self._aside or aside
        if not bound.finding.is_false:
            return bound
        return replace(bound, kind="supposition", finding=_never_false(bound.finding), is_supposed=True)

    def _is_passing(self, left: Symbol, formula: Formula) -> bool:
        """Whether a query is only tried out: under a condition beside the document's own, or as an example."""
        name, around = self._open_symbol(left) or describe(left), formula.surroundings
        if self.question.design is not None:
            return name in self._settled and is_supposed(around)
        return name in self._asked and (is_supposed(around) or is_example(around))

    def leave_aside(self, paragraph: int) -> None:
        """Where another paragraph begins, a query that was only tried out is given up."""
        if self._aside is not None and self._aside.paragraph != paragraph:
            self._return()

    def _return(self) -> None:
        if self._aside is not None:
            self.scope, self._design_findings = self._aside.scope, dict(self._aside.design_findings)
            self._aside = None

    def _bound(self, left: Symbol, sides: Sides) -> Recognised | None:
        """A design, or the definition of a new symbol; None where the symbol is known and the step is to be judged."""
        if sides.sign == "∼":
            return as_distribution(left, sides.right, self.scope)
        if describe(left) in self._asked and self._is_spelt_out(readable(sides.right, self.scope)):
            return Recognised(kind="supposition", finding=true("a particular value"))
        name = self._open_symbol(left)
        if name is not None and name in self._design_findings and sides.sign != "∈":
            return self._designed(name, sides.right)
        if sides.sign == "=" and self.question.design is None and describe(left) in self._asked:
            scope = bind(self.scope, describe(left), read_side(sides.right, self.scope))
            self._replaced |= {describe(left)}
            return Recognised(kind="definition", finding=true("the query that the question goes on with"), scope=scope)
        if self._is_to_be_judged(left, sides):
            return None
        return as_definition(left, sides.sign, sides.right, self.scope)

    def _designed(self, name: str, right: tuple[Token, ...]) -> Recognised:
        expression = read_side(right, self.scope)
        if self._open_symbol(expression) is not None:
            expression = self.designs[name]
        if expression == self.designs[name]:
            finding = self._design_findings[name]
        else:
            finding = self._judged_designs({**self.designs, name: expression})[name]
        if finding.is_false:
            self._design_findings = {**self._design_findings, name: finding}
        return Recognised(kind="design", finding=finding, scope=bind(self.scope, name, expression))

    def _is_to_be_judged(self, left: Symbol, sides: Sides) -> bool:
        """Whether the symbol is known; what is only known in the other case, or may be anything, can be defined."""
        if is_in_the_other_case(left, self.scope) and not decide(sides, self.scope).is_true:
            return False
        is_anything = self.scope.knows(left) and "any" in self.scope.find(left).meaning.assume
        is_function = left.name in self.question.setting.functions
        is_known = self.scope.knows(left) or self.scope.is_constant(left) or is_function
        return is_known and not (is_anything and sides.sign == "=")

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The symbols that any question of the problem leaves open."""
        designs = (question.design for question in self.problem.questions)
        return frozenset(name for design in designs if design is not None for name in design.symbols)

    # -- steps that are decided --------------------------------------------------------------------------------------
    def _decided(self, last: Last, sign: str, right: tuple[Token, ...], formula: Formula) -> Recognised:
        around = formula.surroundings
        on_numbers = any(not tends(premise.left, self.scope) for premise in formula.premises)
        on_chance = on_numbers or is_left_to_chance(around, self.scope)
        supposed = is_supposed(around) or on_chance or is_driven_elsewhere(formula.sentence, self.scope)
        premises = (*formula.premises, *premises_in_prose(around)) if supposed else ()
        sides = Sides(left=last.side, sign=sign, right=right, conditions=formula.conditions, premises=premises)
        finding = self._footing().decide(sides, last, formula)
        if supposed:
            return Recognised(kind="supposition", finding=_never_false(finding), is_supposed=True)
        return Recognised(kind="step", finding=finding)

    def _footing(self) -> Footing:
        own = {key: meaning for key, meaning in self.scope.own.items() if key not in self._replaced}
        return Footing(
            scope=self.scope,
            intended=replace(self.intended, own={**own, **self.intended.own}),
            before=None if self._aside is None else self._aside.scope,
            has_slipped=any(found.is_false for found in self._design_findings.values()) or self._redefines_query(),
            is_strict=self.is_strict,
        )

    def _redefines_query(self) -> bool:
        """True if the text has put a query of its own in the place of the one that the question goes on with."""
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
    return Finding(kind="unknown", reason="it stands under a written condition, and is not judged", notes=finding.notes)
