"""Instances: one setting made concrete, with sizes that are all different and symbols drawn under their assumptions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.judging.draws import Plan, drawn, drawn_at_stages, plan_for
from regard.derivations.problems.model import Setting, SymbolMeaning

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


@lru_cache(maxsize=256)
def choose_sizes(setting: Setting, larger: int = 0) -> Mapping[str, int]:
    """A different prime (twice a prime where it must be even) for each size; `larger` skips as many that would do."""
    sizes: dict[str, int] = {}
    for name, size in sorted(
        setting.sizes.items(), key=lambda item: len(item[1].above) + 9 * (item[1].twice is not None)
    ):
        if size.twice is not None:
            sizes[name] = 2 * sizes[size.twice]
            continue
        least = max([size.minimum, sum(sizes.get(other, 0) for other in size.above)])
        candidates = [2 * prime if size.is_even else prime for prime in _PRIMES]
        fitting = [prime for prime in candidates if prime >= least and prime not in sizes.values()]
        sizes[name] = fitting[min(larger, len(fitting) - 1)]
    return sizes


def with_particular(setting: Setting, sizes: Mapping[str, int], particular: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes with some set by hand, and the others made large enough again."""
    if not particular:
        return sizes
    result = {**sizes, **particular}
    for name, size in setting.sizes.items():
        least = sum(result[other] for other in size.above)
        if name not in particular and result[name] < least:
            result[name] = least + 1
        if size.twice is not None:
            result[name] = 2 * result[size.twice]
    return result


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One setting made concrete: sizes, the fixed indices, and a seed from which every symbol is drawn.

    `driven` overrides scalars with a whole drive of values (β = 8, 32, 128); every draw is then seen at every stage.
    `drawn` sets a scalar's value draw by draw. `moved` puts random symbols at their means and moves them one component
    at a time. `is_plain` rounds draws to halves, so that a counterexample can be read.
    """

    setting: Setting
    sizes: Mapping[str, int]
    seed: int = 0
    num_draws: int = 3
    driven: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    drawn: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    is_plain: bool = False
    moved: float = 0.0

    @cached_property
    def key(self) -> tuple:
        """All that tells one instance of a setting from another."""
        return (self.plan, *self.driven.items(), *self.drawn.items(), self.moved)

    @cached_property
    def plan(self) -> Plan:
        """All that the draws depend on."""
        return plan_for(self.setting, tuple(self.sizes.items()), self.seed, self.num_draws, self.is_plain)

    @cached_property
    def num_stages(self) -> int:
        """How many stages the drive has."""
        return max((len(values) for values in self.driven.values()), default=1)

    @property
    def total_draws(self) -> int:
        """The length of the batch: stages times draws times moves."""
        moves = 1 + len(self._components()) if self.moved else 1
        return self.num_stages * self.num_draws * moves

    def fixed_index(self, letter: str) -> int:
        """The value of a fixed index such as a; fixed indices differ from each other."""
        return sorted(self.setting.fixed).index(letter)

    def size(self, name: str) -> int:
        """A size by its name, or a literal number."""
        return self.plan.size(name)

    def component_variances(self) -> np.ndarray:
        """The variance of every random number of the setting."""
        return np.array([meaning.variance for meaning, _ in self._components()], dtype=float)

    def _components(self) -> list[tuple[SymbolMeaning, int]]:
        """Every random number of the setting: a symbol and a place in its array."""
        found = []
        for meaning in self.setting.symbols.values():
            if meaning.variance is not None and meaning.formula is None:
                sizes = [self.size(name) for name in (*meaning.shape, *([meaning.over] if meaning.over else []))]
                found += [(meaning, place) for place in range(math.prod(sizes))]
        return found

    def draw(self, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
        """The symbol's values, (stage and draw, row, column), with the family's axis second where it has one."""
        still = self._still(meaning, arithmetic)
        if not self.moved:
            return still
        components = self._components()
        if meaning.variance is None or meaning.formula is not None:
            return np.repeat(still, 1 + len(components), axis=0)
        flat = np.full((len(still), 1 + len(components), math.prod(still.shape[1:])), float(meaning.mean))
        for place, (owner, entry) in enumerate(components):
            if owner is meaning:
                flat[:, 1 + place, entry] += self.moved
        return arithmetic.array(flat.reshape(-1, *still.shape[1:]))

    def _still(self, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
        if meaning.name in self.driven and meaning.index is None:
            stages = np.repeat(np.array(self.driven[meaning.name]), self.num_draws)
            return arithmetic.array(stages[:, None, None])
        if meaning.name in self.drawn:
            return arithmetic.array(np.tile(np.array(self.drawn[meaning.name]), self.num_stages)[:, None, None])
        if self.num_stages == 1:
            return drawn(self.plan, meaning, arithmetic)
        return drawn_at_stages(self.plan, meaning, arithmetic, self.num_stages)
