"""A quick look at a design along its only random direction: weights on a fine grid of deviations, in doubles.

Nothing is proved here. It draws the histogram and says about where the best scale is; the engines decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from regard.axes import Float
from regard.scenarios import Deviation, LogitLaw

__all__ = ["Look"]

_FARTHEST = 8.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """Coefficients in the output of one key of each group at every node, and the probability of each node."""

    law: LogitLaw
    masses: Float[np.ndarray, " node"]
    coefficients: Float[np.ndarray, "group node"]

    @classmethod
    def at(cls, law: LogitLaw, given: Deviation | None, factor: float = 1.0, nodes: int = 2001) -> "Look | None":
        """The look at every query multiplied by the factor; None where more than one direction is random."""
        moves = np.argwhere((law.variances > 0) & (law.directions != 0).any(axis=1))
        if len(moves) > 1 or (len(moves) == 1 and (moves[0, 1] != 0 or law.counts[moves[0, 0]] != 1)):
            return None
        group = int(moves[0, 0]) if len(moves) else 0
        deviations, masses = _spread(law, group, given, nodes if len(moves) else 1)
        logits = np.repeat(law.means[:, :, None], len(masses), axis=2)
        if len(moves):
            seen = np.sign(1 + deviations) - 1 if law.names[group] in law.normalised else deviations
            logits[group] += law.directions[group, :, :1] * seen
        logits *= factor
        powers = np.exp(logits - logits.max(axis=0))
        weights = powers / np.einsum("g,ghn->hn", np.array(law.counts, dtype=float), powers)
        return cls(law=law, masses=masses, coefficients=weights.mean(axis=1))

    def of(self, group: str) -> Float[np.ndarray, " node"]:
        """The coefficient of one key of the group."""
        return self.coefficients[self.law.index(group)]

    def squared_distances(self, target: Mapping[str, float]) -> Float[np.ndarray, " node"]:
        """‖c − target‖² for orthonormal values."""
        aims = np.array([[target.get(name, 0.0)] for name in self.law.names])
        return np.array(self.law.counts, dtype=float) @ (self.coefficients - aims) ** 2


def _spread(
    law: LogitLaw, group: int, given: Deviation | None, count: int
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Deviations of the random key, and how much of the probability each stands for."""
    if count == 1:
        return np.zeros(1), np.ones(1)
    sigma = sqrt(law.own_variance(law.names[group]))
    is_bound = given is not None and given.group == law.names[group]
    low, high = (given.lower, given.upper) if is_bound and given is not None else (-inf, inf)
    low, high = max(low, -_FARTHEST * sigma), min(high, _FARTHEST * sigma)
    if not low < high:
        # A condition beyond what the grid reaches: all of it lies at its nearer end.
        return np.array([low if low > 0 else high]), np.ones(1)
    nodes = np.linspace(low, high, count)
    density = np.exp(-0.5 * (nodes / sigma) ** 2)
    density[[0, -1]] /= 2
    return nodes, density / density.sum()
