import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.engines import (
    Estimate,
    Mean,
    Probability,
    Quantile,
    RawMoment,
    SquaredError,
    coefficient,
    stream,
    weight,
)
from regard.analysis.engines.root import certified_root
from regard.core.errors import InputError

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


def test_streams_differ_by_seed_and_by_every_name():
    firsts = {
        stream(seed, *names).random()
        for seed in (0, 1)
        for names in [(), ("a",), ("a", 1), ("a", "1"), ("a1",), ("b",)]
    }
    assert len(firsts) == 12
    assert stream(7, "x").random() == stream(7, "x").random()


def test_quantities_add_up_and_print():
    assert str(2 * weight("a") - weight("b", 1) / 4 - 1) == "2·w[a, head 0] + -0.25·w[b, head 1] + -1"
    assert str(1 - coefficient("a")) == "-1·c[a] + 1"
    assert (weight("a") - 0.5 * weight("b") + 2).span == 1.5
    assert (weight("a") - 0.5 * weight("b") - 2).reach == 3.5
    with pytest.raises(InputError, match="not finite"):
        weight("a") * math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RawMoment(of=weight("a"), order=0), "order 0"),
        (lambda: Quantile(of=weight("a"), level=1.0), "The level 1.0"),
        (lambda: Quantile(of=weight("a"), level=math.nan), "The level nan"),
        (lambda: Probability(of=weight("a"), at_least=1.0, at_most=0.0), "Swap the bounds"),
        (lambda: SquaredError(target={"a": math.nan}), "not finite"),
    ],
)
def test_questions_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_questions_are_values():
    assert Mean(of=weight("a")) == Mean(of=weight("a"))
    assert Mean(of=weight("a")) != Mean(of=weight("b"))


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: x**3 - 2, 0.0, 2.0, 2 ** (1 / 3)),
        (lambda x: x**9, -1.0, 3.0, 0.0),
        (lambda x: math.atan(1e6 * (x - 0.1)), -5.0, 3.0, 0.1),
        (lambda x: 0.5 - x, 0.0, 1.0, 0.5),
        (lambda x: x - 1e6 / 3, 0.0, 1e6, 1e6 / 3),
    ],
)
def test_roots_are_bracketed_to_the_tolerance(function, low, high, root):
    found = certified_root(lambda x: sure(function(x)), low, high)
    assert found.contains(root)
    assert found.width <= max(1e-12, 1e-15 * abs(root))


def test_a_root_stops_where_the_sign_is_unknown():
    found = certified_root(lambda x: sure(x - 0.3 - 1e-3, x - 0.3 + 1e-3), 0.0, 1.0)
    assert found.contains(0.3)
    assert 2e-3 <= found.width < 4.1e-3


def test_roots_need_certainty_and_a_change_of_sign():
    with pytest.raises(InputError, match="sampled"):
        certified_root(lambda x: sampled(x - 1, x + 1), -5.0, 5.0)
    with pytest.raises(InputError, match="no certain change of sign"):
        certified_root(sure, 1.0, 2.0)


def test_no_interval_contains_nan():
    assert not sure(1, 2).contains(math.nan)
