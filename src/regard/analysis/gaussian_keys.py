"""Gaussian keys in key space, and the law of the logits that queries read from them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.scenarios import LogitLaw
from regard.core.axes import Float
from regard.core.errors import InputError

# Keys that share a name must have the same law, up to the rounding of their dot products.
_SAME_LAW = 1e-9
# A mean this short has no direction that double precision could use.
_SHORTEST_MEAN = 1e-60
# A pivot this small relative to the largest entry is a zero with rounding errors.
_ROUNDING = 64 * np.finfo(np.float64).eps
# Below this, doubles lose their digits, and a covariance counts as zero.
_SMALLEST = 1e-290
MAX_BYTES = 4 * 10**9
_BYTES_PER_NUMBER = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianKeys:
    """Independent keys, each Gaussian around its mean.

    k_i ~ N(μ_i, Σ_i),  Σ_i = noise_i·I + F_i F_iᵀ

    Keys that share a name form a group and must be identical in law for the given queries; without names, each key is a
    group of its own. With `is_normalised`, every drawn key is divided by its norm.

    >>> keys = GaussianKeys(means=np.eye(3), noise=np.zeros(3), factors=np.zeros((3, 3, 0)))
    >>> keys.logits(np.array([[2.0, 0.0, 0.0]])).means
    ((2.0,), (0.0,), (0.0,))
    """

    means: Float[np.ndarray, "key width"]
    noise: Float[np.ndarray, " key"]
    factors: Float[np.ndarray, "key width rank"]
    names: tuple[str, ...] = ()
    is_normalised: bool = False

    def __post_init__(self) -> None:
        for field in ("means", "noise", "factors"):
            array = np.asarray(getattr(self, field), dtype=np.float64)
            if not np.all(np.isfinite(array)):
                raise InputError(f"`{field}` has entries that are not finite. Keys need finite means and spreads.")
            object.__setattr__(self, field, array)
        names = tuple(self.names) or tuple(f"key {place}" for place in range(1, len(self.means) + 1))
        object.__setattr__(self, "names", names)
        self._check_shapes()
        if np.any(self.noise < 0):
            worst = int(np.argmin(self.noise))
            raise InputError(f"Key {names[worst]!r} has noise {self.noise[worst]:g}; a variance cannot be negative.")

    @property
    def num_keys(self) -> int:
        """Number of keys."""
        return self.means.shape[0]

    @property
    def width(self) -> int:
        """Number of coordinates of a key."""
        return self.means.shape[1]

    def covariance(self, key: int) -> Float[np.ndarray, "width width"]:
        """Σ = noise·I + F Fᵀ of one key."""
        factor = self.factors[key]
        return self.noise[key] * np.eye(self.width) + factor @ factor.T

    def own_variance(self, key: int) -> float:
        """Variance of a key's deviation along its mean: uᵀΣu/‖μ‖² with u = μ/‖μ‖, zero for a zero mean."""
        length = float(np.linalg.norm(self.means[key]))
        if length < _SHORTEST_MEAN:
            return 0.0
        along = (self.means[key] / length) @ self.factors[key]
        return (float(self.noise[key]) + float(along @ along)) / length**2

    def logits(self, queries: Float[np.ndarray, "head width"]) -> LogitLaw:
        """The law of the logits: (z^h)_h ~ N((q_hᵀμ_i)_h, (q_hᵀΣ_i q_g)_{hg}), independent over keys."""
        if self.is_normalised:
            raise InputError(
                "The logits of normalised Gaussian keys are not Gaussian. Sample them in key space with the direct "
                "engine, or use `course_keys(..., is_normalised=True).logits(...)` for its limit of vanishing noise."
            )
        means = self.means @ queries.T
        firsts = {name: place for place, name in reversed(list(enumerate(self.names)))}
        order = sorted(firsts.values())
        self._check_names(queries, means, firsts)
        parts = [self._spread(place, queries) for place in order]
        directions, variances = stack_directions(parts, num_heads=len(queries))
        names = tuple(self.names[place] for place in order)
        tally = Counter(self.names)
        counts = tuple(tally[name] for name in names)
        return LogitLaw(
            names=names,
            counts=counts,
            means=means[order].tolist(),
            directions=directions.tolist(),
            variances=variances.tolist(),
        )

    def _spread(
        self, key: int, queries: Float[np.ndarray, "head width"]
    ) -> tuple[Float[np.ndarray, "head rank"], Float[np.ndarray, " rank"]]:
        """Directions and variances of the logits of one key, first the deviation along its own mean."""
        projected = queries @ self.factors[key]
        covariance = self.noise[key] * (queries @ queries.T) + projected @ projected.T
        own, mean = self.own_variance(key), self.means[key]
        if own == 0:
            directions, variances = factor_covariance(covariance)
            return np.hstack([np.zeros((len(queries), 1)), directions]), np.hstack([0.0, variances])
        with_own = self.noise[key] * (queries @ mean) + projected @ (mean @ self.factors[key])
        direction = with_own / float(mean @ mean) / own
        rest = covariance - own * np.outer(direction, direction)
        scale = float(np.max(np.abs(covariance), initial=0.0))
        directions, variances = factor_covariance(rest, scale=scale)
        return np.hstack([direction[:, None], directions]), np.hstack([own, variances])

    def _check_names(
        self, queries: Float[np.ndarray, "head width"], means: Float[np.ndarray, "key head"], firsts: dict[str, int]
    ) -> None:
        lengths = np.einsum("hw,iwr->ihr", queries, self.factors)
        covariances = np.einsum("ihr,igr->ihg", lengths, lengths)
        covariances += self.noise[:, None, None] * (queries @ queries.T)
        lead = np.array([firsts[name] for name in self.names])
        for what, rows in (("means", means), ("covariances", covariances.reshape(self.num_keys, -1))):
            gaps = np.abs(rows - rows[lead]).max(axis=1)
            worst = int(np.argmax(gaps))
            if gaps[worst] > _SAME_LAW * max(1.0, float(np.abs(rows).max())):
                raise InputError(
                    f"Keys {lead[worst]} and {worst} share the name {self.names[worst]!r}, but the {what} of their "
                    f"logits differ by {gaps[worst]:.3g}. Give them different names."
                )

    def _check_shapes(self) -> None:
        num_keys, width = self.means.shape if self.means.ndim == 2 else (0, 0)
        shapes_fit = self.noise.shape == (num_keys,) and self.factors.shape[:2] == (num_keys, width)
        if num_keys == 0 or not shapes_fit or self.factors.ndim != 3 or len(self.names) != num_keys:
            raise InputError(
                f"means {self.means.shape}, noise {self.noise.shape}, factors {self.factors.shape} and "
                f"{len(self.names)} names do not fit together. Give (key, width), (key,), (key, width, rank) and one "
                "name per key."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """Queries and random keys in key space, which the direct engine samples."""

    keys: GaussianKeys
    queries: Float[np.ndarray, "head width"]

    def __post_init__(self) -> None:
        queries: Any = np.atleast_2d(np.asarray(self.queries, dtype=np.float64))
        object.__setattr__(self, "queries", queries)
        if queries.shape[-1] != self.keys.width or not np.all(np.isfinite(queries)):
            raise InputError(
                f"The queries have shape {queries.shape}, the keys width {self.keys.width}. "
                "Give one finite row per head, as wide as the keys."
            )

    def logits(self) -> LogitLaw:
        """The law of the logits that these queries read from these keys."""
        return self.keys.logits(self.queries)


def factor_covariance(
    covariance: Float[np.ndarray, "head head"], *, scale: float = 0.0
) -> tuple[Float[np.ndarray, "head rank"], Float[np.ndarray, " rank"]]:
    """Takes a covariance apart into variances along independent directions, as many as its rank.

    covariance = Σ_r variances[r] · directions[:, r] directions[:, r]ᵀ

    Pivoted LDLᵀ: the pivot's direction is one at the pivot, so a covariance v·x xᵀ with exact entries comes apart
    exactly. If the matrix is a difference, `scale` is the size of its terms, so that their rounding is not taken for a
    direction.

    >>> directions, variances = factor_covariance(np.array([[4.0, 2.0], [2.0, 1.0]]))
    >>> directions.tolist(), variances.tolist()
    ([[1.0], [0.5]], [4.0])
    """
    rest = np.array(covariance, dtype=np.float64)
    scale = max(scale, float(np.max(np.abs(rest), initial=0.0)), _SMALLEST)
    smallest_pivot = _ROUNDING * scale
    directions, variances = [], []
    for _ in range(len(rest)):
        pivot = int(np.argmax(np.diag(rest)))
        variance = float(rest[pivot, pivot])
        if not variance > smallest_pivot:
            break
        direction = rest[:, pivot] / variance
        directions.append(direction)
        variances.append(variance)
        rest = rest - variance * np.outer(direction, direction)
    return np.array(directions).reshape(len(directions), len(rest)).T, np.array(variances)


def stack_directions(
    parts: Sequence[tuple[Float[np.ndarray, "head _"], Float[np.ndarray, " _"]]], *, num_heads: int
) -> tuple[Float[np.ndarray, "group head rank"], Float[np.ndarray, "group rank"]]:
    """The directions and variances of all groups, padded with zeros to the largest rank."""
    rank = max((len(variances) for _, variances in parts), default=0)
    directions, variances = np.zeros((len(parts), num_heads, rank)), np.zeros((len(parts), rank))
    for group, (columns, spreads) in enumerate(parts):
        directions[group, :, : len(spreads)] = columns
        variances[group, : len(spreads)] = spreads
    return directions, variances


def isotropic_directions(rows: Sequence[Sequence[float]]) -> list[tuple[list[float], float]]:
    """Independent directions of Σ_j x_j x_jᵀ with their variances; each row x_j has one number per head.

    >>> isotropic_directions([[2.0, 1.0]])
    [([1.0, 0.5], 4.0)]
    """
    vectors = np.array(rows, dtype=np.float64)
    directions, variances = factor_covariance(vectors.T @ vectors)
    return list(zip(directions.T.tolist(), variances.tolist(), strict=True))


def readable_bytes(num_bytes: int) -> str:
    """A number of bytes in the largest decimal unit of which there is at least one.

    >>> readable_bytes(8_000_000_000_000)
    '8.0 TB'
    """
    size, units = float(num_bytes), ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.1f} {units[0]}"


def require_memory(num_numbers: int, *, what: str, instead: str) -> None:
    """Raises an InputError if that many doubles need more than `MAX_BYTES`; `instead` says what to do."""
    num_bytes = num_numbers * _BYTES_PER_NUMBER
    if num_bytes > MAX_BYTES:
        raise InputError(
            f"{what} would need {readable_bytes(num_bytes)} of memory; "
            f"the limit is {readable_bytes(MAX_BYTES)}. {instead}"
        )
