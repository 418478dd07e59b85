"""Ranks: exact elimination against singular values, closed forms against examples."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.ranks import (
    centred_logs_rank,
    multi_head_rank,
    multi_query_rank,
    power_table,
    rank_of,
    row_centred,
    weights_rank,
)


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
