"""Figures of softmax: entropy, sharpness against the number of keys, sinks, and what floats make of it."""

import math
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.retrieval import copy_weight, uniform_weight
from regard.analysis.closed_forms.sharpness import (
    gaussian_effective_share,
    gaussian_entropy_loss,
    log_scaled_weight,
    sink_weight,
    unit_bound,
)
from regard.analysis.closed_forms.stability import self_attention_slope
from regard.claims.figures._ranges import around, counts, evenly
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Rule, Series

_KEYS = Axis(label="number of keys n", is_log=True)
_SHARE = Axis(label="weight", lower=0.0, upper=1.05)
_LARGEST_POWER = 40.0


def entropy(at: SimpleNamespace) -> Chart:
    """The entropy of softmax(βz) against β, for random logits."""
    scales, rng = evenly(at.beta, 0.0, 8.0, 120), np.random.default_rng(0)
    sizes = sorted({2, 8, int(min(max(at.n, 2), 256))})
    rows = {n: rng.normal(size=n) for n in sizes}
    return Chart(
        title="Sharper means fewer keys",
        caption="The entropy of softmax(βz) for random logits z, as a share of log n. It starts at 1, where all "
        "weights are equal, and only falls; equal logits alone stay there.",
        x=Axis(label="scale β"),
        y=Axis(label="entropy / log n", lower=0.0, upper=1.05),
        series=[
            *(Series(label=f"n = {n}", x=scales, y=_entropies(scales, row) / math.log(n)) for n, row in rows.items()),
            Series(label="equal logits", x=scales, y=np.ones_like(scales), style="dashed"),
        ],
    )


def log_scaled(at: SimpleNamespace) -> Chart:
    """The weight of a key ahead by Δ against n, logits multiplied by s·log n."""
    keys = counts(2, 1_000_000).astype(float)
    here = min(at.s * at.margin, _LARGEST_POWER)
    powers = sorted({0.5, 1.0, 1.5, here})
    return Chart(
        title="log n decides at sΔ = 1",
        caption="The weight of the leading key when logits are multiplied by s·log n. Above sΔ = 1 it stays sharp "
        "however many keys there are, at 1 it halves, below it disperses; without the factor every margin disperses.",
        x=_KEYS,
        y=_SHARE,
        series=[
            *(Series(label=f"sΔ = {power:g}", x=keys, y=log_scaled_weight(keys**power, keys)) for power in powers),
            Series(label="no log n, Δ = 2", x=keys, y=copy_weight(2.0, keys), style="dashed"),
        ],
        rules=(Rule(at=0.5, label="½"),),
    )


def blur(at: SimpleNamespace) -> Chart:
    """The effective share of the keys and the entropy lost against the spread of random logits."""
    spreads, rng = evenly(at.b, 0.0, 3.0, 31), np.random.default_rng(0)
    logits = rng.normal(size=65_536)
    found = [_effective_share(spread * logits) for spread in spreads]
    return Chart(
        title="Random logits spend keys",
        caption="The share of the keys that random logits of standard deviation b leave in use, 1/(n Σ a_i²), and the "
        "entropy that they cost. Marked: 65536 drawn logits, which fall behind where rare large logits count.",
        x=Axis(label="standard deviation b of the logits"),
        y=Axis(label="share or nats", lower=0.0),
        series=(
            Series(label="effective share e^{−b²}", x=spreads, y=gaussian_effective_share(spreads**2)),
            Series(label="entropy lost b²/2", x=spreads, y=gaussian_entropy_loss(spreads**2)),
            Series(label="drawn", x=spreads, y=found, style="points"),
        ),
    )


def beside_a_sink(at: SimpleNamespace) -> Chart:
    """All that real keys weigh together against their common logit, beside a sink and without one."""
    n, sink = float(min(at.n, 10**6)), float(np.clip(getattr(at, "s", 0.0), -50.0, 50.0))
    middle = sink - math.log(n)
    logits = np.linspace(middle - 8, middle + 8, 120)
    kept = 1 - sink_weight(n * np.exp(logits), math.exp(sink))
    return Chart(
        title="Only a sink lets go",
        caption=f"What n = {n:g} keys of one logit weigh together. Without a sink that is 1 however low the logit; "
        f"beside a sink of logit {sink:g} the head closes once log n + z is below it.",
        x=Axis(label="common logit z of the keys"),
        y=_SHARE,
        series=(
            Series(label="with a sink", x=logits, y=kept),
            Series(label="the sink itself", x=logits, y=1 - kept, style="dashed"),
            Series(label="without a sink", x=logits, y=np.ones_like(logits)),
        ),
        rules=(Rule(at=middle, label="s − log n", is_vertical=True),),
    )


