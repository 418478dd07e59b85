"""A relation and its instances: both sides' values on one instance, for each telling choice of the free indices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from regard.derivations.judging.arithmetic import BALLS, ORDERS, Arithmetic
from regard.derivations.judging.evaluate import Evaluator
from regard.derivations.judging.evaluation import PLAIN, Convention, OutOfRange
from regard.derivations.judging.findings import Note
from regard.derivations.judging.indices import assignments, index_letters, ranges
from regard.derivations.judging.instances import Instance, choose_sizes, with_particular
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.values import Value, same_shape
from regard.derivations.notation.syntax import Condition, Expression
from regard.derivations.notation.tokens import NotUnderstood

_LARGEST_SIZE = 128


@dataclass(frozen=True, kw_only=True)
class Relation:
    """left sign right, with the conditions that its free indices are under and one way to read its shorthand."""

    left: Expression
    sign: str
    right: Expression
    conditions: tuple[Condition, ...] = ()
    premises: tuple["Relation", ...] = ()
    convention: Convention = PLAIN


class Pair(NamedTuple):
    """Both sides' values at one choice of the free indices, and the notes on how names were read."""

    left: Value
    right: Value
    indices: Mapping[str, int]
    notes: tuple[Note, ...]

    def aligned(self) -> tuple[Value, Value]:
        """Both sides in one shape, or IllShaped."""
        return same_shape(self.left, self.right)


@dataclass(frozen=True, kw_only=True)
class Instances:
    """The instances of a relation in its scope."""

    scope: Scope
    relation: Relation

    @property
    def sides(self) -> tuple[Expression, Expression]:
        """The left and the right side."""
        return self.relation.left, self.relation.right

    @cached_property
    def reached(self) -> frozenset[str]:
        """The names of all symbols that the relation depends on."""
        return self.scope.reach(*self.sides)

    @cached_property
    def regime(self) -> tuple[str, ...]:
        """The symbols in the relation that tend somewhere."""
        meanings = self.scope.meanings
        return tuple(sorted(name for name in self.reached if name in meanings and meanings[name].tends))

    @cached_property
    def _letters(self) -> dict[str, str]:
        """The free letters of the relation, with the sizes that they run over."""
        letters = index_letters(self.sides, self.scope.setting)
        over = ranges(self.sides, self.scope) if letters else {}
        return {letter: over[letter] for letter in letters}

    def pairs(self, instance: Instance, arithmetic: Arithmetic) -> Iterator[Pair]:
        """Both sides for each telling assignment of the free indices; a member that is out of range is passed over."""
        convention = self.relation.convention
        evaluator = Evaluator(scope=self.scope, instance=instance, arithmetic=arithmetic, convention=convention)
        chosen = assignments(
            self._letters,
            self.relation.conditions,
            instance,
            avoid_fixed=convention.avoids_fixed,
            is_distinct=convention.is_distinct,
        )
        if not chosen:
            raise NotUnderstood("no index meets the conditions that are written.")
        missing: OutOfRange | None = None
        is_empty = True
        for indices in chosen:
            at = evaluator.at(**indices) if indices else evaluator
            try:
                left, right = at(self.relation.left), at(self.relation.right)
            except OutOfRange as error:
                missing = error
                continue
            is_empty = False
            yield Pair(left, right, indices, tuple(evaluator.notes))
        if is_empty and missing is not None:
            raise missing

    def premises_hold(self, instance: Instance) -> np.ndarray:
        """For each draw, whether everything that the relation supposes (γ > 1) is so."""
        total = instance.num_draws * instance.num_stages
        holds = np.ones(total, dtype=bool)
        for premise in self.relation.premises:
            evaluator = Evaluator(scope=self.scope, instance=instance, arithmetic=BALLS)
            left, right = evaluator(premise.left).array, evaluator(premise.right).array
            for k in range(total):
                x, y = left[k % left.shape[0], 0, 0], right[k % right.shape[0], 0, 0]
                holds[k] &= bool(ORDERS[premise.sign](x, y))
        return holds

    def base(self, *, larger: int = 0, **changes: Any) -> Instance:
        """The smallest instance of the setting, or one that differs from it; `larger` takes larger sizes."""
        setting = self.scope.setting
        for name, size in self.scope.sizes.items():
            if size > _LARGEST_SIZE:
                raise NotUnderstood(f"{name} = {size} is too large to be tried.")
        sizes = with_particular(setting, choose_sizes(setting, larger), self.scope.sizes)
        return Instance(setting=setting, sizes=sizes, **changes)
