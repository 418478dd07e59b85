"""ALiBi: logits fall linearly with distance, with a slope for each head."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from array_api_compat import array_namespace, device

from regard.core.axes import Array, Float, Real
from regard.core.errors import InputError
from regard.positions._code import ModelSizes, PositionCode, distances


def alibi_slopes(num_heads: int) -> Float[np.ndarray, " head"]:
    """The slope of each head, a geometric sequence that ends at 2⁻⁸ if the number of heads is a power of two.

        m_h = 2^{−8h/H},   h = 1 … H

    Otherwise, the slopes are those of the next smaller power of two P, then every other slope of 2P.

    >>> alibi_slopes(2)
    array([0.0625    , 0.00390625])
    """
    if num_heads < 1:
        raise InputError(f"{num_heads} heads have no slopes. Give one head or more.")
    power = 1 << (num_heads.bit_length() - 1)
    return np.concatenate([_geometric(power), _geometric(2 * power)[::2][: num_heads - power]])


def _geometric(num_heads: int) -> Float[np.ndarray, " head"]:
    return 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)


@dataclass(frozen=True, kw_only=True)
class Alibi(PositionCode):
    """Lowers the logits linearly with distance, with a slope for each head.

        b_h(t, u) = −m_h |t − u|

    The paper covers only keys before the query; here the distance counts in both directions.

    >>> Alibi(num_heads=8).bias(np.array([2]), np.arange(3))[0]
    array([[-1. , -0.5, -0. ]])
    """

    num_heads: int

    @classmethod
    def for_model(cls, sizes: ModelSizes) -> Self:
        """A slope for every head."""
        return cls(num_heads=sizes.num_heads)

    def __post_init__(self) -> None:
        alibi_slopes(self.num_heads)

    def bias(
        self, query_positions: Real[Array, "*batch query"], key_positions: Real[Array, "*batch key"]
    ) -> Float[Array, "*batch head query key"]:
        """Minus the distance times the slope of the head."""
        xp = array_namespace(query_positions, key_positions)
        slopes = xp.asarray(alibi_slopes(self.num_heads), device=device(query_positions))
        gaps = xp.abs(xp.astype(distances(query_positions, key_positions), xp.float64))
        return -slopes[:, None, None] * gaps[..., None, :, :]


CODE = Alibi
