"""How sharply softmax attends: what the number of keys, the scale of the logits and a sink make of its weights."""

from typing import Any

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.retrieval import copy_margin, dispersed_weight


def log_scaled_weight(power: Any, n: Any) -> Any:
    """1/(1 + (n−1)/n^{sΔ}): the weight on a key ahead by Δ when logits are multiplied by s·log n; power = n^{sΔ}.

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
    """b²/2: by how much n iid N(0, b²) logits bring the entropy below log n, as n → ∞.

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
    """1/(1 + (n−1)e^{−2g}): the most that one of n unit keys can weigh under a unit query with gain g.

    >>> round(float(unit_bound(1.0, 10)), 5), round(float(unit_bound(1.0, 1000)), 7)
    (0.45085, 0.0073421)
    """
    return dispersed_weight(2 * gain, n)


def unit_gain(epsilon: Any, n: Any) -> Any:
    """½·log((n−1)(1−ε)/ε): the gain below which no unit key can weigh 1−ε.

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
    """e^s/(e^s + Z): what a sink of logit s takes, Z the sum of the real keys' exponentials.

    >>> sink_weight(3, 1)
    0.25
    """
    return sink / (sink + total)
