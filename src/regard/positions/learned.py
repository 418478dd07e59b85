"""Learned codes: a table with one vector per position, added to the embeddings."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from array_api_compat import array_namespace

from regard.core.axes import Array, Float, Int
from regard.core.errors import InputError
from regard.positions._code import ModelSizes, PositionCode, positions_like


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned(PositionCode):
    """Adds row t of a table to the embedding at position t.

        X + Φ,   Φ(t) = table[t]

    >>> import numpy as np
    >>> Learned(table=np.array([[0.0], [10.0]])).add(np.ones((3, 1)), np.array([0, 1, 1])).ravel()
    array([ 1., 11., 11.])
    """

    table: Float[Array, "position width"]

    @classmethod
    def for_model(cls, sizes: ModelSizes) -> Self:
        """A row for every position."""
        return cls(table=np.zeros((sizes.max_length, sizes.width)))

    def add(
        self, embeddings: Float[Array, "*batch position width"], positions: Int[Array, "*#batch position"]
    ) -> Float[Array, "*batch position width"]:
        """The embeddings plus the row of each position."""
        xp = array_namespace(embeddings, self.table)
        rows, width = self.table.shape
        if embeddings.shape[-1] != width:
            raise InputError(
                f"Embeddings have width {embeddings.shape[-1]} and the table has width {width}. "
                "Give both the same width."
            )
        placed = positions_like(positions, embeddings)
        if xp.any((placed < 0) | (placed >= rows)):
            raise InputError(
                f"Positions run from {int(xp.min(placed))} to {int(xp.max(placed))}, but the table has rows 0 to "
                f"{rows - 1}. Shorten the sequence or learn more rows."
            )
        return xp.astype(embeddings + self.table[placed], embeddings.dtype)


CODE = Learned
