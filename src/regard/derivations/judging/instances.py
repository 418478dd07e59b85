"""Instances: one setting made concrete, with sizes that are all different and symbols drawn under their assumptions."""

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from regard.derivations.judging.setting import UNNAMED, Assumption, Setting, Size, SymbolMeaning
from regard.derivations.judging.values import Arithmetic
from regard.derivations.notation.tokens import NotUnderstood

QUANTILES = (-2.05, -1.1, -0.45, 0.3, 0.95, 1.9)
POOL = 200  # draws to pick from where a relation stands under premises
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
_MORE_SIZES = range(33, 133, 2)  # a text that declares more sizes than that many primes
_UNKNOWN_SIZE = 2
_MANY = 24
_MOST_ENTRIES = 20_000


# -- sizes -------------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def choose_sizes(setting: Setting, larger: int = 0, used: frozenset[str] | None = None) -> Mapping[str, int]:
    """A different number for each size, a prime while they last, even where it must be; `larger` skips as many.

    Where there are more sizes than numbers, those that are not `used` share the last one.
    """
    sizes: dict[str, int] = {}

    def order(item: tuple[str, Size]) -> tuple[bool, int]:
        is_unused = used is not None and item[0] not in used
        return is_unused, len(item[1].above) + 9 * (item[1].twice is not None)

    for name, size in sorted(setting.sizes.items(), key=order):
        if size.twice is not None:
            sizes[name] = 2 * sizes[size.twice]
            continue
        least = max([size.minimum, sum(sizes.get(other, 0) for other in size.above)])
        candidates = [2 * number if size.is_even else number for number in (*_PRIMES, *_MORE_SIZES)]
        fitting = [number for number in candidates if number >= least and number not in sizes.values()]
        if not fitting and (used is None or name in used):
            raise NotUnderstood("Too many sizes are declared here")
        fitting = fitting or candidates[-1:]
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


# -- symbols drawn at random -------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class Sampler:
    """Everything that the draws of an instance depend on; compared by identity: `sampler_for` makes each only once."""

    setting: Setting
    sizes: tuple[tuple[str, int], ...]
    seed: int
    num_draws: int
    is_plain: bool
    picked: tuple[int, ...] = ()
    widened: float = 1.0

    def size(self, name: str) -> int:
        """A size by its name, or a literal number."""
        return int(name) if name.isdigit() else dict(self.sizes).get(name, _UNKNOWN_SIZE)

    def shape(self, meaning: SymbolMeaning) -> tuple[int, ...]:
        """(draw, row, column), with the family's axis second where there is one."""
        family = () if meaning.over is None else (self.size(meaning.over),)
        sizes = (*family, *(self.size(dimension) for dimension in meaning.shape))
        if math.prod(sizes) > _MOST_ENTRIES:
            raise NotUnderstood(f"{meaning.key} has too many entries to try.")
        return (POOL if self.picked else self.num_draws, *sizes)

    def rng(self, meaning: SymbolMeaning) -> np.random.Generator:
        """The symbol's own stream, so that one more symbol changes no other's draws."""
        seeds = (self.setting.seed, self.seed) if self.setting.seed else (self.seed,)
        return np.random.default_rng([*seeds, zlib.crc32(meaning.key.encode())])

    def rounded(self, draws: np.ndarray, parts: int = 2) -> np.ndarray:
        """The draws, rounded to halves (or other parts) of one where they are to be plain, never to zero."""
        if not self.is_plain:
            return draws
        rounded = np.round(draws * parts) / parts
        return np.where(rounded == 0, 1 / parts, rounded)


@lru_cache(maxsize=1024)
def sampler_for(**particulars: Any) -> Sampler:
    """The sampler of these particulars."""
    return Sampler(**particulars)


