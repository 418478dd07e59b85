"""How far a small change of the input can move what attention gives back."""

from fractions import Fraction
from typing import Any


def softmax_lipschitz(n: Any) -> Any:
    """½: the least L with ‖softmax(x) − softmax(y)‖₂ ≤ L‖x − y‖₂ for all x and y of n ≥ 2 logits.

    >>> softmax_lipschitz(10)
    Fraction(1, 2)
    """
    return 0 * n + Fraction(1, 2)


def self_attention_slope(radius: Any) -> Any:
    """∂f₁/∂x₁ = ⅓ + ⅔R² at x = (0, R, −R), where f_i = Σ_j softmax_j(x_i x_j) x_j.

    >>> self_attention_slope(Fraction(10))
    Fraction(67, 1)
    """
    return (1 + 2 * radius**2) / 3
