"""Figures of distance: biases, windows, rotary frequencies that are slowed, and distances that alias."""

import math
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.distances import alibi_weight, last_bucket_start
from regard.analysis.closed_forms.order import bos_weight
from regard.claims.figures._ranges import counts
from regard.positions.rotary_scaling import Linear, Ntk, Yarn, rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.positions.t5_buckets import t5_bucket
from regard.render.figures import Axis, Chart, HeatMap, Rule, Series

_WIDEST = 256
_MOST_TOKENS = 48
# Beyond such a factor every curve of a slowdown would be one line at the edge.
_LARGEST_FACTOR = 1e6


def alibi(at: SimpleNamespace) -> Chart:
    """ALiBi's weights against the distance, for the slope that is asked for and flatter ones."""
    distances = np.arange(0, 65)
    steepest = min(at.m, 50.0)
    slopes = [steepest, steepest / 4, steepest / 16]
    weights = {slope: alibi_weight(slope, slope * distances) for slope in slopes}
    return Chart(
        title="Each slope has its own horizon",
        caption="The weight at distance k under ALiBi when content says nothing. Every slope gives a straight fall on "
        "this scale, whatever the length of the context: steep heads see a few keys, flat ones hundreds.",
        x=Axis(label="distance k"),
        y=Axis(label="weight", is_log=True, lower=1e-8, upper=1.0),
        series=[
            Series(label=f"m = {slope:.3g}", x=distances, y=np.where(row > 1e-9, row, np.nan))
            for slope, row in weights.items()
        ],
    )


def buckets(at: SimpleNamespace) -> Chart:
    """T5's bucket of each distance."""
    num_buckets, most = at.num_buckets, int(min(at.max_distance, 10**6))
    distances = counts(1, 8 * most)
    found = t5_bucket(-distances, num_buckets=num_buckets, max_distance=most, is_causal=True)
    start = last_bucket_start(num_buckets, most)
    return Chart(
        title="From here on all distances are one",
        caption=f"The bucket of each distance for {num_buckets} buckets and max_distance {most}. The first half "
        f"counts, the rest grow by a factor each, and the last begins at {start} and never ends.",
        x=Axis(label="distance", is_log=True),
        y=Axis(label="bucket", lower=0.0),
        series=(Series(label="bucket", x=distances, y=np.asarray(found, dtype=float), style="bars"),),
        rules=(Rule(at=float(start), label=f"the last: {start}", is_vertical=True),),
    )


def windows(at: SimpleNamespace) -> HeatMap:
    """How many layers it takes for a token to be seen."""
    window, layers = int(min(at.window, 12)), int(min(at.layers, 8))
    tokens = min(layers * (window - 1) + 6, _MOST_TOKENS)
    behind = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    needed = np.ceil(behind / (window - 1))
    return HeatMap(
        title="Each layer adds a window",
        caption=f"Layers of window {window} that token j needs to reach token i; blank where {layers} are not enough "
        f"or j comes after i. The band is {layers}·{window - 1}+1 = {layers * (window - 1) + 1} tokens wide.",
        x=Axis(label="token j that is seen", lower=1.0),
        y=Axis(label="token i that looks", lower=1.0),
        values=np.where((behind >= 0) & (needed <= layers), needed, np.nan),
        lower=0.0,
        upper=float(layers),
    )


def slowed_ntk(at: SimpleNamespace) -> Chart:
    """How many times slower each rotary pair turns, under NTK-aware scaling and interpolation."""
    factor, width = min(at.s, _LARGEST_FACTOR), _even(at.d)
    return _slowdowns(
        {"NTK-aware": Ntk(factor=factor), "interpolation": Linear(factor=factor)},
        width=width,
        base=at.B,
        caption=f"θ_i/θ'_i for d = {width}, B = {at.B:g}, s = {factor:g}. Interpolation slows all pairs alike, also "
        "those that tell neighbours apart; the raised base leaves the fastest pair alone and slows the last by s.",
    )


def slowed_yarn(at: SimpleNamespace) -> Chart:
    """How many times slower each rotary pair turns under YaRN, beside NTK-aware scaling."""
    factor, width = min(at.s, _LARGEST_FACTOR), max(_even(at.d), 4)
    length, base = int(min(at.length, 10**9)), max(at.B, 1.0 + 1e-9)
    return _slowdowns(
        {"YaRN": Yarn(factor=factor, original_length=length), "NTK-aware": Ntk(factor=factor)},
        width=width,
        base=base,
        caption=f"θ_i/θ'_i for d = {width}, B = {at.B:g}, s = {factor:g}, trained length {length}. Pairs that turn "
        "more than 32 times are kept, those that turn less than once are slowed by s, and a ramp joins the two.",
    )


