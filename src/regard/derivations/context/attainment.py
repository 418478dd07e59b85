"""What an answer reaches of a relation that its question asks for.

The steps of an answer that hold connect expressions, and so do the sides of a chain around a wrong one that it leads
past: an answer reaches what it would reach without its wrong expressions, and never more. A relation is reached if its
two sides are connected. It is derived if something stands between them that is neither of them in other words, as
written or with the problem's definitions put in; otherwise it is only stated.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

from regard.derivations.context.environment import readable
from regard.derivations.context.formulas import JudgedStep, StatedRelation
from regard.derivations.context.review import ReviewedStep
from regard.derivations.judging.findings import OpenBecause
from regard.derivations.judging.judge import holds
from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Assumption
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import (
    Apply,
    Expression,
    Negative,
    Number,
    Product,
    Quotient,
    Sum,
    Symbol,
    describe,
    outer_symbols,
    walk,
)
from regard.derivations.notation.tokens import Token
from regard.derivations.problems.problem import Question
from regard.derivations.results import Role

Side = tuple[Token, ...]
_EQUALITIES = ("=", "≈", "→")
_CONNECTING = (Role.ASSERTION, Role.GIVEN)
_DEPTH = 6  # of definitions in one another
_OFFERED = (Role.ASSERTION, Role.SUPPOSITION, Role.WANTED)  # how a condition is given as an answer


class Attained(Enum):
    """How far an answer gets with a relation that it is asked for."""

    DERIVED = "derived"
    STATED = "only stated"
    POSSIBLE = "stated, and true with a probability"
    CONTRADICTED = "stated beside something else"
    OPEN = "reached by a step that is undecided"
    REFUTED = "refuted"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Attainment:
    """How far an answer gets, and the number of the step that gets there."""

    state: Attained
    step: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Link:
    """What connects two expressions: a step, by its number, or several from the `first` on. Ends are normal forms."""

    number: int
    stated: StatedRelation
    ends: tuple[Any, Any]
    is_open: bool = False
    is_possible: bool = False
    first: int = 0

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.stated.left, self.stated.right


class AnswerGraph:
    """The steps of one answer, by number, as connections between expressions."""

    def __init__(self, question: Question, steps: Sequence[tuple[int, ReviewedStep]]) -> None:
        self.question = question
        self.steps = [(number, item) for number, item in steps if item.step.stated is not None]

    def derived(self, asked: Chain, underived: Sequence[Chain] = ()) -> Attainment:
        """How far the answer gets with deriving a relation; what holds only on a condition leaves it open.

        To put in another relation that is asked for and `underived` is no step.
        """
        target = self._target(asked, underived)
        links = self._links(target, is_general=True)
        found = _reached(target, [link for link in links if not link.is_open])
        if found is not None:
            number, is_derived = found
            return Attainment(state=Attained.DERIVED if is_derived else Attained.STATED, step=number)
        return self._not_reached(target, links)

    def stated(self, asked: Chain) -> Attainment:
        """Whether the answer says that a relation holds, and nothing else of its left side that does not."""
        target = self._target(asked)
        links = self._links(target, is_general=False)
        found = _reached(target, [link for link in links if not link.is_open])
        if found is None:
            return self._not_reached(target, links)
        number = found[0]
        if self._contradicts(target):
            return Attainment(state=Attained.CONTRADICTED, step=number)
        is_possible = next(link for link in links if link.number == number).is_possible
        return Attainment(state=Attained.POSSIBLE if is_possible else Attained.STATED, step=number)

    def _target(self, asked: Chain, underived: Sequence[Chain] = ()) -> "_Target":
        scope = Scope(setting=self.question.setting)
        pairs = ([readable(side, scope) for side in chain.sides[:2]] for chain in underived)
        put_in = {_name(left, scope): right for left, right in pairs if isinstance(left, Symbol) and right is not None}
        return _Target(scope=scope, chain=asked, put_in=put_in)

    def _not_reached(self, target: "_Target", links: Sequence[_Link]) -> Attainment:
        about = [(number, item.step.finding) for number, item in self.steps if target.is_about(item.step.stated)]
        for number, finding in about:
            if finding.is_false:
                return Attainment(state=Attained.REFUTED, step=number)
        found = _reached(target, links)
        number = next((number for number, finding in about if finding.is_doubtful), None) if found is None else found[0]
        return Attainment(state=Attained.MISSING if number is None else Attained.OPEN, step=number)

    def _links(self, target: "_Target", *, is_general: bool) -> list[_Link]:
        """The connections, in the order of the steps that make them."""
        return sorted((*self._own_links(target, is_general=is_general), *self._detours), key=lambda link: link.number)

    def _own_links(self, target: "_Target", *, is_general: bool) -> Iterator[_Link]:
        for number, item in self.steps:
            step, stated = item.step, item.step.stated
            assert stated is not None
            is_chance = step.finding.probability is not None and not step.finding.is_true
            is_chance = is_chance and step.role in (Role.ASSERTION, Role.POSSIBILITY)
            roles = _CONNECTING if target.sign in _EQUALITIES else _OFFERED
            if step.finding.is_false or (step.role not in roles and not is_chance):
                continue
            ends = _form_of(stated.left, stated.scope), _form_of(stated.right, stated.scope)
            if None in ends or (step.is_introduced and ends == target.forms):
                continue
            # An assertion that the problem itself asks for is as true as it is meant.
            is_possible = is_chance and (step.role is Role.POSSIBILITY or ends != target.forms)
            is_carried = step.finding.open_because is OpenBecause.AFTER_SLIP
            is_true = step.finding.is_true or (not is_general and (is_chance or is_carried))
            is_open = not is_true or (is_general and step.is_conditional)
            yield _Link(number=number, stated=stated, ends=ends, is_open=is_open, is_possible=is_possible)

    @property
    def left_out(self) -> set[int]:
        """The numbers of the steps that a chain leads past: those to and from a wrong or unread expression."""
        return {number for link in self._detours for number in range(link.first, link.number + 1)}

    @cached_property
    def _detours(self) -> list[_Link]:
        """The sides of a chain before and after wrong or unread expressions, where these two are equal."""
        found: list[_Link] = []
        first = 0
        start: Side = ()
        end: Side = ()
        is_astray = False
        for number, item in self.steps:
            step, stated = item.step, item.step.stated
            if stated is None or not _is_plain_equality(step):
                end = ()
                continue
            if not end or stated.left != end:
                start, is_astray = stated.left, False
            end = stated.right
            if not is_astray:
                first, is_astray = number, not step.finding.is_true
            elif holds(Sides(left=start, sign=stated.sign, right=end), stated.scope):
                ends = _form_of(start, stated.scope), _form_of(end, stated.scope)
                around = replace(stated, left=start)
                found.append(_Link(number=number, stated=around, ends=ends, first=first))
                is_astray = False
            start = start if is_astray else end
        return found

    def _contradicts(self, target: "_Target") -> bool:
        """Whether the answer also says something else of the left side, or the reverse, that is not known to hold."""
        for _, item in self.steps:
            step, stated = item.step, item.step.stated
            if stated is None or step.role in (Role.DENIAL, Role.STRUCK, Role.WANTED, Role.GIVEN):
                continue
            ends = _form_of(stated.left, stated.scope), _form_of(stated.right, stated.scope)
            if target.sign not in _EQUALITIES and ends == target.forms[::-1] and stated.sign == target.sign:
                return True
            is_chance = step.finding.probability is not None or step.finding.is_true
            is_guess = step.finding.is_false or step.finding.is_doubtful or step.role is Role.POSSIBILITY
            if target.is_about(stated) and is_guess and not is_chance and ends[1] != target.forms[1]:
                return True
        return False


def _is_plain_equality(step: JudgedStep) -> bool:
    """Whether a step claims an equality without a condition."""
    is_claim = step.role is Role.ASSERTION and not (step.is_conditional or step.is_tentative)
    return is_claim and step.stated is not None and step.stated.sign in _EQUALITIES


@dataclass(frozen=True, kw_only=True)
class _Target:
    """The relation that is asked for, in the symbols of its question, some of which may be `put_in` for others."""

    scope: Scope
    chain: Chain
    put_in: Mapping[str, Expression]

    @property
    def sign(self) -> str:
        return self.chain.signs[0].text

    @cached_property
    def forms(self) -> tuple[Any, Any]:
        left, right = self.chain.sides[:2]
        return _form_of(left, self.scope), _form_of(right, self.scope)

    @cached_property
    def _terms(self) -> tuple[frozenset[str], frozenset[str]]:
        left, right = self.chain.sides[:2]
        return _terms_of(left, self.scope), _terms_of(right, self.scope)

    @cached_property
    def _spelt_out(self) -> tuple[Any, Any]:
        left, right = self.chain.sides[:2]
        return self._spell_out(left, self.scope), self._spell_out(right, self.scope)

    def _spell_out(self, side: Side, scope: Scope) -> Any:
        """The normal form of a side with all definitions put in."""
        read = readable(side, scope)
        return None if read is None else _form(_spelt_out(read, scope, self.put_in), scope)

    def is_left(self, form: Any) -> bool:
        return form == self.forms[0]

    def is_about(self, stated: StatedRelation | None) -> bool:
        """Whether a step says, in the same kind of relation, what the left side is."""
        if stated is None or (stated.sign in _EQUALITIES) is not (self.sign in _EQUALITIES):
            return False
        return self.is_left(_form_of(stated.left, stated.scope))

    def is_right(self, link: _Link, side: int) -> bool:
        """Whether one side of a step says the same as the right side: as written, or in the same terms."""
        if link.ends[side] == self.forms[1]:
            return True
        left, right = self._terms
        return not left <= right and _terms_of(link.sides[side], link.stated.scope) <= right

    def is_between(self, link: _Link, side: int) -> bool:
        """Whether one side of a step lies on the way: neither side in other words, nor with definitions put in."""
        if link.ends[side] in self.forms or self.is_right(link, side):
            return False
        spelt_out, read = self._spell_out(link.sides[side], link.stated.scope), readable(link.sides[side], self.scope)
        if spelt_out == self._spelt_out[0] or (spelt_out == self._spelt_out[1] and not _is_algebra(read)):
            return False
        if _terms_of(link.sides[side], link.stated.scope) <= self._terms[0] | self._terms[1]:
            return False
        return not self._is_padded(link, side)

    def _is_padded(self, link: _Link, side: int) -> bool:
        """Whether a side of a step is one of the two, or the left one's definition, with something around it.

        It equals them even if the problem's definitions were others: PZ + W − W, or QQ⁻¹Q + W for Q + W.
        """
        scope, written = link.stated.scope, link.sides[side]
        left, right = (Sides(left=written, sign="=", right=own) for own in self.chain.sides[:2])
        if any(holds(sides, _with_other_definitions(scope)) for sides in (left, right)):
            return True
        read, asked = readable(written, scope), readable(left.right, scope)
        if read is None or asked is None or _is_algebra(read):
            return False
        defined = _spelt_out(asked, scope, {}, depth=1)
        names = {_name(symbol, scope) for symbol in outer_symbols(asked)}
        is_more = defined != asked and _pieces(defined) <= _pieces(read)
        return is_more and holds(left, _with_other_definitions(scope, but=names))


def _is_algebra(node: Expression | None) -> bool:
    """Whether nothing but algebra is asked for, which may go by way of what a side means: no function but exp."""
    return node is not None and all(each.function == "exp" for each in walk(node) if isinstance(each, Apply))


def _pieces(node: Expression) -> Counter[str]:
    """How often each letter, number and operation occurs."""
    leaves = (Symbol, Number)
    return Counter(describe(each) if isinstance(each, leaves) else type(each).__name__ for each in walk(node))


def _with_other_definitions(scope: Scope, *, but: Collection[str] = ()) -> Scope:
    """The scope in which all that the problem defines, but these, is a multiple of it, each thing another one."""
    setting = scope.setting
    symbols, functions = dict(setting.symbols), dict(setting.functions)
    for factor, (key, meaning) in enumerate(setting.symbols.items(), start=2):
        if meaning.formula is not None and key not in but:
            symbols[key] = replace(meaning, formula=_multiple(factor, meaning.formula))
    for factor, (key, function) in enumerate(setting.functions.items(), start=2):
        vectors = None if function.vector_formula is None else _multiple(factor, function.vector_formula)
        functions[key] = replace(function, formula=_multiple(factor, function.formula), vector_formula=vectors)
    return replace(scope, setting=replace(setting, symbols=symbols, functions=functions, otherwise=None))


def _multiple(factor: int, formula: Expression) -> Expression:
    return Product((Number(Fraction(factor)), formula), (False,))


def _reached(target: _Target, links: Sequence[_Link]) -> tuple[int, bool] | None:
    """The step with which the two sides are connected, at best with something between them, and whether there is."""
    if target.sign not in _EQUALITIES:
        direct = (link for link in links if link.stated.sign == target.sign and link.ends == target.forms)
        return next(((link.number, False) for link in direct), None)
    stated = None
    for place in range(1, len(links) + 1):
        component = _component(target, links[:place])
        if any(target.is_right(link, side) for link in component for side in (0, 1)):
            number = links[place - 1].number
            if any(target.is_between(link, side) for link in component for side in (0, 1)):
                return number, True
            stated = stated or (number, False)
    return stated


def _component(target: _Target, links: Sequence[_Link]) -> list[_Link]:
    """The equalities that are connected with the left side, but not only by way of the right side."""
    known = {target.forms[0]}
    found: list[_Link] = []
    rest = [link for link in links if link.stated.sign in _EQUALITIES]
    while new := [link for link in rest if not known.isdisjoint(link.ends)]:
        rest = [link for link in rest if known.isdisjoint(link.ends)]
        known.update(end for link in new for side, end in enumerate(link.ends) if not target.is_right(link, side))
        found += new
    return found


def is_own(symbol: Symbol, base: Scope) -> bool:
    """True for a symbol that the assignment itself uses."""
    found = base.lookup(symbol) if base.declares(symbol) else None
    return found is not None and Assumption.USUAL not in found.meaning.assume


# -- expressions -------------------------------------------------------------------------------------------------------
def _form_of(side: Side, scope: Scope) -> Any:
    """The normal form of a side, None if it cannot be read."""
    read = readable(side, scope)
    return None if read is None else _form(read, scope)


def _form(node: Expression, scope: Scope) -> Any:
    """A normal form: names as the problem has them, sums in any order and without zeros, products without ones."""
    if isinstance(node, Symbol):
        return _name(node, scope)
    if isinstance(node, Sum):
        return _sum_form(node, scope)
    if isinstance(node, Product | Quotient | Negative | Number):
        factor, factors = _factors(node, scope)
        return factors[0] if factor == 1 and len(factors) == 1 else ("product", factor, factors)
    return (type(node).__name__, *(_part(getattr(node, name), scope) for name in node.__slots__))


def _part(value: Any, scope: Scope) -> Any:
    if isinstance(value, Expression):
        return _form(value, scope)
    return tuple(_part(item, scope) for item in value) if isinstance(value, tuple) else value


def _sum_form(node: Sum, scope: Scope) -> Any:
    totals: dict[Any, Fraction] = {}
    for term in node.terms:
        factor, factors = _factors(term, scope)
        totals[factors] = totals.get(factors, Fraction(0)) + factor
    terms = frozenset((factors, total) for factors, total in totals.items() if total)
    if len(terms) > 1:
        return ("sum", terms)
    factors, total = next(iter(terms), ((), Fraction(0)))
    return factors[0] if total == 1 and len(factors) == 1 else ("product", total, factors)


def _factors(node: Expression, scope: Scope) -> tuple[Fraction, tuple[Any, ...]]:
    """The numerical factor of an expression, and its other factors in order."""
    if isinstance(node, Number):
        return node.value, ()
    if isinstance(node, Negative):
        factor, factors = _factors(node.body, scope)
        return -factor, factors
    if isinstance(node, Product):
        parts = [_factors(factor, scope) for factor in node.factors]
        return math.prod((part[0] for part in parts), start=Fraction(1)), tuple(
            each for part in parts for each in part[1]
        )
    if isinstance(node, Quotient):
        factor, factors = _factors(node.top, scope)
        if isinstance(node.bottom, Number) and node.bottom.value:
            return factor / node.bottom.value, factors
        return factor, (("quotient", factors, _form(node.bottom, scope)),)
    return Fraction(1), (_form(node, scope),)


def _spelt_out(node: Any, scope: Scope, put_in: Mapping[str, Expression], depth: int = _DEPTH) -> Any:
    """An expression with definitions of symbols and functions put in, `depth` levels down, and what is `put_in`."""
    if isinstance(node, tuple):
        return tuple(_spelt_out(item, scope, put_in, depth) for item in node)
    if not isinstance(node, Expression) or depth == 0:
        return node
    if isinstance(node, Symbol):
        found = scope.lookup(node)
        defined = found.meaning.formula if found is not None and found.member is None else None
        formula = put_in.get(_name(node, scope), defined)
        return node if formula is None else _spelt_out(formula, scope, put_in, depth - 1)
    parts = type(node)(*(_spelt_out(getattr(node, name), scope, put_in, depth) for name in node.__slots__))
    function = scope.setting.functions.get(parts.function) if isinstance(parts, Apply) else None
    if function is None or not isinstance(parts, Apply) or len(parts.arguments) != len(function.arguments):
        return parts
    given = dict(zip(function.arguments, parts.arguments, strict=True))
    return _spelt_out(function.formula, scope, {**put_in, **given}, depth - 1)


def _name(symbol: Symbol, scope: Scope) -> str:
    """The problem's name for a symbol; members of a family that a free index picks have one name."""
    found = scope.lookup(symbol)
    if found is None or found.member is None:
        return describe(symbol) if found is None else found.meaning.key
    member = describe(found.member)
    return f"{found.meaning.name}[{'any' if member in scope.setting.free else member}]"


