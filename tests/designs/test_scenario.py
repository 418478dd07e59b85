"""A design's report: published numbers, independent oracles, and refusals."""

import math

import numpy as np
import pytest

from regard.core.errors import InputError, RegardError
from regard.designs import Demand, Sampling, Scenario

COURSE = Scenario(n=10, norm_noise={"a": 0.5})
ONE, TWO = ("beta*(mu_a+mu_b)",), ("beta*mu_a", "beta*mu_b")


def test_one_head_has_the_published_numbers():
    report = COURSE.design(*ONE, beta=20)
    [head] = report.heads
    a, b, other = head.weights
    assert (a.key, b.key, other.key, other.count) == ("a", "b", "other", 8)
    assert a.variance.value == pytest.approx(0.222018627920, abs=1e-12)
    assert report.output.squared_error.value == pytest.approx(0.44403724852, abs=1e-11)
    assert report.output.variance_ratio.contains(1.0)


def test_two_heads_have_the_published_numbers():
    report = COURSE.design(*TWO, beta=20)
    assert report.output.squared_error.value == pytest.approx(0.025851721784, abs=1e-12)
    assert report.output.variance_ratio.value == pytest.approx(10.84978, abs=1e-5)
    assert report.scales.ceiling.value == pytest.approx(0.5 * math.erfc(-1.0), abs=1e-9)
    assert report.scales.best is None


def test_means_and_weights_of_a_head_sum_to_one():
    for head in COURSE.design(*TWO, beta=3).heads:
        assert sum(weight.count * weight.mean.value for weight in head.weights) == pytest.approx(1, abs=1e-12)


def test_equivalent_expressions_give_identical_reports():
    unusual = ["β μ_a + μ_b β", "exp(log(20))*mu_a + 400^{1/2} mu_b", r"\frac{40\mu_a+2\beta\mu_b}{2}"]
    reports = [COURSE.design(text, beta="20.0") for text in (*ONE, *unusual)]
    for report in reports[1:]:
        assert report.output == reports[0].output
        assert report.heads[0].weights == reports[0].heads[0].weights


def test_the_probability_of_being_near_is_that_of_drawn_keys():
    """Independent oracle: γ drawn with numpy and softmax by hand. False-alarm rate 1e-6 (4.9 standard errors)."""
    rng, beta, n, draws = np.random.default_rng(5), 4.0, 10, 200_000
    gamma = 1 + math.sqrt(0.5) * rng.standard_normal(draws)
    own, fixed = np.exp(beta * gamma), math.exp(beta)
    total = own + fixed + n - 2
    gaps = np.stack([own / total - 0.5, fixed / total - 0.5])
    near = (gaps**2).sum(axis=0) + (n - 2) / total**2 <= 0.15**2
    found = COURSE.design(*ONE, beta=4, demand=Demand(epsilon=0.15)).output.within
    assert abs(near.mean() - found.value) <= 4.9 * math.sqrt(found.value * (1 - found.value) / draws)


def test_the_best_scale_is_the_least_of_a_fine_grid():
    best = COURSE.design(*ONE, beta=20).scales.best
    errors = {beta: COURSE.design(*ONE, beta=beta).output.squared_error.value for beta in (1.8, 2.0, 2.1, 2.2, 2.5)}
    assert best.lower < best.scale < best.upper
    assert best.found.value <= min(errors.values())
    assert 2.0 < best.scale < 2.2


def test_the_needed_scale_has_the_error_that_was_asked_for():
    needed = Scenario(n=1000).design(*ONE, beta=1, demand=Demand(epsilon=0.01)).scales.needed
    exact = Scenario(n=1000).design(*ONE, beta=needed.upper, demand=Demand(epsilon=0.01)).output
    short = Scenario(n=1000).design(*ONE, beta=needed.lower, demand=Demand(epsilon=0.01)).output
    assert exact.squared_error.upper <= 1e-4 <= short.squared_error.upper


def test_a_scale_that_does_not_exist_is_not_made_up():
    assert COURSE.design(*ONE, beta=20).scales.needed is None


def test_the_scale_of_queries_without_beta_is_a_factor():
    scales = COURSE.design("20 mu_a + 20 mu_b").scales
    assert scales.unit == "factor"
    assert scales.best.scale * 20 == pytest.approx(COURSE.design(*ONE, beta=20).scales.best.scale, rel=1e-9)
    assert COURSE.design("20 mu_a + 20 mu_b").output.variance_ratio is None


def test_normalized_keys_are_steady_once_they_point_forwards():
    report = Scenario(n=10, norm_noise="a=0.5", qk_norm=True, given="gamma>0").design(*ONE, beta=20)
    assert report.output.coefficient_variance.upper == 0
    assert report.output.within.lower == 1
    assert report.chance.value == pytest.approx(0.5 * math.erfc(-1.0), abs=1e-12)
    assert report.output.variance_ratio is None


