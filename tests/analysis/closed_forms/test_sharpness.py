"""Closed forms of sharpness against softmax itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.sharpness import (
    entropy_slope,
    gaussian_effective_share,
    gaussian_entropy_loss,
    log_scaled_weight,
    sink_weight,
    unit_bound,
    unit_gain,
    weight_beside_a_sink,
)
from regard.attention import masked_softmax

logits = st.lists(st.floats(-5, 5), min_size=2, max_size=6).map(np.array)


def softmax(z):
    return masked_softmax(np.asarray(z, dtype=float)[None, :])[0]


def entropy(z):
    weights = softmax(z)
    return -float((weights * np.log(weights)).sum())


@pytest.mark.parametrize(("product", "weight"), [(2.0, 0.9990020), (1.0, 0.5002501), (0.5, 0.0306832)])
def test_the_printed_weights_at_a_thousand_keys(product, weight):
    assert log_scaled_weight(1000**product, 1000) == pytest.approx(weight, abs=5e-8)
    assert softmax([product * math.log(1000)] + 999 * [0.0])[0] == pytest.approx(weight, abs=5e-8)


def test_the_printed_entropy():
    assert entropy([1.0] + 9 * [0.0]) == pytest.approx(2.2291808551, abs=5e-11)


@given(logits, st.floats(0.1, 3))
def test_the_slope_is_the_entropys_derivative(z, beta):
    step, weights = 1e-5, softmax(beta * z)
    slope = (entropy((beta + step) * z) - entropy((beta - step) * z)) / (2 * step)
    assert entropy_slope(beta, float(weights @ z), float(weights @ z**2)) == pytest.approx(slope, abs=1e-6)


def test_the_printed_figures_of_random_logits():
    """4096 keys, 400 rows: the means are within five standard errors of the printed 0.5002 and 0.370."""
    weights = masked_softmax(np.random.default_rng(0).normal(size=(400, 4096)))
    losses = math.log(4096) + (weights * np.log(weights)).sum(axis=1)
    shares = 1 / (4096 * (weights**2).sum(axis=1))
    assert losses.mean() == pytest.approx(0.5002, abs=5 * losses.std() / 20)
    assert shares.mean() == pytest.approx(0.370, abs=5 * shares.std() / 20)
    assert gaussian_entropy_loss(1.0) == 0.5
    assert gaussian_effective_share(1.0) == pytest.approx(math.exp(-1))


@pytest.mark.parametrize(("n", "bound"), [(10, 0.45085), (1000, 0.0073421)])
def test_the_printed_bounds_of_unit_keys(n, bound):
    assert unit_bound(1.0, n) == pytest.approx(bound, rel=1e-5)


@given(st.integers(2, 10**6), st.floats(1e-6, 0.999))
def test_the_gain_reaches_the_bound(n, epsilon):
    assert unit_bound(unit_gain(epsilon, n), n) == pytest.approx(1 - epsilon)


@given(logits, st.floats(-5, 5))
def test_a_sink_is_one_key_more(z, s):
    found, exponentials = softmax(np.append(z, s)), np.exp(z)
    total, sink = exponentials.sum(), math.exp(s)
    assert weight_beside_a_sink(exponentials, total - exponentials, sink) == pytest.approx(found[:-1])
    assert sink_weight(total, sink) == pytest.approx(found[-1])
