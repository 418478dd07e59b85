"""Claims about random keys: the printed numbers, at the default parameters and far from them."""

import math

import pytest

from printed_numbers import TABLES, is_printed_as
from regard.analysis.closed_forms.random_keys import (
    backwards_chance,
    normalized_limit,
    steady_ratio,
    steady_trace_ratio,
)
from regard.analysis.engines import (
    ConditionProbability,
    Mean,
    Probability,
    TotalVariance,
    Variance,
    coefficient,
    weight,
)
from regard.analysis.scenarios import Deviation, one_head, two_heads
from regard.claims import all_claims
from regard.claims._random_keys import CourseSetting
from regard.claims.catalog.more_heads_always_better import CROSSOVERS
from regard.core.errors import DomainError

CLAIMS = all_claims()
OURS = [
    "one-head-swings",
    "two-heads-steady",
    "two-heads-always-steady",
    "two-heads-given-positive",
    "identical-heads",
    "more-heads-always-better",
    "reliability-ceiling",
    "key-norm-cures",
]
SIGMA = math.sqrt(0.5)


def certified_answer(design, question, *, beta, n=10):
    return CourseSetting(n=n, beta=beta, sigma2=0.5).certified(design, [question])[0]


@pytest.mark.parametrize(("n", "beta", "mean", "variance"), [row[:4] for row in TABLES])
def test_one_head_swings_as_printed(n, beta, mean, variance):
    verdict = CLAIMS["one-head-swings"].decide({"n": n, "beta": beta})
    assert verdict.status == "proved"
    assert verdict.bound < 1e-12
    assert is_printed_as(verdict.value, variance)
    assert is_printed_as(certified_answer(one_head, Mean(of=weight("a")), beta=beta, n=n).value, mean)


@pytest.mark.parametrize(("n", "beta", "mean", "variance"), [(*row[:2], *row[4:]) for row in TABLES])
def test_two_heads_are_steadier_as_printed(n, beta, mean, variance):
    one_heads = next(float(row[3]) for row in TABLES if row[:2] == (n, beta))
    verdict = CLAIMS["two-heads-steady"].decide({"n": n, "beta": beta})
    assert verdict.status == "holds"
    assert verdict.value == pytest.approx(one_heads / float(variance), rel=1e-9)
    assert is_printed_as(certified_answer(two_heads, Mean(of=weight("a")), beta=beta, n=n).value, mean)
    assert is_printed_as(certified_answer(two_heads, Variance(of=coefficient("a")), beta=beta, n=n).value, variance)


def test_the_steadying_ratios():
    verdict = CLAIMS["two-heads-steady"].decide()
    assert is_printed_as(verdict.value, "10.84978")
    one, two = (certified_answer(design, TotalVariance(), beta=20.0) for design in (one_head, two_heads))
    assert is_printed_as((one / two).value, "19.5296")
    assert is_printed_as(float(steady_ratio(SIGMA)), "13.79999")
    assert is_printed_as(float(steady_trace_ratio(SIGMA, 10)), "24.840")
    assert CLAIMS["two-heads-steady"].decide({"beta": 1e-6}).value == pytest.approx(4, abs=1e-5)
    assert is_printed_as(CLAIMS["two-heads-steady"].decide({"beta": 1.0}).value, "3.4556")


def test_head_one_looks_away_in_eight_cases_of_a_hundred():
    verdict = CLAIMS["two-heads-always-steady"].decide()
    assert is_printed_as(verdict.value, "0.0786496035251")
    assert is_printed_as(float(backwards_chance(SIGMA)), "0.0786496035251")
    backwards = certified_answer(two_heads, ConditionProbability(of=Deviation(group="a", upper=-1.0)), beta=20.0)
    assert is_printed_as(backwards.value, "0.0786496035251")
    # Given γ < 0 a gets less than its even share, for certain.
    away = Probability(of=weight("a"), at_most=0.1, given=Deviation(group="a", upper=-1.0))
    assert certified_answer(two_heads, away, beta=20.0).value == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("sigma2", [0.01, 0.001, 1e-9, 1e-300])
def test_the_misconception_is_refuted_even_where_looking_away_is_very_rare(sigma2):
    verdict = CLAIMS["two-heads-always-steady"].decide({"sigma2": sigma2})
    assert verdict.status == "refuted"
    assert verdict.counterexample


