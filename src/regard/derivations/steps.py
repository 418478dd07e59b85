"""The steps of one question, judged in reading order: each is recognised for what it is, then decided."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from regard.derivations.context import Surroundings, is_denied, is_supposed, premises_in_prose
from regard.derivations.designs import Designs, bind, judge_designs, solved
from regard.derivations.judging.judge import ANY_NUMBER, Sides, decide, read_side
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.relations import Relation
from regard.derivations.judging.scope import CASE_NOTE, Scope, UnknownSymbol
from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Condition, Expression, Infinity, Number, Quotient, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import Problem, Question, SymbolMeaning

__all__ = ["Formula", "JudgedStep", "QuestionJudge", "index_conditions"]

MAX_SIZE = 40
Kind = Literal["step", "design", "definition", "given", "supposition", "choice"]


@dataclass(frozen=True, kw_only=True)
class Formula:
    """One formula of a document: its chains, the prose around it, and the index conditions of its sentence."""

    source: str
    chains: tuple[Chain, ...]
    surroundings: Surroundings = Surroundings()
    conditions: tuple[Condition, ...] = ()
    premises: tuple[Relation, ...] = ()
    siblings: tuple[Chain, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JudgedStep:
    """A step, what kind of statement it is, and what was found; offsets are those of the formula's source."""

    kind: Kind
    finding: Finding
    start: int
    end: int
    sign: str
    sign_start: int
    is_supposed: bool = False


@dataclass(frozen=True)
class _Last:
    """The last side of the chain above, and the last side before it that was still right."""

    side: tuple[Token, ...]
    anchor: tuple[Token, ...]
    is_wrong: bool = False