@lru_cache(maxsize=4096)
def drawn(sampler: Sampler, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
    """The draws of a symbol, (draw, row, column) or (draw, member, row, column), read-only."""
    raw = _raw(sampler, meaning)
    draws = arithmetic.array(raw[list(sampler.picked)] if sampler.picked else raw)
    if Assumption.ORTHONORMAL in meaning.assume:
        draws = _orthonormal(draws, arithmetic)
    if Assumption.UNIT in meaning.assume:
        draws = draws / arithmetic.sqrt(np.sum(draws * draws, axis=(-2, -1), keepdims=True))
    if Assumption.ORTHONORMAL_COLUMNS in meaning.assume:
        others = (sampler.setting.symbols[name] for name in meaning.orthogonal_to)
        before = [_columns(drawn(sampler, other, arithmetic)) for other in others]
        together = _orthonormal(np.concatenate([*before, _columns(draws)], axis=1), arithmetic)
        draws = np.moveaxis(together[:, -draws.shape[-1] :, :, 0], 1, -1)
    draws.setflags(write=False)
    return draws


@lru_cache(maxsize=1024)
def _drawn_at_stages(sampler: Sampler, meaning: SymbolMeaning, arithmetic: Arithmetic, num_stages: int) -> np.ndarray:
    """The draws of a symbol that is the same at every stage of a drive, (stage and draw, …), read-only."""
    repeated = np.concatenate([drawn(sampler, meaning, arithmetic)] * num_stages)
    repeated.setflags(write=False)
    return repeated


def _columns(matrices: np.ndarray) -> np.ndarray:
    """The columns of each matrix as a family of vectors."""
    return np.moveaxis(matrices, -1, 1)[..., None]


def _orthonormal(vectors: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Gram–Schmidt along the family's axis; vectors are (draw, member, row, 1)."""
    if vectors.shape[1] > _MANY:
        return _mirrored(vectors)
    found: list[np.ndarray] = []
    for place in range(vectors.shape[1]):
        vector = vectors[:, place]
        for earlier in found:
            vector = vector - earlier * np.sum(earlier * vector, axis=(1, 2), keepdims=True)
        found.append(vector / arithmetic.sqrt(np.sum(vector * vector, axis=(1, 2), keepdims=True)))
    return np.stack(found, axis=1)


def _mirrored(vectors: np.ndarray) -> np.ndarray:
    """The unit vectors in the mirror across the first vector w, e_i − 2 w_i w/|w|²: orthonormal, and cheap for many."""
    mirror = vectors[:, :1]
    size = np.sum(mirror * mirror, axis=2, keepdims=True)
    num_members, num_rows = vectors.shape[1:3]
    units = np.eye(num_members, num_rows, dtype=int)[None, :, :, None]
    components = np.moveaxis(mirror[:, :, :num_members], 2, 1)
    return units - 2 * components * mirror / size


def _raw(sampler: Sampler, meaning: SymbolMeaning) -> np.ndarray:
    """The symbol's draws as plain floats, before orthogonality is brought about."""
    shape, rng = sampler.shape(meaning), sampler.rng(meaning)
    if Assumption.INTEGER in meaning.assume:
        return _whole_numbers(sampler, meaning.name, shape)
    for assumption in meaning.assume:
        if assumption in _SPECIAL:
            return _SPECIAL[assumption](rng, shape)
    if meaning.tends == "infinity" or Assumption.POSITIVE in meaning.assume:
        return sampler.rounded(sampler.widened * rng.uniform(0.5, 2.5, size=shape))
    if meaning.tends == "zero" or Assumption.SMALL in meaning.assume:
        return sampler.rounded(rng.uniform(0.05, 0.4, size=shape), parts=64)
    if Assumption.COMPLEX in meaning.assume:
        return sampler.rounded(rng.normal(size=shape)) + 1j * sampler.rounded(rng.normal(size=shape))
    spread = 1.0 if meaning.variance is None else math.sqrt(meaning.variance)
    if meaning.is_random_number and shape[0] in (len(QUANTILES), POOL):
        return meaning.mean + spread * sampler.widened * _quantiles(rng, shape[0])
    return sampler.rounded(meaning.mean + spread * sampler.widened * rng.normal(size=shape))


def _quantiles(rng: np.random.Generator, num_draws: int) -> np.ndarray:
    """Standard normal numbers that lie in each part of the law, in random order where there are many."""
    values = np.resize(QUANTILES, num_draws).reshape(-1, 1, 1)
    return values if num_draws == len(QUANTILES) else rng.permutation(values)


def _whole_numbers(sampler: Sampler, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, different for symbols of different names."""
    symbols = sampler.setting.symbols
    names = sorted(key for key, meaning in symbols.items() if Assumption.INTEGER in meaning.assume)
    place = names.index(name) if name in names else len(names)
    rng = np.random.default_rng([sampler.seed, len(names)])
    numbers = np.stack([rng.permutation(2 * len(names) + 3) + 1 for _ in range(shape[0])])
    return np.broadcast_to(numbers[:, place].astype(float).reshape(-1, *[1] * (len(shape) - 1)), shape).copy()


def _permutations(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A permutation that is not its own inverse, the same in every draw; larger ones leave one token alone."""
    size = shape[-1]
    result = np.zeros(shape)
    labels = rng.permutation(size)
    moving = labels if size < 4 else labels[:-1]
    result[:, labels[-1], labels[-1]] = 1.0 if size >= 4 else 0.0
    result[:, moving, np.roll(moving, 1)] = 1.0
    return result


def _frequencies(_rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """10000^{−2p/d} for p = 0, …, d/2 − 1."""
    half = shape[-2]
    return np.broadcast_to((10000.0 ** (-np.arange(half) / half))[None, :, None], shape).copy()


def _unit_vectors(_rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.eye(shape[1], shape[2])[None, :, :, None], shape).copy()


def _distributions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    weights = rng.integers(1, 9, size=shape).astype(float)
    return weights / weights.sum(axis=-2, keepdims=True)


def _probabilities(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.05, 0.95, size=shape)


def _one_hot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape)
    rows = rng.integers(shape[-2], size=shape[0])
    result[np.arange(shape[0]), ..., rows, 0] = 1.0
    return result


def _symmetric(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    draws = rng.normal(size=shape)
    return draws + np.swapaxes(draws, -1, -2)


def _positive_definite(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    draws = rng.normal(size=shape)
    return draws @ np.swapaxes(draws, -1, -2) + np.eye(shape[-1])


def _diagonal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) * np.eye(shape[-2], shape[-1])


_SPECIAL: Mapping[Assumption, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    Assumption.PERMUTATION: _permutations,
    Assumption.UNIT_VECTORS: _unit_vectors,
    Assumption.FREQUENCIES: _frequencies,
    Assumption.ONE_HOT: _one_hot,
    Assumption.DISTRIBUTION: _distributions,
    Assumption.PROBABILITY: _probabilities,
    Assumption.SYMMETRIC: _symmetric,
    Assumption.POSITIVE_DEFINITE: _positive_definite,
    Assumption.DIAGONAL: _diagonal,
}


# -- instances ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Instance:
    """One setting made concrete: sizes, the fixed indices, and a seed from which every symbol is drawn.

    `driven` overrides scalars with a whole drive of values (β = 8, 32, 128); every draw is then seen at every stage.
    `drawn` sets a scalar's value draw by draw. `moved` puts random symbols at their means and moves them one component
    at a time. `is_plain` rounds draws to halves, so that a counterexample can be read. `picked` takes only some draws
    of a larger pool, and `widened` spreads that pool. `repeated` repeats every draw, for the points of a mean.
    """

    setting: Setting
    sizes: Mapping[str, int]
    seed: int = 0
    num_draws: int = 3
    driven: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    drawn: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    is_plain: bool = False
    moved: float = 0.0
    picked: tuple[int, ...] = ()
    widened: float = 1.0
    repeated: int = 1

    @cached_property
    def key(self) -> tuple:
        """Everything that distinguishes one instance of a setting from another."""
        return (self.sampler, *self.driven.items(), *self.drawn.items(), self.moved, self.repeated)

    @cached_property
    def sampler(self) -> Sampler:
        """Everything that the draws depend on."""
        return sampler_for(
            setting=self.setting,
            sizes=tuple(self.sizes.items()),
            seed=self.seed,
            num_draws=self.num_draws,
            is_plain=self.is_plain,
            picked=self.picked,
            widened=self.widened,
        )

    @cached_property
    def num_stages(self) -> int:
        """How many stages the drive has."""
        return max((len(values) for values in self.driven.values()), default=1)

    @property
    def total_draws(self) -> int:
        """The length of the batch: stages times draws times moves."""
        moves = 1 + len(self._components()) if self.moved else 1
        return self.num_stages * self.num_draws * moves * self.repeated

    def fixed_index(self, letter: str) -> int:
        """The value of a fixed index such as a; fixed indices differ from each other."""
        return sorted(self.setting.fixed).index(letter)

    def size(self, name: str) -> int:
        """A size by its name, or a literal number."""
        return self.sampler.size(name)

    def sizes_in_words(self) -> str:
        """n = 3, d = 5; those that the text does not name are left out."""
        return ", ".join(f"{name} = {size}" for name, size in self.sizes.items() if not name.startswith(UNNAMED))

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
        if self.repeated > 1:
            return np.repeat(still, self.repeated, axis=0)
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
            return drawn(self.sampler, meaning, arithmetic)
        return _drawn_at_stages(self.sampler, meaning, arithmetic, self.num_stages)
