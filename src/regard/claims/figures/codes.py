"""Figures of position codes: what sinusoids look like, where they nearly meet, what rotations keep."""

import math
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.rotations import (
    envelope,
    envelope_floor,
    relative_score,
    rotation_matrix,
    squared_norm,
)
from regard.analysis.closed_forms.sinusoids import best_returns, code_product, gap, shift_matrix
from regard.claims._rounded_rows import as_format, repeats
from regard.claims._turns import WholeVectors
from regard.claims.figures._ranges import counts
from regard.positions.rotary import Rotary
from regard.positions.rotary_scaling import rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, Chart, HeatMap, Rule, Series

_WIDEST, _WIDEST_TABLE = 256, 32
_DECADES = ((1, 10), (10, 100), (100, 1000), (1000, 10_000))


def code_table(at: SimpleNamespace) -> HeatMap:
    """The codes themselves, a row for each position."""
    del at
    return HeatMap(
        title="No two rows are alike",
        caption="Sinusoidal codes of width 64. The first columns turn once in 2π positions, the last hardly at all; "
        "since π is irrational, even the first two columns never repeat.",
        x=Axis(label="coordinate of the code"),
        y=Axis(label="position t"),
        values=sinusoid(np.arange(64), width=64),
        scale="diverging",
    )


def products(at: SimpleNamespace) -> HeatMap:
    """Φ(t)ᵀΦ(u) for every two positions."""
    width, positions = min(at.d, _WIDEST), np.arange(64)
    angles = [positions * frequency for frequency in rotary_frequencies(at.B, width)]
    values = code_product([angle[:, None] for angle in angles], [angle[None, :] for angle in angles])
    return HeatMap(
        title="The same along every diagonal",
        caption=f"Φ(t)ᵀΦ(u) for codes of width {width}, B = {at.B:g}. It depends on t − u only, so the picture is "
        "made of diagonal stripes, and it is symmetric: how far is seen, on which side is not.",
        x=Axis(label="position u"),
        y=Axis(label="position t"),
        values=values,
    )


def shift(at: SimpleNamespace) -> HeatMap:
    """The matrix that shifts by five positions."""
    width = min(at.d, _WIDEST_TABLE)
    return HeatMap(
        title="A shift is a rotation",
        caption=f"R_5, which takes Φ(t) to Φ(t+5) whatever t is, for d = {width} and B = {at.B:g}: one 2×2 rotation "
        "for each pair, from fast at the top left to slow at the bottom right.",
        x=Axis(label="column"),
        y=Axis(label="row"),
        values=shift_matrix(5 * rotary_frequencies(at.B, width)).astype(float),
        scale="diverging",
    )


def rotation(at: SimpleNamespace) -> HeatMap:
    """The matrix of RoPE at one position."""
    width = min(at.d, _WIDEST_TABLE)
    return HeatMap(
        title="Mostly zeros",
        caption=f"The matrix of RoPE at t = 5 for D = {width} and B = {at.B:g}. Each 2×2 block is one complex "
        "number; D/2 products do the work of the whole table.",
        x=Axis(label="column"),
        y=Axis(label="row"),
        values=rotation_matrix(5 * rotary_frequencies(at.B, width)).astype(float),
        scale="diverging",
    )


def near_returns(at: SimpleNamespace) -> Chart:
    """How near codes of width 2 come to each other, lag by lag."""
    del at
    lags = np.arange(1, 801)
    codes = sinusoid(lags, width=2)
    records = best_returns(801)
    return Chart(
        title="710 positions apart, almost the same",
        caption="The angle between codes of width 2 that are s apart. The best lags so far are marked; 710 is "
        "nearly 113 whole turns, and nothing comes nearer before 103993.",
        x=Axis(label="lag s"),
        y=Axis(label="angle between the codes", is_log=True),
        series=(
            Series(label="", x=lags, y=np.abs(np.arctan2(codes[:, 0], codes[:, 1]))),
            Series(label="nearer than all before", x=records, y=[float(gap(lag)) for lag in records], style="points"),
        ),
        rules=(Rule(at=710.0, label="710", is_vertical=True),),
    )


def lost_codes(at: SimpleNamespace) -> Chart:
    """How many positions share the code of an earlier one, by format."""
    total, places = 32_768, counts(256, 32_768)
    series = []
    for width, name in ((2, "bfloat16"), (2, "float16"), (4, "bfloat16")):
        _, later = repeats(as_format(sinusoid(np.arange(total), width=width), name))
        lost = np.searchsorted(np.sort(later), places).astype(float)
        series.append(Series(label=f"{name}, d = {width}", x=places, y=lost / places))
    return Chart(
        title="Narrow codes meet once they are rounded",
        caption="The share of positions 0…T−1 whose rounded code is that of an earlier position. At d = 2 codes "
        "meet from lag 710 on; one pair more, d = 4, keeps them apart beyond this range, though not for ever (the "
        f"claim is decided at d = {at.d:g}, T = {at.T}).",
        x=Axis(label="number of positions T", is_log=True),
        y=Axis(label="share of positions lost", lower=0.0, upper=1.05),
        series=series,
    )


