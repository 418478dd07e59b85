"""Sinusoidal codes against their formula and the facts about them."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.positions.sinusoidal import Sinusoidal, sinusoid

POSITIONS = np.arange(1024)


def written_out(t, width, base):
    wave = (t / base ** (2 * (k // 2) / width) for k in range(width))
    return [math.cos(angle) if k % 2 else math.sin(angle) for k, angle in enumerate(wave)]


@given(st.integers(0, 5000), st.integers(1, 6), st.floats(2, 1e6))
def test_code_equals_its_formula(t, num_pairs, base):
    code = sinusoid(np.array([t]), width=2 * num_pairs, base=base)[0]
    np.testing.assert_allclose(code, written_out(t, 2 * num_pairs, base), atol=1e-12)


def test_sines_and_cosines_alternate():
    halves = np.concatenate([np.sin(1 / 1e4 ** (np.arange(2) / 2)), np.cos(1 / 1e4 ** (np.arange(2) / 2))])
    code = sinusoid(np.array([1]), width=4)[0]
    assert np.abs(code - halves).max() > 0.1
    np.testing.assert_allclose(code, halves[[0, 2, 1, 3]], rtol=1e-15)


@pytest.mark.parametrize(("dtype", "merged"), [(ml_dtypes.bfloat16, 287), (np.float16, 198), (np.float32, 0)])
def test_codes_that_merge_when_rounded(dtype, merged):
    rounded = sinusoid(POSITIONS, width=2).astype(dtype).astype(np.float64)
    assert len(POSITIONS) - len(np.unique(rounded, axis=0)) == merged


def test_angles_formed_in_bfloat16_merge_many_more():
    angles = POSITIONS.astype(ml_dtypes.bfloat16).astype(np.float64)
    rounded = sinusoid(angles, width=2).astype(ml_dtypes.bfloat16).astype(np.float64)
    assert len(POSITIONS) - len(np.unique(rounded, axis=0)) == 583


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(-500, 500))
def test_dot_products_are_relative(t, u, shift):
    here, there = (sinusoid(np.array([a, b]), width=8) for a, b in ((t, u), (t + shift, u + shift)))
    assert here[0] @ here[1] == pytest.approx(there[0] @ there[1], abs=1e-11)
    assert here[0] @ here[0] == pytest.approx(4)


def test_odd_width_is_refused():
    with pytest.raises(InputError, match="width of a sinusoidal code is 5, which does not divide into pairs"):
        Sinusoidal().add(np.ones((2, 5)), np.arange(2))


def test_base_is_above_one():
    with pytest.raises(InputError, match=r"base is 1\.0"):
        Sinusoidal(base=1.0)
