"""Softmax attention over fixed keys: the weight of a key, the sharpness of all weights, the output's stability."""

from fractions import Fraction
from typing import Any

from regard.analysis.closed_forms.arithmetic import exp, log


def share(own: Any, rest: Any) -> Any:
    """a_i = e^{z_i}/(e^{z_i} + R): a key's weight, from its own exponential and the sum R of all others."""
    return own / (own + rest)


def copy_weight(margin: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−Δ}): the weight on a key whose logit is Δ above n−1 equal ones.

    It is the least at a margin of Δ, and the largest if all logits lie within Δ of each other.
    """
    return 1 / (1 + (n - 1) * exp(-margin))


def copy_error(weight: Any, distance: Any) -> Any:
    """(1−a_j)·D: the largest distance of the output from v_j if every value is within D of it."""
    return (1 - weight) * distance


def copy_margin(epsilon: Any, n: Any) -> Any:
    """log((n−1)(1−ε)/ε): the margin from which a key has the weight 1−ε beside n−1 equal others."""
    return log((n - 1) * (1 - epsilon) / epsilon)


def average_weight(beta: Any, n: Any) -> Any:
    """e^β/(2e^β + n−2): the weight on each of two orthonormal keys under q = β(k_a + k_b)."""
    return exp(beta) / (2 * exp(beta) + (n - 2))


def other_weight(beta: Any, n: Any) -> Any:
    """1/(2e^β + n−2): the weight on each of the n−2 other keys under q = β(k_a + k_b)."""
    return 1 / (2 * exp(beta) + (n - 2))


def average_scale(epsilon: Any, n: Any) -> Any:
    """log((n−2)(1−2ε)/(4ε)): the scale β from which each of the two weights is at least ½−ε."""
    return log((n - 2) * (1 - 2 * epsilon) / (4 * epsilon))


def uniform_weight(n: Any) -> Any:
    """1/n: the weight of each of n keys if all logits are equal."""
    return 1 / n


def log_scaled_weight(power: Any, n: Any) -> Any:
    """1/(1 + (n−1)/n^{sΔ}): the weight on a key ahead by Δ if logits are multiplied by s·log n; power = n^{sΔ}."""
    return 1 / (1 + (n - 1) / power)


def entropy_slope(beta: Any, mean: Any, second_moment: Any) -> Any:
    """dH/dβ = −β(E_a z² − (E_a z)²): the slope of softmax(βz)'s entropy, from the logits' moments under its weights."""
    return -beta * (second_moment - mean**2)


def gaussian_entropy_loss(variance: Any) -> Any:
    """b²/2: the entropy that n iid N(0, b²) logits lose from log n, as n → ∞."""
    return variance / 2


def gaussian_effective_share(variance: Any) -> Any:
    """e^{−b²}: the effective share 1/(n·Σ_i a_i²) of n keys with iid N(0, b²) logits, as n → ∞."""
    return exp(-variance)


def unit_bound(gain: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−2g}): the largest weight that one of n unit keys can have under a unit query with gain g."""
    return copy_weight(2 * gain, n)


def unit_gain(epsilon: Any, n: Any) -> Any:
    """½·log((n−1)(1−ε)/ε): the gain below which no unit key can have the weight 1−ε."""
    return copy_margin(epsilon, n) / 2


def weight_beside_a_sink(own: Any, rest: Any, sink: Any) -> Any:
    """e^{z_i}/(e^s + e^{z_i} + R): a key's weight beside a sink of logit s, R the sum of the other exponentials."""
    return own / (sink + own + rest)


def sink_weight(total: Any, sink: Any) -> Any:
    """e^s/(e^s + Z): the weight of a sink of logit s, Z the sum of the real keys' exponentials."""
    return sink / (sink + total)


def score_variance(d: Any, *, mean: Any = 0) -> Any:
    """Var(kᵀq) = d(1 + 2μ²): k and q independent, d iid entries each of mean μ and variance 1."""
    return d * (1 + 2 * mean**2)


def aligned_mean(correlation: Any, root_d: Any) -> Any:
    """E(kᵀq/√d) = ρ√d: d entries each of mean 0 and variance 1, q_i and k_i with correlation ρ."""
    return correlation * root_d


def softmax_lipschitz(n: Any) -> Any:
    """½: the least L with ‖softmax(x) − softmax(y)‖₂ ≤ L‖x − y‖₂ for all x and y of n ≥ 2 logits."""
    return 0 * n + Fraction(1, 2)


def self_attention_slope(radius: Any) -> Any:
    """∂f₁/∂x₁ = ⅓ + ⅔R² at x = (0, R, −R), where f_i = Σ_j softmax_j(x_i x_j) x_j."""
    return (1 + 2 * radius**2) / 3
