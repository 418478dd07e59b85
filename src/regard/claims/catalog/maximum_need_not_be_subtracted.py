"""The myth that shift invariance makes subtracting the maximum unnecessary."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.rounding import overflow_from, overflow_logit
from regard.analysis.engines.symbolic import Field, identity
from regard.claims._comparisons import all_parts
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import softmax
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

# Significant bits and the exponent of the largest binade.
_FORMATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127)}
_FINEST = 0.001


@dataclass(frozen=True, kw_only=True)
class Unshifted:
    """The logit from which e^z overflows in a format that is infinite from M on, one of M; None if it never hurts.

    `is_exact` speaks of exact arithmetic, where nothing is rounded.
    """

    threshold: Callable[[Any], Any] | None = None
    is_exact: bool = False


def _by_algebra(trial: Trial) -> Evidence:
    """e^{−m} cancels for exact numbers, R being the other exponentials' sum; for rounded ones, log M in balls."""
    if trial.form.is_exact:
        field = Field("R", exponentials=("z", "m"))
        own, rest, lowered = field["z"].exp(), field["R"], (field["z"] - field["m"]).exp()
        shifted = lowered / (lowered + rest / field["m"].exp())
        return identity(shifted, own / (own + rest), rng=trial.rng("algebra"), what="a_i with m taken off every logit")
    return all_parts("algebra", [_threshold_part(trial, name) for name in _FORMATS])


def _threshold_part(trial: Trial, name: str) -> Evidence:
    overflow = overflow_from(*_FORMATS[name])
    with ctx.workprec(128):
        truth = overflow_logit(arb(overflow))
        if trial.form.threshold is None:
            return _overflow(name, float(truth), trial.at.n, "algebra")
        claimed = arb(trial.form.threshold(arb(overflow)))
        is_same = claimed.overlaps(truth) and float(claimed.rad()) < _FINEST
    shown = f"e^z reaches {float(overflow):.6g} at z = {float(truth):.6g}, from where on {name} is infinite"
    if is_same:
        return Evidence(route="algebra", status="holds", detail=shown, value=float(truth))
    return Evidence(
        route="algebra",
        status="refuted",
        detail=shown,
        value=float(truth),
        counterexample=f"{shown}; the statement says z = {float(claimed):.6g}",
    )


def _overflow(name: str, threshold: float, n: int, route: str) -> Evidence:
    logit = float(np.ceil(threshold))
    told = f"{n:.12g} logits of {logit:g} in {name}: e^{logit:g} is infinite, so each weight is ∞/∞ = NaN"
    return Evidence(
        route=route,
        status="refuted",
        detail=f"e^z overflows in {name} from z = {threshold:.6g} on",
        value=threshold,
        counterexample=f"{told}, while the maximum taken off first gives 1/n",
    )


def _by_running(trial: Trial) -> Evidence:
    """The softmax as written, in each format: the least logit of the format whose exponential is infinite."""
    if trial.form.is_exact:
        return _exactly_shifted(trial)
    return all_parts("casts", [_run_part(trial, name) for name in _FORMATS])


def _run_part(trial: Trial, name: str) -> Evidence:
    """The format's own numbers next to the threshold: the last whose exponential is finite, and the one after it."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    threshold = float(overflow_logit(float(overflow_from(*_FORMATS[name]))))
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
        return Evidence(
            route="casts", status="refuted", detail=shown, value=first, counterexample=f"{shown} instead of ½"
        )
    claimed = float(trial.form.threshold(float(overflow_from(*_FORMATS[name]))))
    if np.isnan(weight) and last < claimed + 1e-6 and claimed <= first + 1e-6:
        return Evidence(route="casts", status="holds", detail=shown, value=first)
    return Evidence(
        route="casts",
        status="refuted",
        detail=shown,
        value=first,
        counterexample=f"{shown}; the statement says from {claimed:.6g} on",
    )


def _exactly_shifted(trial: Trial) -> Evidence:
    """Both ways in balls, at logits that overflow every format."""
    n = int(min(trial.at.n, 64))
    logits = (1000 * trial.rng("logits").random(size=n)).tolist()
    with ctx.workprec(256):
        plain, shifted = ([arb(z - top).exp() for z in map(arb, logits)] for top in (0, arb(max(logits))))
        gaps = [
            abs(float((a / sum(plain, arb(0)) - b / sum(shifted, arb(0))).mid()))
            for a, b in zip(plain, shifted, strict=True)
        ]
    is_same = max(gaps) <= 1e-30
    return Evidence(
        route="certified",
        status="holds" if is_same else "undecided",
        value=max(gaps),
        bound=1e-30,
        detail=f"in 256-bit balls both ways agree to {max(gaps):.1e} at {n} logits up to 1000",
    )


CLAIM = Claim(
    id="maximum-need-not-be-subtracted",
    section="7 softmax",
    statement="softmax does not change when a number is taken off all n logits, so subtracting the maximum first is "
    "unnecessary: e^{z_i}/Σ_j e^{z_j} may be computed as it is written, in any floating-point format",
    latex=r"\mathrm{softmax}(z-m\mathbf{1})=\mathrm{softmax}(z)\;\Rightarrow\;\mathrm{fl}(e^{z_i})/\mathrm{fl}"
    r"\Big(\sum_j\mathrm{fl}(e^{z_j})\Big)\approx a_i\text{ at all }z",
    expected="refuted",
    parameters=(Parameter(name="n", default=10, lower=1, is_integer=True),),
    conditions=("finite logits", "float16, bfloat16 or float32"),
    form=Unshifted(),
    rivals=(
        Rival(statement="in exact arithmetic it is unnecessary", form=Unshifted(is_exact=True), becomes="proved"),
        Rival(
            statement="it is necessary from z = log M on, M the least number that rounds to infinity: 11.0901 in "
            "float16, 88.7209 in bfloat16, 88.7228 in float32",
            form=Unshifted(threshold=overflow_logit),
            becomes="holds",
        ),
    ),
    routes=(_by_running, _by_algebra),
    figure=softmax.overflow,
    derivation="In exact arithmetic e^{−m} cancels. In a format whose largest number is finite e^z is infinite from "
    "z = log M on, and ∞/∞ is NaN: float16 ends at 65504, log 65504 = 11.0899, and rounds to infinity from 65520 on. "
    "Logits of 12 are ordinary (k = q at d = 144 has √d = 12). The sum overflows earlier still: ten logits of 10 sum "
    "to 220265 and weigh 0 each in float16. With the maximum taken off, all exponents are ≤ 0 and one exponential is "
    "1: nothing overflows, and the sum is at least 1.",
    source="Blanchard, Higham and Higham 2021, Accurately computing the log-sum-exp and softmax functions",
)
