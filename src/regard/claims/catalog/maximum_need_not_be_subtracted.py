"""Misconception: shift invariance makes subtracting the maximum unnecessary."""

import ml_dtypes
import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import log
from regard.analysis.closed_forms.rounding import overflow_from
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, one_case
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.render.figures import Axis, Chart, Series

# Significant bits and the exponent of the largest binade.
_FORMATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127)}
_FINEST = 0.001


def _by_algebra(trial: Trial) -> list[Evidence]:
    """In exact arithmetic e^{−m} cancels (R is the sum of the other exponentials); with rounding, log M in balls."""
    if trial.form.is_exact:
        rest, z, m = trial.field("R", exponentials=("z", "m"))
        shifted = (z - m).exp() / ((z - m).exp() + rest / m.exp())
        return [identity(shifted, z.exp() / (z.exp() + rest), "a_i with m subtracted from every logit")]
    return [_threshold_part(trial, name) for name in _FORMATS]


def _threshold_part(trial: Trial, name: str) -> Evidence:
    overflow = overflow_from(*_FORMATS[name])
    with ctx.workprec(128):
        truth = log(arb(overflow))
        if trial.form.threshold is None:
            logit, detail = float(np.ceil(float(truth))), f"e^z overflows in {name} from z = {float(truth):.6g} on"
            shown = f"{trial.at.n:.12g} logits of {logit:g} in {name}: e^{logit:g} is infinite"
            against = f"{shown}, so each weight is ∞/∞ = NaN, while subtracting the maximum first gives 1/n"
            return Evidence(status="refuted", detail=detail, value=float(truth), counterexample=against)
        claimed = arb(trial.form.threshold(arb(overflow)))
        is_same = claimed.overlaps(truth) and float(claimed.rad()) < _FINEST
    shown = f"e^z reaches {float(overflow):.6g} at z = {float(truth):.6g}, from which {name} is infinite"
    return one_case(shown, agrees=is_same, said=f"z = {float(claimed):.6g}", value=float(truth))


def _by_running(trial: Trial) -> list[Evidence]:
    """The softmax as written, in each format: the smallest logit of the format whose exponential is infinite."""
    if trial.form.is_exact:
        return [_exactly_shifted(trial)]
    return [_run_part(trial, name) for name in _FORMATS]


def _run_part(trial: Trial, name: str) -> Evidence:
    """The format's own numbers next to the threshold: the last whose exponential is finite, and the one after it."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    threshold = float(log(float(overflow_from(*_FORMATS[name]))))
    nearest = np.asarray(threshold).astype(dtype)
    up, down = (np.nextafter(nearest, np.asarray(end).astype(dtype)) for end in (200.0, 0.0))
    logits = np.array([down, nearest, up])
    with np.errstate(over="ignore", invalid="ignore"):
        is_infinite = np.isinf(np.exp(logits).astype(float))
        last, first = (float(logits[place]) for place in (is_infinite.argmax() - 1, is_infinite.argmax()))
        pair = np.exp(np.full(2, first).astype(dtype))
        weight = float((pair / pair.sum())[0])
    shown = f"{name}: e^{last:.9g} is finite, e^{first:.9g} is not, and two logits of {first:.9g} weigh {weight:g} each"
    if trial.form.threshold is None:
        return Evidence(status="refuted", detail=shown, value=first, counterexample=f"{shown} instead of ½")
    claimed = float(trial.form.threshold(float(overflow_from(*_FORMATS[name]))))
    agrees = bool(np.isnan(weight) and last < claimed + 1e-6 and claimed <= first + 1e-6)
    return one_case(shown, agrees=agrees, said=f"from {claimed:.6g} on", value=first)


def _exactly_shifted(trial: Trial) -> Evidence:
    """Both ways in balls, at logits that overflow every format."""
    n = int(min(trial.at.n, 64))
    logits = (1000 * trial.rng("logits").random(size=n)).tolist()
    with ctx.workprec(256):
        plain, shifted = ([arb(z - top).exp() for z in map(arb, logits)] for top in (0, arb(max(logits))))
        totals = sum(plain, arb(0)), sum(shifted, arb(0))
        gap = max(abs(float((a / totals[0] - b / totals[1]).mid())) for a, b in zip(plain, shifted, strict=True))
    detail = f"in 256-bit balls both ways agree to {gap:.1e} at {n} logits up to 1000"
    return Evidence(status="holds" if gap <= 1e-30 else "undecided", value=gap, bound=1e-30, detail=detail)


def _figure(at: Settings) -> Chart:
    n = int(min(at.n, 1000))
    levels = np.linspace(-900.0, 900.0, 1201)
    series = []
    for place, (name, dtype) in enumerate((("float64", np.float64), ("float32", np.float32), ("float16", np.float16))):
        with np.errstate(all="ignore"):
            powers = np.exp(levels.astype(dtype))
            found = (powers / (dtype(n) * powers)).astype(float) * n
        series.append(Series(label=name, x=levels, y=np.where(np.isfinite(found), found, np.nan) + place))
    return Chart(
        title="Where the formula still gives a number",
        caption=f"n·a_i for {n} equal logits z, computed as e^z/Σe^z, one step higher per format. Each line ends where "
        "exponentials overflow (∞/∞) or vanish (0/0); with the maximum subtracted, none of them would end.",
        x=Axis(label="common logit z"),
        y=Axis(label="n·a_i, one step per format", lower=0.0, upper=4.0),
        series=series,
    )


CLAIM = Claim(
    id="maximum-need-not-be-subtracted",
    section="7 softmax",
    statement="softmax does not change when a number is subtracted from all n logits, so subtracting the maximum "
    "first is unnecessary: e^{z_i}/Σ_j e^{z_j} may be computed as written, in any floating-point format",
    latex=r"\mathrm{softmax}(z-m\mathbf{1})=\mathrm{softmax}(z)\;\Rightarrow\;\mathrm{fl}(e^{z_i})/\mathrm{fl}"
    r"\Big(\sum_j\mathrm{fl}(e^{z_j})\Big)\approx a_i\text{ at all }z",
    expected="refuted",
    parameters=(integer("n", 10, lower=1),),
    conditions=("finite logits", "float16, bfloat16 or float32"),
    # The logit from which e^z overflows, as a function of the least number M that rounds to infinity; None: never.
    # `is_exact` refers to exact arithmetic, where nothing is rounded.
    form=Form(threshold=None, is_exact=False),
    near_misses=(
        NearMiss("in exact arithmetic it is unnecessary", {"is_exact": True}),
        NearMiss(
            "it is necessary from z = log M on, M the least number that rounds to infinity: 11.0901 in "
            "float16, 88.7209 in bfloat16, 88.7228 in float32",
            {"threshold": log},
            becomes="holds",
        ),
    ),
    methods={"casts": _by_running, "algebra": _by_algebra},
    derivation="In exact arithmetic e^{−m} cancels. In a floating-point format e^z is infinite from z = log M on, and "
    "∞/∞ is NaN: float16 ends at 65504, log 65504 = 11.0899, and rounds to infinity from 65520 on. Logits of 12 are "
    "ordinary (k = q at d = 144 gives √d = 12). The sum overflows even earlier: the exponentials of ten logits of 10 "
    "sum to 220265, so in float16 each weighs 0. With the maximum subtracted, all exponents are ≤ 0 and one "
    "exponential is 1: nothing overflows, and the sum is at least 1.",
    source="Blanchard, Higham and Higham 2021, Accurately computing the log-sum-exp and softmax functions",
    figure=_figure,
)
