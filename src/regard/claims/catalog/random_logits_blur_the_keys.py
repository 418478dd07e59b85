"""Independent Gaussian logits: how much entropy they leave, and how many keys they really look at."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, arb, ctx

from regard.analysis.closed_forms.arithmetic import exp, log
from regard.analysis.closed_forms.sharpness import gaussian_effective_share, gaussian_entropy_loss
from regard.attention import masked_softmax
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import softmax
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_NUM_KEYS, _NUM_ROWS = 4096, 48
# Wider logits are carried by a few keys out of 4096, so that draws say little about the limit.
_WIDEST = 1.0
# In units of the standard error of 48 rows; with the room for finite n a false alarm is rarer than one in a million.
_STANDARD_ERRORS = 7.0


@dataclass(frozen=True, kw_only=True)
class Blur:
    """The limits of log n − H and of 1/(n·Σ a_i²), as functions of the logits' variance."""

    loss: Callable[[Any], Any] = gaussian_entropy_loss
    share: Callable[[Any], Any] = gaussian_effective_share


def _by_moments(trial: Trial) -> Evidence:
    """Sums over n keys become n times expectations: M_k = E z^k e^z and E e^{2z}, each an enclosed integral."""
    width, at = trial.at.b, f"b = {trial.at.b:g}"
    with ctx.workprec(96):
        zeroth, first = (_expectation(width, lambda z, k=k: z**k * z.exp()) for k in (0, 1))
        square = _expectation(width, lambda z: (2 * z).exp())
        # H − log n = log(S_0/n) − S_1/S_0 and n·Σa² = n·Σe^{2z}/S_0².
        loss, share = first / zeroth - zeroth.log(), zeroth**2 / square
        found = [(float(ball.mid()), float(ball.rad())) for ball in (loss, share)]
    return _compared(trial, "certified", width, found, at=at)


def _expectation(width: float, function: Callable[[acb], acb]) -> arb:
    """E f(bZ) over |Z| ≤ 30; with b ≤ 3 what is left out is below e^{−300}."""

    def density(z: acb, _: bool) -> acb:
        return function(width * z) * (-z * z / 2).exp()

    return acb.integral(density, -30, 30).real / (2 * arb.pi()).sqrt()


def _by_sampling(trial: Trial) -> Evidence:
    """Rows of 4096 logits each; finite n moves the means by a relative e^{4b²}/n or less."""
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
    thinned = "" if width == trial.at.b else f" (thinned from b = {trial.at.b:g})"
    return _compared(trial, "sampling", width, found, at=f"b = {width:g}{thinned}, {_NUM_ROWS} rows of n = {_NUM_KEYS}")


def _compared(trial: Trial, route: str, width: float, found: list[tuple[float, float]], *, at: str) -> Evidence:
    names, forms = ("log n − H", "1/(n·Σa²)"), (trial.form.loss, trial.form.share)
    return all_parts(
        route,
        [
            agreement(
                name,
                claimed=in_balls(form, width**2),
                at=at,
                route=route,
                measured=Measured(value=value, tolerance=tolerance + 1e-13),
            )
            for name, form, (value, tolerance) in zip(names, forms, found, strict=True)
        ],
    )


CLAIM = Claim(
    id="random-logits-blur-the-keys",
    section="7 softmax",
    statement="n iid N(0, b²) logits, n → ∞: the entropy of their softmax is log n − b²/2, and the effective number of "
    "keys 1/Σ a_i² is n·e^{−b²}",
    latex=r"z_i\sim N(0,b^2):\quad H-\log n\xrightarrow{n\to\infty}-\tfrac{b^2}2,\qquad"
    r"\frac1n\Big(\sum_ia_i^2\Big)^{-1}\xrightarrow{n\to\infty}e^{-b^2}",
    expected="holds",
    parameters=(Parameter(name="b", default=1.0, lower=0, upper=3, is_open=True),),
    conditions=("iid logits",),
    assumes=("the law of large numbers",),
    form=Blur(),
    rivals=(
        Rival(
            statement="the effective number of keys 1/Σ a_i² is n·e^{−b²/2}, as e^H is",
            form=Blur(share=lambda variance: exp(-variance / 2)),
        ),
        Rival(
            statement="the entropy is log n − b², as the exponent of the effective number says",
            form=Blur(loss=lambda variance: variance),
        ),
        Rival(statement="the entropy is log n − ½log(1+b²)", form=Blur(loss=lambda variance: log(1 + variance) / 2)),
    ),
    routes=(_by_moments, _by_sampling),
    figure=softmax.blur,
    derivation="Sums over keys tend to n times expectations: Σe^z ≈ n·e^{b²/2}, Σz·e^z ≈ n·b²e^{b²/2}, "
    "Σe^{2z} ≈ n·e^{2b²}. So H = log Σe^z − Σz·e^z/Σe^z ≈ log n + b²/2 − b², and Σa² ≈ e^{b²}/n. "
    "b = 1, n = 4096: log n − H = 0.5002 and 0.370·n effective keys. It takes n much larger than e^{4b²}: with b = 3 "
    "a handful of keys carries a softmax over thousands.",
    source="random energy model at high temperature: Derrida 1981, Random-energy model",
)
