"""Gaussian keys in key space, and the law of the logits that queries read from them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.scenarios.factor import factor_covariance, stack_directions
from regard.analysis.scenarios.limits import require_memory
from regard.analysis.scenarios.logit_law import LogitLaw
from regard.core.axes import Float
from regard.core.errors import InputError

# Keys that share a name must have the same law up to the rounding of their dot products.
_SAME_LAW = 1e-9
# A mean this short has no direction that double precision could use.
_SHORTEST_MEAN = 1e-60


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianKeys:
    """Independent keys, each Gaussian around its mean.

    k_i ~ N(μ_i, Σ_i),  Σ_i = noise_i·I + F_i F_iᵀ

    Keys with one name form a group and must be identical in law for the queries asked; without names each key is its
    own group. With `is_normalised` every drawn key is divided by its norm.

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
            raise InputError(f"Key {names[worst]!r} has noise {self.noise[worst]:g}; a variance is not negative.")

    @classmethod
    def from_covariances(
        cls,
        *,
        means: Float[np.ndarray, "key width"],
        covariances: Float[np.ndarray, "key width width"],
        names: Sequence[str] = (),
    ) -> "GaussianKeys":
        """Keys with these dense covariances, each checked to be symmetric and positive semi-definite.

        >>> keys = GaussianKeys.from_covariances(means=np.eye(2), covariances=np.array([np.eye(2), 0 * np.eye(2)]))
        >>> keys.covariance(0).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        num_keys, width = np.shape(means)
        require_memory(
            2 * num_keys * width * width,
            what=f"Factoring {num_keys} dense covariances of width {width}",
            instead="Give the keys as isotropic noise plus low-rank factors, or give the law of the logits itself.",
        )
        owners = tuple(names) or tuple(f"key {place}" for place in range(1, num_keys + 1))
        parts = [
            factor_covariance(np.asarray(each, dtype=np.float64), whose=f"key {owner!r}")
            for owner, each in zip(owners, covariances, strict=True)
        ]
        directions, variances = stack_directions(parts, num_heads=width)
        factors = directions * np.sqrt(variances)[:, None, :]
        return cls(means=means, noise=np.zeros(num_keys), factors=factors, names=owners)

    @property
    def num_keys(self) -> int:
        """Number of keys."""
        return self.means.shape[0]

    @property
    def width(self) -> int:
        """Number of coordinates of a key."""
        return self.means.shape[1]

    def covariance(self, key: int) -> Float[np.ndarray, "width width"]:
        """Σ = noise·I + F Fᵀ of one key, dense."""
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
        self._require_one_law_a_name(queries, means, firsts)
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
        """Directions and variances of one key's logits, the deviation along its own mean first."""
        projected = queries @ self.factors[key]
        covariance = self.noise[key] * (queries @ queries.T) + projected @ projected.T
        own, mean = self.own_variance(key), self.means[key]
        if own == 0:
            directions, variances = factor_covariance(covariance, whose=f"key {self.names[key]!r}")
            return np.hstack([np.zeros((len(queries), 1)), directions]), np.hstack([0.0, variances])
        with_own = self.noise[key] * (queries @ mean) + projected @ (mean @ self.factors[key])
        direction = with_own / float(mean @ mean) / own
        rest = covariance - own * np.outer(direction, direction)
        scale = float(np.max(np.abs(covariance), initial=0.0))
        directions, variances = factor_covariance(rest, whose=f"key {self.names[key]!r}", scale=scale)
        return np.hstack([direction[:, None], directions]), np.hstack([own, variances])

    def _require_one_law_a_name(
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
                "name a key."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """Queries put to random keys, in key space: what the direct engine samples."""

    keys: GaussianKeys
    queries: Float[np.ndarray, "head width"]

    def __post_init__(self) -> None:
        queries: Any = np.atleast_2d(np.asarray(self.queries, dtype=np.float64))
        object.__setattr__(self, "queries", queries)
        if queries.shape[-1] != self.keys.width or not np.all(np.isfinite(queries)):
            raise InputError(
                f"The queries have shape {queries.shape}, the keys width {self.keys.width}. "
                "Give one finite row a head, as wide as the keys."
            )

    def logits(self) -> LogitLaw:
        """The law of the logits that these queries read from these keys."""
        return self.keys.logits(self.queries)
