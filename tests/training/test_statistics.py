"""Intervals and tests against published numbers, an independent library, and their own promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.training.statistics import (
    decisive_count,
    difference_by_question,
    holm,
    mean_interval,
    paired,
    student_quantile,
    student_tail,
)


@pytest.mark.parametrize(("freedom", "printed"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)])
def test_quantiles_are_those_of_the_printed_table(freedom, printed):
    assert student_quantile(0.975, freedom) == pytest.approx(printed, abs=6e-4)


@given(level=st.floats(0.55, 0.99999), freedom=st.integers(1, 200))
def test_tail_and_quantile_are_inverse(level, freedom):
    assert student_tail(student_quantile(level, freedom), freedom) == pytest.approx(2 * (1 - level), rel=1e-6)


def test_against_scipy():
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle here")
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 0.1, 6), rng.normal(0.4, 0.1, 6)
    found = paired(first.tolist(), second.tolist())
    assert found.chance == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-9)
    interval = mean_interval(first.tolist())
    expected = stats.t.interval(0.95, 5, first.mean(), first.std(ddof=1) / math.sqrt(6))
    assert (interval.lower, interval.upper) == pytest.approx(expected)
    tossed = difference_by_question([True] * 9 + [False] * 3, [False] * 9 + [True] * 3)
    assert tossed == (9, 3, pytest.approx(stats.binomtest(3, 12).pvalue))


def test_the_interval_covers_as_often_as_it_says():
    # 2000 intervals of 95 %: fewer than 1847 or more than 1953 that cover happen with probability below 1e-7.
    rng = np.random.default_rng(1)
    intervals = [mean_interval(rng.normal(size=3).tolist()) for _ in range(2000)]
    assert 1847 <= sum(each.lower <= 0 <= each.upper for each in intervals) <= 1953


def test_one_number_and_equal_numbers_are_no_certainty():
    assert math.isinf(mean_interval([0.5]).half)
    assert mean_interval([0.5, 0.5], resolution=0.01).half > 0.01
    agreeing = paired([0.5, 0.5], [0.49, 0.49], resolution=0.01)
    assert agreeing.chance > 0.05
    assert math.isinf(paired([0.5], [0.4]).half(0.05))
    assert paired([0.5], [0.4]).chance == 1


@pytest.mark.parametrize(("mean", "spread"), [(3.0, 1.0), (1.0, 2.0), (0.02, 0.05)])
def test_the_decisive_count_is_the_first_that_decides(mean, spread):
    found = decisive_count(mean, spread)
    assert found is not None

    def reach(count):
        return student_quantile(0.975, count - 1) * spread / math.sqrt(count)

    assert mean > reach(found)
    assert found == 2 or mean <= reach(found - 1)


def test_no_difference_is_never_decided():
    assert decisive_count(0.0, 1.0) is None
    assert decisive_count(1e-9, 1.0) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_corrects_upwards_and_no_further_than_bonferroni(chances):
    corrected = holm(chances)
    assert all(c <= h <= min(1.0, len(chances) * c) + 1e-15 for c, h in zip(chances, corrected, strict=True))
    order = sorted(range(len(chances)), key=chances.__getitem__)
    assert [corrected[k] for k in order] == sorted(corrected)


def test_holm_keeps_its_promise_where_nothing_differs():
    # 1000 families of five true nulls at 5 %: more than 85 families with an alarm happen with probability below 1e-6.
    rng = np.random.default_rng(2)
    alarms = sum(min(holm(rng.uniform(size=5).tolist())) <= 0.05 for _ in range(1000))
    assert alarms <= 85
