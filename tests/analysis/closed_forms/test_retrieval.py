"""Closed forms of retrieval against softmax itself."""

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.retrieval import (
    average_scale,
    average_weight,
    copy_error,
    copy_margin,
    copy_weight,
    dispersed_weight,
    other_weight,
    share,
    uniform_weight,
)

logits = st.lists(st.floats(-20, 20), min_size=2, max_size=8)


def softmax(z: np.ndarray) -> np.ndarray:
    mass = np.exp(z - z.max())
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
        (dispersed_weight(2.0, 10), "0.45085"),
        (dispersed_weight(2.0, 1000), "0.0073421"),
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
def test_nobody_weighs_more_than_the_dispersed_weight(z):
    z = np.array(z)
    assert softmax(z).max() <= dispersed_weight(np.ptp(z), len(z)) + 1e-12


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
