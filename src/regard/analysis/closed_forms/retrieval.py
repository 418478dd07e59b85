"""What softmax attention gives back when keys are fixed: copying one value, averaging two."""

from typing import Any

from regard.analysis.closed_forms.arithmetic import exp, log


def share(own: Any, rest: Any) -> Any:
    """a_i = e^{z_i}/(e^{z_i} + R): a key's weight from its own exponential and the sum R of all the others'.

    >>> share(1, 3)
    0.25
    """
    return own / (own + rest)


def copy_weight(margin: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−Δ}): the least weight on a key whose logit beats the n−1 others by the margin Δ.

    >>> round(float(copy_weight(1.0, 10)), 3)
    0.232
    """
    return 1 / (1 + (n - 1) * exp(-margin))


def copy_error(weight: Any, distance: Any) -> Any:
    """(1−a_j)·D: how far the output can be from v_j when every value is within D of it.

    >>> copy_error(0.75, 2.0)
    0.5
    """
    return (1 - weight) * distance


def copy_margin(epsilon: Any, n: Any) -> Any:
    """log((n−1)(1−ε)/ε): the margin that guarantees a weight of 1−ε.

    >>> round(float(copy_margin(0.1, 10)), 4)
    4.3944
    """
    return log((n - 1) * (1 - epsilon) / epsilon)


def average_weight(beta: Any, n: Any) -> Any:
    """e^β/(2e^β + n−2): the weight on each of two orthonormal keys under q = β(k_a + k_b).

    >>> round(float(average_weight(1.0, 10)), 4)
    0.2023
    """
    return exp(beta) / (2 * exp(beta) + (n - 2))


def other_weight(beta: Any, n: Any) -> Any:
    """1/(2e^β + n−2): the weight on each of the n−2 other keys under q = β(k_a + k_b).

    >>> round(float(2 * average_weight(1.0, 10) + 8 * other_weight(1.0, 10)), 12)
    1.0
    """
    return 1 / (2 * exp(beta) + (n - 2))


def average_scale(epsilon: Any, n: Any) -> Any:
    """log((n−2)(1−2ε)/(4ε)): the scale β from which each of the two weights is at least ½−ε.

    >>> round(float(average_scale(0.01, 10)), 4)
    5.2781
    """
    return log((n - 2) * (1 - 2 * epsilon) / (4 * epsilon))


def dispersed_weight(spread: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−R}): the most that one key can weigh when all n logits lie within R of each other.

    >>> round(float(dispersed_weight(2.0, 1000)), 6)
    0.007342
    """
    return 1 / (1 + (n - 1) * exp(-spread))


def uniform_weight(n: Any) -> Any:
    """1/n: what each key weighs when the query tells it nothing.

    >>> uniform_weight(4)
    0.25
    """
    return 1 / n
