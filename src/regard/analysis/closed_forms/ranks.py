"""Ranks: what a head's width bounds, and what it does not."""

from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat


def weights_rank(width: int, tokens: int) -> int:
    """T, whatever the width d ≥ 1: the largest rank that a T×T matrix of attention weights can have.

    >>> weights_rank(1, 6)
    6
    """
    assert width >= 1
    return tokens


def centred_logs_rank(width: int, tokens: int) -> int:
    """min(d, T−1): the largest rank that log A can have once each row is centred, A = softmax(QKᵀ).

    >>> centred_logs_rank(2, 6), centred_logs_rank(9, 6)
    (2, 5)
    """
    return min(width, tokens - 1)


def multi_query_rank(heads: Any, width: Any) -> Any:
    """d, whatever H: the largest rank of the logits of H heads on top of each other if they share their keys.

    >>> multi_query_rank(8, 64)
    64
    """
    return width + 0 * heads


def multi_head_rank(heads: Any, width: Any) -> Any:
    """H·d: the largest rank of the logits of H heads on top of each other if each has keys of its own.

    >>> multi_head_rank(8, 64)
    512
    """
    return heads * width


def power_table(size: int) -> np.ndarray:
    """2^{ij}, i, j = 0 … T−1: e^{q_i k_j} for q_i = i·log 2 and k_j = j, a Vandermonde matrix of the nodes 2^i.

    >>> power_table(3).tolist()
    [[1, 1, 1], [1, 2, 4], [1, 4, 16]]
    """
    return np.array([[2 ** (i * j) for j in range(size)] for i in range(size)], dtype=object)


def row_centred(matrix: np.ndarray) -> np.ndarray:
    """M(I − 11ᵀ/T): each entry less its row's mean, in the entries' own arithmetic.

    >>> row_centred(np.array([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """
    return matrix - (matrix.sum(axis=1) / matrix.shape[1])[:, None]


def rank_of(matrix: np.ndarray) -> int:
    """The rank of a matrix of whole numbers or fractions, by exact elimination.

    >>> rank_of(power_table(5)), rank_of(np.ones((3, 3), dtype=int))
    (5, 1)
    """
    rows = [[fmpq(int(entry.numerator), int(entry.denominator)) for entry in row] for row in matrix]
    return int(fmpq_mat(rows).rank())
