"""Published numbers on random keys, each computed elsewhere by independent quadrature in thirty digits."""

import math

import numpy as np
import pytest

from printed_numbers import TABLES, is_printed_as
from regard.analysis.engines import (
    ConditionProbability,
    Mean,
    Probability,
    SquaredError,
    TotalVariance,
    Variance,
    certified,
    coefficient,
    monte_carlo,
    weight,
)
from regard.analysis.engines.enclosures import certified_root
from regard.analysis.scenarios import (
    GAMMA_POSITIVE,
    Deviation,
    LogitLaw,
    course_keys,
    identical_heads,
    one_head,
    two_heads,
)

HALF_AND_HALF = SquaredError(target={"a": 0.5, "b": 0.5})
LIMIT_OF_ODDS = ConditionProbability(of=Deviation(group="a", upper=-1.0))


def law(design, beta, n=10, **keys):
    return course_keys(n=n, **keys).logits(design(beta))


def are_printed_as(estimate, digits):
    """True if the whole enclosure rounds to the printed digits."""
    return is_printed_as(estimate.lower, digits) and is_printed_as(estimate.upper, digits)


def test_the_comparison_with_printed_digits_notices_the_last_one():
    estimate = certified.answer(law(one_head, 20.0), Variance(of=weight("a")))
    assert are_printed_as(estimate, "0.222018627920")
    assert not are_printed_as(estimate, "0.222018627921")


@pytest.mark.parametrize(("n", "beta", "mean", "variance"), [row[:4] for row in TABLES])
def test_one_head(n, beta, mean, variance):
    found = certified.answers(law(one_head, beta, n), [Mean(of=weight("a")), Variance(of=weight("a"))])
    assert are_printed_as(found[0], mean)
    assert are_printed_as(found[1], variance)
    assert all(estimate.width <= 1e-10 * estimate.value for estimate in found)


@pytest.mark.parametrize(("n", "beta", "mean", "variance"), [(*row[:2], *row[4:]) for row in TABLES])
def test_two_heads(n, beta, mean, variance):
    found = certified.answers(law(two_heads, beta, n), [Mean(of=weight("a")), Variance(of=coefficient("a"))])
    assert are_printed_as(found[0], mean)
    assert are_printed_as(found[1], variance)
    assert all(estimate.width <= 1e-10 * estimate.value for estimate in found)


@pytest.mark.parametrize(("order", "wrong"), [(20, 0.2462), (200, 0.2234)])
def test_plain_gauss_hermite_is_not_in_the_enclosure(order, wrong):
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    shares = 1 / (1 + np.exp(-20 * math.sqrt(0.5) * nodes) * (1 + 8 * math.exp(-20)))
    mean, square = (float(weights @ shares**power) / math.sqrt(2 * math.pi) for power in (1, 2))
    variance = square - mean**2
    assert variance == pytest.approx(wrong, abs=5e-5)
    assert not certified.answer(law(one_head, 20.0), Variance(of=weight("a"))).contains(variance)


def test_one_head_is_almost_never_near_the_mean():
    near = certified.answer(law(one_head, 20.0), Probability(of=weight("a"), at_least=0.4, at_most=0.6))
    assert near.value == pytest.approx(0.023, abs=5e-4)
    assert near.width < 1e-14


@pytest.mark.parametrize("beta", [50.0, 500.0, 5000.0])
def test_one_heads_variance_approaches_a_quarter_like_one_over_beta(beta):
    variance = certified.answer(law(one_head, beta), Variance(of=weight("a")))
    first_order = 0.25 - 1 / (beta * math.sqrt(0.5) * math.sqrt(2 * math.pi))
    assert abs(variance.value - first_order) < 20 / beta**3
    assert variance.upper < 0.25


def test_two_heads_steady_at_beta_20():
    one, two = law(one_head, 20.0), law(two_heads, 20.0)
    ratio = certified.answer(one, Variance(of=coefficient("a"))) / certified.answer(two, Variance(of=coefficient("a")))
    assert are_printed_as(ratio, "10.84978")
    total = certified.answer(one, TotalVariance()) / certified.answer(two, TotalVariance())
    assert are_printed_as(total, "19.5296")


def test_two_heads_steady_in_the_limit():
    backwards = certified.answer(law(two_heads, 1.0), LIMIT_OF_ODDS)
    limit = 1 / (backwards * (1 - backwards))
    assert are_printed_as(limit, "13.79999")
    assert are_printed_as(limit * 2 * 9 / 10, "24.840")
    ratios = [
        certified.answer(law(one_head, beta), Variance(of=coefficient("a")))
        / certified.answer(law(two_heads, beta), Variance(of=coefficient("a")))
        for beta in (1e2, 1e4, 1e6)
    ]
    gaps = [abs(ratio.value - limit.value) for ratio in ratios]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2]


def test_a_factor_four_is_dilution():
    one, two = (certified.answer(law(design, 1e-3), Variance(of=coefficient("a"))) for design in (one_head, two_heads))
    assert (one / two).value == pytest.approx(4, abs=0.02)