@pytest.mark.parametrize(("beta", "variance"), [(20.0, "0.0167939"), (100.0, "0.00320575"), (1000.0, "0.000316434")])
def test_given_a_positive_gamma_the_variance_vanishes(beta, variance):
    verdict = CLAIMS["two-heads-given-positive"].decide({"beta": beta})
    assert verdict.status == "holds"
    assert is_printed_as(verdict.value, variance)
    forwards = 0.5 * math.erfc(-1 / (SIGMA * math.sqrt(2)))
    most = (math.log(10) - 1 + 0.1) / (beta * SIGMA * math.sqrt(2 * math.pi) * forwards)
    assert verdict.value + verdict.bound < most


@pytest.mark.parametrize(
    ("n", "crossover"), [(10, "2.17373685971"), (3, "1.04204619194"), (100, "3.82389795"), (1000, "5.19806217")]
)
def test_two_heads_win_from_the_printed_crossover_on(n, crossover):
    claim = CLAIMS["more-heads-always-better"]
    assert float(crossover) == CROSSOVERS[n]
    assert claim.decide({"n": n}, form=CROSSOVERS.__getitem__).status == "holds"
    assert claim.decide({"n": n}, form=lambda n: CROSSOVERS[n] * (1 + 1e-6)).status == "refuted"
    assert claim.decide({"n": n}, form=lambda n: CROSSOVERS[n] * (1 - 1e-6)).status == "refuted"


@pytest.mark.parametrize("beta", [1e-3, 20.0, 1e6])
def test_that_two_heads_always_win_is_refuted_whatever_scale_is_asked_for(beta):
    assert CLAIMS["more-heads-always-better"].decide({"beta": beta}).status == "refuted"


@pytest.mark.parametrize(("beta", "chance"), [(5.0, "0.5679964845"), (20.0, "0.8650904148")])
def test_reliability_stays_under_its_ceiling(beta, chance):
    verdict = CLAIMS["reliability-ceiling"].decide({"beta": beta, "epsilon": 0.1})
    assert verdict.status == "proved"
    assert is_printed_as(verdict.value, chance)
    assert verdict.value < 1 - backwards_chance(SIGMA)
    assert is_printed_as(1 - float(backwards_chance(SIGMA)), "0.92135")


def test_an_even_share_is_reached_more_often_than_the_ceiling():
    verdict = CLAIMS["reliability-ceiling"].decide({"epsilon": 0.95})
    assert verdict.status == "proved"
    assert verdict.value > 1 - backwards_chance(SIGMA)


def test_normalized_keys():
    assert is_printed_as(CLAIMS["key-norm-cures"].decide({"beta": 5}).value, "0.0171745122")
    assert is_printed_as(CLAIMS["key-norm-cures"].decide({"beta": 60}).value, "0.01811596085")
    assert is_printed_as(float(normalized_limit(SIGMA)), "0.01811596085")


@pytest.mark.parametrize(
    "overrides",
    [
        {"n": 10**6},
        {"beta": 1},
        {"n": 3, "beta": 1e300},
        {"sigma2": 0.01},
        {"sigma2": 1e-300},
        {"sigma2": 1e300},
        {"n": 10**6, "beta": 1000, "sigma2": 4},
        {"n": 1000, "beta": 1, "sigma2": 0.01},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", OURS)
def test_the_verdict_is_the_same_far_from_the_defaults(name, overrides):
    verdict = CLAIMS[name].decide(overrides)
    assert verdict.is_as_expected, verdict.reason
    assert math.isfinite(verdict.value)


@pytest.mark.parametrize("name", OURS)
def test_where_floats_run_out_nothing_is_called_false(name):
    verdict = CLAIMS[name].decide({"n": 10**300})
    assert verdict.is_as_expected or verdict.status == "undecided"


@pytest.mark.parametrize("overrides", [{"n": 2}, {"n": 3.5}, {"beta": 0}, {"beta": -1}, {"sigma2": 0}], ids=str)
@pytest.mark.parametrize("name", OURS)
def test_outside_the_domain_a_claim_is_refused(name, overrides):
    with pytest.raises(DomainError, match=next(iter(overrides))):
        CLAIMS[name].decide(overrides)
