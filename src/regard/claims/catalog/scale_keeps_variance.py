"""Dividing scores by √d keeps their variance at 1, whatever the width."""

import math

import numpy as np

from regard.analysis.closed_forms.softmax import score_variance
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, agreement
from regard.claims._figures import counts, guide_at
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Series

# A sample variance is close to normal, so a tolerance of ten standard errors makes a false alarm rarer than one run in
# a billion; half or double the variance is still detected.
_STANDARD_ERRORS = 10.0
_MOST_NUMBERS, _MOST_WIDTH = 1_000_000, 256


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Var Σ_i k_i q_i = d·Var(k_1 q_1) + d(d−1)·Cov(k_1 q_1, k_2 q_2), from moments alone.

    Entries have mean μ and second moment μ²+1; if q = k the fourth moment enters, which for Gaussians is μ⁴+6μ²+3.
    """
    [d], form, mean = trial.field(counts=("d",)), trial.form, trial.form.mean
    second, fourth = mean**2 + 1, mean**4 + 6 * mean**2 + 3
    if form.is_query_the_key:
        product, square, cross = second, fourth, second**2
    else:
        product, square, cross = mean * mean, second * second, (mean * mean) ** 2
    variance = d * (square - product**2) + d * (d - 1) * (cross - product**2)
    return [
        identity(form.variance(d), variance, "Var(kᵀq)"),
        identity(variance / form.divisor_squared(d), 1, "Var(kᵀq/√d)"),
    ]


def _by_sampling(trial: Trial) -> list[Evidence]:
    """Sample variances for Gaussian entries, signs and biased coins, each with its standard error."""
    form, d, parts = trial.form, min(trial.at.d, _MOST_WIDTH), []
    num_draws = min(_MOST_NUMBERS // d, 20_000)
    for law in ("Gaussian",) if form.is_query_the_key else ("Gaussian", "signs", "coins"):
        rng = trial.rng(law)
        keys = _entries(law, (num_draws, d), rng) + form.mean
        queries = keys if form.is_query_the_key else _entries(law, (num_draws, d), rng) + form.mean
        found, error = _sample_variance((keys * queries).sum(axis=1))
        divisor, at = float(form.divisor_squared(d)), f"d = {d}, {num_draws} draws, entries: {law}"
        claimed, tolerance = float(form.variance(d)), _STANDARD_ERRORS * error
        parts += [
            agreement("Var(kᵀq)", claimed=claimed, found=found, tolerance=tolerance, at=at),
            agreement("Var(kᵀq/√d)", claimed=1.0, found=found / divisor, tolerance=tolerance / divisor, at=at),
        ]
    return parts


def _entries(law: str, shape: tuple[int, int], rng: np.random.Generator) -> Float[np.ndarray, "batch width"]:
    """Entries of mean 0 and variance 1."""
    if law == "Gaussian":
        return rng.normal(size=shape)
    chance = 0.5 if law == "signs" else 0.2
    return ((rng.random(size=shape) < chance) - chance) / math.sqrt(chance * (1 - chance))


def _sample_variance(scores: Float[np.ndarray, " batch"]) -> tuple[float, float]:
    """The sample variance s² and its standard error √((m₄−s⁴)/N + 2s⁴/(N(N−1))), m₄ the sample's fourth moment."""
    count, centred = len(scores), scores - scores.mean()
    variance = float(np.sum(centred**2) / (count - 1))
    excess = max(float(np.mean(centred**4)) - variance**2, 0.0)
    return variance, math.sqrt(excess / count + 2 * variance**2 / (count * (count - 1)))


def _figure(at: Settings) -> Chart:
    widths = counts(1, 4096)
    plain = np.sqrt(score_variance(widths))
    return Chart(
        title="Why scores are divided by √d",
        caption="The standard deviation of kᵀq for independent entries of variance 1. Undivided it grows with the "
        "width until softmax is nearly one-hot; divided by √d it stays at 1; divided by d it vanishes.",
        x=Axis(label="width d", is_log=True),
        y=Axis(label="standard deviation", is_log=True),
        series=(
            Series(label="kᵀq", x=widths, y=plain),
            Series(label="kᵀq/√d", x=widths, y=plain / np.sqrt(widths)),
            Series(label="kᵀq/d", x=widths, y=plain / widths, style="dashed"),
        ),
        guides=guide_at(at.d, f"d = {at.d:g}", widths),
    )


CLAIM = Claim(
    id="scale-keeps-variance",
    section="1 retrieval",
    statement="q independent of k, iid entries of mean 0 and variance 1: Var(kᵀq) = d and Var(kᵀq/√d) = 1",
    latex=r"\mathrm{Var}(k^\top q)=d,\qquad\mathrm{Var}\!\left(k^\top q/\sqrt d\right)=1",
    expected="proved",
    parameters=(integer("d", 64, lower=1),),
    conditions=("q independent of k", "iid entries of mean 0 and variance 1"),
    # Var(kᵀq) as a function of d, the square of the divisor that makes it 1, and what is assumed of k and q.
    form=Form(variance=score_variance, divisor_squared=lambda d: d, mean=0, is_query_the_key=False),
    near_misses=(
        NearMiss("entries of mean 1 work as well (they give 3d)", {"mean": 1}),
        NearMiss("q = k Gaussian works as well (it gives 2d)", {"is_query_the_key": True}),
        NearMiss("dividing by d makes the variance 1", {"divisor_squared": lambda d: d * d}),
        NearMiss("Var(kᵀq) = d²", {"variance": lambda d: d * d}),
    ),
    methods={"sampling": _by_sampling, "algebra": _by_algebra},
    derivation="Each product k_i q_i has mean 0 and variance E k_i² E q_i² = 1, and products of different entries are "
    "uncorrelated, so the sum of d of them has variance d; dividing by √d divides it by d. "
    "With means 1 a product has variance 2·2 − 1 = 3; with q = k Gaussian it is k_i², of variance 3 − 1 = 2.",
    source="Vaswani et al. 2017, Attention is all you need, footnote 4",
    figure=_figure,
)
