"""One key of random length, k_a = γμ_a with γ ~ N(1, σ²): the output under one query and under two."""

import math
from typing import Any

from regard.analysis.closed_forms.arithmetic import exp, log, normal_tail, sqrt
from regard.analysis.closed_forms.softmax import average_weight, share


def one_head_weight(logit: Any, beta: Any, n: Any) -> Any:
    """e^{βγ}/(e^{βγ} + e^β + n−2): the weight on a under q = β(μ_a + μ_b), where a's logit is βγ."""
    return share(exp(logit), exp(beta) + (n - 2))


def two_head_weight(logit: Any, n: Any) -> Any:
    """e^{βγ}/(e^{βγ} + n−1): the weight that head 1, q_1 = βμ_a, gives a, whose logit is βγ."""
    return share(exp(logit), n - 1)


def swing_offset(beta: Any, n: Any) -> Any:
    """ℓ = log(1 + (n−2)e^{−β}): one head's weight on a is a sigmoid of β(γ−1) − ℓ."""
    return log(1 + (n - 2) * exp(-beta))


def swing_variance(beta: Any, sigma: Any, root_two_pi: Any) -> Any:
    """¼ − 1/(βσ√(2π)): one head's variance of w_a, to first order."""
    return (1 + 0 * beta) / 4 - 1 / (beta * sigma * root_two_pi)


def swing_error(beta: Any, sigma: Any, offset: Any, root_two_pi: Any) -> Any:
    """(π²/3 + ℓ²)/(2√(2π)(βσ)³) + ℓ²/(2π(βσ)²): an upper bound of the error of that first order."""
    spread = beta * sigma
    second_moment = root_two_pi**4 / 12 + offset**2
    return second_moment / (2 * root_two_pi * spread**3) + offset**2 / (root_two_pi * spread) ** 2


def swing_score(margin: Any, offset: Any, beta: Any, sigma: Any) -> Any:
    """−(m + ℓ)/(βσ): P(w_a ≥ x) = Φ of it under one head, m = log(x/(1−x))."""
    return -(margin + offset) / (beta * sigma)


def one_head_density(weight: Any, beta: Any, n: Any, sigma: Any) -> Any:
    """φ((m + ℓ)/(βσ))/(βσ·w(1−w)), m = log(w/(1−w)): the density of w_a under one head, 0 < w < 1.

    Its logit m = β(γ−1) − ℓ is Gaussian, and dm/dw = 1/(w(1−w)).
    """
    score = swing_score(log(weight / (1 - weight)), swing_offset(beta, n), beta, sigma)
    return exp(-score * score / 2) / _root_two_pi(score) / (beta * sigma * weight * (1 - weight))


def backwards_chance(sigma: Any) -> Any:
    """Φ(−1/σ) = P(γ < 0): the probability that the key points against its mean."""
    return normal_tail(1 / sigma)


def steady_ratio(sigma: Any) -> Any:
    """1/(Φ(1/σ)Φ(−1/σ)): variance of v_a's coefficient under one head over that under two, as β → ∞."""
    chance = backwards_chance(sigma)
    return 1 / (chance * (1 - chance))


def steady_trace_ratio(sigma: Any, n: Any) -> Any:
    """2(n−1)/(nΦ(1/σ)Φ(−1/σ)): the same ratio for tr Cov(c), the values being orthonormal."""
    return steady_ratio(sigma) * 2 * (n - 1) / n


def given_positive_bound(beta: Any, n: Any, sigma: Any) -> Any:
    """(log n − 1 + 1/n)/(βσ√(2π)Φ(1/σ)): an upper bound of the variance of w_a under head 1, given γ > 0.

    E[(1−w_a)² | γ > 0], the density of γ replaced by its peak.
    """
    peak = 1 / (sigma * _root_two_pi(sigma) * (1 - backwards_chance(sigma)))
    return (log(n) - 1 + 1 / n) * peak / beta


def given_positive_slope(n: Any, sigma: Any) -> Any:
    """(log n − 1 + 1/n)e^{−1/(2σ²)}/(σ√(2π)Φ(1/σ)): the limit of β·Var(w_a | γ > 0) under head 1."""
    return given_positive_bound(1 + 0 * sigma, n, sigma) * exp(-1 / (2 * sigma**2))


def averaged_variance_ratio(correlation: Any, num_heads: Any) -> Any:
    """H/(1 + (H−1)ρ): variance of one head over that of the mean of H equal heads with correlation ρ.

    >>> averaged_variance_ratio(0.0, 2), averaged_variance_ratio(1.0, 2)
    (2.0, 1.0)
    """
    return num_heads / (1 + (num_heads - 1) * correlation)


def reliability_score(beta: Any, threshold: Any, sigma: Any) -> Any:
    """(β−L)/(βσ): P(βγ ≥ L) = Φ of it."""
    return (beta - threshold) / (beta * sigma)


def ceiling_score(sigma: Any) -> Any:
    """1/σ: Φ of it is P(γ > 0), which no scale can exceed.

    >>> ceiling_score(0.5)
    2.0
    """
    return 1 / sigma


def normalized_variance(beta: Any, n: Any, sigma: Any) -> Any:
    """Φ(1/σ)Φ(−1/σ)(w₊ − w₋)²: one head's variance of w_a when keys are normalized, so that γ = ±1.

    w₊ = e^β/(2e^β + n−2),  w₋ = e^{−β}/(e^{−β} + e^β + n−2)
    """
    forward, backward = average_weight(beta, n), one_head_weight(-beta, beta, n)
    return 4 * normalized_limit(sigma) * (forward - backward) ** 2


def normalized_limit(sigma: Any) -> Any:
    """Φ(1/σ)Φ(−1/σ)/4: its limit as β → ∞, and that of v_a's coefficient under two heads without normalizing."""
    return 1 / (4 * steady_ratio(sigma))


def _root_two_pi(like: Any) -> Any:
    """√(2π) in the arithmetic of a number."""
    return sqrt(2 * like.pi()) if hasattr(like, "pi") else math.sqrt(2 * math.pi)
