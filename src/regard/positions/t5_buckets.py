"""T5's buckets: each distance belongs to a bucket, and each bucket has a learned bias per head."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from array_api_compat import array_namespace, device

from regard.core.axes import Array, Float, Int
from regard.core.errors import InputError
from regard.positions._code import ModelSizes, PositionCode, distances


def t5_bucket(
    gaps: Int[Array, "..."], *, num_buckets: int = 32, max_distance: int = 128, is_causal: bool = False
) -> Int[Array, "..."]:
    """The bucket of each gap (key position minus query position).

        n < E:  b(n) = n
        n ≥ E:  b(n) = min(E + ⌊(N − E) log(n/E) / log(D/E)⌋, N − 1),   E = ⌊N/2⌋

    n is the distance, D is `max_distance`. A causal code has N buckets and puts keys after the query in bucket 0;
    otherwise N is half the number of buckets, and keys after the query use the second half.

    >>> t5_bucket(np.array([0, -7, -8, -16, -500, 1, 500]))
    array([ 0,  7,  8, 10, 15, 17, 31])
    """
    xp = array_namespace(gaps)
    side = _side(num_buckets, max_distance, is_causal)
    starts = xp.asarray(_starts(side, max_distance), device=device(gaps))
    reach = xp.maximum(-gaps, xp.zeros_like(gaps)) if is_causal else xp.abs(gaps)
    buckets = xp.searchsorted(starts, xp.astype(reach, xp.int64), side="right")
    return buckets if is_causal else buckets + side * xp.astype(gaps > 0, xp.int64)


def _side(num_buckets: int, max_distance: int, is_causal: bool) -> int:
    """The number of buckets per direction."""
    side = num_buckets if is_causal else num_buckets // 2
    if side < 2 or (num_buckets % 2 and not is_causal):
        raise InputError(
            f"There are {num_buckets} buckets. "
            "A causal code needs 2 or more; a bidirectional one needs an even number, 4 or more."
        )
    if max_distance <= side // 2:
        raise InputError(
            f"max_distance is {max_distance}, but distances below {side // 2} have buckets of their own. "
            f"Use a max_distance above {side // 2}."
        )
    return side


def _starts(num_buckets: int, max_distance: int) -> Int[np.ndarray, " bucket"]:
    """The smallest distance in each bucket but the first.

    Bucket E + j starts at the smallest n with (n/E)^{N−E} ≥ (D/E)^j. This uses integers, because
    floating-point logarithms may put a distance exactly on a boundary on either side of it.
    """
    exact = num_buckets // 2
    rest = num_buckets - exact
    starts = list(range(1, exact + 1))
    for step in range(1, rest):
        n = starts[-1]
        while n**rest * exact**step < max_distance**step * exact**rest:
            n += 1
        starts.append(n)
    return np.asarray(starts, dtype=np.int64)


_NUM_BUCKETS = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class T5Buckets(PositionCode):
    """Adds the same bias to the logits of a head for all distances in a bucket.

        b_h(t, u) = table[bucket(u − t), h]

    T5 does not scale its logits: use it with `AttentionRule(scale=1.0)`.

    >>> code = T5Buckets(table=np.array([[0.0], [1.0], [2.0], [3.0]]), max_distance=4)
    >>> code.bias(np.array([0]), np.arange(3))
    array([[[0., 3., 3.]]])
    """

    table: Float[Array, "bucket head"]
    max_distance: int = 128
    is_causal: bool = False

    @classmethod
    def for_model(cls, sizes: ModelSizes) -> Self:
        """Causal buckets for all distances."""
        table = np.zeros((_NUM_BUCKETS, sizes.num_heads))
        return cls(table=table, max_distance=max(sizes.max_length, _NUM_BUCKETS), is_causal=True)

    def __post_init__(self) -> None:
        _side(self.table.shape[0], self.max_distance, self.is_causal)

    def bias(
        self, query_positions: Int[Array, "*batch query"], key_positions: Int[Array, "*batch key"]
    ) -> Float[Array, "*batch head query key"]:
        """The table's entry for the bucket of each distance, per head."""
        buckets = t5_bucket(
            distances(query_positions, key_positions),
            num_buckets=self.table.shape[0],
            max_distance=self.max_distance,
            is_causal=self.is_causal,
        )
        xp = array_namespace(self.table)
        chosen = self.table[xp.asarray(buckets, device=device(self.table))]
        return xp.moveaxis(chosen, -1, -3)


CODE = T5Buckets
