"""Softmax attention over fixed keys: the weight of a key, the sharpness of all weights, the output's stability."""

from fractions import Fraction
from typing import Any

from regard.analysis.closed_forms.arithmetic import exp, log


def share(own: Any, rest: Any) -> Any:
    """a_i = e^{z_i}/(e^{z_i} + R): a key's weight, from its own exponential and the sum R of all others.

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
    """(1−a_j)·D: the largest distance of the output from v_j if every value is within D of it.

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
    """1/(1 + (n−1)e^{−R}): the largest weight that a key can have if all n logits lie within R of each other.

    >>> round(float(dispersed_weight(2.0, 1000)), 6)
    0.007342
    """
    return 1 / (1 + (n - 1) * exp(-spread))


def uniform_weight(n: Any) -> Any:
    """1/n: the weight of each key if all logits are equal.

    >>> uniform_weight(4)
    0.25
    """
    return 1 / n


def log_scaled_weight(power: Any, n: Any) -> Any:
    """1/(1 + (n−1)/n^{sΔ}): the weight on a key ahead by Δ if logits are multiplied by s·log n; power = n^{sΔ}.

    >>> round(log_scaled_weight(1000**2, 1000), 7), round(log_scaled_weight(1000, 1000), 7)
    (0.999002, 0.5002501)
    """
    return 1 / (1 + (n - 1) / power)


def entropy_slope(beta: Any, mean: Any, second_moment: Any) -> Any:
    """dH/dβ = −β(E_a z² − (E_a z)²): the slope of softmax(βz)'s entropy, from the logits' moments under its weights.

    >>> entropy_slope(2.0, 1.0, 1.25)
    -0.5
    """
    return -beta * (second_moment - mean**2)


def gaussian_entropy_loss(variance: Any) -> Any:
    """b²/2: the entropy that n iid N(0, b²) logits lose from log n, as n → ∞.

    >>> gaussian_entropy_loss(1.0)
    0.5
    """
    return variance / 2


def gaussian_effective_share(variance: Any) -> Any:
    """e^{−b²}: the effective share 1/(n·Σ_i a_i²) of n keys with iid N(0, b²) logits, as n → ∞.

    >>> round(float(gaussian_effective_share(1.0)), 4)
    0.3679
    """
    return exp(-variance)


def unit_bound(gain: Any, n: Any) -> Any:
    """1/(1 + (n−1)e^{−2g}): the largest weight that one of n unit keys can have under a unit query with gain g.

    >>> round(float(unit_bound(1.0, 10)), 5), round(float(unit_bound(1.0, 1000)), 7)
    (0.45085, 0.0073421)
    """
    return dispersed_weight(2 * gain, n)


def unit_gain(epsilon: Any, n: Any) -> Any:
    """½·log((n−1)(1−ε)/ε): the gain below which no unit key can have the weight 1−ε.

    >>> round(float(unit_gain(0.01, 131072)), 4)
    8.1893
    """
    return copy_margin(epsilon, n) / 2


def weight_beside_a_sink(own: Any, rest: Any, sink: Any) -> Any:
    """e^{z_i}/(e^s + e^{z_i} + R): a key's weight beside a sink of logit s, R the sum of the other exponentials.

    >>> weight_beside_a_sink(1, 2, 1)
    0.25
    """
    return own / (sink + own + rest)


def sink_weight(total: Any, sink: Any) -> Any:
    """e^s/(e^s + Z): the weight of a sink of logit s, Z the sum of the real keys' exponentials.

    >>> sink_weight(3, 1)
    0.25
    """
    return sink / (sink + total)


def score_variance(d: Any, *, mean: Any = 0) -> Any:
    """Var(kᵀq) = d(1 + 2μ²): k and q independent, d iid entries each of mean μ and variance 1.

    >>> score_variance(64), score_variance(64, mean=1)
    (64, 192)
    """
    return d * (1 + 2 * mean**2)


def aligned_mean(correlation: Any, root_d: Any) -> Any:
    """E(kᵀq/√d) = ρ√d: d entries each of mean 0 and variance 1, q_i and k_i with correlation ρ.

    >>> aligned_mean(1, 8)
    8
    """
    return correlation * root_d


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
