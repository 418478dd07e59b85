"""The steps of a document in reading order: the role of each is recognised, then it is decided in its environment."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, pairwise, product
from typing import Any

from regard.derivations.context.adjoints import GradientNames, gradient_names
from regard.derivations.context.appeal import Appeal, LastSide
from regard.derivations.context.atoms import with_atoms
from regard.derivations.context.bounds import as_bound
from regard.derivations.context.clauses import Clause
from regard.derivations.context.complex_numbers import is_surely_complex, with_imaginary_unit
from regard.derivations.context.declarations import SectionSymbols, without_symbols
from regard.derivations.context.definitions import as_own_statement, as_value
from regard.derivations.context.designs import bind, judge_designs, open_symbol, reaches_goal, scaled, solved
from regard.derivations.context.environment import (
    Premises,
    Recognised,
    apply_conditions,
    as_condition,
    as_coordinates,
    as_definition,
    as_distribution,
    as_membership,
    as_remainder,
    at_particular_values,
    has_own_numbers,
    is_drawn,
    is_driven_elsewhere,
    is_guessed,
    is_number,
    is_renamed_scale,
    is_shifted,
    is_spelt_out,
    new_regime,
    readable,
    renamed_scale,
    with_declared,
)
from regard.derivations.context.formulas import (
    Formula,
    JudgedStep,
    Sentence,
    StatedRelation,
    index_conditions,
    plain,
    step_at,
)
from regard.derivations.context.squares import with_squares
from regard.derivations.context.units import without_units
from regard.derivations.judging.exact import confirmed
from regard.derivations.judging.findings import (
    UNEXPECTED,
    Finding,
    OpenBecause,
    internal_error,
    left_open,
    not_understood,
    true,
)
from regard.derivations.judging.judge import decide, holds, shown
from regard.derivations.judging.relations import Sides, read_side, spell
from regard.derivations.judging.scope import CONSTANTS, Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption, Kind, SymbolMeaning
from regard.derivations.judging.shapes import likely_kinds
from regard.derivations.notation.statements import Chain, first_chain, has_words_for_a_side
from regard.derivations.notation.syntax import (
    Apply,
    Derivative,
    Expression,
    Identity,
    Infinity,
    Matrix,
    Number,
    Symbol,
    describe,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import PLACEHOLDER
from regard.derivations.reading.phrases import any_of
from regard.derivations.results import INFERRED, Role

_LARGEST_PLAIN = 4
_MOST_COMBINATIONS = 12
_EQUAL_SIZE = 3
_BINDS = ("=", "≈", "∼", "∝", "∈")
_DESIGNS = ("=", "≈", "∝")
_HYPOTHESIS = re.compile(any_of("hypothesis"), re.IGNORECASE)
_GIVEN_THAT = ("|", "\\mid", "\\vert")
_TENTATIVE = (Role.SUPPOSITION, Role.WANTED, Role.POSSIBILITY)


@dataclass(frozen=True, kw_only=True)
class FormulaInContext:
    """A formula, its sentence, and one clause for each of its chains."""

    formula: Formula
    sentence: Sentence
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One chain of relations with its clause, the formula that it stands in, and the sides that are still to come."""

    chain: Chain
    clause: Clause
    within: FormulaInContext
    sign: str = ""
    rest: tuple[tuple[Token, ...], ...] = ()

    @property
    def sentence(self) -> int:
        """Where its sentence begins."""
        return self.within.formula.sentence


@dataclass(frozen=True, kw_only=True)
class TriedQuery:
    """A query that is only supposed, to the end of its paragraph, and what was in force before it."""

    sentence: int
    paragraph: int
    scope: Scope
    design_findings: Mapping[str, Finding]