def favourite(at: SimpleNamespace) -> Chart:
    """The score of q and k = R_r q against the distance."""
    width, peak = _even(at.d), int(min(at.r, 200))
    distances = np.arange(0, 2 * peak + 25)
    frequencies = rotary_frequencies(at.B, width)
    scores = {turn: np.cos(np.outer(distances - turn, frequencies)).mean(axis=1) for turn in (0, peak)}
    return Chart(
        title="The favourite distance is chosen, not fixed",
        caption=f"⟨RoPE(q,t), RoPE(k,t−s)⟩ by distance s for d = {width}, B = {at.B:g}, as a share of |q|². A key "
        f"turned by R_{peak} scores highest at distance {peak}: weights can choose any distance they like.",
        x=Axis(label="distance s"),
        y=Axis(label="score / |q|²", lower=-1.0, upper=1.1),
        series=[
            Series(label="k = q", x=distances, y=scores[0], style="dashed"),
            Series(label=f"k = R_{peak} q", x=distances, y=scores[peak]),
        ],
        rules=(Rule(at=float(peak), label=f"s = {peak}", is_vertical=True),),
    )


def aliases(at: SimpleNamespace) -> Chart:
    """How near the angles of different distances come in the fastest rotary plane."""
    lags = np.arange(1, int(min(at.N, 200_000)))
    gaps = np.minimum.accumulate(np.abs((lags + math.pi) % (2 * math.pi) - math.pi))
    shown = np.unique(np.searchsorted(lags, counts(1, int(lags[-1]))))
    return Chart(
        title="Distances soon look alike",
        caption="The least angle between any two of the distances 0…N−1 in the plane of frequency 1. At N = 7 two are "
        "0.28 radians apart, from N = 711 on 6·10⁻⁵: far distances alias near ones.",
        x=Axis(label="number of distances N", is_log=True),
        y=Axis(label="least angle apart", is_log=True),
        series=(Series(label="least angle", x=lags[shown] + 1, y=gaps[shown], style="bars"),),
        rules=(Rule(at=at.resolution, label=f"claimed: {at.resolution:.3g}"),),
    )


def moving_products(at: SimpleNamespace) -> HeatMap:
    """Φ(t)ᵀWΦ(u) for a random W: no stripes along the diagonals."""
    width = _even(at.d)
    codes = sinusoid(np.arange(48), width=width, base=max(at.B, 1.0))
    matrix = np.random.default_rng(0).normal(size=(width, width)) / width
    return HeatMap(
        title="Not the same along diagonals",
        caption=f"Φ(t)ᵀWΦ(u) for codes of width {width} and a random W. If it were a matter of t − u alone, every "
        "diagonal would have one colour.",
        x=Axis(label="position u"),
        y=Axis(label="position t"),
        values=codes @ matrix @ codes.T,
        scale="diverging",
    )


def bos(at: SimpleNamespace) -> Chart:
    """The weight of the first token at each position."""
    positions = np.arange(1, int(min(max(at.T, 16), 256)) + 1)
    return Chart(
        title="The first token's weight tells the place",
        caption="What the beginning-of-sequence token weighs at position t of a causal layer whose logits are all "
        "equal. No two positions have the same, so the output tells t, though ever more faintly.",
        x=Axis(label="position t", is_log=True),
        y=Axis(label="weight of the first token", is_log=True),
        series=(Series(label="1/t", x=positions, y=bos_weight(positions), style="points"),),
    )


def _even(width: float) -> int:
    return max(2 * (int(min(width, _WIDEST)) // 2), 4)


def _slowdowns(scalings: dict, *, width: int, base: float, caption: str) -> Chart:
    plain, pairs = rotary_frequencies(base, width), np.arange(width // 2)
    return Chart(
        title="Which pairs are slowed",
        caption=caption,
        x=Axis(label="pair i, fastest first"),
        y=Axis(label="times slower", is_log=True),
        series=[
            Series(label=name, x=pairs, y=plain / scaling.frequencies(base, width), style=style)
            for style, (name, scaling) in zip(("line", "dashed"), scalings.items(), strict=True)
        ],
    )
