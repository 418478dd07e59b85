"""What softmax attention gives back when keys are fixed: copying one value, averaging two."""

from typing import Any

from regard.theory.arithmetic import exp, log

__all__ = ["average_scale", "average_weight", "copy_margin", "copy_weight"]


def copy_weight(margin: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−Δ}): the least weight on a key whose logit beats the n−1 others by the margin Δ.

    >>> round(float(copy_weight(1.0, 10)), 3)
    0.232
    """
    return 1 / (1 + (n - 1) * exp(-margin))


def copy_margin(epsilon: Any, n: Any) -> Any:
    """log((n−1)(1−ε)/ε): the margin that guarantees a weight of 1−ε."""
    return log((n - 1) * (1 - epsilon) / epsilon)


def average_weight(beta: Any, n: Any) -> Any:
    """e^β/(2e^β + n−2): the weight on each of two orthonormal keys under q = β(k_a + k_b).

    >>> round(float(average_weight(1.0, 10)), 4)
    0.2023
    """
    return exp(beta) / (2 * exp(beta) + n - 2)


def average_scale(epsilon: Any, n: Any) -> Any:
    """log((n−2)(1−2ε)/(4ε)): the scale β from which each of the two weights is at least ½−ε."""
    return log((n - 2) * (1 - 2 * epsilon) / (4 * epsilon))
