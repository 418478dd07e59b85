"""Steps decided where they stand: at the values that the text gives, for the query in force, or after a slip."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from regard.derivations.formulas import Formula
from regard.derivations.judging.findings import Finding, NoteKind
from regard.derivations.judging.judge import decide
from regard.derivations.judging.readings import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Accent, Apply, Expression, Symbol, children, symbols
from regard.derivations.notation.tokens import Token
from regard.derivations.problems.model import Setting, SymbolMeaning
from regard.derivations.recognising import at_particular_values, differ_in_general, is_number, readable, tends

_UNIT = Symbol("i")
_AT_VALUES = NoteKind.AT_GIVEN_VALUES.note()


@dataclass(frozen=True)
class Last:
    """The last side of the chain above, and the last side before it that was still right."""

    side: tuple[Token, ...]
    anchor: tuple[Token, ...]
    is_wrong: bool = False


@dataclass(frozen=True, kw_only=True)
class Footing:
    """What names mean where a step stands, and what they may have been meant to mean.

    `before` is the scope before a query that is only tried out; `intended` has the problem's own query in it, and
    counts where the text has another one (`has_slipped`).
    """

    scope: Scope
    intended: Scope
    before: Scope | None = None
    has_slipped: bool = False
    is_strict: bool = False

    def decide(self, sides: Sides, last: Last, formula: Formula) -> Finding:
        """The finding on a step; beside a query that is only tried out, it may be about the one before."""
        finding = self._decide(sides, last, formula)
        if finding.is_true or self.before is None:
            return finding
        without = replace(self, scope=self.before)._decide(sides, last, formula)
        return without if without.is_true or finding.is_false else finding

    def _decide(self, sides: Sides, last: Last, formula: Formula) -> Finding:
        """The finding on a step; one that fails is looked at again wherever else it may have been meant."""
        particular = at_particular_values((*formula.siblings, *formula.chains), self.scope)
        at_values = decide(replace(sides, is_particular=True), particular) if particular is not None else None
        if at_values is not None and at_values.is_true:
            return at_values.with_notes([_AT_VALUES])
        finding = self._found(sides, self.scope)
        finding = at_values if at_values is not None and not finding.is_true else finding
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
        return replace(finding, kind="false", reason="the two sides are equal only in the limit")

    # -- elsewhere ---------------------------------------------------------------------------------------------------
    def _elsewhere(self, sides: Sides, formula: Formula) -> Finding | None:
        """A failure that is true at values that came before it, or in the setting's other guise."""
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
        return Finding(kind="unknown", reason=f"it is so if {other.assuming}, which the question does not say")

    # -- after a slip ------------------------------------------------------------------------------------------------
    def _after_slip(self, sides: Sides, last: Last) -> Finding | None:
        """A false step that is right but for an earlier slip: in the term before it, or in the query."""
        if last.is_wrong and last.anchor:
            mended = self._found(replace(sides, left=last.anchor), self.scope)
            if mended.is_true:
                return _not_judged("the term before it is wrong; it follows from the last right one", mended)
        for scope in self._intended_scopes(sides) if self.has_slipped else ():
            intended = self._found(sides, scope)
            if intended.is_true and not intended.is_approximation_meant:
                reason = "it is so for the query that was asked for, not for the one that is written"
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
