"""Engines that share no shortcut give the same answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlap import overlap
from regard.analysis.engines import (
    ConditionProbability,
    Mean,
    Probability,
    Quantile,
    SquaredError,
    TotalVariance,
    Variance,
    certified,
    coefficient,
    direct,
    monte_carlo,
    weight,
)
from regard.analysis.scenarios import (
    GAMMA_POSITIVE,
    CourseKeys,
    Deviation,
    QueryDesign,
    course_keys,
    one_head,
    two_heads,
)

# A correct engine fails one comparison with probability 1e-6, and there are a few hundred; the seeds are fixed.
SURE = 1 - 1e-6
MIXED = QueryDesign(coefficients={"a": (3.0, 8.0), "b": (1.0, 8.0)})

QUESTIONS = [
    Mean(of=weight("a")),
    Mean(of=weight("other")),
    Mean(of=coefficient("other")),
    Variance(of=weight("a")),
    Variance(of=coefficient("b")),
    Quantile(of=weight("a"), level=0.3),
    Quantile(of=weight("b"), level=0.9),
    Probability(of=weight("a"), at_least=0.4, at_most=0.95),
    Probability(of=coefficient("b"), at_most=0.3),
    ConditionProbability(of=Deviation(group="a", lower=-0.5, upper=0.1)),
    SquaredError(target={"a": 0.5, "b": 0.5}),
    SquaredError(target={"other": 0.125}),
    TotalVariance(),
    Mean(of=weight("a"), given=GAMMA_POSITIVE),
    Variance(of=weight("a"), given=Deviation(group="a", lower=-2.0, upper=-0.2)),
    TotalVariance(given=GAMMA_POSITIVE),
    Quantile(of=weight("a"), level=0.5, given=GAMMA_POSITIVE),
    Probability(of=weight("a"), at_least=0.5, given=GAMMA_POSITIVE),
]


@pytest.mark.parametrize("is_normalized", [False, True])
@pytest.mark.parametrize("design", [one_head(5.0), two_heads(5.0), MIXED], ids=["one", "two", "mixed"])
def test_all_three_engines_agree_on_one_random_direction(design, is_normalized):
    keys = course_keys(n=6, is_normalized=is_normalized)
    proved = certified.answers(keys.logits(design), QUESTIONS)
    sampled = monte_carlo.answers(keys.logits(design), QUESTIONS, draws=50_000, seed=11, confidence=SURE)
    plain = direct.answers(keys.in_key_space(design), QUESTIONS, draws=20_000, seed=12, confidence=SURE)
    for question, *estimates in zip(QUESTIONS, proved, sampled, plain, strict=True):
        assert all(overlap(estimates[0], other) for other in estimates[1:]), (question, *map(str, estimates))
        assert estimates[0].is_certain
        assert estimates[0].width <= 1e-12


@pytest.mark.parametrize("design", [one_head(3.0), two_heads(5.0), MIXED], ids=["one", "two", "mixed"])
def test_both_samplers_agree_when_every_key_is_noisy(design):
    keys = CourseKeys(n=6, noise={"a": 0.5, "b": 0.2}, alpha=0.05)
    sampled = monte_carlo.answers(keys.logits(design), QUESTIONS, draws=50_000, seed=13, confidence=SURE)
    plain = direct.answers(keys.in_key_space(design), QUESTIONS, draws=20_000, seed=14, confidence=SURE)
    for question, *estimates in zip(QUESTIONS, sampled, plain, strict=True):
        assert overlap(estimates[0], estimates[1]), (question, *map(str, estimates))


def test_agreement_is_not_for_free():
    right = course_keys(n=6).logits(one_head(5.0))
    wrong = course_keys(n=6, sigma2=0.55).in_key_space(one_head(5.0))
    questions = [Variance(of=weight("a")), ConditionProbability(of=Deviation(group="a", upper=-1.0))]
    proved = certified.answers(right, questions)
    plain = direct.answers(wrong, questions, draws=50_000, seed=12, confidence=SURE)
    assert not any(overlap(one, other) for one, other in zip(proved, plain, strict=True))


@settings(max_examples=15)
@given(
    n=st.integers(3, 2000),
    beta=st.floats(0.01, 40),
    sigma2=st.floats(0.01, 4),
    design=st.sampled_from([one_head, two_heads]),
)
def test_enclosures_hold_the_trapezoidal_rule(n, beta, sigma2, design):
    # The rule converges geometrically; here its steps are at most a tenth of the sigmoid's width.
    deviations = np.linspace(-12, 12, 40_001) * np.sqrt(sigma2)
    density = np.exp(-(deviations**2) / (2 * sigma2))
    other_logits = np.log(np.exp(beta) * (design is one_head) + (n - 2) + (design is two_heads))
    shares = 1 / (1 + np.exp(np.clip(other_logits - beta * (1 + deviations), -700, 700)))
    mean = float(density @ shares / density.sum())
    variance = float(density @ (shares - mean) ** 2 / density.sum())
    law = course_keys(n=n, sigma2=sigma2).logits(design(beta))
    proved = certified.answers(law, [Mean(of=weight("a")), Variance(of=weight("a"))])
    for estimate, rule in zip(proved, (mean, variance), strict=True):
        assert estimate.lower - 1e-12 <= rule <= estimate.upper + 1e-12
        assert estimate.width <= 1e-11 * estimate.value


@settings(max_examples=15)
@given(
    beta=st.floats(0.1, 6),
    sigma2=st.floats(0.05, 2),
    low=st.floats(-3, 1),
    length=st.floats(0.05, 3),
    level=st.floats(0.01, 0.99),
)
def test_quantiles_and_probabilities_are_inverse(beta, sigma2, low, length, level):
    condition = Deviation(group="a", lower=low, upper=low + length)
    law = course_keys(n=10, sigma2=sigma2).logits(two_heads(beta))
    quantile = certified.answer(law, Quantile(of=weight("a"), level=level, given=condition))
    below = certified.answer(law, Probability(of=weight("a"), at_most=quantile.lower, given=condition))
    above = certified.answer(law, Probability(of=weight("a"), at_most=quantile.upper, given=condition))
    assert below.lower <= level <= above.upper
    # One double next to 1 is worth this much probability at the largest β and δ.
    assert above.upper - below.lower < 1e-3


@settings(max_examples=15)
@given(beta=st.floats(0.1, 30), sigma2=st.floats(0.05, 2), n=st.integers(3, 50))
def test_weights_sum_to_one_in_every_engine(beta, sigma2, n):
    law = course_keys(n=n, sigma2=sigma2).logits(one_head(beta))
    means = [Mean(of=weight(name)) for name in ("a", "b", "other")]
    for a, b, other in (certified.answers(law, means), monte_carlo.answers(law, means, draws=100)):
        assert (a + b + (n - 2) * other).contains(1.0)
    a, b, other = certified.answers(law, means)
    assert not (a + b + (n - 3) * other).contains(1.0)