@dataclass(kw_only=True)
class QuestionJudge:
    """Judges the formulas of one question one after the other; remembers definitions, designs and the chain above."""

    problem: Problem
    question: Question
    is_strict: bool = False
    own: dict[str, SymbolMeaning] = field(default_factory=dict)
    designs: dict[str, Expression] = field(default_factory=dict)
    scope: Scope = field(init=False)
    intended: Scope = field(init=False)
    last: _Last | None = None
    _design_findings: dict[str, Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        neighbours = {
            key: meaning
            for question in self.problem.questions
            for key, meaning in question.setting.symbols.items()
            if meaning.is_random_number and key not in self.question.setting.symbols
        }
        base = Scope(setting=self.question.setting, own=dict(self.own), neighbours=neighbours)
        self.scope = self._base = base
        self.intended = solved(base, self.question)
        self.scope = self.intended

    # -- designs are looked for first, since two of them may share one goal ------------------------------------------
    def prepare(self, formulas: Sequence[Formula]) -> None:
        """Find the designs of the question and judge them together."""
        if self.question.design is None:
            return
        found: dict[str, Expression] = {}
        for formula in formulas:
            for chain in formula.chains:
                for place, sign in enumerate(chain.signs):
                    name = self._open_symbol(chain.sides[place])
                    if name is not None and name not in found and sign.text in ("=", "≈", "∝"):
                        expression = self._design_expression(chain.sides[place + 1 :])
                        if expression is not None and not self._is_equation_to_solve(expression):
                            found[name] = expression
        if found:
            self.designs = found
            self._design_findings = self._judged(found)

    def _design_expression(self, sides: Sequence[Sequence[Token]]) -> Expression | None:
        """What a symbol is designed as; in q_1 = q_2 = β μ_a that is the last of them."""
        expression = self._readable(sides[0])
        if len(sides) > 1 and self._open_symbol(sides[0]) is not None:
            return self._design_expression(sides[1:])
        return expression

    def _judged(self, found: Designs) -> dict[str, Finding]:
        try:
            return judge_designs(self._base, self.question, found)
        except (UnknownSymbol, NotUnderstood) as error:
            return {name: Finding(kind="not understood", reason=str(error)) for name in found}

    def _open_symbol(self, side: Sequence[Token]) -> str | None:
        design = self.question.design
        if design is None:
            return None
        expression = self._readable(side)
        if not isinstance(expression, Symbol):
            return None
        if describe(expression) in design.symbols:
            return describe(expression)
        try:
            meaning = self._base.find(expression).meaning
        except UnknownSymbol:
            return None
        return meaning.name if meaning.name in design.symbols else None

    def _is_equation_to_solve(self, expression: Expression) -> bool:
        return isinstance(expression, Infinity)

    def _readable(self, side: Sequence[Token]) -> Expression | None:
        try:
            return read_side(side, self.scope) if side else None
        except NotUnderstood:
            return None

    # -- steps -------------------------------------------------------------------------------------------------------
    def judge(self, formula: Formula) -> list[JudgedStep]:
        """Every step of a formula with its finding."""
        steps: list[JudgedStep] = []
        for chain in formula.chains:
            conditions = (*formula.conditions, *index_conditions(formula.chains, self.question))
            words = Surroundings(
                before=formula.surroundings.before + " " + chain.before, after=formula.surroundings.after
            )
            steps += self._judge_chain(chain, replace(formula, surroundings=words, conditions=conditions))
        return steps

    def defined_in(self, formula: Formula) -> bool:
        """True if a formula speaks of something that the document has designed or defined."""
        sides = [self._readable(side) for chain in formula.chains for side in chain.sides]
        reached = self.scope.reach(*(side for side in sides if side is not None))
        return bool(reached & {*self.designs, *(self.scope.own.keys() - self.intended.own.keys())})

    def _judge_chain(self, chain: Chain, formula: Formula) -> list[JudgedStep]:
        steps = []
        last = _Last(chain.sides[0], chain.sides[0])
        if not chain.sides[0] and self.last is not None:
            last = self.last
        for sign, right in zip(chain.signs, chain.sides[1:], strict=True):
            kind, finding, supposed = self._step(last, sign.text, right, formula)
            opens = last.side and steps == [] and chain.sides[0] and not chain.is_moved
            start = last.side[0].start if opens else sign.start
            end = right[-1].end if right else sign.end
            steps.append(
                JudgedStep(
                    kind=kind,
                    finding=finding,
                    start=start,
                    end=end,
                    sign=sign.text,
                    sign_start=sign.start,
                    is_supposed=supposed,
                )
            )
            last = _Last(right, last.anchor, is_wrong=True) if finding.is_false else _Last(right, right)
        if not chain.is_nested and right:
            self.last = last
        return steps

    def _step(self, last: _Last, sign: str, right: tuple[Token, ...], formula: Formula) -> tuple[Kind, Finding, bool]:
        if not last.side or not right:
            return "step", Finding(kind="not understood", reason="one side of the relation is missing"), False
        try:
            return self._recognised(last, sign, right, formula)
        except NotUnderstood as error:
            return "step", Finding(kind="not understood", reason=str(error)), False
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            return (
                "step",
                Finding(kind="not understood", reason=f"the judge failed on it: {type(error).__name__}: {error}"),
                False,
            )

    def _recognised(
        self, last: _Last, sign: str, right: tuple[Token, ...], formula: Formula
    ) -> tuple[Kind, Finding, bool]:
        special = self._condition(last.side, sign, right) or self._given(last.side, sign, right)
        if special is not None:
            return (*special, False)
        left = self._readable(last.side)
        if isinstance(left, Symbol) and sign in ("=", "≈", "∼", "∝", "∈"):
            bound = self._binding(left, sign, right, last.side)
            if bound is not None and bound[1].is_false and is_denied(formula.surroundings):
                return "supposition", _never_false(bound[1]), True
            if bound is not None:
                return (*bound, False)
        premised = [premise for premise in formula.premises if not (isinstance(premise.left, Symbol) and self._tends(premise.left))]
        supposed = is_supposed(formula.surroundings) or bool(premised)
        premises = (*formula.premises, *premises_in_prose(formula.surroundings)) if supposed else ()
        sides = Sides(left=last.side, sign=sign, right=right, conditions=formula.conditions, premises=premises)
        finding = self._decide(sides, last, self._particular(formula))
        if supposed:
            return "supposition", _never_false(finding), True
        return "step", finding, False

    def _decide(self, sides: Sides, last: _Last, particular: Scope | None) -> Finding:
        at_values = decide(replace(sides, is_particular=True), particular) if particular is not None else None
        if at_values is not None and at_values.is_true:
            return at_values.with_notes(("at the values that the text gives",))
        finding = self._found(sides, self.scope)
        if at_values is not None and not finding.is_true:
            return at_values
        if not finding.is_false:
            return finding
        if last.is_wrong and last.anchor:
            mended = self._found(replace(sides, left=last.anchor), self.scope)
            if mended.is_true:
                return _after_slip("the term before it is wrong; it follows from the last right one", mended)
        if any(found.is_false for found in self._design_findings.values()) or self._redefines_query():
            intended = self._found(sides, replace(self.intended, own={**self.scope.own, **self.intended.own}))
            if intended.is_true:
                return _after_slip("it is so for the query that was asked for, not for the one that is written", intended)
        return finding

    def _redefines_query(self) -> bool:
        """True if the text has put a query of its own in the place of the one that the question goes on with."""
        asked = {name for question in self.problem.questions if question.design for name in question.design.symbols}
        return any(name in asked for name in self.scope.own.keys() - self.intended.own.keys() - self.designs.keys())

    def _found(self, sides: Sides, scope: Scope) -> Finding:
        """The finding; read strictly, an = that only holds in the limit is false."""
        finding = decide(sides, scope)
        return replace(finding, kind="false") if self.is_strict and finding.is_loose else finding

    # -- what is not judged ------------------------------------------------------------------------------------------
    def _condition(self, left: Sequence[Token], sign: str, right: Sequence[Token]) -> tuple[Kind, Finding] | None:
        """Conditions on indices, and words about the regime: i ≠ a, β → ∞, λ > 0."""
        expression = self._readable(left)
        if not isinstance(expression, Symbol):
            return None
        setting = self.question.setting
        if (
            not expression.subscripts
            and expression.name in setting.free
            and sign in ("≠", "∉", "∈", "=", "<", ">", "≤", "≥")
        ):
            if not setting.is_complex:
                return "supposition", Finding(kind="true", reason="a condition on an index")
        target = self._readable(right)
        if self._is_value(expression, target) and sign in ("=", "<", ">", "≤", "≥", "≠", "≈"):
            return "supposition", Finding(
                kind="true", reason="a particular value" if sign == "=" else "a condition on a number"
            )
        tends = self._tends(expression)
        if tends and sign in ("→", ">", "≫", "≪", "≥") and isinstance(target, Infinity | Number):
            return "supposition", Finding(kind="true", reason="the regime")
        if isinstance(target, Infinity) and sign == "→" and not self.scope.knows(expression):
            return "supposition", Finding(kind="true", reason="the regime")
        return None

    def _is_drawn(self, symbol: Expression | None) -> bool:
        """True for a size, or a number that the problem leaves open: what a text may give a particular value."""
        if not isinstance(symbol, Symbol):
            return False
        if not symbol.subscripts and symbol.name in self.question.setting.sizes:
            return True
        try:
            found = self.scope.find(symbol)
        except UnknownSymbol:
            return False
        meaning = found.meaning
        is_same = found.note is None or CASE_NOTE not in found.note
        return is_same and meaning.formula is None and meaning.index is None and meaning.shape == ("1", "1")

    def _particular(self, formula: Formula) -> Scope | None:
        """The scope at the particular values that the sentence gives: n = 10, β = 5."""
        scope = self.scope
        for chain in (*formula.siblings, *formula.chains):
            left, right = self._readable(chain.sides[0]), self._readable(chain.sides[1])
            if chain.signs[0].text != "=" or not isinstance(left, Symbol) or not self._is_value(left, right):
                continue
            if left.name in scope.setting.sizes:
                if isinstance(right, Number) and right.value.denominator == 1 and 2 <= right.value <= MAX_SIZE:
                    scope = replace(scope, sizes={**scope.sizes, left.name: int(right.value)})
            elif right is not None:
                scope = scope.with_meaning(SymbolMeaning(name=self.scope.find(left).meaning.name, formula=right))
        return None if scope is self.scope else scope

    def _is_value(self, left: Expression | None, right: Expression | None) -> bool:
        return (
            self._is_drawn(left)
            and right is not None
            and left != right
            and (_is_constant(right) or self._is_drawn(right))
        )

    def _tends(self, symbol: Symbol) -> bool:
        try:
            return self.scope.find(symbol).meaning.tends is not None
        except UnknownSymbol:
            return False

    def _given(self, left: Sequence[Token], sign: str, right: Sequence[Token]) -> tuple[Kind, Finding] | None:
        if (self._readable(left), sign, self._readable(right)) in self._givens:
            return "given", Finding(kind="true", reason="the problem gives it")
        return None

    @cached_property
    def _givens(self) -> list[tuple[Expression | None, str, Expression | None]]:
        chains = [read_chains(source)[0] for source in self.question.given]
        return [
            (self._readable(chain.sides[0]), chain.signs[0].text, self._readable(chain.sides[1])) for chain in chains
        ]

    def _is_only_in_the_other_case(self, left: Symbol) -> bool:
        return self.scope.knows(left) and CASE_NOTE in (self.scope.find(left).note or "")

    def _binding(
        self, left: Symbol, sign: str, right: tuple[Token, ...], tokens: tuple[Token, ...]
    ) -> tuple[Kind, Finding] | None:
        """A design, or the definition of a new symbol; None where the symbol is known and the step is to be judged."""
        if sign == "∼":
            return self._distribution(left, right)
        name = self._open_symbol_of(left)
        if name is not None and name in self._design_findings and sign != "∈":
            expression = read_side(right, self.scope)
            if self._open_symbol(right) is not None:
                expression = self.designs[name]
            is_same = expression == self.designs[name]
            finding = self._design_findings[name] if is_same else self._judged({**self.designs, name: expression})[name]
            self.scope = bind(self.scope, name, expression)
            self._design_findings = {**self._design_findings, name: finding} if finding.is_false else self._design_findings
            return "design", finding
        if self._is_asked_elsewhere(left) and sign == "=":
            self.scope = bind(self.scope, describe(left), read_side(right, self.scope))
            return "definition", Finding(kind="true", reason="the query that the question goes on with")
        if (
            self._is_only_in_the_other_case(left)
            and not decide(Sides(left=tokens, sign=sign, right=right), self.scope).is_true
        ):
            return self._definition(left, sign, right)
        if self.scope.knows(left) or self._is_constant(left) or left.name in self.question.setting.functions:
            if self._is_anything(left) and sign == "=":
                return self._definition(left, sign, right)
            return None
        return self._definition(left, sign, right)

    def _is_anything(self, left: Symbol) -> bool:
        """True for a symbol that the problem lets stand for anything, so that a text may define it."""
        return self.scope.knows(left) and "any" in self.scope.find(left).meaning.assume

    def _open_symbol_of(self, left: Symbol) -> str | None:
        if self.question.design is None:
            return None
        if describe(left) in self.question.design.symbols:
            return describe(left)
        try:
            name = self._base.find(left).meaning.name
        except UnknownSymbol:
            return None
        return name if name in self.question.design.symbols else None

    def _is_asked_elsewhere(self, left: Symbol) -> bool:
        names = {name for question in self.problem.questions if question.design for name in question.design.symbols}
        return self.question.design is None and describe(left) in names

    def _is_constant(self, left: Symbol) -> bool:
        setting = self.question.setting
        names = {*setting.sizes, *setting.fixed, *setting.free, "e", "pi"}
        return not left.subscripts and left.name in names

    def _distribution(self, left: Symbol, right: Sequence[Token]) -> tuple[Kind, Finding]:
        """γ ∼ N(1, ½): checked where the problem says how γ is distributed, a new name for it where it is another letter."""
        introduced = Finding(kind="true", reason="a random symbol is introduced")
        law = _normal_law(right)
        known = self.scope.find(left).meaning if self.scope.knows(left) else None
        if known is not None and known.is_random_number and law is not None:
            return "given", _compared(law, known)
        numbers = [meaning for meaning in self.scope.meanings.values() if meaning.is_random_number]
        if len(numbers) == 1 and law is not None and (known is None or "any" in known.assume):
            if _compared(law, numbers[0]).is_true:
                self.scope = self.scope.with_meaning(SymbolMeaning(name=describe(left), formula=Symbol(numbers[0].name)))
        return ("given" if known is not None else "definition"), introduced

    def _definition(self, left: Symbol, sign: str, right: tuple[Token, ...]) -> tuple[Kind, Finding]:
        if sign == "∈":
            return "definition", Finding(kind="true", reason="a new symbol is introduced")
        expression = read_side(right, self.scope)
        finding = decide(Sides(left=right, sign="=", right=right), self.scope)
        if any(ANY_NUMBER in note for note in finding.notes):
            return "definition", Finding(
                kind="unknown", reason="it is defined by symbols that are not", notes=finding.notes
            )
        if finding.is_true:
            index = (
                left.subscripts[0].name
                if len(left.subscripts) == 1 and isinstance(left.subscripts[0], Symbol)
                else None
            )
            is_family = index in self.question.setting.free
            self.scope = self.scope.with_meaning(
                SymbolMeaning(
                    name=left.name if is_family else describe(left),
                    index=index if is_family else None,
                    over=self.question.setting.free[index] if is_family and index else None,
                    formula=expression,
                    swaps=finding.swaps,
                )
            )
            return "definition", replace(finding, kind="true", reason="a new symbol is defined")
        return "definition" if not finding.is_false else "step", finding


def _is_constant(expression: Expression) -> bool:
    """True for a number made of numbers: 10, ½, log 196."""
    return not any(symbol.name not in ("e", "pi") for symbol in symbols(expression)) and not isinstance(
        expression, Infinity
    )


def _normal_law(tokens: Sequence[Token]) -> tuple[Fraction, Fraction] | None:
    """Mean and variance of N(1, ½), where both are plain numbers."""
    place = next((k for k, token in enumerate(tokens) if token.text == "N"), None)
    if place is None or len(tokens) < place + 5 or tokens[place + 1].kind != "open":
        return None
    try:
        mean, variance = (_rational(part) for part in _members(tokens[place + 2 : -1]))
    except (NotUnderstood, ValueError):
        return None
    return mean, variance


def _rational(expression: Expression) -> Fraction:
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Quotient):
        return _rational(expression.top) / _rational(expression.bottom)
    raise ValueError("not a plain number")


