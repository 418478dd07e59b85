"""One query for two keys: if one key varies in length, the output swings between their values."""

import math
from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms import random_keys as theory
from regard.analysis.closed_forms.arithmetic import normal_tail
from regard.analysis.engines import Estimate, Probability, Variance, weight
from regard.analysis.engines.symbolic import identity, limit_identity, nonnegative
from regard.analysis.scenarios import one_head
from regard.claims._evidence import Evidence, in_balls
from regard.claims._random_keys import CONDITIONS, FAR, PARAMETERS, CourseSetting, compared, engine_methods
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Series

_NEAR_AN_ATOM = 0.1
_QUESTIONS = (
    Variance(of=weight("a")),
    Probability(of=weight("a"), at_most=_NEAR_AN_ATOM),
    Probability(of=weight("a"), at_least=1 - _NEAR_AN_ATOM),
)


def _by_algebra(trial: Trial) -> list[Evidence]:
    """With βγ = β + y, w_a = e^y/(e^y + e^ℓ), ℓ = log(1 + (n−2)e^{−β}), which lies between 0 and log(n−1)."""
    n, beta, y = trial.field(counts=("n",), exponentials=("beta", "y"))
    sigmoid = y.exp() / (y.exp() + theory.swing_offset(beta, n).exp())
    is_sigmoid = identity(theory.one_head_weight(beta + y, beta, n), sigmoid, "w_a = s(β(γ−1)−ℓ)")
    return [is_sigmoid, *_variance_parts(trial), *_atom_parts(trial)]


def _variance_parts(trial: Trial) -> list[Evidence]:
    """Var w = m(1−m) − D with m = E w and D = E w(1−w), for a sigmoid w = s(bZ−ℓ), b = βσ, Z standard normal.

    s(1−s) is the logistic density, and bZ has a density between (1 − y²/(2b²))/(b√(2π)) and 1/(b√(2π)), so
    D = (1 − θ(π²/3+ℓ²)/(2b²))/(b√(2π)) and m = ½ − ηℓ/(b√(2π)) with θ and η in [0, 1]. Here π²/3 = √(2π)⁴/12.
    """
    names = ("beta", "sigma", "l", "root", "1/theta-1", "1/eta-1")
    beta, sigma, offset, root, u, v = trial.field(*names, stream="variance")
    form, spread, theta, eta = trial.form, beta * sigma, 1 / (1 + u), 1 / (1 + v)
    mean = Fraction(1, 2) - eta * offset / (root * spread)
    loss = (1 - theta * (root**4 / 12 + offset**2) / (2 * spread**2)) / (root * spread)
    exact = mean * (1 - mean) - loss
    claimed, error = form.variance(beta, sigma, root), form.error(beta, sigma, offset, root)
    return [
        nonnegative(claimed + error - exact, "Var w_a ≤ ¼ − 1/(βσ√(2π)) + error"),
        nonnegative(exact - claimed + error, "Var w_a ≥ ¼ − 1/(βσ√(2π)) − error"),
        limit_identity(claimed, "beta", Fraction(1, 4), "Var w_a → ¼ as β → ∞"),
        limit_identity(error, "beta", 0, "error → 0 as β → ∞"),
    ]


def _atom_parts(trial: Trial) -> list[Evidence]:
    """w_a ≥ x exactly when bZ ≥ m + ℓ, m = log(x/(1−x)); as β → ∞ that tends to Z ≥ 0, for every x in (0, 1)."""
    beta, sigma, margin, offset = trial.field("beta", "sigma", "m", "l", stream="atoms")
    score = trial.form.score(margin, offset, beta, sigma)
    return [
        identity(-beta * sigma * score - offset, margin, "P(w_a ≥ x) = Φ(score)"),
        identity(score.limit("beta"), 0, "P(w_a ≥ x) → Φ(0) = ½ for 0 < x < 1"),
    ]


def _compared(trial: Trial, setting: CourseSetting, found: tuple[Estimate, ...]) -> list[Evidence]:
    """The variance and the probability near each end against the closed forms."""
    form, n, beta, sigma = trial.form, setting.n, setting.beta, setting.sigma
    offset = in_balls(theory.swing_offset, beta, n)
    root, margin = (2 * math.pi) ** 0.5, math.log(1 / _NEAR_AN_ATOM - 1)
    claimed = in_balls(form.variance, beta, sigma, root)
    error = in_balls(form.error, beta, sigma, offset, root)

    def above(threshold: float) -> float:
        return in_balls(lambda *scale: normal_tail(-form.score(*scale)), threshold, offset, beta, sigma)

    return [
        compared("Var w_a", claimed=claimed, found=found[0], slack=error, at=setting),
        compared(f"P(w_a ≤ {_NEAR_AN_ATOM:g})", claimed=1 - above(-margin), found=found[1], slack=1e-12, at=setting),
        compared(f"P(w_a ≥ {1 - _NEAR_AN_ATOM:g})", claimed=above(margin), found=found[2], slack=1e-12, at=setting),
    ]


