"""Slopes of softmax and of self-attention against differences."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.stability import self_attention_slope, softmax_lipschitz
from regard.attention import Rule, attend, masked_softmax

rows = st.lists(st.floats(-20, 20), min_size=4, max_size=4).map(np.array)


@given(rows, rows)
def test_softmax_moves_at_most_half_as_far(x, y):
    moved = np.linalg.norm(masked_softmax(x[None, :]) - masked_softmax(y[None, :]))
    assert moved <= float(softmax_lipschitz(4)) * np.linalg.norm(x - y) + 1e-12


def test_two_equal_logits_move_half_as_far():
    step = np.array([[1e-6, -1e-6]])
    moved = np.linalg.norm(masked_softmax(step) - 0.5)
    assert abs(moved / np.linalg.norm(step) - softmax_lipschitz(2)) < 1e-9


@given(st.floats(0.1, 100))
def test_the_slope_of_self_attention(radius):
    step = 1e-5 / radius
    ends = []
    for first in (step, -step):
        tokens = np.array([[first], [radius], [-radius]])
        ends.append(attend(tokens, tokens, tokens, rule=Rule(scale=1.0))[0, 0])
    assert abs((ends[0] - ends[1]) / (2 * step) - self_attention_slope(radius)) < 1e-6 * (1 + radius**2)


def test_the_printed_slope():
    assert self_attention_slope(Fraction(10)) == 67
