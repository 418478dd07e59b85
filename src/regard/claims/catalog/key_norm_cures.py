"""Dividing keys by their norm leaves only their sign random."""

import math

import numpy as np

from regard.analysis.closed_forms.random_keys import normalized_limit, normalized_variance
from regard.analysis.closed_forms.softmax import average_weight
from regard.analysis.engines import Estimate, Variance, weight
from regard.analysis.scenarios import GAMMA_POSITIVE, one_head
from regard.claims import _random_keys as course
from regard.claims._evidence import Evidence, agreement, in_balls
from regard.claims._figures import around
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Guide, Series

_QUESTIONS = (Variance(of=weight("a")), Variance(of=weight("a"), given=GAMMA_POSITIVE))


def _compared(trial: Trial, setting: course.CourseSetting, found: tuple[Estimate, ...]) -> list[Evidence]:
    claimed = in_balls(trial.form.variance, setting.beta, setting.n, setting.sigma)
    return [
        course.compared("Var w_a", claimed=claimed, found=found[0], slack=1e-13 * claimed, at=setting),
        course.compared("Var(w_a | γ > 0)", claimed=0.0, found=found[1], at=setting),
    ]


def _by_enclosure(trial: Trial) -> list[Evidence]:
    """Two atoms, γ = 1 and γ = −1, at the given scale and at β = 1; then the limit, where e^{−β}n is negligible."""
    parts = []
    for setting in (course.CourseSetting.of(trial.at), course.CourseSetting.of(trial.at, beta=1.0)):
        found = setting.certified(one_head, _QUESTIONS, is_normalized=trial.form.is_normalized)
        parts += _compared(trial, setting, found)
    far = course.CourseSetting.of(trial.at, beta=100 + 2 * math.log(trial.at.n))
    value, claimed = in_balls(trial.form.variance, far.beta, far.n, far.sigma), in_balls(trial.form.limit, far.sigma)
    limit = agreement("limit of Var w_a", claimed=claimed, found=value, tolerance=1e-13 * value, at=str(far))
    return [*parts, limit]


def _by_direct_sampling(trial: Trial) -> list[Evidence]:
    """Whole keys, drawn and divided by their norms."""
    setting, is_normalized = course.CourseSetting.of(trial.at).with_few_keys, trial.form.is_normalized
    found = setting.sampled_directly(one_head, _QUESTIONS, seed=trial.seed, is_normalized=is_normalized)
    return _compared(trial, setting, found)


def _figure(at: Settings) -> Chart:
    scales, setting = around(at.beta, 0.2, 200.0, course.NUM_POINTS), course.CourseSetting.of(at)
    [plain] = course.certified_curves(at, scales, one_head, (Variance(of=weight("a")),))
    limit, fine = float(normalized_limit(setting.sigma)), np.geomspace(scales[0], scales[-1], 90)
    normalized = normalized_variance(np.minimum(fine, 300.0), float(at.n), setting.sigma)
    return Chart(
        title="Length is cured, direction is not",
        caption=f"One head's variance of w_a, n = {at.n:g}, σ² = {at.sigma2:g}, with keys as they are and divided by "
        "their norm. The variance that remains comes from keys that point backwards.",
        x=course.SCALE_AXIS,
        y=Axis(label="variance of w_a", lower=0.0),
        series=(
            course.smooth_series("keys as they are", scales, plain),
            Series(label="keys divided by their norm", x=fine, y=normalized),
        ),
        guides=(Guide(at=limit, label=f"Φ(1/σ)Φ(−1/σ)/4 = {limit:.4f}"),),
    )


CLAIM = Claim(
    id="key-norm-cures",
    section="3 two heads",
    statement="normalizing keys (k/‖k‖, not the query) makes γ = ±1: given γ > 0 one head is exactly steady, and "
    "without that condition Var w_a = Φ(1/σ)Φ(−1/σ)(w₊−w₋)² → Φ(1/σ)Φ(−1/σ)/4 as β→∞, the two-head limit",
    latex=r"k/\|k\|:\quad\mathrm{Var}(w_a\mid\gamma>0)=0,\quad\mathrm{Var}\,w_a=\Phi(1/\sigma)\Phi(-1/\sigma)(w_+-w_-)^2"
    r"\xrightarrow{\beta\to\infty}\tfrac14\Phi(1/\sigma)\Phi(-1/\sigma)",
    expected="holds",
    parameters=course.PARAMETERS,
    conditions=course.CONDITIONS,
    # One head's Var w_a as a function of β, n, σ, its limit as β → ∞, and whether keys are normalized at all.
    form=Form(variance=normalized_variance, limit=normalized_limit, is_normalized=True),
    near_misses=(
        NearMiss("Var w_a → 0 even without the condition", {"limit": lambda sigma: 0 * sigma}),
        NearMiss(
            "Var w_a → Φ(1/σ)Φ(−1/σ), that of head 1's own weight", {"limit": lambda sigma: 4 * normalized_limit(sigma)}
        ),
        NearMiss(
            "a key that points backwards gets nothing at any β",
            {"variance": lambda beta, n, sigma: 4 * normalized_limit(sigma) * average_weight(beta, n) ** 2},
        ),
        NearMiss("given γ > 0 one head is steady without normalizing", {"is_normalized": False}),
    ),
    methods={"certified": _by_enclosure, "direct": _by_direct_sampling},
    derivation="k_a/‖k_a‖ = sign(γ)μ_a. With γ > 0 w_a = w₊ = e^β/(2e^β+n−2) with certainty; with γ < 0, which has "
    "probability Φ(−1/σ), w_a = w₋ = e^{−β}/(e^{−β}+e^β+n−2). A two-point distribution has variance p(1−p)(w₊−w₋)². "
    "σ² = ½: 0.0171745122 at n = 10, β = 5, and Φ(√2)Φ(−√2)/4 = 0.01811596085 in the limit, against 0.222 at β = 20 "
    "without normalizing. Length is cured, direction is not.",
    source="CS224N assignment 4, question 1(d); Henry et al. 2020, query-key normalization",
    figure=_figure,
    demonstration="swing?beta=20&isNormalized=1&isPositive=1",
)
