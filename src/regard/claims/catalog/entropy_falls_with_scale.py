"""Scaling up the logits lowers the entropy, at the rate of the scale times the variance of the logits."""

import math

import numpy as np
from flint import acb, arb, ctx

from regard.analysis.closed_forms.softmax import entropy_slope
from regard.analysis.engines.symbolic import RationalFunction, identity, nonnegative
from regard.claims._evidence import Evidence, agreement
from regard.claims._figures import evenly
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer, real
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Series

_LARGEST_SCALE = 1e3
_PRECISION = 96
_NUM_RANDOM, _NUM_KEYS = 3, 5
_MOST_EVALUATIONS, _LARGEST_ERROR = 5000, 1e-9


def _by_algebra(trial: Trial) -> list[Evidence]:
    """S_k = Σ_i z_i^k e^{βz_i}, so dS_k/dβ = S_{k+1}; a = e^{βz}/S_0 and H = log S_0 − βS_1/S_0, for any n.

    One key has S_0S_2 − S_1² = 0. One more key of exponential w and logit z adds
    w(S_0S_2 − S_1² + (S_1 − zS_0)²)/S_0: zero if z equals all logits so far, and positive otherwise.
    """
    beta, zeroth, first, second, own, logit = trial.field("beta", "S0", "S1", "S2", "w", "z")
    scale, mean, variance = trial.field("beta", "mean", "variance", stream="sign")

    def change(element: RationalFunction) -> RationalFunction:
        by_sums = first * element.derivative("S0") + second * element.derivative("S1")
        return element.derivative("beta") + by_sums

    # log S_0 is not a rational function, but its derivative S_1/S_0 is.
    slope = first / zeroth - change(beta * first / zeroth)
    claimed = trial.form(beta, first / zeroth, second / zeroth)
    spread = zeroth * second - first**2
    wider = (zeroth + own) * (second + own * logit**2) - (first + own * logit) ** 2
    grown = own * (spread + (first - logit * zeroth) ** 2)
    return [
        identity(claimed, slope, "dH/dβ"),
        identity(zeroth * (wider - spread), grown, "one more key adds a square to S_0S_2 − S_1²"),
        nonnegative(-trial.form(scale, mean, mean**2 + variance), "H never rises with β ≥ 0"),
    ]


def _by_integration(trial: Trial) -> list[Evidence]:
    """H(β) = log n + ∫_0^β (dH/dt) dt in balls: for z = (1, 0, …, 0), and for random logits."""
    n, scale, rng = trial.at.n, min(trial.at.beta, _LARGEST_SCALE), trial.rng("logits")
    one_hot = [(1, 1.0), (n - 1, 0.0)]
    parts = [_integrated(trial, one_hot, scale, f"z = (1, 0, …, 0), n = {n:.12g}, β = {scale:g}")]
    for _ in range(_NUM_RANDOM):
        logits = [round(float(logit), 3) for logit in rng.normal(size=_NUM_KEYS)]
        beta = min(scale, 10.0)
        parts.append(_integrated(trial, [(1, logit) for logit in logits], beta, f"z = {logits}, β = {beta:g}"))
    return parts


def _integrated(trial: Trial, groups: list[tuple[int, float]], beta: float, at: str) -> Evidence:
    """Groups of equal logits are given as (how many, logit)."""

    def sums(t: acb) -> list[acb]:
        return [sum((count * acb(z) ** k * (t * (z - top)).exp() for count, z in groups), acb(0)) for k in range(3)]

    def slope(t: acb, _: bool) -> acb:
        zeroth, first, second = sums(t)
        return acb(trial.form(t, first / zeroth, second / zeroth))

    top = max(z for _, z in groups)
    with ctx.workprec(_PRECISION):
        start = arb(sum(count for count, _ in groups)).log()
        claimed = start + acb.integral(slope, 0, beta, eval_limit=_MOST_EVALUATIONS).real
        zeroth, first, _ = sums(acb(beta))
        entropy = (zeroth.log() + beta * (top - first / zeroth)).real
        error = float(claimed.rad()) + float(entropy.rad())
        if not error <= _LARGEST_ERROR:
            return Evidence(status="undecided", detail=f"no narrow enclosure of H at {at}")
        tolerance = 1e-12 * (1 + float(start.mid())) + error
        return agreement("H", claimed=float(claimed.mid()), found=float(entropy.mid()), tolerance=tolerance, at=at)


def _figure(at: Settings) -> Chart:
    scales, rng = evenly(at.beta, 0.0, 8.0, 120), np.random.default_rng(0)
    sizes = sorted({2, 8, int(min(max(at.n, 2), 256))})
    rows = {n: rng.normal(size=n) for n in sizes}
    return Chart(
        title="Sharper means fewer keys",
        caption="The entropy of softmax(βz) for random logits z, as a fraction of log n. It starts at 1, where all "
        "weights are equal, and only falls; it stays there only if all logits are equal.",
        x=Axis(label="scale β"),
        y=Axis(label="entropy / log n", lower=0.0, upper=1.05),
        series=[
            *(Series(label=f"n = {n}", x=scales, y=_entropies(scales, row) / math.log(n)) for n, row in rows.items()),
            Series(label="equal logits", x=scales, y=np.ones_like(scales), style="dashed"),
        ],
    )


def _entropies(scales: Float[np.ndarray, " point"], logits: Float[np.ndarray, " key"]) -> Float[np.ndarray, " point"]:
    scores = np.outer(scales, logits - logits.max())
    weights = np.exp(scores)
    totals = weights.sum(axis=1)
    return np.log(totals) - (weights * scores).sum(axis=1) / totals


CLAIM = Claim(
    id="entropy-falls-with-scale",
    section="7 softmax",
    statement="a = softmax(βz), entropy H = −Σ a_i log a_i: dH/dβ = −β·Var_a(z), Var_a the variance of the logits "
    "under the weights a; so H never rises with β ≥ 0, and falls from log n at β = 0 unless all logits are equal",
    latex=r"a=\mathrm{softmax}(\beta z),\ H=-\sum_ia_i\log a_i:\quad"
    r"\frac{dH}{d\beta}=-\beta\,\mathrm{Var}_a(z)\le0\quad(\beta\ge0)",
    expected="proved",
    parameters=(integer("n", 10, lower=2), real("beta", 1.0, lower=0)),
    conditions=("finite logits",),
    form=entropy_slope,
    near_misses=(
        NearMiss("dH/dβ = −Var_a(z)", lambda beta, m, s: m**2 - s + 0 * beta),
        NearMiss("dH/dβ = −β·E_a z²", lambda beta, m, s: -beta * s + 0 * m),
        NearMiss("dH/dβ = −β²·Var_a(z)", lambda beta, m, s: beta**2 * (m**2 - s)),
    ),
    methods={"certified": _by_integration, "algebra": _by_algebra},
    derivation="log a_i = βz_i − K with K(β) = log Σ e^{βz_i}, so H = K − βK′, and H′ = −βK″; K″ is the variance of z "
    "under a. n keys, z = (1, 0, …, 0): at n = 10 H falls from log 10 = 2.302585 to 2.2291808551 at β = 1. "
    "Integrating the slope from 0 in ball arithmetic gives the same number.",
    source="exponential families: Wainwright and Jordan 2008, Graphical models, exponential families, and variational "
    "inference, section 3",
    figure=_figure,
)
