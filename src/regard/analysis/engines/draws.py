"""Attention weights of a block of draws, in the few sums that questions need."""

from dataclasses import dataclass

import numpy as np

from regard.analysis.engines.quantities import Quantity
from regard.analysis.scenarios import LogitLaw
from regard.core.axes import Float


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Weights w_i^h of independent draws, the keys of each group summed up.

    `first` is the weight of a group's first key, `total` that of all its keys,
    `overlap` is Σ_i w_i^h w_i^g over all keys, `deviation` is δ of a group that has one key.
    """

    first: Float[np.ndarray, "group head draw"]
    total: Float[np.ndarray, "group head draw"]
    overlap: Float[np.ndarray, "head head draw"]
    deviation: Float[np.ndarray, "group draw"]

    def values(self, quantity: Quantity, law: LogitLaw) -> Float[np.ndarray, " draw"]:
        """The quantity in each draw."""
        result = np.full(self.first.shape[2], float(quantity.constant))
        for term in quantity.terms:
            weights = (self.total if term.is_total else self.first)[law.index(term.group)]
            result += float(term.factor) * (weights.mean(axis=0) if term.head is None else weights[term.head])
        return result

    def group_coefficients(self) -> Float[np.ndarray, "group draw"]:
        """Σ_{i in group} c_i: coefficients in the output, summed over each group."""
        return self.total.mean(axis=1)

    def squared_distances(
        self, target: Float[np.ndarray, " group"], counts: Float[np.ndarray, " group"]
    ) -> Float[np.ndarray, " draw"]:
        """‖c − Σ_i target_i v_i‖² for orthonormal values: Σ_i c_i² − 2 Σ_i target_i c_i + Σ_i target_i²."""
        squares = self.overlap.mean(axis=(0, 1))
        return squares - 2 * target @ self.group_coefficients() + float(counts @ target**2)
