import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.estimate import Estimate

NUMBERS = st.floats(-1e6, 1e6)


def sure(low, high=None):
    high = low if high is None else high
    return Estimate(value=(low + high) / 2, lower=low, upper=high, method="certified")


def sampled(low, high, confidence=0.99):
    return Estimate(
        value=(low + high) / 2, lower=low, upper=high, method="monte_carlo", confidence=confidence, draws=100, seed=0
    )


@given(NUMBERS, NUMBERS)
def test_arithmetic_encloses_the_exact_result(x, y):
    left, right = Fraction(x), Fraction(y)
    results = [(sure(x) + sure(y), left + right), (sure(x) - y, left - right), (sure(x) * y, left * right)]
    if abs(y) > 1e-100:
        results.append((sure(x) / y, left / right))
    for estimate, exact in results:
        assert Fraction(estimate.lower) <= exact <= Fraction(estimate.upper)


def test_wide_intervals_multiply_and_divide_by_their_corners():
    product, quotient = sure(-1, 2) * sure(-3, 5), 1 / sure(-4, -2)
    assert (product.lower, product.upper) == (pytest.approx(-6), pytest.approx(10))
    assert (quotient.lower, quotient.upper) == (pytest.approx(-0.5), pytest.approx(-0.25))
    with pytest.raises(ZeroDivisionError, match="may be zero"):
        sure(1) / sure(-1, 1)


def test_doubts_add_up_and_certainty_stays():
    assert (sampled(1, 2, 0.99) / sampled(3, 4, 0.95)).confidence == pytest.approx(0.94)
    assert (sampled(1, 2, 0.4) + sampled(1, 2, 0.4)).confidence == 0.0
    assert (sure(1) + sampled(1, 2, 0.99)).confidence == pytest.approx(0.99)
    assert (sure(1) + sure(2)).is_certain
    assert (2 - sure(1)).method == "certified"
    assert (sure(1) + sampled(1, 2)).method == "certified+monte_carlo"


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)])
def test_an_estimate_outside_its_interval_cannot_be_made(bounds):
    with pytest.raises(AssertionError):
        Estimate(value=0.5, lower=bounds[0], upper=bounds[1], method="certified")


def test_estimates_print_what_they_know():
    assert str(sure(0.25)) == "0.25 ± 0.0e+00 (certified)"
    assert str(sampled(0.2, 0.3)) == "0.25 ± 5.0e-02 (monte_carlo, 99.0000% sure, 100 draws, seed 0)"
    assert sure(0.1, 0.2).enclosure == "[0.1, 0.2]"


def test_no_interval_contains_nan():
    assert not sure(1, 2).contains(math.nan)
