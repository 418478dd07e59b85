"""A law of logits as arrays, for those who draw from it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regard.analysis.scenarios import LogitLaw
from regard.core.axes import Bool, Float


@dataclass(frozen=True, kw_only=True, eq=False)
class LawArrays:
    """The numbers of a LogitLaw, with the same meaning."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    means: Float[np.ndarray, "group head"]
    directions: Float[np.ndarray, "group head rank"]
    variances: Float[np.ndarray, "group rank"]
    normalised: frozenset[str]

    @classmethod
    def of(cls, law: LogitLaw) -> "LawArrays":
        """The arrays of a law."""
        shape = (len(law.names), law.num_heads, law.rank)
        return cls(
            names=law.names,
            counts=law.counts,
            means=np.array(law.means, dtype=np.float64),
            directions=np.array(law.directions, dtype=np.float64).reshape(shape),
            variances=np.array(law.variances, dtype=np.float64).reshape(shape[0], shape[2]),
            normalised=law.normalised,
        )

    @property
    def num_heads(self) -> int:
        """Number of heads, one query each."""
        return self.means.shape[1]

    @cached_property
    def singles(self) -> list[int]:
        """Groups of one key."""
        return [group for group, count in enumerate(self.counts) if count == 1]

    @cached_property
    def is_random(self) -> Bool[np.ndarray, "group rank"]:
        """True for deviations to be drawn: those that move a logit, and a named key's own, which may be asked for."""
        moves = np.any(self.directions != 0, axis=1)
        is_own_of_single = np.zeros_like(moves)
        is_own_of_single[self.singles, :1] = True
        return (moves | is_own_of_single) & (self.variances > 0)

    def without_noise(self) -> "LawArrays":
        """The same with every key at its mean."""
        return replace(self, variances=np.zeros_like(self.variances), normalised=frozenset())
