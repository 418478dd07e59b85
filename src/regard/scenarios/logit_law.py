"""The law of the logits: all that attention sees of random keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.axes import Float
from regard.errors import InputError
from regard.scenarios.deviation import Deviation
from regard.scenarios.factor import factor_covariance, stack_directions

__all__ = ["LogitLaw"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitLaw:
    """Logits of independent keys, in groups of keys that are identical in law.

    A key of group g has, under head h, the logit

        z_h = means[g, h] + Σ_r directions[g, h, r] · δ_r,   δ_r ~ N(0, variances[g, r]) independent

    δ_0 is the key's deviation along its own mean, the one that a `Deviation` speaks of. Keys of a group in `normalised`
    lie on the line of their mean and are divided by their norm: δ_0 becomes sign(1 + δ_0) − 1.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    means: Float[np.ndarray, "group head"]
    directions: Float[np.ndarray, "group head rank"]
    variances: Float[np.ndarray, "group rank"]
    normalised: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "counts", tuple(int(count) for count in self.counts))
        for field in ("means", "directions", "variances"):
            array = np.array(getattr(self, field), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, field, array)
        self._check_groups()
        self._check_numbers()
        self._check_normalised()

    @classmethod
    def from_covariances(
        cls,
        *,
        names: Sequence[str],
        counts: Sequence[int],
        means: Float[np.ndarray, "group head"],
        covariances: Float[np.ndarray, "group head head"],
    ) -> "LogitLaw":
        """The Gaussian law with these means and covariances over the heads; its δ_r are the pivots of each covariance.

        >>> means, covariances = np.array([[20.0], [0.0]]), np.array([[[200.0]], [[0.0]]])
        >>> law = LogitLaw.from_covariances(names=("a", "other"), counts=(1, 9), means=means, covariances=covariances)
        >>> law.num_keys, law.covariances[0].item()
        (10, 200.0)
        """
        parts = [
            factor_covariance(each, whose=f"group {name!r}") for name, each in zip(names, covariances, strict=True)
        ]
        directions, variances = stack_directions(parts, num_heads=np.shape(means)[1])
        return cls(names=tuple(names), counts=tuple(counts), means=means, directions=directions, variances=variances)

    @property
    def num_keys(self) -> int:
        """Number of keys over all groups."""
        return sum(self.counts)

    @property
    def num_heads(self) -> int:
        """Number of heads, one query each."""
        return self.means.shape[1]

    @cached_property
    def covariances(self) -> Float[np.ndarray, "group head head"]:
        """Covariance of one key's logits over the heads, before any normalisation."""
        return np.einsum("ghr,gr,gkr->ghk", self.directions, self.variances, self.directions)

    def index(self, group: str) -> int:
        """Place of a group among the names."""
        if group not in self.names:
            raise InputError(f"No key is named {group!r}; this law has {', '.join(self.names)}. Use one of those.")
        return self.names.index(group)

    def own_variance(self, group: str) -> float:
        """Variance of δ_0, the deviation of a key along its own mean."""
        return float(self.variances[self.index(group), 0]) if self.variances.shape[1] else 0.0

    def check_condition(self, given: Deviation) -> None:
        """Refuses a condition that speaks of several keys at once or that never happens."""
        group = self.index(given.group)
        if self.counts[group] > 1:
            raise InputError(
                f"{given.group!r} stands for {self.counts[group]} keys, so a condition on its deviation is ambiguous. "
                "Give the key that you mean a name of its own."
            )
        variance = self.own_variance(given.group)
        never = not given.lower <= 0 <= given.upper if variance == 0 else given.lower == given.upper
        if never:
            raise InputError(
                f"The condition {given} has probability zero: δ_{given.group} ~ N(0, {variance:g}). Condition on an "
                "interval that the deviation can reach."
            )

    def _check_groups(self) -> None:
        if not self.names or len(set(self.names)) != len(self.names):
            raise InputError(f"The group names {self.names} are empty or repeat. Give each group a name of its own.")
        if len(self.counts) != len(self.names) or any(count < 1 for count in self.counts):
            raise InputError(f"The counts {self.counts} do not give each of {self.names} at least one key.")

    def _check_numbers(self) -> None:
        num_groups, num_heads = len(self.names), self.means.shape[1] if self.means.ndim == 2 else 0
        rank = self.variances.shape[-1]
        wanted = {
            "means": (num_groups, num_heads),
            "directions": (num_groups, num_heads, rank),
            "variances": (num_groups, rank),
        }
        for field, shape in wanted.items():
            array = getattr(self, field)
            if array.shape != shape or num_heads == 0:
                raise InputError(
                    f"`{field}` has shape {array.shape}; {num_groups} groups under at least one head need "
                    f"(group, head) means, (group, head, rank) directions and (group, rank) variances."
                )
            if not np.all(np.isfinite(array)):
                raise InputError(f"`{field}` has entries that are not finite. Logits need finite means and spreads.")
        if np.any(self.variances < 0):
            group = self.names[int(np.argmin(self.variances.min(axis=1)))]
            raise InputError(f"Group {group!r} has the variance {self.variances.min():g}; variances are not negative.")

    def _check_normalised(self) -> None:
        for name in self.normalised:
            group = self.index(name)
            along_mean = np.array_equal(self.directions[group, :, 0], self.means[group])
            if not along_mean or np.any(self.directions[group, :, 1:] * self.variances[group, 1:]):
                raise InputError(
                    f"Keys of {name!r} do not lie on the line of their mean, so dividing them by their norm does not "
                    "give a sign. Sample them in key space with the direct engine."
                )
