"""Figures of claims that have none of their own, by the claim's name."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.narrow_heads import (
    circle_gap,
    circle_keys,
    moment_keys,
    neighbours_margin,
    pair_query,
)
from regard.analysis.closed_forms.order import causal_softmax, softmax
from regard.analysis.closed_forms.random_keys import backwards_chance, one_head_weight
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Figure, HeatMap, Rule, Series

_WIDEST = 128


def figure_for(claim: str, settings: Mapping[str, float]) -> Figure | None:
    """The figure that shows a claim at its parameters, or None if there is none here.

    >>> figure_for("weights-are-a-distribution", {"n": 10, "spread": 10.0}).title
    'Never 0, never 1, always one in all'
    >>> figure_for("no-claim", {})
    """
    draw = FIGURES.get(claim)
    return None if draw is None else draw(SimpleNamespace(**settings))


def shares(at: SimpleNamespace) -> Chart:
    """Weights of a few keys as one logit grows; they always add up to one."""
    n = int(min(at.n, 10))
    logits = np.linspace(-8, 8, 121)
    rows = np.array([softmax(np.array([[z, *np.linspace(-1, 1, n - 1)]]))[0] for z in logits])
    return Chart(
        title="Never 0, never 1, always one in all",
        caption=f"Weights of n = {n} keys as the first one's logit grows from far below the others to far above "
        "them. Each stays strictly between 0 and 1, and their sum is 1.",
        x=Axis(label="logit of the first key"),
        y=Axis(label="weight", lower=0.0, upper=1.1),
        series=(
            Series(label="first key", x=logits, y=rows[:, 0]),
            Series(label="all others together", x=logits, y=rows[:, 1:].sum(axis=1)),
            Series(label="the sum", x=logits, y=rows.sum(axis=1), style="dashed"),
        ),
    )


def normalised(at: SimpleNamespace) -> Chart:
    """The two weights that a normalised key can get, with their chances."""
    sigma = float(np.sqrt(at.sigma2))
    backwards = float(backwards_chance(sigma))
    ends = [float(one_head_weight(sign * at.beta, at.beta, at.n)) for sign in (-1.0, 1.0)]
    edges = [ends[0] - 0.01, ends[0] + 0.01, ends[1] - 0.01, ends[1] + 0.01]
    return Chart(
        title="Half, or nothing",
        caption=f"Where w_a is when keys are normalised, n = {at.n:g}, β = {at.beta:g}, σ² = {at.sigma2:g}: at its "
        f"mean value with γ > 0, and at nearly 0 with γ < 0, which has a chance of {backwards:.3g}.",
        x=Axis(label="weight w_a", lower=-0.1, upper=1.0),
        y=Axis(label="chance", lower=0.0, upper=1.05),
        series=(Series(label="chance", x=edges, y=[backwards, 0.0, 1 - backwards], style="bars"),),
        rules=(Rule(at=0.5, label="½", is_vertical=True),),
    )


def repeats(at: SimpleNamespace) -> Chart:
    """Outputs of a causal head on one token repeated, without and with a token before it."""
    count = int(min(max(at.T, 4), 24))
    values = np.vstack([[0.0], np.ones((count, 1))])
    alone = causal_softmax(np.zeros((count, count))) @ values[1:]
    after = causal_softmax(np.zeros((count + 1, count + 1))) @ values
    positions = np.arange(1, count + 1)
    return Chart(
        title="Every repeat looks like the first",
        caption="The output of a causal head at the t-th of equal tokens. Alone they are all averages of one value, "
        "so nothing counts them; a token before them that is unlike them does.",
        x=Axis(label="repeat t"),
        y=Axis(label="output", lower=0.0, upper=1.15),
        series=(
            Series(label="repeats alone", x=positions, y=alone[:, 0]),
            Series(label="after another token", x=positions, y=after[1:, 0]),
        ),
    )


def mixed_layouts(at: SimpleNamespace) -> Chart:
    """A score at a fixed distance while both positions slide, with one layout and with two."""
    width = int(min(max(at.d, 4), _WIDEST))
    positions = np.arange(0, 100)
    query, key = np.random.default_rng(1).normal(size=(2, width))
    turned = {layout: Rotary(base=at.B, layout=layout) for layout in ("interleaved", "half-split")}

    def sliding(first: str, second: str) -> np.ndarray:
        queries = turned[first].rotate(np.tile(query, (100, 1)), positions + 5)
        return (queries * turned[second].rotate(np.tile(key, (100, 1)), positions)).sum(axis=-1)

    return Chart(
        title="Mixed layouts lose their bearings",
        caption=f"The score at distance 5 while both positions slide, d = {width}. In either layout it stays; with "
        "the query in one and the key in the other it wanders.",
        x=Axis(label="position of the key"),
        y=Axis(label="score"),
        series=(
            Series(label="both interleaved", x=positions, y=sliding("interleaved", "interleaved")),
            Series(label="mixed", x=positions, y=sliding("interleaved", "half-split")),
            Series(label="both half-split", x=positions, y=sliding("half-split", "half-split")),
        ),
    )


def circle(at: SimpleNamespace) -> HeatMap:
    """Weights of n keys on a circle under n queries of width 2: each is singled out."""
    n = int(min(at.n, 24))
    keys = circle_keys(n)
    scale = float(neighbours_margin(at.epsilon, n) / circle_gap(np.pi / n))
    return HeatMap(
        title="Width 2 is enough",
        caption=f"Weights of n = {n} keys on a circle (columns) under the queries βk_j (rows), β = {scale:.4g}: each "
        "query finds its own key, in a plane.",
        x=Axis(label="key", lower=1.0),
        y=Axis(label="query", lower=1.0),
        values=softmax(scale * keys @ keys.T),
        lower=0.0,
        upper=1.0,
    )


def pairs(at: SimpleNamespace) -> HeatMap:
    """Weights under queries for several pairs of keys on the moment curve, of width 4."""
    n = int(min(max(at.n, 3), 16))
    places = np.arange(n) - n // 2
    chosen = [(int(places[i]), int(places[j])) for i, j in ((0, n - 1), (0, 1), (n // 2, n - 1), (1, n // 2))]
    logits = np.array([pair_query(*pair) for pair in chosen], dtype=float) @ moment_keys(n).T
    margin = np.log((n - 2) * (1 - 2 * at.epsilon) / (4 * at.epsilon))
    return HeatMap(
        title="Any two of them, with width 4",
        caption=f"Weights of n = {n} keys (t, t², t³, t⁴) under queries for four pairs: each query shares its "
        "attention between just the two it names, though keys have width 4.",
        x=Axis(label="key t", lower=float(places[0]), upper=float(places[-1])),
        y=Axis(label="query", lower=1.0),
        values=softmax(margin * logits),
        lower=0.0,
        upper=0.5,
    )


def projector(at: SimpleNamespace) -> Chart:
    """v_a and AAᵀs, coordinate by coordinate."""
    columns, value, both = _subspaces(at)
    return _coordinates(
        "The projector brings v_a back",
        "The coordinates of v_a and of AAᵀs, s = v_a + v_b: they are the same numbers.",
        {"v_a": value, "AAᵀs": columns @ (columns.T @ both)},
    )


def coordinates(at: SimpleNamespace) -> Chart:
    """v_a and Aᵀs, coordinate by coordinate: not even as many numbers."""
    columns, value, both = _subspaces(at)
    return _coordinates(
        "Coordinates are not the vector",
        f"v_a has {len(value)} coordinates; Aᵀs has {columns.shape[1]}, those of v_a in the basis A, which are other "
        "numbers.",
        {"v_a": value, "Aᵀs": columns.T @ both},
    )


def _subspaces(at: SimpleNamespace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, v_a in its columns' span, and v_a + v_b."""
    m, p, width = int(at.m), int(at.p), int(at.m + at.p + at.spare)
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(width, width)))[0]
    first, second = basis[:, :m], basis[:, m : m + p]
    value = first @ rng.normal(size=m)
    return first, value, value + second @ rng.normal(size=p)


def _coordinates(title: str, caption: str, vectors: dict[str, np.ndarray]) -> Chart:
    return Chart(
        title=title,
        caption=caption,
        x=Axis(label="coordinate"),
        y=Axis(label="its value"),
        series=[
            Series(label=name, x=np.arange(1, len(vector) + 1), y=vector, style="line" if place else "points")
            for place, (name, vector) in enumerate(vectors.items())
        ],
        rules=(Rule(at=0.0, label=""),),
    )


FIGURES: Mapping[str, Callable[[SimpleNamespace], Figure]] = {
    "averaging-pairs-needs-width-n": pairs,
    "decoder-counts-repeats": repeats,
    "key-norm-always-averages": normalised,
    "narrow-heads-single-out-few": circle,
    "rope-layouts-are-permuted": mixed_layouts,
    "subspace-extraction": projector,
    "subspace-transpose": coordinates,
    "weights-are-a-distribution": shares,
}