def _figure(at: Settings) -> Chart:
    sigma, n = CourseSetting.of(at).sigma, float(at.n)
    start, middle = np.geomspace(5e-4, 0.05, 60), np.linspace(0.05, 0.95, 120)[1:-1]
    weights = np.concatenate([start, middle, 1 - start[::-1]])
    return Chart(
        title="A coin toss, not a mean",
        caption=f"The density of w_a under one head, n = {at.n:g}, σ² = {at.sigma2:g}. At soft scales it has one "
        "peak; as β grows all of it moves to the ends, and the output is v_a or v_b, almost never their mean.",
        x=Axis(label="weight w_a on a", lower=0.0, upper=1.0),
        y=Axis(label="density", lower=0.0, upper=4.0),
        series=[
            Series(
                label=f"β = {beta:g}",
                x=weights,
                y=theory.one_head_density(weights, beta, n, sigma),
                style="line" if place else "area",
            )
            for place, beta in enumerate((20.0, 5.0, 2.5))
        ],
    )


CLAIM = Claim(
    id="one-head-swings",
    section="2 random keys",
    statement="one head, q = β(μ_a+μ_b): as β→∞ w_a tends to a fair coin toss between 0 and 1, and "
    "Var w_a = ¼ − 1/(βσ√(2π)) + O(β⁻²) → ¼",
    latex=r"q=\beta(\mu_a+\mu_b):\quad w_a\to\mathrm{Bernoulli}(\tfrac12),\quad"
    r"\mathrm{Var}\,w_a=\tfrac14-\frac1{\beta\sigma\sqrt{2\pi}}+O(\beta^{-2})\to\tfrac14",
    expected="proved",
    parameters=PARAMETERS,
    conditions=CONDITIONS,
    assumes=(
        "1−t ≤ e^{−t} ≤ 1 for t ≥ 0",
        "the logistic density s(1−s) is symmetric, of mass 1 and second moment π²/3",
        "E s(bZ−ℓ) may be differentiated in ℓ under the expectation",
        "Φ is continuous",
        "0 ≤ log(1+(n−2)e^{−β}) ≤ log(n−1) for β ≥ 0",
    ),
    # Var w_a to first order with a bound on the error, and z with P(w_a ≥ x) = Φ(z).
    form=Form(variance=theory.swing_variance, error=theory.swing_error, score=theory.swing_score),
    near_misses=(
        NearMiss("Var w_a → ½", {"variance": lambda *at: 2 * theory.swing_variance(*at)}),
        NearMiss(
            "Var w_a ≈ ¼ − 1/(βσ²√(2π))",
            {"variance": lambda beta, sigma, root: theory.swing_variance(beta, sigma**2, root)},
        ),
        NearMiss("the error is a tenth of that", {"error": lambda *at: theory.swing_error(*at) / 10}),
        NearMiss(
            "w_a → 1 with probability Φ(1/σ)",
            {"score": lambda margin, offset, beta, sigma: (beta - margin - offset) / (beta * sigma)},
        ),
    ),
    methods={**engine_methods(one_head, lambda _: _QUESTIONS, _compared, scales=(None, FAR)), "algebra": _by_algebra},
    derivation="w_a = s(β(γ−1)−ℓ), s the sigmoid and ℓ = log(1+(n−2)e^{−β}) → 0. P(w_a ≥ x) = "
    "Φ(−(log(x/(1−x))+ℓ)/(βσ)) → ½ for every x between 0 and 1: all probability goes to the ends. "
    "Var w_a = m(1−m) − E w_a(1−w_a) with m = E w_a → ½, and w_a(1−w_a) is a logistic density of width 1/β, so its "
    "mean is about γ's density at 1, 1/(σ√(2π)), over β. The error is at most (π²/3+ℓ²)/(2√(2π)(βσ)³) + ℓ²/(2π(βσ)²). "
    "n = 10, σ² = ½: Var w_a = 0.149015, 0.222019, 0.238731 at β = 5, 20, 50, and at β = 20 P(|w_a−½| < 0.1) = 0.023: "
    "the output is almost never the mean. The order of limits matters: the other noise must vanish first (β√α → 0).",
    source="CS224N assignment 4, question 1(c)",
    figure=_figure,
    demonstration="swing?beta=20",
)
