"""Numbers in rows and columns as colors: figures with a color bar, and attention maps labelled by tokens."""

import html
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from regard.core.axes import Float, Int
from regard.render.chart_labels import HEIGHT, framed, text, text_lines, width_of, wrapped
from regard.render.chart_scales import Scale, Tick, finite, scale_of, ticks
from regard.render.figures import Axis, HeatMap

MAX_CELLS, NUM_SHADES = 4000, 21
_TOP, _BAR, _NO_SHADE = 6.0, 10.0, -1
_MIN_ASPECT = 0.35
_CELL, _MAX_LABEL = 16.0, 14

_Table = Float[np.ndarray, "row column"]


def heat_map_svg(figure: HeatMap, *, width: float) -> tuple[str, float]:
    """The content of the SVG and its height; the first row is on top."""
    values = _values(figure)
    bar = _bar_scale(figure, values)
    heading, footing = wrapped(figure.y.label, width - 8), wrapped(figure.x.label, width - 8)
    top = _TOP + HEIGHT * len(heading) + 6
    left = 8 + _widest(_y_ticks(_cells(figure.y, values.shape[0], 0.0, 200.0)))
    right = 14 + _BAR + 6 + _widest(ticks(bar, 5))
    across = width - left - right
    down = across * min(max(values.shape[0] / values.shape[1], _MIN_ASPECT), 0.9)
    bar = Scale(lower=bar.lower, upper=bar.upper, start=top + down, end=top)
    x = _cells(figure.x, values.shape[1], left, left + across)
    y = _cells(figure.y, values.shape[0], top, top + down)
    shown = [
        text_lines(heading, 0, _TOP + HEIGHT * 0.8),
        _cells_svg(figure, values, bar, (left, top, across, down)),
        f'<rect class="chart-edge" x="{left:.1f}" y="{top:.1f}" width="{across:.1f}" height="{down:.1f}"/>',
        *(text(tick.label, left - 6, float(y(tick.at)) + 4, name="chart-tick", anchor="end") for tick in _y_ticks(y)),
        *(
            text(tick.label, float(x(tick.at)), top + down + 15, name="chart-tick", anchor="middle")
            for tick in _x_ticks(x)
        ),
        text_lines(footing, left + across / 2, top + down + 18 + HEIGHT * 0.9, anchor="middle"),
        _bar(figure, bar, left + across + 14),
    ]
    return "".join(shown), top + down + 22 + HEIGHT * len(footing)


def _values(figure: HeatMap) -> _Table:
    lengths = {len(row) for row in figure.values}
    if len(lengths) != 1 or 0 in lengths:
        rows = "no rows" if not lengths else f"rows of {', '.join(map(str, sorted(lengths)))} numbers"
        raise ValueError(f"The heat map '{figure.title}' has {rows}. Give rows of one length, at least 1.")
    return finite(np.array([list(row) for row in figure.values]), is_log=False)


def _bar_scale(figure: HeatMap, values: _Table) -> Scale:
    """From the smallest value to the largest unless the figure sets them; diverging scales are centered at zero."""
    known = values[~np.isnan(values)]
    lower, upper = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    lower = lower if figure.lower is None else figure.lower
    upper = upper if figure.upper is None else figure.upper
    if figure.scale == "diverging":
        reach = max(abs(lower), abs(upper)) or 1.0
        lower, upper = -reach, reach
    if not upper - lower > 1e-12 * max(abs(lower), abs(upper)):
        lower, upper = lower - (abs(lower) / 2 or 0.0), upper + (abs(upper) / 2 or 1.0)
    return Scale(lower=lower, upper=upper, start=0.0, end=1.0)


def _widest(found: Sequence[Tick]) -> float:
    return max((width_of(tick.label) for tick in found), default=0.0)


def _cells(axis: Axis, count: int, start: float, end: float) -> Scale:
    """A scale through the centers of the cells: the first is `lower` (0), the last `upper` (the count minus one)."""
    ends = Axis(
        label=axis.label,
        lower=0.0 if axis.lower is None else axis.lower,
        upper=axis.upper if axis.upper is not None else (axis.lower or 0.0) + max(count - 1, 0.5),
    )
    half = (end - start) / count / 2
    return scale_of(ends, np.zeros(1), start=start + half, end=end - half if count > 1 else end)


def _cell_ticks(scale: Scale, most: int) -> list[Tick]:
    """Ticks, only at whole numbers if the axis counts cells."""
    found = ticks(scale, most)
    if float(scale.lower).is_integer() and scale.upper - scale.lower >= 1:
        return [tick for tick in found if float(tick.at).is_integer()]
    return found


def _y_ticks(scale: Scale) -> list[Tick]:
    return _cell_ticks(scale, max(int((scale.end - scale.start) / 30), 2))


def _x_ticks(scale: Scale) -> list[Tick]:
    found = _cell_ticks(scale, 8)
    return _cell_ticks(scale, max(min(8, int((scale.end - scale.start) / (_widest(found) + 10))), 2))


def _shades(values: _Table, bar: Scale) -> Int[np.ndarray, "row column"]:
    share = (values - bar.lower) / (bar.upper - bar.lower)
    numbers = np.clip(np.rint(share * (NUM_SHADES - 1)), 0, NUM_SHADES - 1)
    return np.where(np.isnan(numbers), _NO_SHADE, numbers).astype(int)


