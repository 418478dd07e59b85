"""One evaluation: a scope, an instance, an arithmetic; every kind of expression has its rule in a module of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.judging.findings import Note
from regard.derivations.judging.indices import index_value, letters_in
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.values import Value
from regard.derivations.notation.syntax import Apply, BigOperator, Derivative, Expression
from regard.derivations.notation.tokens import NotUnderstood

_MAX_DEFINITIONS = 40
_WORTH_REMEMBERING = (Apply, BigOperator, Derivative)


class OutOfRange(NotUnderstood):
    """A member that a family doesn't have, such as the ω_{k+1} after the last."""


@dataclass(frozen=True, kw_only=True)
class Convention:
    """How shorthand is meant.

    Whether a factor 1 is the vector of ones, which fixed members `\\sum_{others}` leaves out (all, if none is named),
    whether indices count from zero or one, and whether free indices avoid the fixed ones and each other.
    """

    is_one_a_vector: bool = False
    excluded: tuple[str, ...] = ()
    first_index: int = 1
    avoids_fixed: bool = False
    is_distinct: bool = False


PLAIN = Convention()


@dataclass(kw_only=True)
class Evaluation:
    """The values of expressions of one scope on one instance; remembers what it has computed and how it read names.

    `arguments` are values that stand for symbols, by the identity of their meaning, inside the formula of a function.
    `known` are the values of symbols, which all evaluations of a scope on an instance share.
    """

    RULES: ClassVar[Mapping[type[Expression], "Rule"]]

    scope: Scope
    instance: Instance
    arithmetic: Arithmetic
    convention: Convention = PLAIN
    indices: Mapping[str, int] = field(default_factory=dict)
    arguments: Mapping[int, Value] = field(default_factory=dict)
    notes: dict[Note, None] = field(default_factory=dict)
    memory: dict[Any, tuple[Expression, Value]] = field(default_factory=dict)
    known: dict[tuple[int, int | None], Value] | None = None
    depth: int = 0

    def __call__(self, node: Expression) -> Value:
        """The value of an expression, or IllShaped, UnknownSymbol, NotUnderstood."""
        if not isinstance(node, _WORTH_REMEMBERING):
            return self._computed(node)
        key = self._key(node)
        known = self.memory.get(key)
        if known is None:
            # The node is kept beside its value: while it lives, no other has its id.
            known = self.memory[key] = (node, self._computed(node))
        return known[1]

    def _key(self, node: Expression) -> Any:
        indices = self.indices
        if not indices:
            return id(node)
        letters = [letter for letter in letters_in(node) if letter in indices]
        return (id(node), *((letter, indices[letter]) for letter in letters)) if letters else id(node)

    def _computed(self, node: Expression) -> Value:
        rule = self.RULES.get(type(node))
        if rule is None:
            raise NotUnderstood(f"{type(node).__name__} cannot be evaluated.")
        return rule(self, node)

    def at(self, **indices: int) -> Self:
        """The evaluation with some indices set; what does not depend on them is shared."""
        return self._changed(indices={**self.indices, **indices})

    def elsewhere(self, **changes: Any) -> Self:
        """The evaluation in another scope, on another instance or in another arithmetic; nothing computed is shared."""
        return self._changed(memory={}, known=None, **changes)

    def with_arguments(self, arguments: Mapping[int, Value], **changes: Any) -> Self:
        """The evaluation with values put in for some symbols."""
        return self._changed(arguments=arguments, memory={}, **changes)

    def _changed(self, **changes: Any) -> Self:
        """What dataclasses.replace gives, at a third of its cost: every sum makes one for each of its terms."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    def inside(self, formula: Expression, indices: Mapping[str, int], swaps: Mapping[str, str]) -> Value:
        """The value of a symbol's own formula, where the shorthand of the text around it does not reach."""
        if self.depth > _MAX_DEFINITIONS:
            raise NotUnderstood("The definitions go round in a circle.")
        is_swapped = swaps or self.scope.swaps
        outer = self.elsewhere(scope=replace(self.scope, swaps=swaps)) if is_swapped else self
        convention = PLAIN if self.convention is PLAIN else Convention(first_index=self.convention.first_index)
        return outer._changed(convention=convention, indices=indices, depth=self.depth + 1)(formula)

    def values_of_symbols(self) -> dict[tuple[int, int | None], Value]:
        """What is known of symbols in this scope, on this instance, in this arithmetic."""
        if self.known is None:
            key = (self.instance.key, self.arithmetic.is_certified)
            self.known = self.scope.values.setdefault(key, {})
        return self.known

    def place(self, subscript: Expression) -> int:
        """The place (from zero) that a subscript points to."""
        return index_value(subscript, self.indices, self.instance)

    def remember(self, note: Note) -> None:
        """Say how something was read."""
        self.notes[note] = None


Rule = Callable[[Evaluation, Any], Value]
