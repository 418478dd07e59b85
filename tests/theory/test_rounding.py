"""Rounding of whole numbers against the formats themselves."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.theory.rounding import first_merge, lost_whole_numbers, overflow_from, rounded, rounded_whole

FORMATS = {8: ml_dtypes.bfloat16, 11: np.float16, 24: np.float32}


@pytest.mark.parametrize("bits", FORMATS)
@given(number=st.integers(0, 65_000))
def test_whole_numbers_round_as_the_format_does(bits, number):
    assert rounded_whole(number, bits) == float(np.float64(number).astype(FORMATS[bits]))


@pytest.mark.parametrize("bits", FORMATS)
@given(number=st.floats(-1e4, 1e4).filter(lambda x: abs(x) > 1e-3))
def test_floats_round_as_the_format_does(bits, number):
    assert float(rounded(np.array([number]), bits)[0]) == float(np.float64(number).astype(FORMATS[bits]))


@pytest.mark.parametrize("bits", [8, 11])
@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 258, 260, 262, 511, 512, 513, 1024, 2049, 2050, 5000, 65_000])
def test_losses_are_counted_right(bits, count):
    cast = np.arange(count).astype(FORMATS[bits])
    assert lost_whole_numbers(count, bits) == count - len(np.unique(cast))


def test_the_known_figures():
    assert (first_merge(8), first_merge(11), overflow_from(11, 15)) == (257, 2049, 65_520)
    assert lost_whole_numbers(512, 8) == 127
    with np.errstate(over="ignore"):
        assert np.isinf(np.float64(65_520).astype(np.float16))
    assert np.float64(65_519).astype(np.float16) == 65_504
