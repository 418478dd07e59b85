"""Closed forms of sinusoidal codes against the reference, and near returns against a search."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.sinusoids import (
    FirstPair,
    best_returns,
    code,
    code_product,
    gap,
    shift_matrix,
    turned_product,
)
from regard.positions.rotary_scaling import rotary_frequencies
from regard.positions.sinusoidal import sinusoid


@given(t=st.integers(0, 1000), s=st.integers(-1000, 1000), half=st.integers(1, 8))
def test_a_shift_is_the_matrix_and_a_product_sees_the_lag(t, s, half):
    theta = rotary_frequencies(10_000.0, 2 * half)
    here, there = (sinusoid(np.array([x]), width=2 * half)[0] for x in (t, t + s))
    np.testing.assert_allclose(code(t * theta), here, atol=1e-11)
    np.testing.assert_allclose(shift_matrix(s * theta) @ here, there, atol=1e-11)
    assert code_product(t * theta, (t + s) * theta) == pytest.approx(here @ there, abs=1e-10)


def test_the_gap_at_710_is_the_known_one():
    assert float(gap(710)) == pytest.approx(6.028870673e-5, abs=0.5e-14)
    assert gap(103_993) < gap(710) < gap(1420)


def test_best_returns_are_the_records_of_a_search():
    lags = np.arange(1, 200_000)
    gaps = np.abs(np.arctan2(np.sin(lags), np.cos(lags)))
    is_record = gaps < np.concatenate([[np.inf], np.minimum.accumulate(gaps)[:-1]])
    assert best_returns(200_000) == lags[is_record].tolist()


def test_best_returns_go_on_for_ever():
    far = best_returns(10**40)
    assert far[:9] == [1, 6, 19, 25, 44, 333, 710, 103_993, 312_689]
    assert far[-1] > 10**38
    assert gap(far[-1]) > 0


@given(k=st.integers(1, 60), m=st.integers(1, 60))
def test_a_rational_wavelength_repeats_after_its_period(k, m):
    pair = FirstPair(wavelength=(Fraction(k, m), 0))
    assert pair.period == Fraction(m, k).denominator
    angles = pair.angles(np.array([0, pair.period]))
    assert np.cos(angles[1]) == pytest.approx(1.0, abs=1e-9)


def test_whole_positions_and_the_wavelength_2_pi_have_no_period():
    assert FirstPair().period is None
    assert FirstPair(spacing=(1, 1)).period is None
    assert FirstPair(spacing=(0, Fraction(1, 8))).period == 16


@given(a=st.integers(-5, 5), b=st.integers(-5, 5), t=st.floats(-9, 9), u=st.floats(-9, 9))
def test_a_turned_product_is_that_of_the_block(a, b, t, u):
    block = np.array([[a, -b], [b, a]])
    assert turned_product(a, b, t, u) == pytest.approx(code([t]) @ block @ code([u]), abs=1e-12)
