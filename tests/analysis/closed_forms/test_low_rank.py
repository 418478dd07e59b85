from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.low_rank import (
    centred_logs_rank,
    circle_gap,
    circle_keys,
    moment_keys,
    multi_head_rank,
    multi_query_rank,
    neighbours_margin,
    pair_query,
    power_table,
    rank_of,
    row_centred,
    weights_rank,
)
from regard.analysis.closed_forms.softmax import average_weight
from regard.attention import AttentionRule, attention_weights


@given(rows=st.integers(1, 6), columns=st.integers(1, 6), seed=st.integers(0, 99))
def test_the_exact_rank_is_that_of_singular_values(rows, columns, seed):
    matrix = np.random.default_rng(seed).integers(-1, 2, size=(rows, columns))
    assert rank_of(matrix) == np.linalg.matrix_rank(matrix.astype(float))


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_the_table_of_powers_has_full_rank(size):
    assert rank_of(power_table(size)) == size == weights_rank(1, size)


def test_centring_takes_a_constant_out_of_each_row():
    matrix = np.array([[Fraction(1), Fraction(2)], [Fraction(5), Fraction(9)]])
    assert row_centred(matrix).sum(axis=1).tolist() == [0, 0]
    assert (row_centred(matrix + np.array([[3], [4]])) == row_centred(matrix)).all()


@pytest.mark.parametrize(("width", "tokens"), [(1, 2), (2, 6), (5, 6), (9, 6)])
def test_logits_of_a_width_have_centred_logs_of_that_rank(width, tokens):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(tokens, width)) @ rng.normal(size=(width, tokens))
    assert np.linalg.matrix_rank(row_centred(logits)) == centred_logs_rank(width, tokens)


def test_shared_keys_have_one_heads_rank():
    assert (multi_query_rank(8, 64), multi_head_rank(8, 64)) == (64, 512)


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
    weights = attention_weights(query[None], keys, rule=AttentionRule(scale=1.0))[0]
    assert min(weights[1], weights[6]) >= average_weight(3.0, 8)
    assert weights[1] == pytest.approx(weights[6], abs=1e-9)
