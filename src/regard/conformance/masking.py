"""Masks as laws draw them: which tokens of a row are hidden, and where the others then stand."""

from typing import Any

import numpy as np

from regard.conformance.subject import Subject

# Where in a row hidden tokens stand.
SIDES = ("right", "left", "middle")


def mask_hiding(batch: int, length: int, side: str) -> np.ndarray:
    """[batch, position], True for a real token: two tokens of the first row hidden, one more in every further row.

    At least two tokens of every row stay, so the length must be three or more.

    >>> mask_hiding(2, 6, "middle").astype(int)
    array([[1, 0, 0, 1, 1, 1],
           [1, 0, 0, 0, 1, 1]])
    """
    assert length >= 3, length
    mask = np.ones((batch, length), dtype=bool)
    for row in range(batch):
        count = 1 + (1 + row) % (length - 2)
        start = {"right": length - count, "left": 0, "middle": 1}[side]
        mask[row, start : start + count] = False
    return mask


def real_places(mask: np.ndarray) -> np.ndarray:
    """Where tokens stand if only the real ones are counted, from zero.

    >>> real_places(np.array([[False, False, True, True]]))
    array([[0, 0, 0, 1]])
    """
    return np.maximum(np.cumsum(mask, axis=1) - 1, 0)


def ones_mask(subject: Subject, x: np.ndarray) -> dict[str, Any]:
    """The option of a mask that hides nothing, for layers that take one.

    Some layers guess packed documents from gaps in the positions unless a mask tells them better.
    """
    return {"mask": np.ones(x.shape[:2], dtype=bool)} if subject.has("mask") else {}


def gaps_by_place(left: np.ndarray, right: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """[batch, position]: the largest difference at each token, zero where the mask is False, infinite for NaN.

    >>> gaps_by_place(np.array([[[1.0], [2.0]]]), np.array([[[1.0], [5.0]]]))
    array([[0., 3.]])
    """
    if left.shape != right.shape:
        return np.full(left.shape[:2], np.inf)
    gaps = np.abs(left.astype(np.float64) - right.astype(np.float64)).max(axis=-1, initial=0.0)
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    return gaps if mask is None else np.where(mask, gaps, 0.0)


def place_of_worst(gaps: np.ndarray) -> dict[str, int]:
    """Row and output of the largest gap, for a reader."""
    row, output = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    return {"row": int(row), "output": int(output)}