@dataclass(kw_only=True)
class QuestionJudge:
    """Judges the formulas of one question one after the other; remembers definitions, designs and the chain above.

    `scope` is what names mean at the place that has been reached, `intended` what they would mean with the problem's
    own solution, `last` the side that a line without a left side continues. `designs` are the author's, found before
    the first step is judged, since two may share one goal; `offered` are all of them, as far as they have been read.
    `values` are the particular values that the document has given so far, shared by all its questions.
    """

    problem: Problem
    question: Question
    is_strict: bool = False
    designs: dict[str, Expression] = field(default_factory=dict)
    offered: list[tuple[str, Expression]] = field(default_factory=list)
    values: list[Chain] = field(default_factory=list)
    scope: Scope = field(init=False)
    intended: Scope = field(init=False)
    last: LastSide | None = field(init=False, default=None)
    _base: Scope = field(init=False)
    _design_findings: dict[str, Finding] = field(init=False, default_factory=dict)
    _trial: TriedQuery | None = field(init=False, default=None)
    _alternatives: dict[str, list[Expression]] = field(init=False, default_factory=dict)
    _half_read: set[str] = field(init=False, default_factory=set)
    _defined_in: dict[str, int] = field(init=False, default_factory=dict)
    _author_here: tuple[Scope, Scope] | None = field(init=False, default=None)
    _settled: frozenset[str] = field(init=False, default=frozenset())
    _sound: set[str] = field(init=False, default_factory=set)
    _supposed_in: int | None = field(init=False, default=None)
    _written: dict[str, Expression] = field(init=False, default_factory=dict)
    _loose: set[str] = field(init=False, default_factory=set)
    _earlier: frozenset[str] = field(init=False, default=frozenset())
    _valued: dict[str, tuple[Kind, ...]] = field(init=False, default_factory=dict)
    _first: dict[str, SymbolMeaning] = field(init=False, default_factory=dict)
    _equal_sizes: dict[str, str] = field(init=False, default_factory=dict)
    _size_relations: dict[str, SymbolMeaning] = field(init=False, default_factory=dict)
    _gradient_names: GradientNames | None = field(init=False, default=None)
    _supposed: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._base = Scope(setting=self.question.setting, neighbours=_neighbours(self.problem, self.question))
        self.intended = solved(self._base, self.question)
        self.scope = self.intended

    # -- designs -----------------------------------------------------------------------------------------------------
    def prepare(self, formulas: Sequence[FormulaInContext]) -> None:
        """Find the designs of the question and judge them together; random symbols are random from the start."""
        statements = [statement for formula in formulas for statement in statements_of(formula)]
        used: set[Symbol] = set()
        for chain in (item.chain for item in statements):
            left, sign = readable(chain.sides[0], self.scope), chain.signs[0].text
            if isinstance(left, Symbol) and sign == "∼" and not self._is_inferred:
                self.scope = as_distribution(left, chain.sides[1], self.scope).scope or self.scope
            elif isinstance(left, Symbol) and sign in ("→", "≪"):
                regime = new_regime(left, sign, readable(chain.sides[1], self.scope), self.scope)
                is_late = regime is not None and left in used and regime.own[describe(left)].tends == "zero"
                if regime is not None and not is_late:
                    self.scope, self._base = self._with_regime(left, regime)
            used.update(symbol for side in map(plain, chain.sides) if side is not None for symbol in symbols(side))
        if self.question.design is None:
            return
        found = self._designs_in(item.chain for item in statements if item.clause.role is Role.ASSERTION)
        self._settled = frozenset(found)
        for roles in (_TENTATIVE, (Role.DENIAL, Role.STRUCK)):
            found = {**self._designs_in(item.chain for item in statements if item.clause.role in roles), **found}
        for item in statements:
            for name, expression in self._designs_in([item.chain]).items():
                alternatives = self._alternatives.setdefault(name, [])
                if expression not in alternatives:
                    alternatives.append(expression)
        if found:
            self.designs = found
            self._design_findings = self._judged_designs(found)

    def _with_regime(self, letter: Symbol, regime: Scope) -> tuple[Scope, Scope]:
        meaning = regime.own[describe(letter)]
        return regime, self._base.with_meaning(meaning)

    def _designs_in(self, chains: Iterable[Chain]) -> dict[str, Expression]:
        """The first design of every open symbol among chains."""
        found: dict[str, Expression] = {}
        for chain in chains:
            for place, sign in enumerate(chain.signs):
                name = self._open_symbol(readable(chain.sides[place], self.scope))
                if name is not None and name not in found and sign.text in _DESIGNS:
                    expression = self._design_expression(chain.sides[place + 1 :])
                    if expression is not None and not self._is_no_design(expression):
                        found[name] = expression
        return found

    def _is_no_design(self, expression: Expression) -> bool:
        return isinstance(expression, Infinity) or is_spelt_out(expression, self.scope)

    def _design_expression(self, sides: Sequence[tuple[Token, ...]]) -> Expression | None:
        """What a symbol is designed as; in q_1 = q_2 = β μ_a that is the last of them."""
        expression = readable(sides[0], self.scope)
        is_open = len(sides) > 1 and self._open_symbol(expression) is not None
        return self._design_expression(sides[1:]) if is_open else expression

    def _judged_designs(self, found: dict[str, Expression]) -> dict[str, Finding]:
        try:
            return judge_designs(self._base, self.question, found)
        except (UnknownSymbol, NotUnderstood) as error:
            return dict.fromkeys(found, not_understood(error))

    def _reaches_goal(self, found: dict[str, Expression], name: str) -> bool:
        try:
            return reaches_goal(self._base, self.question, found, name)
        except (UnknownSymbol, NotUnderstood):
            return False

    def _open_symbol(self, expression: Expression | None) -> str | None:
        return open_symbol(expression, self.question, self._base)

    # -- chains ------------------------------------------------------------------------------------------------------
    def judge(self, formula: FormulaInContext) -> list[JudgedStep]:
        """Every step of a formula with its role and finding."""
        self.scope = with_declared(formula.sentence.words, self.scope)
        if _HYPOTHESIS.search(formula.sentence.passage):
            self._supposed_in = formula.formula.paragraph
        steps = [step for statement in statements_of(formula) for step in self._judge_chain(statement)]
        self.values += [chain for chain in formula.formula.chains if is_number(chain, self.scope)]
        return steps

    def enter_section(self, section: SectionSymbols) -> None:
        """Go on with the symbols of another section: what it states again is no longer what it was."""
        kept = {
            key: meaning
            for key, meaning in self.scope.own.items()
            if key not in section.stated and not _is_value(meaning)
        }
        setting = without_symbols(section.setting, {meaning.name for meaning in kept.values()})
        functions = {**self.scope.setting.functions, **setting.functions}
        setting = replace(setting, functions=functions, seed=self.question.setting.seed)
        self.question = replace(self.question, setting=setting)
        self._base = self.intended = Scope(setting=setting)
        self.scope, self.last = replace(self._base, own=kept, opaque=self.scope.opaque - section.stated), None
        self._loose = set(kept)
        self._earlier = frozenset(setting.symbols.keys() - setting.undeclared - section.stated)

    def take_prelude(self, formula: Formula) -> None:
        """Learn from the assignment's own text under which letter its edition has one of the problem's scales."""
        for chain in (chain for chain in formula.chains if chain.signs[0].text == "="):
            sides = Sides(left=chain.sides[0], sign="=", right=chain.sides[1])
            try:
                renamed = renamed_scale(sides, self._base)
            except NotUnderstood:
                continue
            if renamed is not None:
                self.scope = self.scope.with_meaning(renamed)

    def written_for(self, other: "QuestionJudge") -> Scope:
        """What the author has defined, over the solution of another question instead of this one's."""
        solution = self.intended.own
        written = {key: meaning for key, meaning in self.scope.own.items() if meaning is not solution.get(key)}
        return replace(self.scope, own={**other.intended.own, **written})

    def judge_for(self, author: Scope, formula: FormulaInContext, last: LastSide | None) -> list[JudgedStep]:
        """The findings on a formula of another question, in the author's environment over this question's symbols.

        What fails here too is reported as the first question found it.
        """
        before = self.scope, self.last, self._design_findings, self._trial, list(self.offered)
        if self._author_here is None or self._author_here[0] is not author:
            self._author_here = author, replace(author, setting=self.question.setting)
        self.scope, self.last = self._author_here[1], last
        steps = self.judge(formula)
        self.scope, self.last, self._design_findings, self._trial, self.offered = before
        return steps

    def _judge_chain(self, statement: Statement) -> list[JudgedStep]:
        chain, steps = statement.chain, []
        last = LastSide(chain.sides[0], chain.sides[0])
        words = statement.clause.before.rpartition(PLACEHOLDER)[2]
        if not chain.sides[0] and self.last is not None and not has_words_for_a_side(words):
            last = self.last
        for place, (sign, right) in enumerate(zip(chain.signs, chain.sides[1:], strict=True)):
            found = self._step(
                last, sign.text, right, replace(statement, sign=sign.text, rest=chain.sides[place + 1 :])
            )
            self.scope = found.scope or self.scope
            if self._is_inferred:
                self._note_said(last.side, sign.text, right, found)
            step = replace(
                step_at(chain, place, found.role, found.finding),
                is_conditional=not statement.clause.condition.is_empty,
                is_tentative=not statement.clause.role.is_claim,
                is_introduced=place == 0 and statement.clause.is_defining and not statement.clause.is_introduced,
                stated=StatedRelation(left=last.side, sign=sign.text, right=right, scope=self.scope),
            )
            steps.append(step)
            last = LastSide(right, last.anchor, is_wrong=True) if found.finding.is_false else LastSide(right, right)
        is_aside = (
            chain.is_nested or chain.is_reason or all(step.role in (Role.INDEX, Role.SUPPOSITION) for step in steps)
        )
        if not is_aside and last.side:
            self.last = last
        return steps

    def _note_said(self, left: tuple[Token, ...], sign: str, right: tuple[Token, ...], found: Recognised) -> None:
        """Remember what the document says of symbols first, which sizes are equal, and how it names gradients."""
        for key, meaning in self.scope.own.items() if found.scope is not None else ():
            kind = _kind_of_value(meaning)
            if kind is not None:
                self._valued[key] = kind
            elif meaning.formula is not None:
                self._first.setdefault(key, meaning)
        sides = readable(left, self.scope), readable(right, self.scope)
        if sign == "=":
            self._note_equation(*sides, found.role)
        if found.role in _TENTATIVE and not (sign == "=" and isinstance(sides[0], Symbol)):
            self._supposed |= self.scope.reach(*(side for side in sides if side is not None))

    def _note_equation(self, left: Expression | None, right: Expression | None, role: Role) -> None:
        self._gradient_names = gradient_names(left, right) or self._gradient_names
        if not isinstance(left, Symbol) or right is None:
            return
        name = describe(left)
        are_sizes = isinstance(right, Symbol) and self.scope.is_constant(left) and self.scope.is_constant(right)
        if are_sizes and role is not Role.ASSERTION:
            self._equal_sizes[name] = describe(right)
        if name in self.scope.setting.sizes and role is Role.SUPPOSITION:
            self._size_relations[name] = SymbolMeaning(name=name, formula=right)

    def _with_gradients(self, *sides: tuple[Token, ...]) -> Scope:
        """The scope in which every name of a gradient stands for one, unless the document has said otherwise."""
        scope = self.scope
        read = (readable(side, scope) for side in sides) if self._gradient_names is not None else ()
        for symbol in (symbol for side in read if side is not None for symbol in symbols(side)):
            names, found = self._gradient_names, scope.lookup(symbol)
            is_open = found is None or (found.meaning.formula is None and found.meaning.key not in scope.own)
            if names and is_open and (meaning := names.meaning(symbol, scope.setting.free)) is not None:
                scope = scope.with_meaning(meaning)
        return scope

    def _step(self, last: LastSide, sign: str, right: tuple[Token, ...], statement: Statement) -> Recognised:
        role = statement.clause.role
        if self._is_inferred and not last.side and right and sign in _BINDS and _names_a_side(statement):
            finding = not_understood("Its left side is in words")
            is_definition = role.is_claim or role is Role.WANTED
            return Recognised(role=Role.DEFINITION if is_definition else role, finding=finding)
        if not last.side or not right:
            return Recognised(role=role, finding=not_understood("One side of the relation is missing"))
        written = last.side, right
        try:
            if self._is_inferred:
                last, right = self._without_units(last, sign, right)
                self.scope = self._with_gradients(last.side, right)
            has_unit = written != (last.side, right)
            found = self._recognised(last, sign, right, statement)
            if has_unit and found.finding.is_false:
                doubt = left_open(OpenBecause.DOUBTFUL, "Looks wrong if its units are meant as they are written")
                return replace(found, finding=doubt)
            is_list = isinstance(readable(last.side, self.scope), Matrix)
            if self._is_inferred and sign == "∈" and is_list and found.role is Role.ASSERTION:
                found = replace(found, role=Role.DECLARATION, finding=_never_false(found.finding))
            return replace(found, finding=shown(found.finding))
        except NotUnderstood as error:
            is_definition = self._forget(last, sign) and self._is_inferred and role.is_claim
            if self._is_inferred and role.is_claim and sign == "∈":
                return Recognised(role=Role.DECLARATION, finding=not_understood(error))
            return Recognised(role=Role.DEFINITION if is_definition else role, finding=not_understood(error))
        except UNEXPECTED as error:
            return Recognised(role=role, finding=internal_error(error))

    def _without_units(self, last: LastSide, sign: str, right: tuple[Token, ...]) -> tuple[LastSide, tuple[Token, ...]]:
        """Both sides without units, in the first way in which the relation holds."""
        ways = list(without_units(Sides(left=last.side, sign=sign, right=right)))
        way = ways[0]
        if len(ways) > 1:
            way = next((each for each in ways if holds(each, self.scope)), way)
        return replace(last, side=way.left), way.right

    def _forget(self, last: LastSide, sign: str) -> bool:
        """What is given something unreadable means something that is not known; the problem's own may still hold.

        True if that is so.
        """
        left = readable(last.side, self.scope)
        if sign not in _DESIGNS or not isinstance(left, Symbol):
            return False
        name = self._open_symbol(left) or describe(left)
        if name in self._asked or name not in self.question.setting.symbols or self._is_inferred:
            self.scope = self.scope.without(name)
            return True
        self._half_read.add(name)
        return False

    def _recognised(self, last: LastSide, sign: str, right: tuple[Token, ...], statement: Statement) -> Recognised:
        """A condition, what the problem gives, a design or definition, or else a claim to be decided."""
        left, target = readable(last.side, self.scope), readable(right, self.scope)
        is_new = self._is_inferred and statement.clause.role.is_claim and not statement.clause.follows
        if is_new and (bound := as_bound(left, sign, target, self.scope)) is not None:
            return bound
        condition = as_condition(left, sign, target, self.scope)
        if condition is not None:
            return replace(condition, scope=None) if statement.chain.is_event else condition
        if (left, sign, target) in self._givens:
            return Recognised(
                role=Role.GIVEN, finding=true("Given by the problem"), scope=self._given_query(left, target)
            )
        sides = Sides(left=last.side, sign=sign, right=right)
        if sign == "=" and left in self._given_lefts and (renamed := renamed_scale(sides, self.scope)) is not None:
            reason = f"Given by the problem, with {spell(renamed.name)} in the place of its own letter"
            return Recognised(role=Role.GIVEN, finding=true(reason), scope=self.scope.with_meaning(renamed))
        is_first = last.side == statement.chain.sides[0]
        if self._is_inferred and not is_first and (value := as_value(sides, self.scope)) is not None:
            return value
        if self._is_inferred and is_first and statement.clause.role.is_claim:
            clause, is_alone = statement.clause, len(statement.chain.signs) == 1
            stated = as_own_statement(sides, self.scope, is_linked=clause.follows, is_alone=is_alone)
            if stated is not None:
                self._loose |= stated.loose
                if isinstance(left, Symbol) and stated.found.scope is not None:
                    self._defined_in[describe(left)] = statement.within.formula.start
                return stated.found
        if isinstance(left, Symbol) and sign in _BINDS:
            solved_for = as_coordinates(left, sides, self.scope) or as_remainder(left, sides, self.scope)
            bound = solved_for or self._bound_in(statement, left, sides)
            if bound is not None:
                return bound
        decided = self._decided(last, sides, statement)
        is_open = decided.finding.kind in ("unknown", "not understood") and decided.finding.open_because is None
        if is_open and sign == "=" and isinstance(left, Symbol) and not self.scope.declares(left):
            return replace(decided, scope=self.scope.without(describe(left)))
        return decided

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

    @cached_property
    def _given_lefts(self) -> set[Expression | None]:
        return {left for left, _, _ in self._givens}

    # -- designs and definitions -------------------------------------------------------------------------------------
    def _bound_in(self, statement: Statement, left: Symbol, sides: Sides) -> Recognised | None:
        """A design or definition; one that is only supposed, denied or an aside lasts to the end of its paragraph."""
        clause, name = statement.clause, self._open_symbol(left) or describe(left)
        is_query = name in self._asked
        is_trial = is_query and self._is_trial(left, clause)
        is_known = self.question.design is None or any(name == other for other, _ in self.offered)
        is_aside = is_query and is_known and clause.is_parenthetical
        if not is_trial and is_query:
            self._end_trial()
        trial = TriedQuery(
            sentence=statement.within.formula.sentence,
            paragraph=statement.within.formula.paragraph,
            scope=self.scope,
            design_findings=self._design_findings,
        )
        bound = self._bound(left, sides, statement)
        if bound is not None and bound.scope is not None:
            self._defined_in[describe(left)] = statement.within.formula.start
        is_only = name not in self._settled and clause.role in _TENTATIVE
        if is_aside:
            self._trial = self._trial or trial
        if bound is not None and bound.role is Role.DESIGN and (is_only or clause.role is Role.POSSIBILITY):
            self._trial = self._trial or (trial if is_trial else None)
            return bound
        if bound is None or not (is_trial or (bound.finding.is_false and not clause.role.is_claim)):
            return bound
        self._trial = self._trial or trial
        role = Role.SUPPOSITION if clause.role.is_claim else clause.role
        return replace(bound, role=role, finding=_never_false(bound.finding))

    def _is_trial(self, left: Symbol, clause: Clause) -> bool:
        """Whether a query is only tried: under a condition beside the document's own, or as an example."""
        if self.question.design is not None:
            is_settled = (self._open_symbol(left) or describe(left)) in self._settled
            return not clause.role.is_claim and (is_settled or clause.role is Role.DENIAL)
        return not clause.role.is_claim or clause.is_example

    def end_trial(self, paragraph: int) -> None:
        """Where another paragraph begins, a query that was only tried is given up."""
        if self._trial is not None and self._trial.paragraph != paragraph:
            self._end_trial()

    def _end_trial(self) -> None:
        if self._trial is not None:
            self.scope, self._design_findings = self._trial.scope, dict(self._trial.design_findings)
            self._trial = None

    def _bound(self, left: Symbol, sides: Sides, statement: Statement) -> Recognised | None:
        """A design, or the definition of a new symbol; None where the symbol is known and the step is to be judged."""
        if sides.sign == "∼" and _is_conditional(sides, statement):
            return Recognised(role=Role.GIVEN, finding=true("The law under a condition"))
        if sides.sign == "∼":
            return as_distribution(left, sides.right, self.scope)
        if sides.sign == "∈":
            found = self.scope.lookup(left)
            is_assumed = found is not None and (bool(found.meaning.assume) or found.meaning.law is not None)
            if self._is_inferred and statement.clause.is_restricted and not is_assumed:
                self._half_read.add(describe(left))
            return as_membership(left, sides, self.scope)
        is_asked = describe(left) in self._asked
        if is_asked and is_spelt_out(readable(sides.right, self.scope), self.scope):
            return Recognised(role=Role.SUPPOSITION, finding=true("A particular value"))
        name = self._open_symbol(left)
        if name is not None and name in self._design_findings:
            return self._designed(name, statement)
        if sides.sign == "=" and self.question.design is None and is_asked:
            scope = bind(self.scope, describe(left), read_side(sides.right, self.scope))
            finding = true("The query that the question continues with")
            return Recognised(role=Role.DEFINITION, finding=finding, scope=scope)
        if self._is_known(left, sides):
            return self._redefined(left, sides, statement)
        if sides.sign == "≈" and not statement.clause.condition.is_empty:
            return None
        return as_definition(left, self._first_known(statement.rest) or sides.right, self.scope)

    def _first_known(self, sides: Sequence[tuple[Token, ...]]) -> tuple[Token, ...] | None:
        """What new symbols are defined by in π_a = π_b = x: the first side that is not a new symbol itself."""
        read = ((side, readable(side, self.scope)) for side in sides)
        return next((side for side, node in read if not isinstance(node, Symbol) or self.scope.knows(node)), None)

    def _designed(self, name: str, statement: Statement) -> Recognised:
        expression = self._design_expression(statement.rest) or read_side(statement.rest[0], self.scope)
        if expression == self.designs[name]:
            finding = self._design_findings[name]
        else:
            together = self._designs_in(statement.within.formula.chains)
            finding = self._judged_designs({**self.designs, **dict(self.offered), **together, name: expression})[name]
        if finding.is_false:
            all_designs = ({**others, name: expression} for others in self._combinations(name))
            reaching = next((designs for designs in all_designs if self._reaches_goal(designs, name)), None)
            finding = finding if reaching is None else self._judged_designs(reaching)[name]
        if finding.is_false and self._is_given_nearby(statement):
            return Recognised(role=Role.GIVEN, finding=true("Given by another part of the question"))
        if statement.sign == "∝" and finding.is_false and self._reaches_goal({name: scaled(expression)}, name):
            finding = left_open(OpenBecause.DOUBTFUL, "Looks wrong without a large factor, which ∝ leaves open")
        if finding.is_false:
            self._design_findings = {**self._design_findings, name: finding}
        else:
            self.offered.append((name, expression))
        return Recognised(role=Role.DESIGN, finding=finding, scope=bind(self.scope, name, expression))

    def _combinations(self, name: str) -> Iterator[dict[str, Expression]]:
        """What the document offers for the other open symbols, in every combination: alternatives come in any order."""
        others = {key: found for key, found in self._alternatives.items() if key != name}
        for chosen in islice(product(*others.values()), _MOST_COMBINATIONS):
            yield dict(zip(others, chosen, strict=True))

    def _is_given_nearby(self, statement: Statement) -> bool:
        """True for what another part of the same question gives: K = Q = V = I."""
        parts = (other for other in self.problem.questions if other.path[:2] == self.question.path[:2])
        given = {tuple(map(plain, first_chain(source).sides)) for part in parts for source in part.given}
        sides = tuple(map(plain, statement.chain.sides))
        return any((left, sides[-1]) in given for left in sides[:-1])

    def _is_known(self, left: Symbol, sides: Sides) -> bool:
        """Whether the symbol has a meaning already; what may be anything can be defined."""
        is_anything = self.scope.knows(left) and Assumption.ANY in self.scope.find(left).meaning.assume
        is_function = left.name in self.question.setting.functions
        is_known = self.scope.knows(left) or self.scope.is_constant(left) or is_function or self.scope.is_entry(left)
        return is_known and not (is_anything and sides.sign == "=")

    def _redefined(self, left: Symbol, sides: Sides, statement: Statement) -> Recognised | None:
        """The author's own meaning for a known letter, if what is written cannot be about the problem's.

        It cannot where the letter is a scale or another drawn symbol of some other shape, where it is known by another
        name only, where the words introduce it, and where the other side introduces a new letter.
        """
        right = readable(sides.right, self.scope)
        if self._is_set_again(left, right):
            return self._introduced(left, sides)
        if not self.scope.knows(left) or (right is not None and _is_worked_example(left, right)):
            return None
        finding = confirmed(decide(sides, self.scope))
        if finding.is_true or finding.kind == "not understood":
            return None
        is_drawn = self.scope.find(left).meaning.formula is None
        is_taken = is_guessed(left, self.scope) or (statement.clause.is_defining and sides.sign == "=" and is_drawn)
        is_new = right is not None and finding.missing in {describe(symbol) for symbol in symbols(right)}
        if is_new or is_taken or self._is_drawn_otherwise(left, sides, finding, statement):
            return self._introduced(left, sides)
        return None

    def _is_set_again(self, left: Symbol, right: Expression | None) -> bool:
        """True where a letter that the author has set to a number is set to another one."""
        own = self.scope.own.get(describe(left))
        if self._is_inferred and own is not None and right is not None and _is_value(own):
            return _is_plain(right) and not isinstance(right, Matrix)
        return own is not None and isinstance(own.formula, Number) and isinstance(right, Number)

    def _is_drawn_otherwise(self, left: Symbol, sides: Sides, finding: Finding, statement: Statement) -> bool:
        """True for an undefined scale of the author's, and for a drawn symbol whose shape the other side has not."""
        meaning, right = self.scope.find(left).meaning, readable(sides.right, self.scope)
        if isinstance(meaning.formula, Derivative) and self._gradient_names is not None:
            return False
        if right is not None and has_own_numbers(right, self.scope) and self._is_noisy(left):
            return True
        is_redefinition = meaning.formula is not None and not (meaning.key in self.scope.own and self._is_inferred)
        if is_redefinition or sides.sign != "=":
            return False
        if meaning.key in self.scope.own and (meaning.tends is not None or self._is_inferred):
            is_linked = statement.clause.follows or self._defined_in.get(meaning.key) == statement.within.formula.start
            return isinstance(right, Number) or not is_linked
        return finding.kind == "ill-shaped" and not decide(replace(sides, left=sides.right), self.scope).is_false

    def _is_noisy(self, left: Symbol) -> bool:
        """True for a symbol that the problem makes out of random ones, which an author may write in another way."""
        formula = self.scope.find(left).meaning.formula
        if formula is None or describe(left) in self.scope.own:
            return False
        found = (self.scope.lookup(symbol) for symbol in symbols(formula))
        return any(item is not None and item.meaning.variance is not None for item in found)

    def _introduced(self, left: Symbol, sides: Sides) -> Recognised | None:
        defined = as_definition(left, sides.right, self.scope)
        if defined.scope is not None:
            return defined
        finding = left_open(OpenBecause.DEPENDS_ON_UNREAD, f"Introduces {describe(left)} by what could not be read")
        is_given = describe(left) in self.question.setting.symbols and not is_guessed(left, self.scope)
        # A known symbol written with a new letter says something of that letter: k_i = μ_i + ε.
        if is_given and defined.finding.missing is not None:
            self._half_read.add(describe(left))
            return Recognised(role=Role.DEFINITION, finding=finding)
        scope = self.scope.without(describe(left))
        return Recognised(role=Role.DEFINITION, finding=finding, scope=scope)

    @property
    def _is_inferred(self) -> bool:
        """True where only the document itself says what its symbols mean."""
        return self.problem.name == INFERRED

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The symbols that any question of the problem leaves open."""
        designs = (question.design for question in self.problem.questions)
        return frozenset(name for design in designs if design is not None for name in design.symbols)

    # -- claims ------------------------------------------------------------------------------------------------------
    def _decided(self, last: LastSide, sides: Sides, statement: Statement) -> Recognised:
        """What is found of a claim under the condition of its clause; without one, after an appeal if it fails."""
        clause, sentence = statement.clause, statement.within.sentence
        own = index_conditions(statement.within.formula.chains, self.question.setting)
        premises = apply_conditions(clause.condition, self.scope)
        nearby = index_conditions(sentence.chains, self.question.setting)
        sides = replace(
            sides,
            conditions=premises.indices or own or nearby,
            premises=premises.relations,
            is_particular=premises.is_particular,
        )
        scope = with_imaginary_unit(sides, premises.scope) if is_surely_complex(sides, premises.scope) else None
        finding = self._appeal(scope or premises.scope, statement).decide(sides, last)
        if sides.sign == "→" and not self._is_driven(sides):
            finding = replace(_never_false(finding), reason="Nothing tends anywhere here, so this is no limit")
            if self._is_inferred and clause.role.is_claim:
                return Recognised(role=Role.DEFINITION, finding=finding)
        if not clause.role.is_claim:
            if clause.role is Role.SUPPOSITION and clause.condition.is_lasting and not finding.is_true:
                self._supposed_in = statement.within.formula.paragraph
            return Recognised(role=clause.role, finding=_never_false(finding))
        if self._supposed_in == statement.within.formula.paragraph:
            return Recognised(role=Role.ASSERTION, finding=_never_false(finding))
        self._put_in(sides, finding)
        if finding.is_false and (doubt := self._doubt(sides, statement)) is not None:
            return Recognised(role=Role.ASSERTION, finding=left_open(OpenBecause.DOUBTFUL, doubt, finding.notes))
        if is_driven_elsewhere(statement.within.formula.source.text, self.scope):
            return Recognised(role=Role.ASSERTION, finding=_never_false(finding))
        read = (readable(side, self.scope) for side in (sides.left, sides.right))
        is_of_numbers = all(side is not None and _is_plain(side) for side in read)
        return Recognised(role=Role.ASSERTION, finding=finding if is_of_numbers else _under(premises, finding))

    def _put_in(self, sides: Sides, finding: Finding) -> None:
        """Remember what a symbol was given that it is not, so that what only follows from this is no other slip."""
        left, right = readable(sides.left, self.scope), readable(sides.right, self.scope)
        if finding.is_false and sides.sign == "=" and isinstance(left, Symbol) and right is not None:
            self._written[describe(left)] = right

    def _is_driven(self, sides: Sides) -> bool:
        """True if a side depends on something that grows, vanishes or is random; u → w may also be a map."""
        left, right = sides.expressions(self.scope)
        if all(isinstance(side, Symbol) and self._is_given_freely(side) for side in (left, right)):
            return False
        meanings = (self.scope.meanings.get(name) for name in self.scope.reach(*sides.expressions(self.scope)))
        return any(m is not None and (m.tends is not None or m.variance is not None) for m in meanings)

    def _is_given_freely(self, symbol: Symbol) -> bool:
        """True for a symbol that depends on no other one and is driven nowhere."""
        found = self.scope.lookup(symbol)
        return found is not None and found.meaning.formula is None and found.meaning.tends is None

    def _doubt(self, sides: Sides, statement: Statement) -> str | None:
        """What makes a failure uncertain: symbols that may have particular values, or another meaning, here."""
        left, right = sides.expressions(self.scope)
        reached = self.scope.reach(left, right)
        if _is_worked_example(left, right) and not self._gives_sizes(statement):
            return "Looks wrong unless its symbols have particular values here"
        if sides.sign in ("≫", "≪") or (statement.clause.is_introduced and isinstance(left, Symbol)):
            return "Looks wrong unless it is a condition"
        if isinstance(right, Number) and isinstance(left, Symbol) and is_drawn(left, self.scope):
            return "Looks wrong unless it only names a value"
        if not self._is_inferred:
            return None
        if not self._loose.isdisjoint(reached):
            return "Looks wrong if its symbols mean what was said of them before"
        meanings = [self.scope.meanings[name] for name in reached if name in self.scope.meanings]
        if any(meaning.is_number and meaning.key in self._supposed for meaning in meanings):
            return "Looks wrong unless an assumption made about its symbols makes it true"
        is_zero = isinstance(right, Number) and right.value == 0
        is_equation = any(
            meaning.is_number and meaning.index is None and (meaning.formula is None or _is_value(meaning))
            for meaning in meanings
        )
        if _is_plain(right) and (is_equation if is_zero else any(name not in self.scope.own for name in reached)):
            return "Looks wrong unless its symbols have particular values here"
        used = {symbol.name for side in (left, right) for symbol in symbols(side)}.difference(CONSTANTS)
        place = statement.within.formula.start
        is_linked = statement.clause.is_concluded or any(self._defined_in.get(name) == place for name in reached)
        is_first = sides.left == statement.chain.sides[0]
        if is_first and not is_linked and any(meaning.formula is not None for meaning in meanings):
            return "Looks wrong if its symbols still mean what they were defined as"
        is_count = not meanings and (_counts(left) or _counts(right))  # of sizes alone: no condition on them
        is_valued = is_count or _has_expectation(left) or _has_expectation(right) or statement.clause.is_deduced
        if used and not is_valued and all(meaning.is_number and meaning.formula is None for meaning in meanings):
            self._supposed |= reached
            return "Looks wrong unless it is a condition on its symbols"
        return None

    def _gives_sizes(self, statement: Statement) -> bool:
        """True if the sentence, or one before it in the paragraph, says how many keys there are: for n = 10."""
        sentence = statement.within.sentence
        values = at_particular_values((*sentence.earlier, *sentence.chains), self.scope)
        return values is not None and bool(values.sizes)

    def _appeal(self, scope: Scope, statement: Statement) -> Appeal:
        return Appeal(
            scope=scope,
            sentence=statement.within.sentence,
            clause=statement.clause,
            intended=self._intended_here,
            before=self._before_trial(statement),
            has_slipped=any(found.is_false for found in self._design_findings.values()) or self._redefines_query(),
            unread=self._unread_designs(),
            other_designs=partial(self._other_designs, scope),
            general=partial(self._general_scopes, scope) if self._is_inferred else None,
            learnt=self._learnt,
            written=self._written,
            values=tuple(self.values),
            is_strict=self.is_strict,
        )

    def _before_trial(self, statement: Statement) -> Scope | None:
        """What was in force before a query that is only tried; its own sentence speaks of the query itself."""
        is_own = self._trial is not None and self._trial.sentence == statement.within.formula.sentence
        return None if self._trial is None or is_own else self._trial.scope

    def _intended_here(self) -> Scope:
        """What names would mean here with the problem's own query; its scales are the problem's again."""
        known = self.question.setting.symbols
        scales = {key for key, meaning in known.items() if meaning.tends == "infinity"}
        own = {key: m for key, m in self.scope.own.items() if key not in self._asked and key not in scales}
        return replace(self.intended, own={**own, **self.intended.own})

    def _unread_designs(self) -> frozenset[str]:
        """What the question leaves open and the document has not filled in, as far as it could be read."""
        known = self.question.setting.symbols
        asked = frozenset() if self.question.design is None else frozenset(self.question.design.symbols)
        undefined = {name for name in self._asked - asked if name in known and known[name].formula is None}
        half_read = (self._half_read - self.scope.own.keys()) | self._loose_scales()
        return self.scope.opaque | half_read | (asked - self.designs.keys()) | (undefined - self.scope.own.keys())

    def _loose_scales(self) -> set[str]:
        """Letters that are only said to grow or vanish, and that nothing ties to the rest."""
        own = self.scope.own.values()
        tied = {
            describe(symbol) for meaning in own if meaning.formula is not None for symbol in symbols(meaning.formula)
        }
        return {meaning.key for meaning in own if meaning.tends is not None} - tied

    def _other_designs(self, scope: Scope) -> Iterator[Scope]:
        """Scopes with the designs that the document has offered before: the first of each symbol, the second …"""
        by_name: dict[str, list[Expression]] = {}
        for name, expression in self.offered:
            by_name.setdefault(name, []).append(expression)
        for number in range(max(map(len, by_name.values()), default=0)):
            other = scope
            for name, expressions in by_name.items():
                other = bind(other, name, expressions[min(number, len(expressions) - 1)])
            yield other

    def _learnt(self) -> tuple[Any, ...]:
        """What the general scopes depend on besides the scope that they generalise."""
        return self._equal_sizes, self._size_relations, self._first, self._valued, self._earlier

    def _general_scopes(self, scope: Scope, sides: Sides, finding: Finding) -> Iterator[Scope]:
        """Scopes without the particular values that the document gave, with i² = −1, then without its definitions.

        Only of what the relation depends on: what else may be anything makes no difference. What differs for every
        input that is tried may still be equal for some: an ≠ is not true in general.
        """
        if sides.sign == "≠":
            return
        plain = replace(scope, sizes={})
        own = _relevant(sides, scope)
        values = {key: kind for key, each in own.items() if (kind := _kind_of_value(each)) is not None}
        values |= {  # in A = B = I the A has a value too
            key: values[describe(each.formula)]
            for key, each in own.items()
            if isinstance(each.formula, Symbol) and describe(each.formula) in values
        }
        if values or scope.sizes:
            yield plain.freed(values)
        if self._equal_sizes and finding.kind in ("ill-shaped", "not understood", "unknown"):
            equal = {*self._equal_sizes, *self._equal_sizes.values()}
            yield replace(scope, sizes={**scope.sizes, **dict.fromkeys(equal, _EQUAL_SIZE)})
        if self._size_relations:
            yield replace(plain, own={**plain.own, **self._size_relations})
        first = {key: each for key, each in self._first.items() if scope.own.get(key) is not each}
        if first:
            yield replace(plain, own={**plain.own, **first}, opaque=plain.opaque.difference(first))
        if not scope.setting.has_usual_functions and _applies_usual_functions(sides):
            yield replace(scope, setting=replace(scope.setting, has_usual_functions=True))
        varied = replace(plain, setting=replace(plain.setting, has_differentials=True))
        bases = (plain, varied) if _has_differentials(sides) else (plain,)
        yield from bases[1:]
        is_open_equation = sides.sign == "=" and finding.kind != "false"  # an inequality is only tried at random
        for base in bases if is_open_equation else ():
            if (squares := with_squares(sides, base)) is not None:
                yield squares
        if sides.sign == "=" and (earlier := self._earlier_shapes(sides, scope)):
            yield plain.freed(earlier)
        if (complex_scope := with_imaginary_unit(sides, plain)) is not None:
            yield complex_scope
        unread = {
            key: self._valued.get(key) or likely_kinds(key) for key in scope.opaque if key not in scope.setting.sizes
        }
        if unread:
            yield plain.freed({**unread, **values})
        defined = {key: likely_kinds(key) for key, each in own.items() if each.formula is not None} | unread
        if defined.keys() > values.keys():
            free = plain.freed({**defined, **values})
            yield free
            if (complex_scope := with_imaginary_unit(sides, free)) is not None:
                yield complex_scope
        else:
            free = plain
        for base in (plain, free) if is_open_equation else ():
            if (atoms := with_atoms(sides, base)) is not None:
                yield atoms

    def _earlier_shapes(self, sides: Sides, scope: Scope) -> dict[str, tuple[Kind, ...]]:
        """The vectors and matrices of a relation whose sizes an earlier section has declared: here they may differ."""
        try:
            reached = scope.reach(*sides.expressions(scope))
        except NotUnderstood:
            return {}
        known = {key: scope.setting.symbols[key] for key in sorted(self._earlier & reached)}
        return {
            key: ("column",) if each.shape[1] == "1" else ("matrix",)
            for key, each in known.items()
            if not each.is_number and key not in scope.own
        }

    def _redefines_query(self) -> bool:
        """True if the text has put a query of its own in the place of the one that the question continues with."""
        own = self.scope.own.keys() - self.intended.own.keys() - self.designs.keys() - self._sound
        return not self._asked.isdisjoint(own)

    def inherit(self, other: "QuestionJudge", *, is_continued: bool) -> None:
        """Take over what the document has defined in another question: scales always, the rest from part to part."""
        is_sibling = other.question.path[:2] == self.question.path[:2]
        if is_sibling and self.question.design is None:
            self.offered = other.offered or self.offered
        designed = {describe(symbol) for expression in other.designs.values() for symbol in symbols(expression)}
        for key, meaning in other.scope.own.items():
            is_part = is_sibling or (is_continued and key not in other.designs)
            is_scale = meaning.tends == "infinity" and meaning.formula is None
            is_used = is_part and (key in designed or not is_scale)
            is_open = key not in self.question.setting.symbols or (is_used and self.question.design is None)
            is_tied = is_shifted(Symbol(key), other.scope) or is_renamed_scale(meaning, other.scope)
            is_random = is_tied or (meaning.variance is not None and not self.question.setting.is_random)
            is_written = meaning is not other.intended.own.get(key)
            is_kept = (is_part or is_scale) and is_open
            if is_written and key not in self.scope.own and (is_kept or is_random):
                self.scope = self.scope.with_letter(meaning)
                if key in other.designs and not other._design_findings[key].is_false:
                    self._sound.add(key)


def _relevant(sides: Sides, scope: Scope) -> Mapping[str, SymbolMeaning]:
    """The author's symbols that a relation depends on; all of them if that is not known."""
    try:
        expressions = sides.expressions(scope)
    except NotUnderstood:
        return scope.own
    named = scope.reach(*expressions).union(describe(symbol) for side in expressions for symbol in symbols(side))
    letters = set(map(_letter, named))
    if any(_letter(name) in letters for name in scope.opaque):
        return scope.own
    return {key: meaning for key, meaning in scope.own.items() if _letter(key) in letters}