def _terms_of(side: Side, scope: Scope) -> frozenset[str]:
    read = readable(side, scope)
    return frozenset() if read is None else _terms(read, scope)


def _terms(node: Expression, scope: Scope) -> frozenset[str]:
    """The symbols and functions that an expression is written in, without sizes, scales and random numbers.

    A symbol of the author's own counts as what it is defined by.
    """
    functions = {f"{name}()" for name in _functions(node) if name in scope.setting.functions}
    return frozenset(functions).union(*(_terms_of_symbol(symbol, scope) for symbol in outer_symbols(node)))


def _functions(node: Expression) -> Iterator[str]:
    for each in walk(node):
        if isinstance(each, Apply):
            yield each.function
        elif isinstance(each, Symbol):
            yield each.name


def _terms_of_symbol(symbol: Symbol, scope: Scope) -> frozenset[str]:
    found = scope.lookup(symbol)
    if found is None:
        return frozenset() if scope.is_constant(symbol) else frozenset((describe(symbol),))
    meaning = found.meaning
    is_own = meaning.key in scope.own and meaning.key not in scope.setting.symbols
    if is_own and meaning.formula is not None:
        return _terms(meaning.formula, replace(scope, own={k: m for k, m in scope.own.items() if k != meaning.key}))
    is_parameter = meaning.is_number and (meaning.tends is not None or meaning.variance is not None)
    return frozenset() if is_parameter else frozenset((_name(symbol, scope),))