def _cells_svg(figure: HeatMap, values: _Table, bar: Scale, at: tuple[float, float, float, float]) -> str:
    """One path per shade, made of the runs of that shade within the rows."""
    left, top, width, height = at
    shades = _shades(values, bar)
    while sum(1 for row in shades for _ in groupby(row)) > MAX_CELLS:
        values = _coarser(values)
        shades = _shades(values, bar)
    across, down = width / shades.shape[1], height / shades.shape[0]
    runs: dict[int, list[str]] = {}
    for number, row in enumerate(shades):
        start = 0
        for shade, run in groupby(row.tolist()):
            length = len(list(run))
            runs.setdefault(shade, []).append(f"M{start} {number}h{length}v1h-{length}z")
            start += length
    paths = "".join(
        f'<path class="{_shade_class(figure, shade)}" d="{"".join(cells)}"/>' for shade, cells in runs.items()
    )
    place = f"translate({left:.2f} {top:.2f}) scale({across:.5f} {down:.5f})"
    return f'<g class="chart-cells" transform="{place}">{paths}</g>'


def _coarser(values: _Table) -> Float[np.ndarray, "fewer_rows fewer_columns"]:
    """Means of neighbouring pairs along the longer side."""
    axis = 0 if values.shape[0] >= values.shape[1] else 1
    length = values.shape[axis]
    starts = np.arange(0, length, 2)
    known = ~np.isnan(values)
    total = np.add.reduceat(np.where(known, values, 0.0), starts, axis=axis)
    count = np.add.reduceat(known.astype(float), starts, axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _shade_class(figure: HeatMap, shade: int) -> str:
    return "none" if shade == _NO_SHADE else f"{figure.scale[0]}{shade}"


def _bar(figure: HeatMap, bar: Scale, left: float) -> str:
    step = (bar.start - bar.end) / NUM_SHADES
    drawn = [
        f'<rect class="{_shade_class(figure, shade)}" x="{left:.1f}" y="{bar.start - (shade + 1) * step:.2f}" '
        f'width="{_BAR:g}" height="{step:.2f}"/>'
        for shade in range(NUM_SHADES)
    ]
    most = max(int((bar.start - bar.end) / 34), 2)
    places = [(tick.label, float(bar(tick.at)) + 4) for tick in ticks(bar, min(most, 5))]
    words = [
        text(label, left + _BAR + 5, min(max(y, bar.end + 8), bar.start), name="chart-tick") for label, y in places
    ]
    return f'<g class="chart-cells">{"".join(drawn)}</g>{"".join(words)}'


def draw_attention_map(
    weights: Float[np.ndarray, "query key"], tokens: Sequence[str], name: tuple[int, int], *, title: str
) -> str:
    """A causal head's weights, queries as rows and keys as columns; a frame marks the keys of the name.

    Keys that a query cannot see stay blank.
    """
    labels = [_token_label(token) for token in tokens]
    side = max(width_of(label) for label in labels) + 6
    count, reach = len(tokens), _CELL * len(tokens)
    cells = "".join(_map_row(weights[query, : query + 1], tokens, query) for query in range(count))
    names = "".join(_side_labels(label, side, _CELL * (place + 0.5) + 4, reach) for place, label in enumerate(labels))
    first, end = name
    frame = (
        f'<rect class="name" x="{side + _CELL * first:.1f}" y="0.5" width="{_CELL * (end - first):.1f}" '
        f'height="{reach - 1:.1f}"/>'
    )
    description = f"Attention weights of {title}: rows attend to columns; cells with more weight stand out more."
    drawn = f'<g class="chart-cells" transform="translate({side:.1f} 0) scale({_CELL:g})">{cells}</g>{frame}{names}'
    svg = f"<desc>{html.escape(description)}</desc>{drawn}"
    return framed(svg, (side + reach + 2, reach + side), title=title, kind="chart map")


def _map_row(weights: Float[np.ndarray, " key"], tokens: Sequence[str], query: int) -> str:
    shades = np.clip(np.rint(weights * (NUM_SHADES - 1)), 0, NUM_SHADES - 1).astype(int)
    return "".join(
        f'<rect class="s{shade}" x="{key}" y="{query}" width="1" height="1">'
        f"<title>{html.escape(tokens[query])} → {html.escape(tokens[key])}: {weight:.0%}</title></rect>"
        for key, (shade, weight) in enumerate(zip(shades.tolist(), weights.tolist(), strict=True))
    )


def _side_labels(label: str, side: float, along: float, reach: float) -> str:
    """The label left of its row, and turned below its column; a token has no indices or powers to set."""
    places = (
        f'x="{side - 5:.1f}" y="{along:.1f}"',
        f'transform="translate({side + along:.1f} {reach + 6:.1f}) rotate(-90)"',
    )
    return "".join(f'<text class="chart-tick" {at} text-anchor="end">{html.escape(label)}</text>' for at in places)


def _token_label(token: str) -> str:
    """A token without the mark of a word's beginning, cut if it is long.

    >>> _token_label("▁Where"), _token_label("▁extraordinarily")
    ('Where', 'extraordinari…')
    """
    bare = token.removeprefix("▁") or token
    return bare if len(bare) <= _MAX_LABEL else f"{bare[: _MAX_LABEL - 1]}…"
