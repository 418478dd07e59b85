"""Symbols drawn at random under their assumptions: orthonormal, permutations, Gaussian, small, whole."""

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.problems.model import Setting, SymbolMeaning

_UNKNOWN_SIZE = 2
_MANY = 24
QUANTILES = (-2.05, -1.1, -0.45, 0.3, 0.95, 1.9)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """All that the draws of an instance depend on; compared by identity, since `plan_for` makes each but once."""

    setting: Setting
    sizes: tuple[tuple[str, int], ...]
    seed: int
    num_draws: int
    is_plain: bool

    def size(self, name: str) -> int:
        """A size by its name, or a literal number."""
        return int(name) if name.isdigit() else dict(self.sizes).get(name, _UNKNOWN_SIZE)

    def shape(self, meaning: SymbolMeaning) -> tuple[int, ...]:
        """(draw, row, column), with the family's axis second where there is one."""
        family = () if meaning.over is None else (self.size(meaning.over),)
        return (self.num_draws, *family, *(self.size(dimension) for dimension in meaning.shape))

    def rng(self, meaning: SymbolMeaning) -> np.random.Generator:
        """The symbol's own stream, so that one more symbol changes no other's draws."""
        name = f"{meaning.name}_{meaning.index}" if meaning.index else meaning.name
        seeds = (self.setting.seed, self.seed) if self.setting.seed else (self.seed,)
        return np.random.default_rng([*seeds, zlib.crc32(name.encode())])

    def rounded(self, draws: np.ndarray, parts: int = 2) -> np.ndarray:
        """The draws, rounded to halves (or other parts) of one where they are to be plain, never to zero."""
        if not self.is_plain:
            return draws
        rounded = np.round(draws * parts) / parts
        return np.where(rounded == 0, 1 / parts, rounded)


@lru_cache(maxsize=1024)
def plan_for(setting: Setting, sizes: tuple[tuple[str, int], ...], seed: int, num_draws: int, is_plain: bool) -> Plan:
    """The plan of these particulars."""
    return Plan(setting=setting, sizes=sizes, seed=seed, num_draws=num_draws, is_plain=is_plain)


@lru_cache(maxsize=4096)
def drawn(plan: Plan, meaning: SymbolMeaning, arithmetic: Arithmetic) -> np.ndarray:
    """The draws of a symbol, (draw, row, column) or (draw, member, row, column), read-only."""
    draws = arithmetic.array(_raw(plan, meaning))
    if "orthonormal" in meaning.assume:
        draws = _orthonormal(draws, arithmetic)
    if "unit" in meaning.assume:
        draws = draws / arithmetic.sqrt(np.sum(draws * draws, axis=(-2, -1), keepdims=True))
    if "orthonormal columns" in meaning.assume:
        names = [name.removeprefix("orthogonal to ") for name in meaning.assume if name.startswith("orthogonal to ")]
        before = [_columns(drawn(plan, plan.setting.symbols[name], arithmetic)) for name in names]
        together = _orthonormal(np.concatenate([*before, _columns(draws)], axis=1), arithmetic)
        draws = np.moveaxis(together[:, -draws.shape[-1] :, :, 0], 1, -1)
    draws.setflags(write=False)
    return draws


@lru_cache(maxsize=1024)
def drawn_at_stages(plan: Plan, meaning: SymbolMeaning, arithmetic: Arithmetic, num_stages: int) -> np.ndarray:
    """The draws of a symbol that is the same at every stage of a drive, (stage and draw, …), read-only."""
    repeated = np.concatenate([drawn(plan, meaning, arithmetic)] * num_stages)
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


def _raw(plan: Plan, meaning: SymbolMeaning) -> np.ndarray:
    """The symbol's draws as plain floats, before orthogonality is brought about."""
    shape, rng = plan.shape(meaning), plan.rng(meaning)
    if "integer" in meaning.assume:
        return _whole_numbers(plan, meaning.name, shape)
    for assumption in meaning.assume:
        if assumption in _SPECIAL:
            return _SPECIAL[assumption](rng, shape)
    if meaning.tends == "infinity" or "positive" in meaning.assume:
        return plan.rounded(rng.uniform(0.5, 2.5, size=shape))
    if meaning.tends == "zero" or "small" in meaning.assume:
        return plan.rounded(rng.uniform(0.05, 0.4, size=shape), parts=64)
    if "complex" in meaning.assume:
        return plan.rounded(rng.normal(size=shape)) + 1j * plan.rounded(rng.normal(size=shape))
    spread = 1.0 if meaning.variance is None else math.sqrt(meaning.variance)
    if meaning.is_random_number and plan.num_draws == len(QUANTILES):
        return meaning.mean + spread * np.array(QUANTILES).reshape(-1, 1, 1)
    return plan.rounded(meaning.mean + spread * rng.normal(size=shape))


def _whole_numbers(plan: Plan, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, different for symbols of different names."""
    names = sorted(key for key, meaning in plan.setting.symbols.items() if "integer" in meaning.assume)
    place = names.index(name) if name in names else len(names)
    rng = np.random.default_rng([plan.seed, len(names)])
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


def _one_hot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape)
    rows = rng.integers(shape[-2], size=shape[0])
    result[np.arange(shape[0]), ..., rows, 0] = 1.0
    return result


_SPECIAL: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "permutation": _permutations,
    "unit vectors": _unit_vectors,
    "frequencies": _frequencies,
    "one-hot": _one_hot,
    "distribution": _distributions,
}