def _letter(name: str) -> str:
    """What a name is written with, without what stands below it: the x of x_i and of x(t)."""
    return re.split(r"[_(]", name, maxsplit=1)[0]


def _applies_usual_functions(sides: Sides) -> bool:
    """True if a σ or Φ stands before a bracket."""
    tokens = (*sides.left, *sides.right)
    return any(one.text in ("\\sigma", "\\Phi") and other.kind == "open" for one, other in pairwise(tokens))


def _has_differentials(sides: Sides) -> bool:
    """True if a d stands before a letter or a bracket."""
    tokens = (*sides.left, *sides.right)
    return any(one.text == "d" and other.kind in ("letter", "open") for one, other in pairwise(tokens))


def _names_a_side(statement: Statement) -> bool:
    """True if words stand where the first side of a relation should: the memory is = 2 n d."""
    words = statement.clause.before.rpartition(PLACEHOLDER)[2]
    return bool(statement.chain.before.strip()) or has_words_for_a_side(words)


def _is_conditional(sides: Sides, statement: Statement) -> bool:
    """True for the q of s | q ∼ N(0, |q|²), which is not what has this law."""
    before = statement.within.formula.source.text[: sides.left[0].start].rstrip()
    return before.endswith(_GIVEN_THAT)


def _is_value(meaning: SymbolMeaning) -> bool:
    """True for a symbol that has a particular value."""
    return meaning.formula is not None and _is_plain(meaning.formula)


