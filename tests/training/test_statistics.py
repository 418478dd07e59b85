"""Intervals and tests against published numbers and their own promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from regard.training.statistics import PairedDifference, holm, holm_levels, mcnemar, mean_interval, paired_difference


@pytest.mark.parametrize(("freedom", "printed"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)])
def test_quantiles_are_those_of_the_printed_table(freedom, printed):
    """The half-width of n values with standard deviation √n is the quantile itself."""
    n = freedom + 1
    values = np.arange(n) - freedom / 2
    values *= math.sqrt(n) / values.std(ddof=1)
    assert mean_interval(values.tolist()).half_width == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize(("freedom", "printed"), [(1, 12.706), (4, 2.776), (30, 2.042)])
def test_a_difference_at_the_printed_quantile_has_a_p_value_of_5_percent(freedom, printed):
    n = freedom + 1
    values = np.arange(n) - freedom / 2
    values *= math.sqrt(n) / values.std(ddof=1)
    assert paired_difference((values + printed).tolist(), [0.0] * n).p_value == pytest.approx(0.05, rel=1e-3)


def test_mcnemar_against_published_numbers():
    # Fagerland et al. (2013), airway hyper-responsiveness: 7 and 1 discordant pairs, exact conditional test.
    assert mcnemar([True] * 7 + [False], [False] * 7 + [True]) == (7, 1, pytest.approx(0.0703, abs=5e-5))
    assert mcnemar([True, False], [True, False]) == (0, 0, 1.0)


def test_the_interval_covers_as_often_as_it_says():
    # 2000 intervals of 95 %: fewer than 1847 or more than 1953 that cover happen with probability below 1e-7.
    rng = np.random.default_rng(1)
    intervals = [mean_interval(rng.normal(size=3).tolist()) for _ in range(2000)]
    assert 1847 <= sum(each.lower <= 0 <= each.upper for each in intervals) <= 1953


def test_one_number_and_equal_numbers_are_no_certainty():
    assert math.isinf(mean_interval([0.5]).half_width)
    assert mean_interval([0.5, 0.5], resolution=0.01).half_width > 0.01
    equal = paired_difference([0.5, 0.5], [0.49, 0.49], resolution=0.01)
    assert equal.p_value > 0.05
    assert math.isinf(paired_difference([0.5], [0.4]).interval(0.05).half_width)
    assert paired_difference([0.5], [0.4]).p_value == 1


@pytest.mark.parametrize(("mean", "spread"), [(3.0, 1.0), (1.0, 2.0), (0.02, 0.05)])
def test_the_decisive_count_is_the_first_that_decides(mean, spread):
    found = PairedDifference(mean=mean, deviation=spread, count=3).decisive_count(0.05)
    assert found is not None

    def reach(count):
        return float(t.isf(0.025, count - 1)) * spread / math.sqrt(count)

    assert mean > reach(found)
    assert found == 2 or mean <= reach(found - 1)


def test_no_difference_is_never_decided():
    for mean in (0.0, 1e-9):
        assert PairedDifference(mean=mean, deviation=1.0, count=3).decisive_count(0.05) is None


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


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=12))
def test_a_p_value_is_below_its_level_exactly_where_the_corrected_one_is_below_alpha(p_values):
    levels, corrected = holm_levels(p_values, 0.05), holm(p_values)
    assert [p <= level for p, level in zip(p_values, levels, strict=True)] == [
        p <= 0.05 or p == pytest.approx(0.05) for p in corrected
    ]
