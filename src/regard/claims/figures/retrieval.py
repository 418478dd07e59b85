"""Figures of retrieval from fixed keys: weights against scale, margin and number of keys."""

import math
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.retrieval import (
    average_scale,
    average_weight,
    copy_margin,
    copy_weight,
    dispersed_weight,
    other_weight,
    uniform_weight,
)
from regard.analysis.closed_forms.scores import score_variance
from regard.claims._retrieval import thinned, weights
from regard.claims.figures._ranges import counts, evenly
from regard.render.figures import Axis, Chart, Rule, Series

_WEIGHT = Axis(label="weight", lower=0.0, upper=1.0)
_KEYS = Axis(label="number of keys n", is_log=True)
_MOST_KEYS = 10_000


def averaging(at: SimpleNamespace) -> Chart:
    """Both kinds of weights under q = β(k_a + k_b) against β."""
    scales, n = evenly(at.beta, 0.0, min(max(12.0, 2 * math.log(at.n)), 300.0), 160), float(at.n)
    return Chart(
        title="Two keys share the weight",
        caption=f"q = β(k_a + k_b) over n = {at.n:g} orthonormal keys: the two weights meet at ½ once β is well "
        "above log n, and nothing is left for the others.",
        x=Axis(label="scale β"),
        y=_WEIGHT,
        series=(
            Series(label="a_a = a_b", x=scales, y=average_weight(scales, n)),
            Series(label="all others together", x=scales, y=(n - 2) * other_weight(scales, n)),
        ),
        rules=(Rule(at=0.5, label="½"), *_here(at.beta, f"β = {at.beta:g}", scales)),
    )


def least_scale(at: SimpleNamespace) -> Chart:
    """The scale that averages to within ε against the number of keys."""
    keys = counts(3, _MOST_KEYS)
    return Chart(
        title="More keys need a larger scale",
        caption="The least β for which both weights are at least ½ − ε. Ten times as many keys cost log 10 = 2.3 "
        "more, whatever ε.",
        x=_KEYS,
        y=Axis(label="least scale β"),
        series=[
            Series(label=f"ε = {epsilon:g}", x=keys, y=average_scale(epsilon, keys))
            for epsilon in (at.epsilon / 100, at.epsilon / 10, at.epsilon)
        ],
        rules=_here(at.n, f"n = {at.n:g}", keys),
    )


def copying(at: SimpleNamespace) -> Chart:
    """The least weight of a key against the margin by which its logit leads."""
    margins = evenly(at.margin, -2.0, 14.0, 160)
    return Chart(
        title="A margin copies",
        caption="The least weight of a key whose logit leads by Δ. More keys shift the curve by log n; they do not "
        "change its shape.",
        x=Axis(label="margin Δ"),
        y=Axis(label="least weight a_j", lower=0.0, upper=1.0),
        series=[
            Series(label=f"n = {n:g}", x=margins, y=copy_weight(margins, float(n)))
            for n in (at.n, 10 * at.n, 100 * at.n)
        ],
        rules=_here(at.margin, f"Δ = {at.margin:g}", margins),
    )


def least_margin(at: SimpleNamespace) -> Chart:
    """The margin that guarantees 1−ε against the number of keys."""
    keys = counts(2, _MOST_KEYS)
    return Chart(
        title="The margin that is enough",
        caption="The least margin that guarantees a weight of 1 − ε. It grows with the logarithm of the number of "
        "keys, and with that of 1/ε.",
        x=_KEYS,
        y=Axis(label="least margin Δ"),
        series=[
            Series(label=f"ε = {epsilon:g}", x=keys, y=copy_margin(epsilon, keys))
            for epsilon in (at.epsilon / 100, at.epsilon / 10, at.epsilon)
        ],
        rules=_here(at.n, f"n = {at.n:g}", keys),
    )


