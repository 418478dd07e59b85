"""The appeal of a claim that comes out false: where else it may have been meant, and what makes a refutation doubtful.

A claim is refuted only if it fails under every sensible reading. What remains false for one reader and not for another
is left open, and the reason says what it depends on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from regard.derivations.context.clauses import Clause
from regard.derivations.context.environment import at_particular_values, growing_instead, is_number, readable, tends
from regard.derivations.context.formulas import Sentence
from regard.derivations.judging.exact import confirmed
from regard.derivations.judging.findings import Finding, NoteKind, OpenBecause, left_open, true
from regard.derivations.judging.judge import decide
from regard.derivations.judging.memory import current_memory, digest_of, environment_key
from regard.derivations.judging.relations import Relation, Sides, spell
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Setting, SymbolMeaning
from regard.derivations.judging.values import ORDERS
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Accent, Apply, Expression, Number, Symbol, children, symbols
from regard.derivations.notation.tokens import Token
from regard.derivations.results import Role

_UNIT = Symbol("i")
_NEARBY = 40
_AT_VALUES = NoteKind.AT_GIVEN_VALUES.note()


@dataclass(frozen=True)
class LastSide:
    """The last side of the chain above, and the last side before it that was still right."""

    side: tuple[Token, ...]
    anchor: tuple[Token, ...]
    is_wrong: bool = False


@dataclass(frozen=True, kw_only=True)
class Appeal:
    """Decides a claim by what names mean where it stands, or by what they may have been meant to mean.

    `before` is the scope before a query that is only tried; `intended` has the problem's own query in it, and counts
    where the text has another one (`has_slipped`). `unread` are names whose meaning in the document is not known,
    `other_designs` scopes with designs that the document offered before, `written` what it gave symbols that they are
    not, `values` the particular values that it has given anywhere before. `general` are scopes in which symbols of the
    document may be anything: what holds there holds whatever it has said of them. `learnt` is what these depend on
    besides the scope.
    """

    scope: Scope
    sentence: Sentence
    clause: Clause
    intended: Callable[[], Scope]
    before: Scope | None = None
    has_slipped: bool = False
    unread: frozenset[str] = frozenset()
    other_designs: Callable[[], Iterable[Scope]] = tuple
    general: Callable[[Sides, Finding], Iterable[Scope]] | None = None
    learnt: Callable[[], tuple[Any, ...]] = tuple
    written: Mapping[str, Expression] = field(default_factory=dict)
    values: tuple[Chain, ...] = ()
    is_strict: bool = False

    def decide(self, sides: Sides, last: LastSide) -> Finding:
        """The finding on a claim; beside a query that is only tried, it may be about the one before."""
        finding = self._decide(sides, last)
        if finding.is_true or self.before is None:
            return finding
        without = replace(self, scope=self.before)._decide(sides, last)
        return without if without.is_true or finding.is_false else finding

    def _decide(self, sides: Sides, last: LastSide) -> Finding:
        """The finding on a claim; one that fails is looked at again wherever else it may have been meant."""
        finding = confirmed(self._found(sides, self.scope))
        finding = finding.with_notes([_AT_VALUES]) if sides.is_particular else finding
        if not finding.is_true and (in_general := self._in_general(sides, finding)) is not None:
            return in_general
        if finding.missing is not None and finding.missing in self.unread:
            return replace(finding, open_because=OpenBecause.DEPENDS_ON_UNREAD)
        if finding.kind == "not understood":
            return self._elsewhere(sides) or finding
        if not finding.is_false:
            return finding
        if sides.sign == "≠" and self._found(replace(sides, sign="="), self.scope).is_false:
            return self._differ_in_general()
        return (
            self._elsewhere(sides)
            or self._for_another_design(sides)
            or self._after_slip(sides, last)
            or self._without_conditions(sides)
            or self._about_unread(sides)
            or self._at_earlier_values(sides)
            or self._in_some_case(sides)
            or self._in_another_regime(sides)
            or replace(finding, elsewhere=partial(self._findings_elsewhere, sides))
        )

    def _found(self, sides: Sides, scope: Scope) -> Finding:
        """The finding; read strictly, an = that only holds in the limit is false."""
        finding = decide(sides, scope)
        if not (self.is_strict and finding.is_approximation_meant):
            return finding
        return replace(finding, kind="false", reason="The two sides are equal only in the limit")

    def _differ_in_general(self) -> Finding:
        """What is to be said of x ≠ y where the sides differ on some instances and are equal on others."""
        if self.clause.is_in_general:
            return true("The two sides differ in general, though not for all inputs")
        return Finding(kind="unknown", reason="The two sides differ for some inputs and are equal for others")

    def _in_general(self, sides: Sides, finding: Finding) -> Finding | None:
        """What is true whatever the document has said of some of its symbols."""
        if self.general is None:
            return None
        first_true = partial(self._true_in_one, self.general, sides, finding)
        memory = current_memory()
        if memory is None:
            return first_true()
        learnt = digest_of(finding.kind, self.is_strict, *self.learnt())
        return memory.recall((sides, environment_key(self.scope), learnt), first_true)

    def _true_in_one(
        self, general: Callable[[Sides, Finding], Iterable[Scope]], sides: Sides, finding: Finding
    ) -> Finding | None:
        """The claim found true in the first of the general scopes in which it is."""
        found = (self._found(sides, scope) for scope in general(sides, finding))
        return next((each for each in found if each.kind == "true"), None)

    # -- elsewhere ---------------------------------------------------------------------------------------------------
    def _elsewhere(self, sides: Sides) -> Finding | None:
        """A failure that is true at values that came before it, or in the setting's alternative."""
        nearby = self._nearby()
        if nearby is not None and (found := decide(replace(sides, is_particular=True), nearby)).is_true:
            return found.with_notes([_AT_VALUES])
        other = self.scope.setting.otherwise
        while other is not None:
            if (found := self._otherwise(sides, other, nearby)) is not None:
                return found
            other = other.otherwise
        return None

    def _nearby(self) -> Scope | None:
        """The scope at the particular values that stand in the sentence or before it."""
        earlier = tuple(chain for chain in self.sentence.earlier if is_number(chain, self.scope))
        return at_particular_values((*earlier, *self.sentence.chains[:_NEARBY]), self.scope)

    def _findings_elsewhere(self, sides: Sides) -> Iterator[Finding]:
        """The findings on a claim at values that came before it, and in the alternatives that the text allows."""
        nearby, other = self._nearby(), self.scope.setting.otherwise
        if nearby is not None:
            yield decide(replace(sides, is_particular=True), nearby).with_notes([_AT_VALUES])
        while other is not None:
            if other.reading or self._is_said(other):
                yield self._found(sides, replace(self.scope, setting=other))
                if nearby is not None:
                    yield decide(replace(sides, is_particular=True), replace(nearby, setting=other))
            other = other.otherwise

    def _is_said(self, other: Setting) -> bool:
        """True if the text makes the assumption of an alternative setting."""
        return any(word in self.sentence.passage.lower() for word in other.said_by)

    def _at_earlier_values(self, sides: Sides) -> Finding | None:
        """A failure that is true at the values that the document gave somewhere before."""
        particular = at_particular_values((*self.values, *self.sentence.chains[:_NEARBY]), self.scope)
        if particular is None or not decide(replace(sides, is_particular=True), particular).is_true:
            return None
        return left_open(OpenBecause.DOUBTFUL, "Looks wrong unless it is meant at the values that were given earlier")

    def _otherwise(self, sides: Sides, other: Setting, particular: Scope | None) -> Finding | None:
        """A claim that needs more than the question says is left open, unless the text says so or it is a reading."""
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
        if not found.is_true or found.is_approximation_meant:
            return None
        if self._is_said(other):
            return found.with_notes([NoteKind.ASSUMED_IN_TEXT.note(other.assuming)])
        return Finding(kind="unknown", reason=f"True if {other.assuming}, which the question does not say")

    def _for_another_design(self, sides: Sides) -> Finding | None:
        """A failure that is true for another of the designs that the document offers: which one is meant is open."""
        if any(self._found(sides, scope).is_true for scope in self.other_designs()):
            return left_open(OpenBecause.DOUBTFUL, "True for another of the designs above, but not for the last one")
        return None

    def _without_conditions(self, sides: Sides) -> Finding | None:
        """A claim that is true without the conditions on indices that its sentence makes elsewhere."""
        if not sides.conditions:
            return None
        found = self._found(replace(sides, conditions=()), self.scope)
        return found if found.is_true else None

    def _in_some_case(self, sides: Sides) -> Finding | None:
        """A failure that depends on a random number, and is true on one side of its mean or of zero: some samples."""
        if sides.premises:
            return None
        meanings = [self.scope.meanings.get(name) for name in self.scope.reach(*sides.expressions(self.scope))]
        for number in (meaning for meaning in meanings if meaning is not None and meaning.is_random_number):
            if sides.sign in ORDERS:
                return left_open(OpenBecause.DOUBTFUL, f"Looks wrong unless it is a condition on {spell(number.name)}")
            for bound, sign in product({Fraction(0), Fraction(number.mean)}, "<>"):
                case = Relation(left=Symbol(number.name), sign=sign, right=Number(bound))
                if decide(replace(sides, premises=(case,)), self.scope).is_true:
                    reason = f"Looks wrong unless it is meant for {spell(number.name)} {sign} {bound}"
                    return self._by_chance(sides) or left_open(OpenBecause.DOUBTFUL, reason)
        return None

    def _in_another_regime(self, sides: Sides) -> Finding | None:
        """A failure that is true where a scale of the author's own grows instead of vanishing."""
        reached = sorted(self.scope.reach(*sides.expressions(self.scope))) if sides.sign in ("≈", "→") else ()
        for name, scope in growing_instead(self.scope, reached):
            if decide(sides, scope).is_true:
                return left_open(OpenBecause.DOUBTFUL, f"Looks wrong if {spell(name)} vanishes here")
        return None

    def _by_chance(self, sides: Sides) -> Finding | None:
        """The finding on an = that is ≈ in a part of the samples."""
        found = decide(replace(sides, sign="≈"), self.scope)
        is_chance = sides.sign == "=" and found.probability is not None and not self.is_strict
        return found.with_notes([NoteKind.APPROXIMATION_MEANT.note()]) if is_chance else None

    # -- after a slip ------------------------------------------------------------------------------------------------
    def _after_slip(self, sides: Sides, last: LastSide) -> Finding | None:
        """A false claim that is right but for an earlier slip: in the term before it, or in the query."""
        if last.is_wrong and last.anchor:
            corrected = self._found(replace(sides, left=last.anchor), self.scope)
            if corrected.is_true:
                reason = "This line is right; the error is in the line before"
                return left_open(OpenBecause.AFTER_SLIP, reason, corrected.notes)
        if self.written and self._found(sides, self._with_written()).is_true:
            names = ", ".join(sorted(self.written))
            return left_open(OpenBecause.AFTER_SLIP, f"True with what was written above for {names}")
        for scope in self._intended_scopes(sides) if self.has_slipped else ():
            intended = self._found(sides, scope)
            is_possible = self.clause.role is Role.POSSIBILITY and intended.probability is not None
            if is_possible or (intended.is_true and not intended.is_approximation_meant):
                reason = "True for a correct query, but not for the q you wrote above"
                found = left_open(OpenBecause.AFTER_SLIP, reason, intended.notes)
                return replace(found, probability=intended.probability)
        return None

    def _with_written(self) -> Scope:
        scope = self.scope
        for name, formula in self.written.items():
            scope = scope.with_meaning(SymbolMeaning(name=name, formula=formula))
        return scope

    def _intended_scopes(self, sides: Sides) -> Iterator[Scope]:
        """Scopes in which the query is the one that was asked for, its scale called β or as the claim calls it."""
        intended = self.intended()
        yield intended
        for symbol in _bare_symbols(sides, self.scope):
            if symbol.name != "beta" and not self.scope.is_constant(symbol) and tends(symbol, self.scope):
                yield intended.with_meaning(SymbolMeaning(name="beta", formula=symbol))

    def _about_unread(self, sides: Sides) -> Finding | None:
        """A failure that rests on something the document has not said, as far as it could be read."""
        reached = self.unread & self.scope.reach(*sides.expressions(self.scope))
        if not reached:
            return None
        names = ", ".join(sorted(reached))
        return left_open(OpenBecause.DEPENDS_ON_UNREAD, f"Depends on {names}, which was not found or could not be read")


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
