"""The base class of position codes: three hooks, each of which does nothing by default."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from regard.core.axes import Array, Float, Real
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ModelSizes:
    """What a position code may have to know about a model."""

    width: int
    head_width: int
    num_heads: int
    max_length: int


class PositionCode:
    """Gives a layer the positions of its tokens; this one does nothing.

    A code overrides one or more hooks: `add` changes embeddings, `rotate` queries and keys, `bias` logits. A code with
    a field `table` is learned.
    Positions are a single row for all, or have an axis for every leading axis of the array they belong to.
    """

    @classmethod
    def for_model(cls, sizes: ModelSizes) -> Self:  # noqa: ARG003
        """The code of a model of these sizes before training: a table that is learned starts at zero."""
        return cls()

    def add(
        self,
        embeddings: Float[Array, "*batch position width"],
        positions: Real[Array, "*#batch position"],  # noqa: ARG002
    ) -> Float[Array, "*batch position width"]:
        """The embeddings with their positions encoded in them."""
        return embeddings

    def rotate(
        self,
        heads: Float[Array, "*batch position width"],
        positions: Real[Array, "*#batch position"],  # noqa: ARG002
    ) -> Float[Array, "*batch position width"]:
        """The queries or keys of some heads, rotated according to their positions."""
        return heads

    def bias(
        self,
        query_positions: Real[Array, "*batch query"],  # noqa: ARG002
        key_positions: Real[Array, "*batch key"],  # noqa: ARG002
    ) -> Float[Array, "*batch head query key"] | None:
        """The bias to add to the logits, or None."""
        return None


def positions_like(positions: Array, placed: Array) -> Array:
    """Positions as an array of the same kind, and on the same device, as the array they belong to."""
    xp = array_namespace(placed)
    # By name, because numpy's isdtype rejects the types of ml_dtypes.
    if "float" not in str(placed.dtype):
        raise InputError(f"The array has dtype {placed.dtype}, which cannot hold a position code. Give real floats.")
    shape, wanted = tuple(positions.shape), tuple(placed.shape[:-1])
    fits = len(shape) in (1, len(wanted)) and all(
        have in (1, want) for have, want in zip(shape[:-1][::-1], wanted[:-1][::-1], strict=False)
    )
    if not fits or shape[-1] != wanted[-1]:
        raise InputError(
            f"Positions have shape {shape}, but the array has shape {tuple(placed.shape)}. "
            f"Give {wanted[-1:]} to share them, or every axis of {wanted}, with length 1 where they do not vary."
        )
    if is_numpy_array(positions):
        # A copy, because torch refuses numpy arrays with negative strides and warns about read-only ones.
        positions = np.array(positions)
    return xp.asarray(positions, device=device(placed))


def even_width(what: str, width: int) -> int:
    """The width, which must be even."""
    if width < 2 or width % 2:
        raise InputError(f"{what} is {width}, which does not divide into pairs. Use an even number, 2 or more.")
    return width


def distances(
    query_positions: Real[Array, "*batch query"], key_positions: Real[Array, "*batch key"]
) -> Real[Array, "*batch query key"]:
    """The position of each key minus that of each query."""
    return key_positions[..., None, :] - query_positions[..., :, None]