def dispersing(at: SimpleNamespace) -> Chart:
    """The most that one key can weigh against the number of keys."""
    keys = counts(2, 100_000)
    spreads = (at.spread, at.spread + 2, at.spread + 4)
    return Chart(
        title="Bounded logits disperse",
        caption="The most that one key can weigh when all logits lie within R of each other. However large R is, "
        "the weight falls like e^R/n in the end.",
        x=_KEYS,
        y=Axis(label="largest possible weight", is_log=True),
        series=[
            *(Series(label=f"R = {spread:g}", x=keys, y=dispersed_weight(spread, keys)) for spread in spreads),
            Series(label="even shares, 1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ],
        rules=_here(at.n, f"n = {at.n:g}", keys),
    )


def half_sum(at: SimpleNamespace) -> Chart:
    """The weight that q = ½(k_a+k_b) really gives, beside the one it should."""
    return _short_of_half(at, beta=0.5, name="q = ½(k_a+k_b)")


def whole_sum(at: SimpleNamespace) -> Chart:
    """The weight that q = k_a+k_b really gives, beside the one it should."""
    return _short_of_half(at, beta=1.0, name="q = k_a+k_b")


def _short_of_half(at: SimpleNamespace, *, beta: float, name: str) -> Chart:
    keys = counts(3, 1000)
    return Chart(
        title="Far from the average",
        caption=f"The weight on each of the two keys under {name}. It falls towards 1/n; what is missing to ½ goes "
        "to the keys that nobody asked for. A scale that grows with log n keeps it up.",
        x=_KEYS,
        y=Axis(label="weight a_a = a_b", lower=0.0, upper=0.6),
        series=(
            Series(label=name, x=keys, y=average_weight(beta, keys)),
            Series(label="q = β(k_a+k_b), β = 3 + log n", x=keys, y=average_weight(3 + np.log(keys), keys)),
            Series(label="1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ),
        rules=(Rule(at=0.5, label="the myth: ½"), *_here(at.n, f"n = {at.n:g}", keys)),
    )


def one_key(at: SimpleNamespace) -> Chart:
    """The weight that q = k_j really gives, beside the one it should."""
    keys = counts(3, 1000)
    return Chart(
        title="A unit margin is not enough",
        caption="The weight on key j under q = k_j. With three keys it is already below 0.58, and it falls towards "
        "1/n.",
        x=_KEYS,
        y=Axis(label="weight a_j", lower=0.0, upper=1.1),
        series=(
            Series(label="q = k_j", x=keys, y=copy_weight(1.0, keys)),
            Series(label="q = βk_j, β = 3 + log n", x=keys, y=copy_weight(3 + np.log(keys), keys)),
            Series(label="1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ),
        rules=(Rule(at=1.0, label="the myth: 1"), *_here(at.n, f"n = {at.n:g}", keys)),
    )


def score_spread(at: SimpleNamespace) -> Chart:
    """The standard deviation of scores against the width, with and without √d."""
    widths = counts(1, 4096)
    plain = np.sqrt(score_variance(widths))
    return Chart(
        title="Why scores are divided by √d",
        caption="The standard deviation of kᵀq for independent entries of variance 1. Undivided it grows with the "
        "width until softmax is all but a maximum; divided by √d it stays at 1; divided by d it vanishes.",
        x=Axis(label="width d", is_log=True),
        y=Axis(label="standard deviation", is_log=True),
        series=(
            Series(label="kᵀq", x=widths, y=plain),
            Series(label="kᵀq/√d", x=widths, y=plain / np.sqrt(widths)),
            Series(label="kᵀq/d", x=widths, y=plain / widths, style="dashed"),
        ),
        rules=_here(at.d, f"d = {at.d:g}", widths),
    )


def even_mean(at: SimpleNamespace) -> Chart:
    """The weights of a few random keys as the query shrinks."""
    n, scales = thinned(at.n, 8), np.geomspace(1e-3, 10.0, 50)
    rng = np.random.default_rng(0)
    keys, direction = rng.normal(size=(n, 4)), rng.normal(size=4)
    found = np.array([weights(scale * direction, keys) for scale in scales])
    order = np.argsort(-found[-1])[[0, 1, -1]]
    return Chart(
        title="A query that shrinks asks nothing",
        caption=f"The weights of n = {n} random keys under q = βq₀. To the left all of them meet at 1/n; to the "
        "right one key takes everything.",
        x=Axis(label="scale β", is_log=True),
        y=_WEIGHT,
        series=[
            Series(label=name, x=scales, y=found[:, key])
            for name, key in zip(("the best key", "the second", "the last"), order, strict=True)
        ],
        rules=(Rule(at=float(uniform_weight(n)), label=f"1/n = {uniform_weight(n):.3g}"),),
    )


def _here(value: float, label: str, shown: np.ndarray) -> tuple[Rule, ...]:
    """A rule where the claim was decided, if that is in view."""
    return (Rule(at=float(value), label=label, is_vertical=True),) if shown[0] <= value <= shown[-1] else ()
