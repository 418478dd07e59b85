import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.softmax import (
    aligned_mean,
    average_scale,
    average_weight,
    copy_error,
    copy_margin,
    copy_weight,
    entropy_slope,
    gaussian_effective_share,
    gaussian_entropy_loss,
    log_scaled_weight,
    other_weight,
    score_variance,
    self_attention_slope,
    share,
    sink_weight,
    softmax_lipschitz,
    uniform_weight,
    unit_bound,
    unit_gain,
    weight_beside_a_sink,
)
from regard.attention import AttentionRule, attend, masked_softmax

logits = st.lists(st.floats(-20, 20), min_size=2, max_size=8)


def softmax(z) -> np.ndarray:
    mass = np.exp(np.asarray(z) - np.max(z))
    return mass / mass.sum()


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (copy_weight(1.0, 10), "0.232"),
        (average_weight(1.0, 10), "0.2023"),
        (average_weight(1.0, 3), "0.4223"),
        (average_weight(1.0, 2), "0.5"),
        (average_weight(0.5, 10), "0.1459"),
        (average_weight(0.5, 3), "0.3837"),
        (copy_weight(2.0, 10), "0.45085"),
        (copy_weight(2.0, 1000), "0.0073421"),
    ],
)
def test_the_printed_digits(value, printed):
    assert f"{float(value):.{len(printed) - 2}f}" == printed or f"{float(value):g}" == printed


@given(logits)
def test_share_is_softmax(z):
    z = np.array(z)
    exponentials = np.exp(z)
    found = [share(own, exponentials.sum() - own) for own in exponentials]
    np.testing.assert_allclose(found, softmax(z), atol=1e-6)


@given(logits)
def test_the_winner_weighs_at_least_the_copy_weight(z):
    z = np.sort(np.array(z))[::-1]
    assert softmax(z)[0] >= copy_weight(z[0] - z[1], len(z)) - 1e-12


@given(logits)
def test_nobody_weighs_more_than_a_key_that_leads_by_the_spread(z):
    z = np.array(z)
    assert softmax(z).max() <= copy_weight(np.ptp(z), len(z)) + 1e-12


@given(st.floats(-30, 30), st.integers(2, 50))
def test_two_hot_keys_and_the_others_make_one(beta, n):
    assert 2 * average_weight(beta, n) + (n - 2) * other_weight(beta, n) == pytest.approx(1)
    weights = softmax(np.array([beta, beta] + [0.0] * (n - 2)))
    assert average_weight(beta, n) == pytest.approx(weights[0])


@given(st.floats(1e-6, 0.49), st.integers(3, 1000))
def test_margins_and_scales_invert_weights(epsilon, n):
    assert copy_weight(copy_margin(epsilon, n), n) == pytest.approx(1 - epsilon)
    assert average_weight(average_scale(epsilon, n), n) == pytest.approx(0.5 - epsilon)


def test_the_error_of_a_copy_is_attained_when_all_other_values_agree():
    weights = softmax(np.array([3.0, 1.0, 0.0]))
    values = np.array([[0.0], [2.0], [2.0]])
    assert float((weights @ values)[0]) == pytest.approx(copy_error(weights[0], 2.0))


def test_no_query_weighs_all_alike():
    np.testing.assert_allclose(softmax(np.zeros(7)), uniform_weight(7))


def test_balls_enclose_floats():
    assert copy_weight(arb(5), arb(10)).overlaps(arb(float(copy_weight(5.0, 10)), 1e-15))


def test_two_keys_average_even_at_scales_that_vanish():
    assert average_weight(-25.0, 2) == pytest.approx(0.5, rel=1e-15)
    assert other_weight(-25.0, 2) == pytest.approx(np.exp(25.0) / 2)


small_logits = st.lists(st.floats(-5, 5), min_size=2, max_size=6).map(np.array)


def entropy(z):
    weights = softmax(z)
    return -float((weights * np.log(weights)).sum())


@pytest.mark.parametrize(("product", "weight"), [(2.0, 0.9990020), (1.0, 0.5002501), (0.5, 0.0306832)])
def test_the_printed_weights_at_a_thousand_keys(product, weight):
    assert log_scaled_weight(1000**product, 1000) == pytest.approx(weight, abs=5e-8)
    assert softmax([product * math.log(1000)] + 999 * [0.0])[0] == pytest.approx(weight, abs=5e-8)


def test_the_printed_entropy():
    assert entropy([1.0] + 9 * [0.0]) == pytest.approx(2.2291808551, abs=5e-11)


@given(small_logits, st.floats(0.1, 3))
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


@given(small_logits, st.floats(-5, 5))
def test_a_sink_is_one_key_more(z, s):
    found, exponentials = softmax(np.append(z, s)), np.exp(z)
    total, sink = exponentials.sum(), math.exp(s)
    assert weight_beside_a_sink(exponentials, total - exponentials, sink) == pytest.approx(found[:-1])
    assert sink_weight(total, sink) == pytest.approx(found[-1])


def exact_variance(laws: list[list[tuple[Fraction, Fraction]]], score) -> Fraction:
    """Var of a function of independent entries, each a list of (value, probability), by summing over all outcomes."""
    first = second = Fraction(0)
    for outcome in product(*laws):
        probability = Fraction(1)
        for _, chance in outcome:
            probability *= chance
        found = score([entry for entry, _ in outcome])
        first, second = first + probability * found, second + probability * found**2
    return second - first**2


# Mean 0, variance 1: −½ with probability 4/5, 2 with probability 1/5.
LOPSIDED = [(Fraction(-1, 2), Fraction(4, 5)), (Fraction(2), Fraction(1, 5))]


@pytest.mark.parametrize("mean", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_independent_vectors(d, mean):
    law = [(value + mean, chance) for value, chance in LOPSIDED]
    found = exact_variance([law] * (2 * d), lambda entries: sum(entries[i] * entries[d + i] for i in range(d)))
    assert found == score_variance(d, mean=mean)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_the_mean_logit_of_a_vector_with_itself(d):
    """E kᵀk = d·E k_1² = d, divided by √d."""
    second = sum(value**2 * chance for value, chance in LOPSIDED)
    assert aligned_mean(Fraction(1), Fraction(round(d**0.5))) == d * second / Fraction(round(d**0.5))


rows = st.lists(st.floats(-20, 20), min_size=4, max_size=4).map(np.array)


@given(rows, rows)
def test_softmax_moves_at_most_half_as_far(x, y):
    moved = np.linalg.norm(masked_softmax(x[None, :]) - masked_softmax(y[None, :]))
    assert moved <= float(softmax_lipschitz(4)) * np.linalg.norm(x - y) + 1e-12


def test_two_equal_logits_move_half_as_far():
    step = np.array([[1e-6, -1e-6]])
    moved = np.linalg.norm(masked_softmax(step) - 0.5)
    assert abs(moved / np.linalg.norm(step) - softmax_lipschitz(2)) < 1e-9


@given(st.floats(0.1, 100))
def test_the_slope_of_self_attention(radius):
    step = 1e-5 / radius
    ends = []
    for first in (step, -step):
        tokens = np.array([[first], [radius], [-radius]])
        ends.append(attend(tokens, tokens, tokens, rule=AttentionRule(scale=1.0))[0, 0])
    assert abs((ends[0] - ends[1]) / (2 * step) - self_attention_slope(radius)) < 1e-6 * (1 + radius**2)


def test_the_printed_slope():
    assert self_attention_slope(Fraction(10)) == 67