def envelope_of_scores(at: SimpleNamespace) -> Chart:
    """The envelope of rotary scores against the distance, with its means by decade."""
    lags = counts(1, 9_999)
    lags = np.unique(np.concatenate([lags, np.geomspace(1, 9_999, 400).round().astype(int)]))
    curve = envelope(lags, at.d, at.B)
    middles = [math.sqrt(first * end) for first, end in _DECADES]
    means = [float(envelope(_sample(first, end), at.d, at.B).mean()) for first, end in _DECADES]
    floor = float(envelope_floor(at.d))
    return Chart(
        title="Far tokens agree less, in the mean",
        caption=f"The envelope of rotary scores, d = {at.d}, B = {at.B:g}: it falls with the distance in the mean of "
        "each decade, with ripples, to the length of a random walk of d/2 steps.",
        x=Axis(label="distance s", is_log=True),
        y=Axis(label="|Σ e^{isθ_j}|", lower=0.0),
        series=(
            Series(label="envelope", x=lags, y=curve),
            Series(label="mean of the decade", x=middles, y=means, style="points"),
        ),
        rules=(Rule(at=floor, label=f"random phases: {floor:.3g}"),),
    )


def _sample(first: int, end: int) -> np.ndarray:
    """The whole numbers from `first` up to `end`, or 500 of them at equal steps."""
    return np.unique(np.linspace(first, end - 1, 500).round().astype(int))


def sliding_scores(at: SimpleNamespace) -> Chart:
    """The score of two fixed vectors against their distance, with both positions far away as well."""
    width, lags = min(at.d, _WIDEST), np.linspace(-60, 60, 481)
    rng, code = np.random.default_rng(0), Rotary(base=at.B)
    z, w = (WholeVectors.draw(rng, 1, width).rows[0] for _ in range(2))
    frequencies = code.frequencies(width)
    claimed = relative_score(z, w, list(np.multiply.outer(frequencies, lags)), [0.0] * len(frequencies))
    far = np.arange(-60, 61, 4)
    moved = code.rotate(np.broadcast_to(z, (len(far), width)), 1000 + far)
    there = code.rotate(np.broadcast_to(w, (len(far), width)), np.full(len(far), 1000))
    return Chart(
        title="Only the distance counts",
        caption=f"The score of two fixed vectors of width {width} against t₁ − t₂: with t₂ = 0 as a curve, and with "
        "both positions moved a thousand tokens on as points. They agree to the last digits.",
        x=Axis(label="distance t₁ − t₂"),
        y=Axis(label="score"),
        series=(
            Series(label="t₂ = 0", x=lags, y=claimed),
            Series(label="t₂ = 1000", x=far, y=(moved * there).sum(axis=-1), style="points"),
        ),
    )


def kept_norm(at: SimpleNamespace) -> Chart:
    """The norm of a rotated vector, and the sum of its entries, against the position."""
    width, positions = min(at.d, _WIDEST), np.arange(0, 201)
    x = WholeVectors.draw(np.random.default_rng(0), 1, width).rows[0]
    turned = Rotary(base=at.B).rotate(np.broadcast_to(x, (len(positions), width)), positions)
    return Chart(
        title="Rotations keep the length",
        caption=f"A vector of width {width} under RoPE: its norm is the same at every position, while the sum of its "
        "entries wanders.",
        x=Axis(label="position t"),
        y=Axis(label="of RoPE(x, t)"),
        series=(
            Series(label="norm", x=positions, y=np.sqrt(squared_norm(turned.T))),
            Series(label="sum of the entries", x=positions, y=turned.sum(axis=1)),
        ),
    )


def merged_positions(at: SimpleNamespace) -> Chart:
    """How far a position is off once it is cast to a narrow format."""
    del at
    positions = counts(64, 60_000)
    off = {
        name: np.abs(as_format(np.arange(60_001), name).astype(float) - np.arange(60_001))
        for name in ("bfloat16", "float16")
    }
    worst = {name: np.maximum.accumulate(error)[positions] for name, error in off.items()}
    return Chart(
        title="Where whole positions merge",
        caption="The largest rounding error of a position up to t, which is also that of RoPE's fastest angle. "
        "bfloat16 is off by one from 257 on, float16 from 2049; half a turn is π.",
        x=Axis(label="position t", is_log=True),
        y=Axis(label="largest error so far, in positions", is_log=True, lower=0.5),
        series=[Series(label=name, x=positions, y=np.where(error > 0, error, np.nan)) for name, error in worst.items()],
        rules=(
            Rule(at=math.pi, label="half a turn, π"),
            Rule(at=257.0, label="257", is_vertical=True),
            Rule(at=2049.0, label="2049", is_vertical=True),
        ),
    )
