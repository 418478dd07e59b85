"""Instances: sizes that are all different, and symbols drawn at random under their assumptions."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.problems.model import Setting, SymbolMeaning

__all__ = ["QUANTILES", "Instance", "choose_sizes", "with_particular"]

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
_UNKNOWN_SIZE = 2
QUANTILES = (-2.05, -1.1, -0.45, 0.3, 0.95, 1.9)


def choose_sizes(setting: Setting, *, larger: int = 0) -> dict[str, int]:
    """A different prime (twice a prime where it must be even) for each size; `larger` skips that many that would do."""
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

    `driven` overrides scalars with a whole drive of values (β = 8, 32, 128); every draw is then seen at every stage of the drive.
    `drawn` sets a scalar's value draw by draw. `moved` puts random symbols at their means and moves them one component at a time.
    `is_plain` rounds draws to halves, so that a counterexample can be read.
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
        """All that tells one instance from another."""
        return (
            id(self.setting),
            *self.sizes.items(),
            self.seed,
            self.num_draws,
            *self.driven.items(),
            *self.drawn.items(),
            self.is_plain,
            self.moved,
        )

    @property
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
        return int(name) if name.isdigit() else self.sizes.get(name, _UNKNOWN_SIZE)

    def _components(self) -> list[tuple[SymbolMeaning, int]]:
        """Every random number of the setting: a symbol and a place in its array."""
        found = []
        for meaning in self.setting.symbols.values():
            if meaning.variance is not None and meaning.formula is None:
                sizes = [self.size(name) for name in (*meaning.shape, *([meaning.over] if meaning.over else []))]
                found += [(meaning, place) for place in range(math.prod(sizes))]
        return found

    def component_variances(self) -> np.ndarray:
        """The variance of every random number of the setting."""
        return np.array([meaning.variance for meaning, _ in self._components()], dtype=float)

    def draw(self, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
        """The symbol's values, (stage and draw, row, column), with the family's axis second where it has one."""
        still = self._still(meaning, arithmetic)
        if not self.moved:
            return still
        components = self._components()
        values = np.repeat(still, 1 + len(components), axis=0)
        if meaning.variance is None or meaning.formula is not None:
            return values
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
        plan = _Plan(
            setting=self.setting,
            sizes=tuple(self.sizes.items()),
            seed=self.seed,
            num_draws=self.num_draws,
            is_plain=self.is_plain,
        )
        draws = _drawn(plan, meaning, arithmetic)
        return draws if self.num_stages == 1 else np.concatenate([draws] * self.num_stages)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """All that the draws of an instance depend on."""

    setting: Setting
    sizes: tuple[tuple[str, int], ...]
    seed: int
    num_draws: int
    is_plain: bool

    def size(self, name: str) -> int:
        return int(name) if name.isdigit() else dict(self.sizes).get(name, _UNKNOWN_SIZE)

    def raw(self, meaning: SymbolMeaning) -> np.ndarray:
        """The symbol's draws as plain floats, before orthogonality is brought about."""
        shape = tuple(self.size(dimension) for dimension in meaning.shape)
        family = () if meaning.over is None else (self.size(meaning.over),)
        full = (self.num_draws, *family, *shape)
        name = f"{meaning.name}_{meaning.index}" if meaning.index else meaning.name
        seeds = (self.setting.seed, self.seed) if self.setting.seed else (self.seed,)
        rng = np.random.default_rng([*seeds, zlib.crc32(name.encode())])
        if "integer" in meaning.assume:
            return self.integer(meaning.name, full)
        special = {
            "permutation": _permutations,
            "unit vectors": _unit_vectors,
            "frequencies": _frequencies,
            "one-hot": _one_hot,
            "distribution": _distributions,
        }
        for assumption in meaning.assume:
            if assumption in special:
                return special[assumption](rng, full)
        if meaning.tends == "infinity" or "positive" in meaning.assume:
            return self.rounded(rng.uniform(0.5, 2.5, size=full))
        if meaning.tends == "zero" or "small" in meaning.assume:
            return self.rounded(rng.uniform(0.05, 0.4, size=full), 64)
        if "complex" in meaning.assume:
            return self.rounded(rng.normal(size=full)) + 1j * self.rounded(rng.normal(size=full))
        if meaning.is_random_number and self.num_draws == len(QUANTILES):
            return meaning.mean + math.sqrt(meaning.variance) * np.array(QUANTILES).reshape(-1, 1, 1)
        spread = 1.0 if meaning.variance is None else math.sqrt(meaning.variance)
        return self.rounded(meaning.mean + spread * rng.normal(size=full))

    def integer(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Small whole numbers, different for symbols of different names."""
        names = sorted(key for key, meaning in self.setting.symbols.items() if "integer" in meaning.assume)
        place = names.index(name) if name in names else len(names)
        rng = np.random.default_rng([self.seed, len(names)])
        numbers = np.stack([rng.permutation(2 * len(names) + 3) + 1 for _ in range(shape[0])])
        return np.broadcast_to(numbers[:, place].astype(float).reshape(-1, *[1] * (len(shape) - 1)), shape).copy()

    def rounded(self, draws: np.ndarray, parts: int = 2) -> np.ndarray:
        if not self.is_plain:
            return draws
        rounded = np.round(draws * parts) / parts
        return np.where(rounded == 0, 1 / parts, rounded)


@lru_cache(maxsize=4096)
def _drawn(plan: _Plan, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
    draws = arithmetic.array(plan.raw(meaning))
    if "orthonormal" in meaning.assume:
        draws = _orthonormal(draws, arithmetic)
    if "unit" in meaning.assume:
        draws = draws / arithmetic.sqrt(np.sum(draws * draws, axis=(-2, -1), keepdims=True))
    if "orthonormal columns" in meaning.assume:
        columns = np.moveaxis(draws, -1, 1)[..., None]
        names = [name.removeprefix("orthogonal to ") for name in meaning.assume if name.startswith("orthogonal to ")]
        before = [np.moveaxis(_drawn(plan, plan.setting.symbols[name], arithmetic), -1, 1)[..., None] for name in names]
        together = _orthonormal(np.concatenate([*before, columns], axis=1), arithmetic)
        draws = np.moveaxis(together[:, -columns.shape[1] :, :, 0], 1, -1)
    draws.setflags(write=False)
    return draws


def _orthonormal(vectors: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Gram–Schmidt along the family's axis; vectors are (draw, member, row, 1)."""
    found: list[np.ndarray] = []
    for place in range(vectors.shape[1]):
        vector = vectors[:, place]
        for earlier in found:
            vector = vector - earlier * np.sum(earlier * vector, axis=(1, 2), keepdims=True)
        found.append(vector / arithmetic.sqrt(np.sum(vector * vector, axis=(1, 2), keepdims=True)))
    return np.stack(found, axis=1)


def _permutations(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A permutation that is not its own inverse, the same in every draw; the larger ones are odd and leave one token alone."""
    size = shape[-1]
    result = np.zeros(shape)
    labels = rng.permutation(size)
    moving = labels if size < 4 else labels[:-1]
    result[:, labels[-1], labels[-1]] = 1.0 if size >= 4 else 0.0
    result[:, moving, np.roll(moving, 1)] = 1.0
    return result


def _frequencies(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """10000^{−2p/d} for p = 0, …, d/2 − 1."""
    half = shape[-2]
    return np.broadcast_to((10000.0 ** (-np.arange(half) / half))[None, :, None], shape).copy()


def _unit_vectors(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.eye(shape[1], shape[2])[None, :, :, None], shape).copy()


def _distributions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    weights = rng.integers(1, 9, size=shape).astype(float)
    return weights / weights.sum(axis=-2, keepdims=True)


def _one_hot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape)
    rows = rng.integers(shape[-2], size=shape[0])
    result[np.arange(shape[0]), ..., rows, 0] = 1.0
    return result
