"""Closed forms about random keys against plain quadrature on a fine grid."""

import math

import numpy as np
import pytest
from flint import arb

from regard.analysis.closed_forms import random_keys as theory
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines.symbolic import Field

SIGMA = math.sqrt(0.5)


def expectation(values, *, sigma=SIGMA, given_positive=False):
    """E f(γ), γ ~ N(1, σ²), by the trapezoidal rule with steps far below 1/β."""
    gamma = np.linspace(0.0 if given_positive else 1 - 9 * sigma, 1 + 9 * sigma, 400_001)
    density = np.exp(-(((gamma - 1) / sigma) ** 2) / 2)
    return float(np.trapezoid(values(gamma) * density, gamma) / np.trapezoid(density, gamma))


def variance(values, **condition):
    mean = expectation(values, **condition)
    return expectation(lambda gamma: (values(gamma) - mean) ** 2, **condition)


@pytest.mark.parametrize("beta", [2.0, 5.0, 20.0, 80.0])
@pytest.mark.parametrize("n", [3, 10, 1000])
def test_one_heads_variance_is_within_the_error_of_its_first_order(beta, n):
    exact = variance(lambda gamma: theory.one_head_weight(beta * gamma, beta, n))
    root, offset = math.sqrt(2 * math.pi), theory.swing_offset(beta, n)
    gap = abs(exact - theory.swing_variance(beta, SIGMA, root))
    assert gap <= theory.swing_error(beta, SIGMA, offset, root)


def test_the_error_is_nearly_attained():
    exact = variance(lambda gamma: theory.one_head_weight(20.0 * gamma, 20.0, 10))
    root = math.sqrt(2 * math.pi)
    assert exact - theory.swing_variance(20.0, SIGMA, root) > 0.9 * theory.swing_error(20.0, SIGMA, 0.0, root)


@pytest.mark.parametrize("beta", [20.0, 90.0])
def test_given_a_positive_gamma_the_variance_keeps_within_its_bound(beta):
    exact = variance(lambda gamma: theory.two_head_weight(beta * gamma, 10), given_positive=True)
    assert exact < theory.given_positive_bound(beta, 10, SIGMA)
    assert beta * exact == pytest.approx(theory.given_positive_slope(10, SIGMA), rel=2 / beta)


def test_reliability_is_the_share_of_draws_above_the_threshold():
    threshold = copy_margin(0.1, 10)
    assert theory.two_head_weight(threshold, 10) == pytest.approx(0.9, rel=1e-14)
    gamma = 1 + SIGMA * np.random.default_rng(5).normal(size=200_000)
    share = float(np.mean(theory.two_head_weight(20.0 * gamma, 10) >= 0.9))
    score = theory.reliability_score(20.0, threshold, SIGMA)
    # Five standard errors: a false alarm is rarer than one in a million, and the seed is fixed.
    assert share == pytest.approx(0.5 * math.erfc(-score / math.sqrt(2)), abs=5 * 0.35 / math.sqrt(200_000))


def test_a_normalized_key_has_two_weights():
    weights = theory.one_head_weight(np.array([5.0, -5.0]), 5.0, 10)
    chance = theory.backwards_chance(SIGMA)
    mean = (1 - chance) * weights[0] + chance * weights[1]
    exact = (1 - chance) * (weights[0] - mean) ** 2 + chance * (weights[1] - mean) ** 2
    assert theory.normalized_variance(5.0, 10, SIGMA) == pytest.approx(exact, rel=1e-12)


def test_balls_enclose_what_floats_give():
    for form, arguments in [
        (theory.given_positive_bound, (20.0, 10.0, SIGMA)),
        (theory.given_positive_slope, (10.0, SIGMA)),
        (theory.steady_trace_ratio, (SIGMA, 10.0)),
        (theory.normalized_variance, (5.0, 10.0, SIGMA)),
    ]:
        assert float(form(*map(arb, arguments))) == pytest.approx(float(form(*arguments)), rel=1e-12)


def test_weights_take_symbols():
    field = Field(counts=("n",), exponentials=("z", "beta"))
    weight = theory.one_head_weight(field["z"], field["beta"], field["n"])
    assert weight.substitute(e_z=field.constant(1), e_beta=field.constant(1)) == 1 / field["n"]


DENSITIES = [(theory.one_head_density, lambda gamma, beta, n: theory.one_head_weight(beta * gamma, beta, n))]


@pytest.mark.parametrize(("density", "weight"), DENSITIES)
@pytest.mark.parametrize(("beta", "n"), [(1.0, 3), (4.0, 10), (7.0, 1000)])
def test_the_density_of_a_weight_integrates_to_one(density, weight, beta, n):
    del weight
    # Over the logit m = log(w/(1−w)), where the density times w(1−w) is smooth.
    logits = np.linspace(-33.0, 33.0, 200_001)
    shares = 1 / (1 + np.exp(-logits))
    inside = density(shares, beta, n, SIGMA) * shares * (1 - shares)
    assert np.trapezoid(inside, logits) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize(("density", "weight"), DENSITIES)
def test_the_density_of_a_weight_is_the_histogram_of_its_draws(density, weight):
    # 20 bins of 10⁶ draws: five standard errors each, a false alarm in 10⁵ runs; the seed is fixed.
    beta, n, draws = 4.0, 10, 1_000_000
    gamma = np.random.default_rng(0).normal(1.0, SIGMA, size=draws)
    edges = np.linspace(0.02, 0.98, 21)
    counts, _ = np.histogram(weight(gamma, beta, n), bins=edges)
    for low, high, found in zip(edges, edges[1:], counts, strict=False):
        fine = np.linspace(low, high, 201)
        chance = np.trapezoid(density(fine, beta, n, SIGMA), fine)
        assert abs(found / draws - chance) <= 5 * math.sqrt(chance / draws) + 1e-7


def test_a_density_without_the_change_of_variables_would_be_noticed():
    gamma = np.random.default_rng(0).normal(1.0, SIGMA, size=100_000)
    share = (theory.one_head_weight(4.0 * gamma, 4.0, 10) > 0.9).mean()
    fine = np.linspace(0.9, 1 - 1e-6, 100_001)
    score = theory.swing_score(np.log(fine / (1 - fine)), theory.swing_offset(4.0, 10), 4.0, SIGMA)
    flawed = np.exp(-score * score / 2) / math.sqrt(2 * math.pi)
    assert abs(np.trapezoid(flawed, fine) - share) > 0.1
