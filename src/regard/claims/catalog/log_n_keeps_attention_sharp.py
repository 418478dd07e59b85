"""Whether logits multiplied by log n keep one key ahead of ever more others depends on sΔ."""

import math
from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.softmax import copy_weight, log_scaled_weight
from regard.analysis.engines.symbolic import RationalFunction, identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, agreement, in_balls, smaller_case
from regard.claims._figures import counts
from regard.claims._retrieval import KEYS_AXIS, WEIGHT_AXIS, few_keys, rounding, tempered
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Chart, Guide, Series

_MOST_KEYS = 4096
# |sΔ−1|·log n where the limit is checked, and the largest log n that is evaluated in balls.
_FAR, _LARGEST_LOG = 60.0, 1e6


def _by_algebra(trial: Trial) -> list[Evidence]:
    """n^{sΔ} = n·E, E = n^{sΔ−1}: E → ∞ above sΔ = 1, E = 1 at it, and E = 1/F with F → ∞ below it.

    Bounds that depend on E or F alone carry the limits over from E and F to n: 1/(1+E) and 1/(1+F/2).
    """
    large, shrink, n, m = trial.field("E", "F", counts=("n", "n-2"))
    form, softmax = trial.form, n * large / (n * large + (n - 1))

    def weight(growth: RationalFunction | int) -> RationalFunction:
        return softmax.substitute(n=m + 2, E=growth)

    excess, share = 1 / (1 + large), 1 / (1 + shrink / 2)
    return [
        identity(form.weight(n * large, n), softmax, "a_j = n^{sΔ}/(n^{sΔ}+n−1)"),
        nonnegative(excess - (1 - weight(large)), "1−a_j ≤ 1/(1+n^{sΔ−1})"),
        identity(1 - excess.limit("E"), form.above, "limit of a_j where sΔ > 1"),
        identity(weight(1).limit("n-2"), form.critical, "limit of a_j where sΔ = 1"),
        nonnegative(share - weight(1 / shrink), "a_j ≤ 1/(1+½n^{1−sΔ})"),
        identity(share.limit("F"), form.below, "limit of a_j where sΔ < 1"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The softmax of n logits, one of them ahead; and the closed form at an n so large that the limit is reached."""
    (n, size), product = few_keys(trial.at.n, _MOST_KEYS), tempered(trial.at.s * trial.at.margin)
    logits = np.zeros((1, n))
    logits[0, 0] = scale = product * math.log(n)
    at = f"{size}, sΔ = {product:g}"
    claimed = in_balls(lambda exponent, count: trial.form.weight(exponent.exp(), count), scale, n)
    here = agreement("a_j", claimed=claimed, found=masked_softmax(logits)[0, 0], tolerance=rounding(n, scale), at=at)
    return smaller_case([here, _limit_part(trial, product)], tried=n, asked=trial.at.n)


def _limit_part(trial: Trial, product: float) -> Evidence:
    """Within n^{−|sΔ−1|} of a limit, or within 1/n where sΔ = 1."""
    excess, form = product - 1, trial.form
    log_n = min(_FAR / abs(excess), _LARGEST_LOG) if excess else _FAR
    limit = form.critical if not excess else form.above if excess > 0 else form.below
    value = in_balls(lambda size: form.weight((product * size).exp(), size.exp()), log_n, precision=256)
    tolerance = 2 * math.exp(-abs(excess) * log_n if excess else -log_n) + 1e-15
    at = f"sΔ = {product:g}, log n = {log_n:g}"
    return agreement("a_j at a huge n", claimed=float(limit), found=value, tolerance=tolerance, at=at)


def _figure(at: Settings) -> Chart:
    keys = counts(2, 1_000_000).astype(float)
    powers = sorted({0.5, 1.0, 1.5, min(at.s * at.margin, 40.0)})
    return Chart(
        title="sΔ = 1 is the critical scale",
        caption="The weight of the leading key when logits are multiplied by s·log n. Above sΔ = 1 it tends "
        "to 1, at sΔ = 1 to ½, and below to 0; without the factor log n it tends to 0 for every margin.",
        x=KEYS_AXIS,
        y=WEIGHT_AXIS,
        series=[
            *(Series(label=f"sΔ = {power:g}", x=keys, y=log_scaled_weight(keys**power, keys)) for power in powers),
            Series(label="no log n, Δ = 2", x=keys, y=copy_weight(2.0, keys), style="dashed"),
        ],
        guides=(Guide(at=0.5, label="½"),),
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
        integer("n", 1000, lower=2),
        real("s", 1.0, lower=0, is_open=True),
        real("margin", 2.0, lower=0, is_open=True),
    ),
    assumes=("n^x → ∞ as n → ∞ for every x > 0",),
    # a_j as a function of n^{sΔ} and n, and its limits as n → ∞ where sΔ is above, at and below 1.
    form=Form(weight=log_scaled_weight, above=Fraction(1), critical=Fraction(1, 2), below=Fraction(0)),
    near_misses=(
        NearMiss("at sΔ = 1 it stays sharp as well: a_j → 1", {"critical": Fraction(1)}),
        NearMiss("any s > 0 keeps some sharpness: a_j → ½ where sΔ < 1", {"below": Fraction(1, 2)}),
        NearMiss("a_j = 1/(1+n^{1−sΔ}), as if n keys were behind", {"weight": lambda power, n: 1 / (1 + n / power)}),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="The scaled margin is sΔ·log n, so the others together weigh (n−1)n^{−sΔ} ≈ n^{1−sΔ} times as much "
    "as key j. A fixed scale gives a_j → 0 (see `dispersion`); a scale that grows like log n is just enough from sΔ "
    "= 1. n = 1000: a_j = 0.9990020 at sΔ = 2, 0.5002501 at sΔ = 1, 0.0306832 at sΔ = ½.",
    source="Nakanishi 2025, Scalable-Softmax is superior for attention; Chiang and Cholak 2022, Overcoming a "
    "theoretical limitation of self-attention",
    figure=_figure,
)
