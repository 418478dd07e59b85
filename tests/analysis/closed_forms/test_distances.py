"""Closed forms over distances against sums, the reference code and a walk through windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.distances import (
    alibi_covered,
    alibi_mean,
    alibi_weight,
    last_bucket_start,
    window_reach,
)
from regard.positions.alibi import Alibi
from regard.positions.t5_buckets import t5_bucket


@given(m=st.floats(0.05, 5))
def test_alibi_is_a_geometric_law(m):
    k = np.arange(2000)
    weights = alibi_weight(m, m * k)
    assert weights.sum() == pytest.approx(1.0)
    assert k @ weights == pytest.approx(alibi_mean(m))
    assert weights[:7].sum() == pytest.approx(alibi_covered(7 * m))


def test_alibi_figures():
    assert alibi_mean(0.5) == pytest.approx(1.54149, abs=5e-6)
    assert alibi_mean(1 / 256) == pytest.approx(255.5, abs=0.05)
    assert alibi_covered(0.5 * 5) < 0.95 <= alibi_covered(0.5 * 6)
    assert alibi_covered(766 / 256) < 0.95 <= alibi_covered(767 / 256)


def test_alibis_steepest_head_of_eight_falls_by_a_half():
    logits = Alibi(num_heads=8).bias(np.array([300]), np.arange(301))[0, 0]
    weights = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(weights[::-1][:20], alibi_weight(0.5, 0.5 * np.arange(20)), rtol=1e-12)


@given(num_buckets=st.integers(2, 40), max_distance=st.integers(21, 600))
def test_the_last_bucket_starts_where_the_code_puts_it(num_buckets, max_distance):
    start = last_bucket_start(num_buckets, max_distance)
    near = t5_bucket(np.array([-start, 1 - start]), num_buckets=num_buckets, max_distance=max_distance, is_causal=True)
    assert near[0] == num_buckets - 1 > near[1]
    assert start <= max_distance


@given(layers=st.integers(0, 5), window=st.integers(1, 6))
def test_windows_reach_as_far_as_a_walk(layers, window):
    reached = {0}
    for _ in range(layers):
        reached = {lag + step for lag in reached for step in range(window)}
    assert reached == set(range(window_reach(layers, window)))