@pytest.mark.parametrize("qk_norm", [False, True])
def test_isotropic_noise_is_sampled_and_says_so(qk_norm):
    scenario = Scenario(n=6, norm_noise="a=0.5", alpha=0.01, qk_norm=qk_norm, sampling=Sampling(draws=20_000, seed=3))
    report = scenario.design(*TWO, beta=10)
    assert not report.output.squared_error.is_certain
    assert {verdict.status for verdict in report.verdicts} == {"holds"}
    assert report.verdicts[0].seed == 3


def test_a_head_that_sees_one_random_key_is_certified_beside_one_that_is_not():
    report = Scenario(n=10, norm_noise="a=0.5,b=0.5").design("beta*mu_a", "beta*(mu_a+mu_b)", beta=5)
    first, second = report.heads
    assert first.weights[0].mean.is_certain
    assert not second.weights[0].mean.is_certain


def test_what_is_required_is_decided():
    def status(require, scenario=COURSE):
        report = scenario.design(*TWO, beta=20, demand=Demand(require=require))
        return next(verdict.status for verdict in report.verdicts if verdict.id == "within")

    assert status(0.5) == "proved"
    assert status(0.95) == "refuted"
    noisy = Scenario(n=10, norm_noise="a=0.5", alpha=1e-4, sampling=Sampling(draws=2_000))
    chance = noisy.design(*TWO, beta=20).output.within.value
    assert status(round(chance, 3), noisy) == "undecided"


def test_a_key_that_only_the_target_names_is_a_key():
    report = COURSE.design(*ONE, beta=20, demand=Demand(target="v_c"))
    assert [weight.key for weight in report.heads[0].weights] == ["a", "b", "c", "other"]
    assert report.output.squared_error.value > 1


def test_queries_that_are_zero_have_no_scale():
    report = COURSE.design("0*mu_a")
    assert report.scales is None
    assert report.heads[0].weights[0].mean.value == pytest.approx(0.1)
    assert len(report.figures) == 1


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (COURSE.design, "No head"),
        (lambda: Scenario(n=2), "n ≥ 3"),
        (lambda: Scenario(n=10, norm_noise={"a": -1}), "variance"),
        (lambda: Scenario(n=10, norm_noise={"a": math.nan}), "variance"),
        (lambda: Scenario(n=10, alpha=math.inf), "variance"),
        (lambda: COURSE.design("mu_a", beta=math.nan), "beta"),
        (lambda: COURSE.design("mu_a", n=4), "number of keys"),
        (lambda: COURSE.design("9**9**9**9*mu_a"), "exponent"),
        (lambda: COURSE.design("mu_a", demand=Demand(target="mu_a")), "mu_a"),
        (lambda: Demand(epsilon=0), "ε"),
        (lambda: Demand(require=1.5), "required"),
        (lambda: Sampling(draws=0), "draws"),
        (lambda: Scenario(n=10, norm_noise="a=0.5", given="gamma_b>0.5").design("mu_a").chance, None),
        (lambda: Scenario(n=10, norm_noise="a=0.5", given="gamma_b>1.5").design("mu_a"), "probability zero"),
        (lambda: Scenario(n=10, norm_noise="a=0.5", given="gamma_c>0").design("mu_a"), "'c'"),
        (lambda: Scenario(n=3).design("mu_a+mu_b+mu_c+mu_d"), "Raise n"),
    ],
)
def test_what_cannot_be_is_refused(build, complaint):
    if complaint is None:
        assert build().value == 1
        return
    with pytest.raises(InputError, match=complaint):
        build()


def test_a_report_shows_itself_in_a_notebook():
    frame = COURSE.design(*TWO, beta=20)._repr_html_()
    assert frame.startswith("<iframe")
    assert "srcdoc=" in frame


def test_huge_numbers_of_keys_cost_nothing():
    report = Scenario(n=10**12, norm_noise="a=0.5").design(*TWO, beta=60)
    assert 0 < report.output.squared_error.value < 1


def test_errors_are_regards_own():
    with pytest.raises(RegardError):
        Scenario(n=10, norm_noise="a=b")


def test_equivalent_expressions_draw_the_same_keys():
    noisy = Scenario(n=6, norm_noise="a=0.5", alpha=0.05, sampling=Sampling(draws=2_000))
    assert noisy.design("5mu_c+4mu_d").output == noisy.design("4mu_d+5mu_c").output
    assert noisy.design("5mu_a").output == noisy.design("5mu_a + mu_c - mu_c").output


def test_an_error_that_only_rises_has_no_best_scale():
    scales = COURSE.design("beta*mu_c", beta=5, demand=Demand(target="v_a")).scales
    assert scales.best is None
    assert scales.is_rising
    assert not COURSE.design(*TWO, beta=20).scales.is_rising


def test_the_scale_that_is_written_is_among_those_tried():
    demand = Demand(target="0.7v_a", epsilon=0.105)
    report = Scenario(n=10).design("beta*mu_a", beta="3.04", demand=demand)
    assert report.output.within.lower == 1
    assert report.scales.most_often.found.lower == 1


def test_the_ceiling_encloses_its_limit():
    assert COURSE.design(*TWO, beta=20).scales.ceiling.contains(0.5 * math.erfc(-1.0))
