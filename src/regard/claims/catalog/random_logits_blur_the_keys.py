"""Independent Gaussian logits: how much entropy they cost, and how many keys they effectively use."""

import math
from collections.abc import Callable

import numpy as np
from flint import acb, arb, ctx

from regard.analysis.closed_forms.arithmetic import exp, log
from regard.analysis.closed_forms.softmax import gaussian_effective_share, gaussian_entropy_loss
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, agreement, in_balls
from regard.claims._figures import evenly
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, real
from regard.render.figures import Axis, Chart, Series

_NUM_KEYS, _NUM_ROWS = 4096, 48
# With more widely spread logits a few keys out of 4096 dominate, and draws say little about the limit.
_WIDEST = 1.0
# Seven standard errors of 48 rows, and the allowance for finite n, make a false alarm rarer than one in a million.
_STANDARD_ERRORS = 7.0


def _by_moments(trial: Trial) -> list[Evidence]:
    """Sums over n keys become n times expectations: M_k = E z^k e^z and E e^{2z}, each an enclosed integral."""
    width = trial.at.b
    with ctx.workprec(96):
        zeroth, first = (_expectation(width, lambda z, k=k: z**k * z.exp()) for k in (0, 1))
        square = _expectation(width, lambda z: (2 * z).exp())
        # H − log n = log(S_0/n) − S_1/S_0 and n·Σa² = n·Σe^{2z}/S_0².
        loss, share = first / zeroth - zeroth.log(), zeroth**2 / square
        found = [(float(ball.mid()), float(ball.rad())) for ball in (loss, share)]
    return _compared(trial, width, found, at=f"b = {width:g}")


def _expectation(width: float, function: Callable[[acb], acb]) -> arb:
    """E f(bZ) over |Z| ≤ 30; with b ≤ 3 the rest is below e^{−300}."""

    def density(z: acb, _: bool) -> acb:
        return function(width * z) * (-z * z / 2).exp()

    return acb.integral(density, -30, 30).real / (2 * arb.pi()).sqrt()


def _by_sampling(trial: Trial) -> list[Evidence]:
    """Rows of 4096 logits each; finite n changes the means by a relative e^{4b²}/n at most."""
    width = min(trial.at.b, _WIDEST)
    logits = width * trial.rng("logits").normal(size=(_NUM_ROWS, _NUM_KEYS))
    weights = masked_softmax(logits)
    losses = math.log(_NUM_KEYS) + (weights * np.log(weights)).sum(axis=1)
    shares = 1 / (_NUM_KEYS * (weights**2).sum(axis=1))
    room = math.exp(4 * width**2) / _NUM_KEYS
    found = []
    for numbers in (losses, shares):
        mean, error = float(numbers.mean()), float(numbers.std(ddof=1)) / math.sqrt(_NUM_ROWS)
        found.append((mean, _STANDARD_ERRORS * error + room * mean))
    note = "" if width == trial.at.b else f" (reduced from b = {trial.at.b:g})"
    return _compared(trial, width, found, at=f"b = {width:g}{note}, {_NUM_ROWS} rows of n = {_NUM_KEYS}")


def _compared(trial: Trial, width: float, found: list[tuple[float, float]], *, at: str) -> list[Evidence]:
    names, forms = ("log n − H", "1/(n·Σa²)"), (trial.form.loss, trial.form.share)
    return [
        agreement(name, claimed=in_balls(form, width**2), found=value, tolerance=tolerance + 1e-13, at=at)
        for name, form, (value, tolerance) in zip(names, forms, found, strict=True)
    ]


def _figure(at: Settings) -> Chart:
    spreads, logits = evenly(at.b, 0.0, 3.0, 31), np.random.default_rng(0).normal(size=65_536)
    rows = (np.exp(spread * (logits - logits.max())) for spread in spreads)
    found = [float(row.sum() ** 2 / (row**2).sum() / len(row)) for row in rows]
    return Chart(
        title="Random logits waste keys",
        caption="The effective fraction of keys under random logits of standard deviation b, 1/(n Σ a_i²), and the "
        "entropy that is lost. Points: 65536 drawn logits, which deviate where rare large logits matter.",
        x=Axis(label="standard deviation b of the logits"),
        y=Axis(label="fraction, or nats", lower=0.0),
        series=(
            Series(label="effective fraction e^{−b²}", x=spreads, y=gaussian_effective_share(spreads**2)),
            Series(label="entropy lost b²/2", x=spreads, y=gaussian_entropy_loss(spreads**2)),
            Series(label="drawn", x=spreads, y=found, style="points"),
        ),
    )


CLAIM = Claim(
    id="random-logits-blur-the-keys",
    section="7 softmax",
    statement="n iid N(0, b²) logits, n → ∞: the entropy of their softmax is log n − b²/2, and the effective number of "
    "keys 1/Σ a_i² is n·e^{−b²}",
    latex=r"z_i\sim N(0,b^2):\quad H-\log n\xrightarrow{n\to\infty}-\tfrac{b^2}2,\qquad"
    r"\frac1n\Big(\sum_ia_i^2\Big)^{-1}\xrightarrow{n\to\infty}e^{-b^2}",
    expected="holds",
    parameters=(real("b", 1.0, lower=0, upper=3, is_open=True),),
    conditions=("iid logits",),
    assumes=("the law of large numbers",),
    # The limits of log n − H and of 1/(n·Σ a_i²), as functions of the logits' variance.
    form=Form(loss=gaussian_entropy_loss, share=gaussian_effective_share),
    near_misses=(
        NearMiss(
            "the effective number of keys 1/Σ a_i² is n·e^{−b²/2}, as e^H is",
            {"share": lambda variance: exp(-variance / 2)},
        ),
        NearMiss(
            "the entropy is log n − b², as the exponent of the effective number says",
            {"loss": lambda variance: variance},
        ),
        NearMiss("the entropy is log n − ½log(1+b²)", {"loss": lambda variance: log(1 + variance) / 2}),
    ),
    methods={"certified": _by_moments, "sampling": _by_sampling},
    derivation="Sums over keys tend to n times expectations: Σe^z ≈ n·e^{b²/2}, Σz·e^z ≈ n·b²e^{b²/2}, "
    "Σe^{2z} ≈ n·e^{2b²}. So H = log Σe^z − Σz·e^z/Σe^z ≈ log n + b²/2 − b², and Σa² ≈ e^{b²}/n. "
    "b = 1, n = 4096: log n − H = 0.5002 and 0.370·n effective keys. It takes n much larger than e^{4b²}: with b = 3 "
    "a handful of keys dominate a softmax over thousands.",
    source="random energy model at high temperature: Derrida 1981, Random-energy model",
    figure=_figure,
)
