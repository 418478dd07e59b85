"""Closed forms of stretched rotary codes against the code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.frequency_scaling import (
    interpolation_slowdown,
    ntk_slowdown,
    yarn_logit_gain,
    yarn_ramp,
)
from regard.positions.rotary_scaling import Linear, Ntk, Yarn, rotary_frequencies


@given(half=st.integers(2, 64), factor=st.floats(1, 100))
def test_slowdowns_are_those_of_the_code(half, factor):
    pairs, plain = np.arange(half), rotary_frequencies(10_000.0, 2 * half)
    grown, divided = (kind(factor=factor).frequencies(10_000.0, 2 * half) for kind in (Ntk, Linear))
    np.testing.assert_allclose(plain / grown, factor ** ntk_slowdown(pairs, 2 * half), rtol=1e-12)
    np.testing.assert_allclose(plain / divided, factor ** interpolation_slowdown(pairs, 2 * half), rtol=1e-12)


def test_the_ramp_along_rotations_is_that_of_the_code():
    plain = rotary_frequencies(10_000.0, 128)
    kept = np.clip(yarn_ramp(4096 * plain / (2 * np.pi), 1.0, 32.0), 0, 1)
    found = Yarn(factor=16.0, original_length=4096, ramp="rotations").frequencies(10_000.0, 128)
    np.testing.assert_allclose(found, plain * (kept + (1 - kept) / 16), rtol=1e-14)


def test_the_gain_of_the_logits_is_the_square_of_the_codes():
    gain = Yarn(factor=16.0, original_length=4096).gain
    assert yarn_logit_gain(np.log(16.0)) == pytest.approx(gain**2, rel=1e-15)