def _kind_of_value(meaning: SymbolMeaning) -> tuple[Kind, ...] | None:
    """What a symbol is that has a particular value; 0 may be one of any kind."""
    if not _is_value(meaning):
        return None
    if isinstance(meaning.formula, Number) and meaning.formula.value == 0:
        return likely_kinds(meaning.key)
    if isinstance(meaning.formula, Matrix):
        return ("column",) if len(meaning.formula.rows[0]) == 1 else ("matrix",)
    formula = meaning.formula
    is_of_matrices = formula is not None and any(isinstance(node, Matrix | Identity) for node in walk(formula))
    return ("matrix",) if is_of_matrices else ("number",)


def _is_worked_example(left: Expression, right: Expression) -> bool:
    """True for an equation between symbols and plain numbers that only come up at particular values: α = e^9/(e^9 + 8).

    What is expected, or has a probability, has a value of its own.
    """
    pairs = ((left, right), (right, left))
    numeric = [(one, other) for one, other in pairs if _is_plain(one) and not _is_plain(other)]
    return any(_has_large_number(one) and not _has_expectation(other) for one, other in numeric)


def _is_plain(node: Expression) -> bool:
    return all(symbol.name in CONSTANTS for symbol in symbols(node))


def _has_large_number(node: Expression) -> bool:
    numbers = (inner for inner in walk(node) if isinstance(inner, Number))
    return any(number.value > _LARGEST_PLAIN or number.places > 1 for number in numbers)


