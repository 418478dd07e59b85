"""Logits that grow with log n keep one key ahead of ever more others, or just not, or not at all."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.sharpness import log_scaled_weight
from regard.analysis.engines.symbolic import Field, RationalFunction, identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._comparisons import Measured, agreement, all_parts, of_smaller_case
from regard.claims._retrieval import counted, rounding, tempered, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import softmax
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_KEYS = 4096
# n^{|sΔ−1|} where the limit is looked at, and the largest log n that balls are asked to follow.
_FAR, _LARGEST_LOG = 60.0, 1e6


@dataclass(frozen=True, kw_only=True)
class LogScaling:
    """a_j as a function of n^{sΔ} and n, and its limits as n → ∞ where sΔ is above, at and below 1."""

    weight: Callable[[Any, Any], Any] = log_scaled_weight
    above: Fraction = Fraction(1)
    critical: Fraction = Fraction(1, 2)
    below: Fraction = Fraction(0)


def _by_algebra(trial: Trial) -> Evidence:
    """n^{sΔ} = n·E, E = n^{sΔ−1}: E → ∞ above sΔ = 1, E = 1 at it, and E = 1/F with F → ∞ below it.

    Bounds that depend on E or F alone carry the limits over from E and F to n: 1/(1+E) and 1/(1+F/2).
    """
    field, rng, form = Field("E", "F", counts=("n", "n-2")), trial.rng("algebra"), trial.form
    large, shrink, n, m = (field[name] for name in ("E", "F", "n", "n-2"))
    one, softmax = field.constant(1), n * large / (n * large + (n - 1))

    def weight(growth: RationalFunction | int) -> RationalFunction:
        return softmax.substitute(n=m + 2, E=growth)

    excess, share = 1 / (1 + large), 1 / (1 + shrink / 2)
    return all_parts(
        "algebra",
        [
            identity(form.weight(n * large, n), softmax, rng=rng, what="a_j = n^{sΔ}/(n^{sΔ}+n−1)"),
            nonnegative(excess - (1 - weight(large)), rng=rng, what="1−a_j ≤ 1/(1+n^{sΔ−1})"),
            identity(1 - excess.limit("E"), one * form.above, rng=rng, what="limit of a_j where sΔ > 1"),
            identity(weight(1).limit("n-2"), one * form.critical, rng=rng, what="limit of a_j where sΔ = 1"),
            nonnegative(share - weight(1 / shrink), rng=rng, what="a_j ≤ 1/(1+½n^{1−sΔ})"),
            identity(share.limit("F"), one * form.below, rng=rng, what="limit of a_j where sΔ < 1"),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """The softmax of n logits, one of them ahead; and the closed form at an n where it is at its limit."""
    n, product = thinned(trial.at.n, _MOST_KEYS), tempered(trial.at.s * trial.at.margin)
    logits = np.zeros((1, n))
    logits[0, 0] = scale = product * math.log(n)
    at = f"{counted(trial.at.n, _MOST_KEYS)}, sΔ = {product:g}"
    with ctx.workprec(128):
        claimed = float(arb(trial.form.weight(arb(scale).exp(), arb(n))))
    found = Measured(value=float(masked_softmax(logits)[0, 0]), tolerance=rounding(n, scale))
    here = agreement("a_j", claimed=claimed, measured=found, at=at, route="brute force")
    parts = all_parts("brute force", [here, _limit_part(trial, product)])
    return of_smaller_case(parts, tried=n, asked=trial.at.n)


def _limit_part(trial: Trial, product: float) -> Evidence:
    """Within n^{−|sΔ−1|} of a limit, or within 1/n where sΔ = 1."""
    excess, form = product - 1, trial.form
    log_n = min(_FAR / abs(excess), _LARGEST_LOG) if excess else _FAR
    limit = form.critical if not excess else form.above if excess > 0 else form.below
    with ctx.workprec(256):
        value = float(arb(form.weight((product * arb(log_n)).exp(), arb(log_n).exp())))
    tolerance = 2 * math.exp(-abs(excess) * log_n if excess else -log_n) + 1e-15
    return agreement(
        "a_j far out",
        claimed=float(limit),
        measured=Measured(value=value, tolerance=tolerance),
        at=f"sΔ = {product:g}, log n = {log_n:g}",
        route="brute force",
    )


CLAIM = Claim(
    id="log-n-keeps-attention-sharp",
    section="7 softmax",
    statement="n logits multiplied by s·log n, one of them ahead of the n−1 equal others by Δ: its weight is "
    "a_j = 1/(1+(n−1)n^{−sΔ}), which tends to 1, ½ or 0 as n → ∞ where sΔ is above, at or below 1",
    latex=r"a_j=\frac1{1+(n-1)n^{-s\Delta}}\xrightarrow{n\to\infty}"
    r"1\ (s\Delta>1),\quad\tfrac12\ (s\Delta=1),\quad0\ (s\Delta<1)",
    expected="proved",
    parameters=(
        Parameter(name="n", default=1000, lower=2, is_integer=True),
        Parameter(name="s", default=1.0, lower=0, is_open=True),
        Parameter(name="margin", default=2.0, lower=0, is_open=True),
    ),
    assumes=("n^x → ∞ as n → ∞ for every x > 0",),
    form=LogScaling(),
    rivals=(
        Rival(statement="at sΔ = 1 it stays sharp as well: a_j → 1", form=LogScaling(critical=Fraction(1))),
        Rival(statement="any s > 0 keeps some sharpness: a_j → ½ where sΔ < 1", form=LogScaling(below=Fraction(1, 2))),
        Rival(
            statement="a_j = 1/(1+n^{1−sΔ}), as if n keys were behind",
            form=LogScaling(weight=lambda power, n: 1 / (1 + n / power)),
        ),
    ),
    routes=(_by_brute_force, _by_algebra),
    figure=softmax.log_scaled,
    derivation="The scaled margin is sΔ·log n, so the others weigh (n−1)n^{−sΔ} ≈ n^{1−sΔ} times as much as key j "
    "together. A fixed scale has a_j → 0 (see `dispersion`); growing like log n is just enough, from sΔ = 1 on. "
    "n = 1000: a_j = 0.9990020 at sΔ = 2, 0.5002501 at sΔ = 1, 0.0306832 at sΔ = ½.",
    source="Nakanishi 2025, Scalable-Softmax is superior for attention; Chiang and Cholak 2022, Overcoming a "
    "theoretical limitation of self-attention",
)