def unit_keys(at: SimpleNamespace) -> Chart:
    """The most that a unit key can weigh against the number of keys, for a few gains."""
    keys = counts(2, 1_000_000).astype(float)
    gains = sorted({min(at.gain, 300.0), 2.0, 4.0, 8.0})
    return Chart(
        title="Any fixed gain disperses",
        caption="The most that one of n unit keys can weigh under a unit query, all other keys opposite. A larger gain "
        "only moves the fall to more keys: ½ is lost at n = e^{2g}.",
        x=_KEYS,
        y=_SHARE,
        series=[
            *(Series(label=f"g = {gain:g}", x=keys, y=unit_bound(gain, keys)) for gain in gains),
            Series(label="even shares, 1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ],
        rules=(Rule(at=0.5, label="½"),),
    )


def overflow(at: SimpleNamespace) -> Chart:
    """What e^{z_i}/Σ e^{z_j} gives as written for equal logits, by format; nothing is drawn where it is no number."""
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
        caption=f"n·a_i for {n} equal logits z by e^z/Σe^z as it is written, one step up for each format. Each line "
        "ends where exponentials overflow (∞/∞) or vanish (0/0); with the maximum subtracted all three go on for ever.",
        x=Axis(label="common logit z"),
        y=Axis(label="n·a_i, one step a format", lower=0.0, upper=4.0),
        series=series,
    )


def half_slope(at: SimpleNamespace) -> Chart:
    """The largest slope of softmax against how far one logit leads."""
    leads = np.linspace(-10.0, 10.0, 121)
    sizes = sorted({2, 4, int(min(max(at.n, 2), 100))})
    return Chart(
        title="Never steeper than ½",
        caption="The largest factor by which softmax stretches a small step, where one logit leads n−1 equal ones by "
        "z. It is ½ where two weights are ½ each, and nowhere more.",
        x=Axis(label="lead z of one logit"),
        y=Axis(label="largest slope", lower=0.0, upper=0.6),
        series=[Series(label=f"n = {n}", x=leads, y=_slopes(leads, n)) for n in sizes],
        rules=(Rule(at=0.5, label="½"),),
    )


def steepness(at: SimpleNamespace) -> Chart:
    """The slope of self-attention against the size of its tokens."""
    radii = around(math.sqrt(at.L), 0.1, 100.0, 80)
    return Chart(
        title="Larger tokens, steeper attention",
        caption="∂f₁/∂x₁ of dot-product self-attention at the tokens (0, R, −R). It grows with R², past any constant "
        "that might bound it.",
        x=Axis(label="size R of the tokens", is_log=True),
        y=Axis(label="slope", is_log=True),
        series=(Series(label="⅓ + ⅔R²", x=radii, y=self_attention_slope(radii)),),
        rules=(Rule(at=at.L, label=f"L = {at.L:g}"),) if 0.4 < at.L < 1e6 else (),
    )


def _entropies(scales: Float[np.ndarray, " point"], logits: Float[np.ndarray, " key"]) -> Float[np.ndarray, " point"]:
    scores = np.outer(scales, logits - logits.max())
    weights = np.exp(scores)
    totals = weights.sum(axis=1)
    return np.log(totals) - (weights * scores).sum(axis=1) / totals


def _effective_share(logits: Float[np.ndarray, " key"]) -> float:
    weights = np.exp(logits - logits.max())
    return float(weights.sum() ** 2 / (weights**2).sum() / len(weights))


def _slopes(leads: Float[np.ndarray, " point"], n: int) -> Float[np.ndarray, " point"]:
    """The largest eigenvalue of diag(a) − aaᵀ for the weights a = (p, r, …, r): npr, or r if two others trade."""
    own = copy_weight(leads, float(n))
    rest = (1 - own) / (n - 1)
    return np.maximum(n * own * rest, rest if n > 2 else 0.0)
