"""Rows of rounded numbers: how many are no longer told apart."""

import ml_dtypes
import numpy as np


def as_format(numbers: np.ndarray, name: str) -> np.ndarray:
    """The numbers rounded to the nearest of a floating-point format, ties to even; what is too large becomes infinite.

    >>> as_format(np.array([257.0]), "bfloat16").astype(float).tolist()
    [256.0]
    """
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=float).astype(dtype)


def repeats(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that equal an earlier one, in order: the earliest that each equals, and the row itself.

    >>> earlier, later = repeats(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [2.0, 1.0]]))
    >>> earlier.tolist(), later.tolist()
    ([0, 1], [2, 3])
    """
    _, first, inverse = np.unique(_keys(rows), return_index=True, return_inverse=True)
    earliest = first[inverse]
    later = np.flatnonzero(earliest != np.arange(len(rows)))
    return earliest[later], later


def lost_rows(rows: np.ndarray) -> int:
    """How many rows equal an earlier one: their number less that of distinct rows.

    >>> lost_rows(np.array([[0.0], [1.0], [1.0]]))
    1
    """
    return len(repeats(rows)[1])


def _keys(rows: np.ndarray) -> np.ndarray:
    """Each row as one opaque value; adding zero makes both zeros the same bits."""
    rows = np.ascontiguousarray(rows + np.zeros((), dtype=rows.dtype))
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
