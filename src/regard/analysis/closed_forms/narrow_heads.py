"""What a head can do whose width is less than the number of its keys: keys on a circle and on the moment curve."""

from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import log, sin
from regard.core.axes import Float


def circle_keys(n: int) -> Float[np.ndarray, "key 2"]:
    """k_i = (cos 2πi/n, sin 2πi/n): n keys of width 2, each the farthest one in its own direction.

    >>> circle_keys(4).round(3).tolist()[1]
    [0.0, 1.0]
    """
    angles = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def circle_gap(half_turn: Any) -> Any:
    """1 − cos(2π/n) = 2 sin²(π/n): by how much k_j·k_j exceeds k_i·k_j for the nearest of n keys on the circle.

    `half_turn` is π/n.

    >>> round(float(circle_gap(np.pi / 10)), 6)
    0.190983
    """
    return 2 * sin(half_turn) * sin(half_turn)


def neighbours_margin(epsilon: Any, n: Any) -> Any:
    """log(2(1−ε)/ε), whatever n: the margin at which two equal rivals leave a weight of 1−ε.

    >>> round(float(neighbours_margin(0.01, 10)), 3)
    5.288
    """
    return log(2 * (1 - epsilon) / epsilon + 0 * n)


def moment_keys(n: int) -> Float[np.ndarray, "key 4"]:
    """k_t = (t, t², t³, t⁴) for n whole numbers t around 0.

    >>> moment_keys(3).tolist()
    [[-1.0, 1.0, -1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return (np.arange(n) - n // 2)[:, None] ** np.arange(1.0, 5.0)


def pair_query(i: Any, j: Any) -> tuple[Any, Any, Any, Any]:
    """(2ij(i+j), −(i²+4ij+j²), 2(i+j), −1): its product with (t, t², t³, t⁴) is i²j² − (t−i)²(t−j)².

    >>> pair_query(1, 2)
    (12, -13, 6, -1)
    """
    return 2 * i * j * (i + j), -(i * i + 4 * i * j + j * j), 2 * (i + j), -1