def _counts(node: Expression) -> bool:
    functions = {inner.function for inner in walk(node) if isinstance(inner, Apply)}
    return not functions.isdisjoint(("binomial", "factorial"))


def _has_expectation(node: Expression) -> bool:
    functions = {inner.function for inner in walk(node) if isinstance(inner, Apply)}
    return not functions.isdisjoint(("mean", "var", "cov", "probability", "kl", "entropy", "cross-entropy"))


def statements_of(formula: FormulaInContext) -> list[Statement]:
    """The chains of a formula with their clauses."""
    pairs = zip(formula.formula.chains, formula.clauses, strict=True)
    return [Statement(chain=chain, clause=clause, within=formula) for chain, clause in pairs]


def _neighbours(problem: Problem, own: Question) -> dict[str, SymbolMeaning]:
    """The random numbers of other questions."""
    return {
        key: meaning
        for question in problem.questions
        for key, meaning in question.setting.symbols.items()
        if meaning.is_random_number and key not in own.setting.symbols
    }


def _under(premises: Premises, finding: Finding) -> Finding:
    return finding if premises.is_complete else _never_false(finding)


def _never_false(finding: Finding) -> Finding:
    if not finding.is_false:
        return finding
    reason = "Not checked: it depends on the condition that it stands under"
    return left_open(OpenBecause.UNDER_CONDITION, reason, finding.notes)
