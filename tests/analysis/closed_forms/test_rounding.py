"""Rounding of whole numbers against the formats themselves."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.rounding import (
    first_merge,
    lost_whole_numbers,
    narrow_sum,
    overflow_from,
    rounded,
    rounded_whole,
    stall,
)

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


@pytest.mark.parametrize("bits", [2, 3, 8, 11])
def test_counting_by_ones_comes_to_a_halt(bits):
    total = 0
    for _ in range(2**bits + 10):
        total = rounded_whole(total + 1, bits)
    assert total == stall(bits)


@pytest.mark.parametrize("bits", [8, 11])
@pytest.mark.parametrize("count", [1, 128, 256, 512, 4096])
def test_equal_weights_add_up_as_in_the_format(bits, count):
    total = FORMATS[bits](0)
    for weight in np.full(count, 1 / count).astype(FORMATS[bits]):
        total = FORMATS[bits](total + weight)
    assert float(total) == narrow_sum(count, bits)


@pytest.mark.parametrize(("bits", "exponent", "logit"), [(11, 15, 11.0901), (24, 127, 88.7228), (8, 127, 88.7209)])
def test_where_exponentials_overflow(bits, exponent, logit):
    found = np.log(float(overflow_from(bits, exponent)))
    assert found == pytest.approx(logit, abs=5e-5)
    with np.errstate(over="ignore"):
        ends = np.exp(found + np.array([-0.01, 0.01])).astype(FORMATS[bits]).astype(float)
    assert np.isinf(ends).tolist() == [False, True]