def test_the_key_points_backwards_in_eight_cases_of_a_hundred():
    assert are_printed_as(certified.answer(law(two_heads, 20.0), LIMIT_OF_ODDS), "0.0786496035251")
    even_share = Probability(of=weight("a"), at_most=0.1)
    assert certified.answer(law(two_heads, 20.0), even_share).value == pytest.approx(0.0786496035251, abs=1e-12)


@pytest.mark.parametrize(("beta", "variance"), [(20.0, "0.0167939"), (100.0, "0.00320575"), (1000.0, "0.000316434")])
def test_given_a_positive_gamma_the_variance_vanishes(beta, variance):
    found = certified.answer(law(two_heads, beta), Variance(of=weight("a"), given=GAMMA_POSITIVE))
    assert are_printed_as(found, variance)


def test_identical_heads_gain_nothing():
    one, twice = law(one_head, 5.0), law(identical_heads, 5.0)
    assert certified.answer(one, Variance(of=coefficient("a"))) == certified.answer(
        twice, Variance(of=coefficient("a"))
    )
    assert certified.answer(twice, Variance(of=weight("a", 0))) == certified.answer(twice, Variance(of=weight("a", 1)))


@pytest.mark.parametrize(
    ("beta", "one", "two"), [(2.0, "0.14769010591", "0.16420803635"), (20.0, "0.44403724852", "0.025851721784")]
)
def test_squared_errors(beta, one, two):
    assert are_printed_as(certified.answer(law(one_head, beta), HALF_AND_HALF), one)
    assert are_printed_as(certified.answer(law(two_heads, beta), HALF_AND_HALF), two)


@pytest.mark.parametrize(
    ("n", "bracket", "crossover"),
    [
        (10, (1.0, 5.0), "2.17373685971"),
        (3, (0.5, 3.0), "1.04204619194"),
        (100, (2.0, 6.0), "3.82389795"),
        (1000, (3.0, 8.0), "5.19806217"),
    ],
)
def test_two_heads_beat_one_only_beyond_a_crossover(n, bracket, crossover):
    def lead(beta):
        one, two = (certified.answer(law(design, beta, n), HALF_AND_HALF) for design in (one_head, two_heads))
        return two - one

    assert are_printed_as(certified_root(lead, *bracket), crossover)


@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0, 50.0])
def test_of_two_keys_two_heads_were_better_at_every_scale_tried(beta):
    def two_keys(rows):
        directions = [[[x] for x in rows[0]], [[0.0]] * len(rows[0])]
        variances = [[0.5], [0.0]]
        return LogitLaw(names=("a", "b"), counts=(1, 1), means=rows, directions=directions, variances=variances)

    one = certified.answer(two_keys([[beta], [beta]]), HALF_AND_HALF)
    two = certified.answer(two_keys([[beta, 0.0], [0.0, beta]]), HALF_AND_HALF)
    assert two.upper < one.lower


@pytest.mark.parametrize(("beta", "reliability"), [(5.0, "0.5679964845"), (20.0, "0.8650904148")])
def test_reliability_stays_under_its_ceiling(beta, reliability):
    found = certified.answer(law(two_heads, beta), Probability(of=weight("a"), at_least=0.9))
    assert are_printed_as(found, reliability)
    assert found.upper < 0.92135


def test_normalized_keys_are_steady_given_the_sign():
    keys = {"is_normalized": True}
    assert are_printed_as(certified.answer(law(one_head, 5.0, **keys), Variance(of=weight("a"))), "0.0171745122")
    assert are_printed_as(certified.answer(law(one_head, 60.0, **keys), Variance(of=weight("a"))), "0.01811596085")
    steady = certified.answer(law(one_head, 5.0, **keys), Variance(of=weight("a"), given=GAMMA_POSITIVE))
    assert (steady.lower, steady.upper) == (0.0, 0.0)


def test_eleven_independent_copies_beat_the_two_heads_and_ten_do_not():
    one = certified.answer(law(one_head, 20.0), Variance(of=weight("a")))
    two = certified.answer(law(two_heads, 20.0), Variance(of=coefficient("a")))
    assert are_printed_as(one / 11, "0.020184")
    assert (one / 11).upper < two.lower < two.upper < (one / 10).lower


@pytest.mark.parametrize(("beta", "variance", "half_unit"), [(20.0, 0.0093, 5e-5), (200.0, 0.159, 5e-4)])
def test_isotropic_noise_spoils_large_scales(beta, variance, half_unit):
    # At this confidence a correct engine fails with probability 1e-6; the seed is fixed.
    noisy = law(one_head, beta, sigma2=0.0, alpha=1e-4)
    found = monte_carlo.answer(noisy, Variance(of=weight("a")), draws=400_000, seed=3, confidence=1 - 1e-6)
    assert found.lower <= variance + half_unit
    assert found.upper >= variance - half_unit
    assert found.width < 0.1 * found.value
