"""Rotary codes: rotations as complex products, scores that see distances only, layouts and their envelope."""

from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import Numbers, cos, sin
from regard.core.axes import Float, Real
from regard.positions.rotary_scaling import rotary_frequencies


def rotation_matrix(angles: Numbers) -> np.ndarray:
    """Diag of the blocks [[cos φ_i, −sin φ_i], [sin φ_i, cos φ_i]]: the D×D matrix of RoPE, interleaved."""
    zero = 0 * sin(angles[0])
    matrix = np.full((2 * len(angles), 2 * len(angles)), zero)
    for i, angle in enumerate(angles):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]
    return matrix


def complex_product(numbers: Numbers, angles: Numbers) -> list[Any]:
    """z_i ↦ z_i e^{iφ_i} for z_i = x_{2i} + i·x_{2i+1}: D/2 complex products, real and imaginary parts in turn.

    >>> [round(float(x), 3) + 0.0 for x in complex_product([1.0, 0.0], [np.pi / 2])]
    [0.0, 1.0]
    """
    turned: list[Any] = []
    for x, y, angle in zip(numbers[0::2], numbers[1::2], angles, strict=True):
        c, s = cos(angle), sin(angle)
        turned += [x * c - y * s, x * s + y * c]
    return turned


def relative_score(first: Numbers, second: Numbers, turns: Numbers, others: Numbers) -> Any:
    """Σ_i Re(z_i w̄_i e^{i(φ_i−ψ_i)}): the score of z turned by φ and w turned by ψ.

    With z = x + iy, w = u + iv: Re(z w̄) = xu + yv and Im(z w̄) = yu − xv.
    """
    pairs = zip(first[0::2], first[1::2], second[0::2], second[1::2], turns, others, strict=True)
    return sum((x * u + y * v) * cos(a - b) - (y * u - x * v) * sin(a - b) for x, y, u, v, a, b in pairs)


def squared_norm(numbers: Numbers) -> Any:
    """‖x‖² = Σ x_j²."""
    return sum(x * x for x in numbers)


def interleaved_slot(pair: Any, part: int, width: Any) -> Any:
    """Slot 2i + p, where the interleaved layout keeps part p of pair i, whatever the width."""
    return 2 * pair + part + 0 * width


def half_split_slot(pair: Any, part: int, width: Any) -> Any:
    """Slot i + p·d/2, where the half-split layout keeps part p of pair i."""
    return pair + part * width / 2


def mixed_score(turns: Numbers, others: Numbers) -> Any:
    """Score cos φ_0 · cos ψ_1 of q = k = e_1 when q is turned interleaved and k half-split, d ≥ 4.

    Slot 1 is the second number of pair 0 in one layout and the first number of pair 1 in the other.
    """
    return cos(turns[0]) * cos(others[1])


def favour_lost(energy: Any, half_turn: Any) -> Any:
    """2|q_i|² sin²((s−r)θ_i/2): what the score of q and k = R_r q at distance s is short of |q|², for one pair.

    `half_turn` is (s−r)θ_i/2.

    >>> float(favour_lost(1.0, 0.0))
    0.0
    """
    return 2 * energy * sin(half_turn) * sin(half_turn)


def envelope(lags: Real[np.ndarray, " lag"], width: int, base: float) -> Float[np.ndarray, " lag"]:
    """|Σ_j e^{isθ_j}| for each lag s: d/2 at lag 0, where all pairs agree.

    >>> float(envelope(np.array([0]), 128, 10_000.0)[0])
    64.0
    """
    angles = np.multiply.outer(lags, rotary_frequencies(base, width))
    return np.hypot(np.cos(angles).sum(-1), np.sin(angles).sum(-1))


def envelope_floor(width: int) -> float:
    """½√(πd/2): the mean of |Σ_j e^{iφ_j}| over d/2 independent phases, for many pairs (Rayleigh's law).

    >>> round(envelope_floor(128), 1)
    7.1
    """
    return float(np.sqrt(np.pi * width / 2) / 2)
