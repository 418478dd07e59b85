"""Figures of claims: each can be drawn at the edges of its domain, quickly, and shows what the claim says."""

import time
from contextlib import suppress

import numpy as np
import pytest

from regard.claims import all_claims
from regard.claims._figures import smoothed
from regard.claims.catalog.more_heads_always_better import CROSSOVERS
from regard.claims.claim import settings
from regard.core.errors import RegardError
from regard.render.charts import draw_figure
from regard.render.figures import HeatMap

CLAIMS = all_claims()
each_figure = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
EXTREMES = (0.001, 50.0, 1e300)


def figure_of(name: str, **overrides: float):
    return CLAIMS[name].figure(settings(CLAIMS[name].parameters, overrides))


def curve(name: str, label: str, **overrides: float) -> tuple[np.ndarray, np.ndarray]:
    found = next(series for series in figure_of(name, **overrides).series if series.label == label)
    return np.asarray(found.x, dtype=float), np.asarray(found.y, dtype=float)


@each_figure
def test_a_figure_is_drawn_at_any_numbers_in_the_domain(claim):
    for value in EXTREMES:
        at = settings(claim.parameters, dict(_taken(claim.parameters, value)))
        assert draw_figure(claim.figure(at)).endswith("</figure>")


def _taken(parameters, value):
    """The parameters whose domain the value lies in, with the value."""
    for parameter in parameters:
        with suppress(RegardError):
            yield parameter.name, parameter.check(value)


@each_figure
def test_a_figure_is_quick_and_says_what_is_to_be_seen(claim):
    at = settings(claim.parameters, {})
    claim.figure(at)
    start = time.process_time()
    figure = claim.figure(at)
    # A fifth of a second without the signatures that tests execute.
    assert time.process_time() - start < 1.0
    assert figure.title
    assert len(figure.caption) > 40


@pytest.mark.parametrize("n", [3, 10, 100])
def test_the_errors_cross_where_the_claim_says(n):
    [guide] = figure_of("more-heads-always-better", n=n).guides
    assert guide.at == pytest.approx(CROSSOVERS[n], rel=1e-3)


def test_the_reliability_stays_below_its_ceiling():
    _, chances = curve("reliability-ceiling", "n = 10")
    ceiling = figure_of("reliability-ceiling").guides[0].at
    assert chances.max() < ceiling == pytest.approx(0.92135, abs=1e-5)


def test_one_heads_density_is_a_bathtub_and_integrates_to_one_with_its_ends():
    x, density = curve("one-head-swings", "β = 2.5")
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.01)
    x, density = curve("one-head-swings", "β = 20")
    assert density[len(x) // 2] < density[0]


def test_bins_hold_all_of_the_probability():
    for label in ("one head", "two heads"):
        _, chances = curve("two-heads-steady", label)
        assert chances.sum() == pytest.approx(1.0, abs=1e-9)


def test_the_same_head_twice_is_one_head():
    x, once = curve("identical-heads", "one head")
    places, twice = curve("identical-heads", "the same head twice")
    assert np.interp(places, x, once) == pytest.approx(twice, rel=1e-6)


def test_only_a_causal_mask_leaves_a_stripe_and_nothing_is_left_without_one():
    causal, plain = (
        np.asarray(figure_of(name).values) for name in ("causal-breaks-equivariance", "permutation-equivariance")
    )
    assert (causal > -8).any()
    assert (causal[:-1, -1] < -12).all()
    assert (plain < -12).all()


def test_scores_that_slide_agree():
    x, here = curve("rope-relative", "t₂ = 0")
    places, far = curve("rope-relative", "t₂ = 1000")
    assert np.interp(places, x, here) == pytest.approx(far, abs=1e-9)


def test_heat_maps_of_products_are_toeplitz():
    figure = figure_of("sinusoid-dot-is-relative")
    assert isinstance(figure, HeatMap)
    values = np.asarray(figure.values)
    assert np.abs(values[1:, 1:] - values[:-1, :-1]).max() < 1e-12


def test_a_smooth_curve_goes_through_its_points_and_invents_no_wiggle():
    x, y = np.geomspace(1.0, 1e4, 9), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.2, 0.1])
    fine_x, fine_y = smoothed(x, y, steps=10)
    assert fine_y[::10] == pytest.approx(y)
    assert fine_x[::10] == pytest.approx(x)
    assert fine_y.min() > -0.01
    assert fine_y.max() < 1.01


def test_a_slope_of_softmax_is_that_of_its_jacobian():
    leads, slopes = curve("softmax-is-half-lipschitz", "n = 4")
    for place in (0, 40, 66, 90):
        weights = np.exp([leads[place], 0.0, 0.0, 0.0])
        weights /= weights.sum()
        jacobian = np.diag(weights) - np.outer(weights, weights)
        assert slopes[place] == pytest.approx(np.linalg.norm(jacobian, 2))
    assert max(curve("softmax-is-half-lipschitz", "n = 2")[1]) == pytest.approx(0.5)


def test_a_window_is_as_wide_as_the_claim_says():
    needed = np.asarray(figure_of("windows-reach-this-far", layers=3, window=4).values)
    assert np.isfinite(needed[-1]).sum() == 3 * (4 - 1) + 1
    assert needed[-1][np.isfinite(needed[-1])].max() == 3


def test_the_last_bucket_begins_where_its_rule_stands():
    distances, buckets = curve("t5-buckets-are-far-sighted-alike", "bucket")
    [guide] = figure_of("t5-buckets-are-far-sighted-alike").guides
    assert guide.at == 113
    assert (buckets[distances >= 113] == 31).all()
    assert buckets[distances < 113].max() < 31


def test_a_turned_key_scores_highest_at_its_own_distance():
    distances, scores = curve("rope-only-favours-near-keys", "k = R_12 q")
    assert distances[scores.argmax()] == 12


def test_formats_end_where_their_exponentials_do():
    levels, found = curve("maximum-need-not-be-subtracted", "float32")
    ends = levels[np.isfinite(found)]
    assert -105 < ends.min() < -85
    assert 80 < ends.max() < 90


def test_distances_come_nearest_at_the_convergents_of_pi():
    numbers, angles = curve("planes-tell-far-distances-apart", "least angle")
    assert angles[numbers == 8] == pytest.approx(2 * np.pi - 6)
    assert angles[-1] == pytest.approx(abs(710 - 226 * np.pi))


def test_softmax_has_more_singular_values_than_its_logits():
    logits = curve("attention-rank-is-head-width", "logits QKᵀ")[1]
    weights = curve("attention-rank-is-head-width", "weights softmax(QKᵀ)")[1]
    assert np.isfinite(logits).sum() == 1 < np.isfinite(weights).sum()
    shared, own = (curve("shared-keys-bound-the-rank", label)[1] for label in ("shared keys", "separate keys"))
    assert (np.isfinite(shared).sum(), np.isfinite(own).sum()) == (3, 12)


def test_the_raised_base_keeps_the_fastest_pair_and_slows_the_last():
    slower = curve("ntk-keeps-the-fastest-pair", "NTK-aware")[1]
    assert slower[0] == pytest.approx(1)
    assert slower[-1] == pytest.approx(8)
    slower = curve("yarn-keeps-fast-pairs", "YaRN")[1]
    assert (slower[0], slower[-1]) == (pytest.approx(1), pytest.approx(16))
