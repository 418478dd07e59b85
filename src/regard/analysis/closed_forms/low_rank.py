"""What the width of a head allows: ranks of its logits and weights, and keys that narrow heads tell apart."""

from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from regard.analysis.closed_forms.arithmetic import log, sin
from regard.core.axes import Float


def weights_rank(width: int, tokens: int) -> int:
    """T, whatever the width d ≥ 1: the largest rank that a T×T matrix of attention weights can have."""
    assert width >= 1
    return tokens


def centred_logs_rank(width: int, tokens: int) -> int:
    """min(d, T−1): the largest rank that log A can have once each row is centred, A = softmax(QKᵀ)."""
    return min(width, tokens - 1)


def multi_query_rank(heads: Any, width: Any) -> Any:
    """d, whatever H: the largest rank of the stacked logits of H heads that share their keys."""
    return width + 0 * heads


def multi_head_rank(heads: Any, width: Any) -> Any:
    """H·d: the largest rank of the stacked logits of H heads that each have keys of their own."""
    return heads * width


def power_table(size: int) -> np.ndarray:
    """2^{ij}, i, j = 0 … T−1: e^{q_i k_j} for q_i = i·log 2 and k_j = j, a Vandermonde matrix of the nodes 2^i."""
    return np.array([[2 ** (i * j) for j in range(size)] for i in range(size)], dtype=object)


def row_centred(matrix: np.ndarray) -> np.ndarray:
    """M(I − 11ᵀ/T): each entry less its row's mean, in the entries' own arithmetic."""
    return matrix - (matrix.sum(axis=1) / matrix.shape[1])[:, None]


def rank_of(matrix: np.ndarray) -> int:
    """The rank of a matrix of whole numbers or fractions, by exact elimination."""
    rows = [[fmpq(int(entry.numerator), int(entry.denominator)) for entry in row] for row in matrix]
    return int(fmpq_mat(rows).rank())


def circle_keys(n: int) -> Float[np.ndarray, "key 2"]:
    """k_i = (cos 2πi/n, sin 2πi/n): n keys of width 2, each the farthest in its own direction."""
    angles = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def circle_gap(half_turn: Any) -> Any:
    """1 − cos(2π/n) = 2 sin²(π/n): by how much k_j·k_j exceeds k_i·k_j for the nearest of n keys on the circle.

    `half_turn` is π/n.
    """
    return 2 * sin(half_turn) * sin(half_turn)


def neighbours_margin(epsilon: Any, n: Any) -> Any:
    """log(2(1−ε)/ε), whatever n: the margin at which two equal competitors leave a weight of 1−ε."""
    return log(2 * (1 - epsilon) / epsilon + 0 * n)


def moment_keys(n: int) -> Float[np.ndarray, "key 4"]:
    """k_t = (t, t², t³, t⁴) for n whole numbers t around 0."""
    return (np.arange(n) - n // 2)[:, None] ** np.arange(1.0, 5.0)


def pair_query(i: Any, j: Any) -> tuple[Any, Any, Any, Any]:
    """(2ij(i+j), −(i²+4ij+j²), 2(i+j), −1): its product with (t, t², t³, t⁴) is i²j² − (t−i)²(t−j)²."""
    return 2 * i * j * (i + j), -(i * i + 4 * i * j + j * j), 2 * (i + j), -1
