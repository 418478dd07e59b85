"""How large a dot product of random vectors is."""

from typing import Any


def score_variance(d: Any, *, mean: Any = 0) -> Any:
    """Var(kᵀq) = d(1 + 2μ²): k and q independent, d iid entries each of mean μ and variance 1.

    >>> score_variance(64), score_variance(64, mean=1)
    (64, 192)
    """
    return d * (1 + 2 * mean**2)


def square_variance(d: Any, *, fourth_moment: Any = 3) -> Any:
    """Var(kᵀk) = d(m₄ − 1): d iid entries of mean 0, variance 1 and fourth moment m₄, which is 3 for Gaussians.

    >>> square_variance(64)
    128
    """
    return d * (fourth_moment - 1)


def aligned_mean(correlation: Any, root_d: Any) -> Any:
    """E(kᵀq/√d) = ρ√d: d entries each of mean 0 and variance 1, q_i and k_i with correlation ρ.

    >>> aligned_mean(1, 8)
    8
    """
    return correlation * root_d
