"""Masks: True where a query may attend to a key.

Masks are numpy arrays; attention accepts them for any kind of queries.
"""

from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
from array_api_compat import array_namespace

from regard.core.axes import Array, Bool, Int
from regard.core.errors import InputError

Alignment: TypeAlias = Literal["top-left", "bottom-right"]
"""Which query and key share a position if their numbers differ: the first of each, or the last of each."""

Side: TypeAlias = Literal["left", "right"]
"""The side on which a sequence is padded."""


def causal_mask(num_queries: int, num_keys: int, *, align: Alignment | None = None) -> Bool[np.ndarray, "query key"]:
    """No query attends to later keys.

        M_ij = (j ≤ i + o),   o = 0 (top-left) or num_keys − num_queries (bottom-right)

    With as many queries as keys, both alignments are the same and `align` may be omitted.

    >>> causal_mask(2, 3, align="bottom-right").astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    return _distance(num_queries, num_keys, align) >= 0


def window_mask(
    num_queries: int, num_keys: int, *, window: int, align: Alignment | None = None
) -> Bool[np.ndarray, "query key"]:
    """Queries attend to keys less than `window` positions away, on either side.

        M_ij = (|i + o − j| < window)

    Combined with `causal_mask`, each query attends to the last `window` keys, itself included.

    >>> combine_masks(causal_mask(3, 3), window_mask(3, 3, window=2)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    """
    if window < 1:
        raise InputError(f"The window is {window}, so no query would attend even to itself. Use a window of 1 or more.")
    return np.abs(_distance(num_queries, num_keys, align)) < window


def padding_mask(
    lengths: Int[Array, "*batch"], num_keys: int, *, side: Side = "right"
) -> Bool[np.ndarray, "*batch 1 key"]:
    """No query attends to padding.

        M_j = (j < length) if padded on the right, (j ≥ num_keys − length) on the left

    If heads are split, give the lengths an axis for them: `lengths[:, None]`.

    >>> padding_mask(np.array([1, 3]), 3, side="left").astype(int)
    array([[[0, 0, 1]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    if side not in ("left", "right"):
        raise InputError(f'side is {side!r}, which is not a side. Use "left" or "right".')
    counts = np.asarray(lengths)[..., None, None]
    if np.any((counts < 0) | (counts > num_keys)):
        raise InputError(
            f"Lengths run from {counts.min()} to {counts.max()}, but there are {num_keys} keys. "
            f"Give lengths from 0 to {num_keys}."
        )
    order = np.arange(num_keys)
    return order < counts if side == "right" else order >= num_keys - counts


def combine_masks(*masks: Bool[Array, "..."] | None) -> Bool[Array, "..."]:
    """A key is visible if every mask shows it; None hides nothing.

    >>> combine_masks(np.array([True, False]), None, np.array([[True], [False]])).astype(int)
    array([[1, 0],
           [0, 0]])
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        raise InputError("There is no mask to combine. Give at least one, or call attention without a mask.")
    xp = array_namespace(*given)
    try:
        return reduce(xp.logical_and, given)
    except (ValueError, RuntimeError) as mismatch:
        shapes = ", ".join(str(tuple(mask.shape)) for mask in given)
        raise InputError(
            f"Masks of shapes {shapes} do not broadcast together. "
            "Their last axes are query and key; each axis has a common length, or 1."
        ) from mismatch


def _distance(num_queries: int, num_keys: int, align: Alignment | None) -> Int[np.ndarray, "query key"]:
    """The position of each query minus that of each key."""
    if num_queries < 1 or num_keys < 1:
        raise InputError(f"{num_queries} queries and {num_keys} keys leave nothing to mask. Give at least one of each.")
    if align is None and num_queries != num_keys:
        raise InputError(
            f"{num_queries} queries and {num_keys} keys can be aligned in two ways. "
            'Use align="top-left" (the first ones coincide) or "bottom-right" (the last ones do).'
        )
    if align not in (None, "top-left", "bottom-right"):
        raise InputError(f'align is {align!r}, which is not an alignment. Use "top-left" or "bottom-right".')
    offset = num_keys - num_queries if align == "bottom-right" else 0
    return np.arange(num_queries)[:, None] + offset - np.arange(num_keys)
