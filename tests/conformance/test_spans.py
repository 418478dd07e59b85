"""Curves as sums of other curves."""

import numpy as np
import pytest

from regard.conformance.spans import left_over, needed

PLACES = np.linspace(0, 6, 40)
SLOW, FAST, OTHER = (np.stack([np.cos(rate * PLACES), np.sin(rate * PLACES)], axis=1) for rate in (1.0, 2.5, 4.0))
ONES = np.ones((40, 1))


def test_a_sum_leaves_nothing_and_another_curve_leaves_itself():
    curves = SLOW @ np.array([[1.0, 2.0], [0.5, -1.0]]) + 3
    assert left_over(curves, [ONES, SLOW, FAST]) < 1e-12
    least = np.linalg.lstsq(np.hstack([ONES, FAST]), curves, rcond=None)
    spread = np.sum((curves - curves.mean(axis=0)) ** 2)
    assert left_over(curves, [ONES, FAST]) == pytest.approx(np.sqrt(np.sum(least[1]) / spread), rel=1e-9)


def test_columns_that_repeat_others_change_nothing():
    curves = SLOW + 0.3 * OTHER
    assert left_over(curves, [ONES, SLOW, 2 * SLOW]) == pytest.approx(left_over(curves, [ONES, SLOW]), rel=1e-9)


def test_a_group_is_needed_if_it_is_in_the_curves_and_no_other_stands_in_for_it():
    slow, fast, twin, again = needed(SLOW + ONES, ONES, [SLOW, FAST, OTHER, 2 * OTHER])
    assert slow is not None
    assert slow > 0.3
    assert fast is not None
    assert fast < 1e-12
    assert twin is again is None
