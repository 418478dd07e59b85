"""Narrow heads' closed forms against softmax on the very keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.narrow_heads import (
    circle_gap,
    circle_keys,
    moment_keys,
    neighbours_margin,
    pair_query,
)
from regard.analysis.closed_forms.retrieval import average_weight
from regard.attention import Rule, attention_weights


@given(n=st.integers(3, 40))
def test_the_gap_is_the_least_margin_on_the_circle(n):
    keys = circle_keys(n)
    products = keys @ keys.T
    np.fill_diagonal(products, -np.inf)
    assert circle_gap(np.pi / n) == pytest.approx(1 - products.max(), abs=1e-12)


def test_the_known_scale_at_ten_keys():
    assert neighbours_margin(0.01, 10) / circle_gap(np.pi / 10) == pytest.approx(27.69, abs=0.005)


@given(i=st.integers(-20, 20), j=st.integers(-20, 20), t=st.integers(-20, 20))
def test_the_query_of_a_pair_is_its_polynomial(i, j, t):
    query = np.array(pair_query(i, j))
    assert query @ np.array([t, t**2, t**3, t**4]) == i**2 * j**2 - (t - i) ** 2 * (t - j) ** 2


def test_a_pair_on_the_moment_curve_gets_at_least_what_orthonormal_keys_give():
    keys = moment_keys(8)
    query = 3.0 * np.array(pair_query(keys[1, 0], keys[6, 0]))
    weights = attention_weights(query[None], keys, rule=Rule(scale=1.0))[0]
    assert min(weights[1], weights[6]) >= average_weight(3.0, 8)
    assert weights[1] == pytest.approx(weights[6], abs=1e-9)
