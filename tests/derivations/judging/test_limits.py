"""Limits: errors that vanish, errors that do not, growth, and the probability of a limit."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from flint import ctx

from derivations.judging.small import expression, found, relation, scope
from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.derivations.context.designs import solved
from regard.derivations.judging.exact import PRECISION
from regard.derivations.judging.judge import shown
from regard.derivations.judging.limits import SCALES, chance, decide_growth, decide_limit, driven_to, vanishes
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.problems.problem import load_problem

SHARE = r"\frac{e^\beta}{2e^\beta + n - 2}"


def limit(source: str, inside=None):
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        return shown(decide_limit(relation(source, inside)))


def growth(source: str):
    with ctx.workprec(PRECISION):
        return decide_growth(relation(source))


@pytest.mark.parametrize(
    "source",
    [
        rf"{SHARE} \approx \frac12",
        r"e^{-\beta} \approx 0",
        r"\alpha \approx 0",
        r"\beta\sqrt\alpha \approx 0",
        r"\beta\sqrt\alpha \approx \beta k_a^\top k_b",
        r"1 + \frac1\beta \approx 1",
    ],
)
def test_errors_that_vanish(source):
    finding = limit(source)
    assert finding.kind == "approximate"
    assert re.match(r"True as .*(β → ∞|α → 0).* \(error \S+ at [βα] = ", finding.reason)


@pytest.mark.parametrize(
    "source",
    [
        rf"{SHARE} \approx \frac13",
        r"e^{-1/\beta} \approx 0",
        r"\frac{\beta}{\beta + 1} \approx 0",
        r"\beta \approx 0",
        r"\sin\beta \approx 0",
    ],
)
def test_errors_that_do_not_vanish(source):
    finding = limit(source)
    assert finding.kind == "false"
    assert "β = 32" in (finding.counterexample or "") or "α" in (finding.counterexample or "")


def test_an_error_against_something_large_is_relative():
    assert limit(r"e^\beta + 1 \approx e^\beta").is_true
    assert limit(r"2e^\beta \approx e^\beta").is_false


def test_an_ill_shaped_limit_says_so():
    assert limit(r"u \approx \beta").kind == "ill-shaped"


def test_what_rounding_hides_is_no_evidence():
    """At β = 2048 both sides are below any rounding; at 8, 32 and 128 one is five times the other."""
    assert limit(rf"1 - 2{SHARE} \approx \frac{{5(n-2)}}{{2e^\beta + n - 2}}").is_false


@pytest.mark.parametrize("source", [rf"{SHARE} \approx \frac12", r"1 + \frac{1}{\sqrt\beta} \approx 1"])
def test_the_errors_shown_for_a_limit_fall_to_almost_nothing(source):
    errors = [float(error) for error in re.findall(r"([\d.e-]+) at", limit(source).reason)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] <= 0.05


@pytest.mark.parametrize(
    ("errors", "is_so"),
    [
        ([1, 0.1, 0.01, 1e-3, 1e-4], True),
        ([1e-30] * 5, True),
        ([0.0] * 5, True),
        ([1, 1, 1, 1, 1], False),
        ([1e-3] * 5, False),
        ([1, 0.1, 0.01, 0.2, 0.04], False),
        ([1, 0.1, math.nan, 0, 0], False),
        ([4, 4, 4, 1e-13], False),
        ([math.inf] * 5, False),
    ],
)
def test_what_vanishes(errors, is_so):
    assert vanishes(np.array(errors)) is is_so


def test_noise_vanishes_before_scales_grow():
    driven = driven_to(relation(r"\beta\alpha \approx 0"), SCALES)
    assert all(scale * math.sqrt(noise) < 0.01 for scale, noise in zip(driven["beta"], driven["alpha"], strict=True))


@pytest.mark.parametrize("source", [r"e^\beta \gg n", r"\beta \gg x", r"\beta^2 \gg \beta"])
def test_what_grows_without_bound(source):
    assert growth(source).kind == "true"


@pytest.mark.parametrize("source", [r"\beta + 1 \gg \beta", r"1 \gg \beta", r"2 \gg \alpha"])
def test_what_does_not(source):
    finding = growth(source)
    assert finding.is_false is (source != r"2 \gg \alpha")


def test_much_smaller_is_much_larger_turned_round():
    assert found(r"n \ll e^\beta").is_true
    assert found(r"e^\beta \ll n").is_false


# -- chances -----------------------------------------------------------------------------------------------------------
def long_key_scope():
    question = load_problem("cs224n-a4").question("1d.ii")
    return solved(scope("1d.ii"), question)


def test_the_first_head_locks_on_with_the_probability_of_a_positive_gamma():
    """γ ∼ N(1, ½) is above 0 with probability Φ(√2) = 0.92135."""
    finding = found(r"c_1 \approx v_a", long_key_scope())
    assert finding.is_true
    assert finding.probability == pytest.approx(0.92135, abs=1e-5)
    assert finding.probability == pytest.approx(float(normal_cdf(math.sqrt(2))), abs=1e-5)


def test_the_second_head_always_does():
    finding = found(r"c_2 \approx v_b", long_key_scope())
    assert finding.is_true
    assert finding.probability is None


def test_a_coin_toss_is_neither_true_nor_false():
    finding = found(r"e^{-\beta(\gamma - 1)} \approx 0")
    assert finding.kind == "unknown"
    assert finding.probability == pytest.approx(0.5, abs=1e-5)


def test_what_hardly_ever_holds_is_false():
    assert found(r"e^{\beta(\gamma + 1)} \approx 0").is_false


def test_without_a_random_number_there_is_no_chance():
    with ctx.workprec(PRECISION):
        assert chance(relation(r"z \approx 0", scope("2"))) is None


@pytest.mark.parametrize("source", [r"\beta^{\beta^\beta} \gg \beta", r"\beta^{\beta^{\beta^\beta}} \approx 1"])
def test_what_is_beyond_computing_is_left_open(source):
    assert found(source).kind == "not understood"


def test_an_error_that_no_float_can_hold_is_still_an_error():
    assert found(r"e^\beta e^\beta = e^{\beta^2}").is_false
    assert found(r"e^\beta e^\beta \approx e^{\beta^2}").is_false


def test_what_holds_by_luck_on_some_draws_is_looked_at_on_others():
    """At n = 3 the largest of three random logits is the first one in a third of all draws."""
    lucky = scope("1b").with_meaning(SymbolMeaning(name="q", formula=expression(r"\beta(v_a + v_b)")))
    for seed in range(12):
        inside = replace(lucky, setting=replace(lucky.setting, seed=seed))
        assert found(r"c \approx v_a", inside).is_false
        assert found(r"k_a^\top q \gg k_b^\top q", inside).is_false


def test_what_vanishes_slowly_is_driven_further():
    """The gap between the largest logits may be small: the drive goes on until the larger one has won."""
    for seed in range(12):
        inside = replace(scope(), setting=replace(scope().setting, seed=seed))
        assert found(r"\frac{1}{1 + e^{-\beta y^2}} \approx 1", inside).is_true


def test_counterexamples_of_limits_show_a_gap():
    for seed in range(6):
        inside = replace(scope(), setting=replace(scope().setting, seed=seed))
        finding = shown(found(r"\text{softmax}(\beta u) \approx \text{softmax}(\beta w)", inside))
        assert finding.is_false
        assert finding.value is not None
        assert finding.value > 0.05