def _compared(law: tuple[Fraction, Fraction], meaning: SymbolMeaning) -> Finding:
    mean, variance = law
    if mean == Fraction(meaning.mean) and variance == Fraction(meaning.variance or 0):
        return Finding(kind="true", reason="the problem gives it")
    if mean == Fraction(meaning.mean) and variance**2 == Fraction(meaning.variance or 0):
        return Finding(kind="unknown", reason="the second number may be a standard deviation")
    given = f"N({meaning.mean:g}, {meaning.variance:g})"
    return Finding(kind="false", reason="the distribution is another", method="the problem's distribution",
                   counterexample=f"the problem gives {given}, written is N({float(mean):g}, {float(variance):g})")


def _bare(expression: Expression) -> list[Symbol]:
    inside = {script for symbol in symbols(expression) for script in symbol.subscripts}
    return [symbol for symbol in symbols(expression) if symbol not in inside]


def _after_slip(reason: str, finding: Finding) -> Finding:
    return Finding(kind="unknown", reason=reason, notes=finding.notes, is_after_slip=True)


def _never_false(finding: Finding) -> Finding:
    if not finding.is_false:
        return finding
    return Finding(kind="unknown", reason="it stands under a written condition, and is not judged", notes=finding.notes)


def index_conditions(chains: Sequence[Chain], question: Question) -> tuple[Condition, ...]:
    """The relations of a formula that are conditions on free indices."""
    found = []
    for chain in (chain for chain in chains if not chain.is_case):
        for left, sign, right in zip(chain.sides, chain.signs, chain.sides[1:], strict=False):
            if (
                sign.text not in ("≠", "∉", "∈", "=", "<", ">")
                or len(left) != 1
                or left[0].text not in question.setting.free
            ):
                continue
            try:
                parts = _members(right)
            except NotUnderstood:
                continue
            found.append(Condition(parse(left), sign.text, parts))
    return tuple(found)


def _members(tokens: Sequence[Token]) -> tuple[Expression, ...]:
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "separator" and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return tuple(parse(piece) for piece in pieces if piece)
