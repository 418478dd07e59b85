"""Figures as SVG: each `draw_…` function gives a `figure` element that needs only the style sheet charts.css."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from regard.core.axes import Float
from regard.render.chart_labels import HEIGHT, Box, Canvas, framed, text, text_lines, width_of, wrapped
from regard.render.chart_scales import Scale, Tick, finite, scale_of, ticks
from regard.render.figures import Axis, Chart, Figure, Guide, HeatMap, Series
from regard.render.heat_maps import heat_map_svg

WIDTH, PLOT_HEIGHT = 400.0, 200.0
_RIGHT, _TOP = 14.0, 6.0
_SAMPLE, _BOLD = 26.0, 1.08
_ROW_HEIGHT, _ROWS_TOP = 22.0, 8.0
_NUM_COLORS = 6
_SHAPES = (
    "M-3.4,0a3.4,3.4 0 1 0 6.8,0a3.4,3.4 0 1 0 -6.8,0z",
    "M-3,-3h6v6h-6z",
    "M0,-3.6l3.4,6h-6.8z",
    "M0,-3.8l3.6,3.8l-3.6,3.8l-3.6,-3.8z",
)
# The distance between sampled points of a line, which labels keep clear of.
_SPACING = 4.0

Points = Float[np.ndarray, "_ 2"]


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """A named value with its interval, the single values behind it, and a status that tints it."""

    name: str
    value: float
    lower: float
    upper: float
    points: Sequence[float] = ()
    status: str = ""


def draw_figure(figure: Figure) -> str:
    """The figure as HTML: an SVG image with a description for screen readers, and its caption.

    >>> from regard.render.figures import Axis
    >>> line = Series(label="y", x=(0.0, 1.0), y=(0.0, 1.0))
    >>> chart = Chart(title="A line", caption="It rises.", x=Axis(label="x"), y=Axis(label="y"), series=(line,))
    >>> draw_figure(chart).startswith('<figure class="chart"><svg')
    True
    """
    body, height = heat_map_svg(figure, width=WIDTH) if isinstance(figure, HeatMap) else _chart_svg(figure)
    return framed(body, (WIDTH, height), title=figure.title, caption=figure.caption)


def draw_intervals(
    rows: Sequence[IntervalRow], axis: Axis, *, title: str, caption: str, at: float | None = None
) -> str:
    """A figure with one interval per row; `at` adds a dotted vertical line."""
    left = max(width_of(row.name) for row in rows) + 10
    known = [value for row in rows for value in (row.value, row.lower, row.upper, *row.points) if math.isfinite(value)]
    values = np.array([*known, *([] if at is None else [at])])
    scale = scale_of(axis, values, start=left, end=WIDTH - _RIGHT, is_padded=True)
    bottom = _ROWS_TOP + _ROW_HEIGHT * len(rows)
    drawn = [
        *(_interval_tick(scale, tick.at, tick.label, bottom) for tick in ticks(scale, 5)),
        "" if at is None else f'<path class="chart-rule" d="M{float(scale(at)):.1f},{_ROWS_TOP:.1f}V{bottom:.1f}"/>',
        *(_interval(row, scale, _ROWS_TOP + _ROW_HEIGHT * (number + 0.5)) for number, row in enumerate(rows)),
        text(axis.label, (left + WIDTH - _RIGHT) / 2, bottom + 18 + HEIGHT, name="chart-axis", anchor="middle"),
    ]
    return framed("".join(drawn), (WIDTH, bottom + 24 + HEIGHT), title=title, caption=caption, kind="chart rows")


def _interval_tick(scale: Scale, at: float, label: str, bottom: float) -> str:
    x = float(scale(at))
    line = f'<path class="chart-grid" d="M{x:.1f},{_ROWS_TOP:.1f}V{bottom:.1f}"/>'
    return line + text(label, x, bottom + 15, name="chart-tick", anchor="middle")


def _interval(row: IntervalRow, scale: Scale, y: float) -> str:
    low, high = (float(scale(min(max(value, scale.lower), scale.upper))) for value in (row.lower, row.upper))
    singles = "".join(f'<circle class="single" cx="{float(scale(x)):.1f}" cy="{y:.1f}" r="2.2"/>' for x in row.points)
    return (
        text(row.name, scale.start - 8, y + 4, name="chart-tick", anchor="end")
        + f'<g class="{html.escape(row.status)} interval"><path class="reach" d="M{low:.1f},{y:.1f}H{high:.1f}"/>'
        + singles
        + f'<circle class="middle" cx="{float(scale(row.value)):.1f}" cy="{y:.1f}" r="4"/></g>'
    )


@dataclass(frozen=True, kw_only=True)
class _LegendEntry:
    label: str
    series: Series | None
    index: int = 0


@dataclass(frozen=True, kw_only=True)
class _Plot:
    """The rectangle in which the data are drawn: a horizontal and a vertical scale."""

    x: Scale
    y: Scale

    @property
    def frame(self) -> Box:
        """The rectangle between the axes."""
        return Box(left=self.x.start, top=self.y.end, width=self.x.end - self.x.start, height=self.y.start - self.y.end)

    @property
    def floor(self) -> float:
        """Where filled marks end: at zero, or at the end of the axis nearest to it."""
        if self.y.is_log:
            return self.y.start
        return float(self.y(min(max(0.0, self.y.lower), self.y.upper)))


def _chart_svg(chart: Chart) -> tuple[str, float]:
    _ensure_drawable(chart)
    heading = wrapped(chart.y.label, WIDTH - _RIGHT)
    top = _TOP + HEIGHT * len(heading) + 7
    plot = _plot(chart, top)
    guides = [guide for guide in chart.guides if _is_visible(guide, plot)]
    words, keys = _labels(chart, guides, plot)
    if keys:
        legend, rows = _legend(keys, top)
        plot = _plot(chart, top + rows * (HEIGHT + 2) + 5)
        words, _ = _labels(chart, guides, plot, left_out=keys)
    else:
        legend = ""
    footing = wrapped(chart.x.label, WIDTH - _RIGHT)
    shown = [
        text_lines(heading, 0, _TOP + HEIGHT * 0.8),
        legend,
        _grid(plot),
        *(f'<path class="chart-rule" d="{_path(_guide_ends(guide, plot))}"/>' for guide in guides),
        *(_marks(series, index, plot) for index, series in sorted(enumerate(chart.series), key=_layer)),
        words,
        text_lines(footing, (plot.x.start + plot.x.end) / 2, plot.y.start + 18 + HEIGHT * 0.9, anchor="middle"),
    ]
    return "".join(shown), plot.y.start + 20 + HEIGHT * len(footing) + 4


def _ensure_drawable(chart: Chart) -> None:
    if not chart.series:
        raise ValueError(f"The chart '{chart.title}' has no series. Give it at least one.")
    for series in chart.series:
        num_x, num_y = len(series.x), len(series.y)
        if num_y == 0:
            raise ValueError(f"The series '{series.label}' of '{chart.title}' has no points. Give it some.")
        if num_x != num_y and not (series.style == "bars" and num_x == num_y + 1):
            raise ValueError(f"The series '{series.label}' has {num_x} x and {num_y} y. Give one y for each x.")


def _layer(numbered: tuple[int, Series]) -> int:
    """Filled marks come first, so that lines and points stay visible."""
    return ("area", "bars", "dashed", "line", "points").index(numbered[1].style)


def _plot(chart: Chart, top: float) -> _Plot:
    points = [_edges(series) for series in chart.series]
    across = [x for x, _ in points] + [np.array([guide.at]) for guide in chart.guides if guide.is_vertical]
    upward = [y for _, y in points] + [np.array([guide.at]) for guide in chart.guides if not guide.is_vertical]
    if any(series.style in ("area", "bars") for series in chart.series) and not chart.y.is_log:
        upward.append(np.zeros(1))
    y = scale_of(chart.y, np.concatenate(upward), start=top + PLOT_HEIGHT, end=top, is_padded=True)
    left = max(width_of(tick.label) for tick in (ticks(y) or [Tick(at=0, label="0")])) + 6
    has_points = all(series.style == "points" for series in chart.series)
    x = scale_of(chart.x, np.concatenate(across), start=left, end=WIDTH - _RIGHT, is_padded=has_points)
    return _Plot(x=x, y=y)


def _x_ticks(scale: Scale) -> list[Tick]:
    """As many ticks as have room for their labels."""
    for most in range(8, 1, -1):
        found = ticks(scale, most)
        places = [float(scale(tick.at)) for tick in found]
        halves = [width_of(tick.label) / 2 for tick in found]
        ends = zip(places, halves, places[1:], halves[1:], strict=False)
        if all(here + half + 8 <= there - other for here, half, there, other in ends):
            return found
    return found[:1]


def _grid(plot: _Plot) -> str:
    frame = plot.frame
    bottom, right = frame.top + frame.height, frame.left + frame.width
    drawn = []
    for tick in ticks(plot.y):
        y = float(plot.y(tick.at))
        drawn.append(f'<path class="chart-grid" d="M{frame.left:.1f},{y:.1f}H{right:.1f}"/>')
        drawn.append(text(tick.label, frame.left - 6, y + 4, name="chart-tick", anchor="end"))
    for tick in _x_ticks(plot.x):
        x = float(plot.x(tick.at))
        drawn.append(f'<path class="chart-grid" d="M{x:.1f},{frame.top:.1f}V{bottom:.1f}"/>')
        half = width_of(tick.label) / 2
        drawn.append(text(tick.label, min(x, WIDTH - half), bottom + 15, name="chart-tick", anchor="middle"))
    drawn.append(f'<path class="chart-base" d="M{frame.left:.1f},{bottom:.1f}H{right:.1f}"/>')
    return "".join(drawn)


def _is_visible(guide: Guide, plot: _Plot) -> bool:
    scale = plot.x if guide.is_vertical else plot.y
    return bool(scale.lower <= guide.at <= scale.upper)


def _guide_ends(guide: Guide, plot: _Plot) -> Points:
    frame = plot.frame
    if guide.is_vertical:
        x = float(plot.x(guide.at))
        return np.array([[x, frame.top], [x, frame.top + frame.height]])
    y = float(plot.y(guide.at))
    return np.array([[frame.left, y], [frame.left + frame.width, y]])


def _labels(
    chart: Chart, guides: Sequence[Guide], plot: _Plot, left_out: Sequence[_LegendEntry] = ()
) -> tuple[str, list[_LegendEntry]]:
    """Labels inside the plot, beside what they name, and the legend entries of those that found no place."""
    canvas = Canvas(frame=plot.frame, lines=[_outline(series, plot) for series in chart.series])
    for start, end in (_guide_ends(guide, plot) for guide in guides):
        canvas.lines.append(start + (end - start) * np.linspace(0, 1, 60)[:, None])
    named = {key.label for key in left_out}
    words, keys = [], []
    for guide in guides:
        box = None if guide.label in named else canvas.clearest(_beside_guide(guide, plot))
        if box is None:
            keys.append(_LegendEntry(label=guide.label, series=None))
            continue
        canvas.boxes.append(box)
        words.append(text(guide.label, box.left, box.top + HEIGHT * 0.8, name="chart-note"))
    labels = _series_labels(chart, canvas) if not any(key.series for key in left_out) else None
    if labels is None:
        rows = [
            _LegendEntry(label=series.label, series=series, index=index) for index, series in enumerate(chart.series)
        ]
        return "".join(words), [*(row for row in rows if row.label), *keys]
    return "".join([*words, *labels]), keys


def _series_labels(chart: Chart, canvas: Canvas) -> list[str] | None:
    """A label beside each series, or None if one of them finds no place."""
    words = []
    for index, series in enumerate(chart.series):
        if not series.label or (len(chart.series) == 1 and series.label == chart.y.label):
            continue
        box = canvas.beside(index, _BOLD * width_of(series.label))
        if box is None:
            return None
        canvas.boxes.append(box)
        name = f"chart-label c{index % _NUM_COLORS}"
        words.append(text(series.label, box.left, box.top + HEIGHT * 0.8, name=name))
    return words


def _beside_guide(guide: Guide, plot: _Plot) -> list[Box]:
    frame, width = plot.frame, width_of(guide.label)
    if guide.is_vertical:
        x = float(plot.x(guide.at))
        tops = np.linspace(frame.top + 2, frame.top + frame.height - HEIGHT - 2, 12)
        return [Box(left=left, top=float(top), width=width) for top in tops for left in (x + 4, x - 4 - width)]
    y = float(plot.y(guide.at))
    lefts = np.linspace(frame.left + frame.width - width - 4, frame.left + 4, 12)
    return [Box(left=float(left), top=top, width=width) for top in (y - 2 - HEIGHT, y + 3) for left in lefts]


def _legend(keys: Sequence[_LegendEntry], top: float) -> tuple[str, int]:
    """The entries in rows from the left, and the number of rows."""
    drawn, x, row = [], 0.0, 0
    for key in keys:
        lines = wrapped(key.label, WIDTH - _SAMPLE)
        width = _SAMPLE + max(map(width_of, lines), default=0.0)
        if x > 0 and x + width > WIDTH:
            x, row = 0.0, row + 1
        y = top + row * (HEIGHT + 2) + HEIGHT / 2
        drawn.append(
            f'<path class="chart-rule" d="M{x:.1f},{y:.1f}h20"/>'
            if key.series is None
            else _sample(key.series, key.index, x, y)
        )
        drawn += [
            text(line, x + _SAMPLE, y + 4 + place * (HEIGHT + 2), name="chart-key") for place, line in enumerate(lines)
        ]
        x, row = (x + width + 14, row) if len(lines) == 1 else (0.0, row + len(lines))
    return "".join(drawn), row + (x > 0)


def _marks(series: Series, index: int, plot: _Plot) -> str:
    """The series as SVG; `index` selects its color, dashes and point shape."""
    color = f"c{index % _NUM_COLORS}"
    if series.style == "points":
        return "".join(_point(x, y, index, color) for x, y in _inside(_places(series, plot), plot.frame))
    pieces = [_cut(piece, plot.frame) for piece in _runs(_places(series, plot))]
    drawn = []
    if series.style in ("area", "bars"):
        filled = [_path(_closed(piece, plot)) for piece in pieces]
        drawn += [f'<path class="chart-fill {color}" d="{path}"/>' for path in filled]
    dashes = _dashes(series, index)
    for piece in pieces:
        visible = np.where(_is_inside(piece, plot.frame)[:, None], piece, np.nan)
        drawn += [
            _point(part[0, 0], part[0, 1], index, color)
            if len(part) == 1
            else f'<path class="chart-line {color}{dashes}" d="{_path(part)}"/>'
            for part in _runs(visible)
        ]
    return "".join(drawn)


def _sample(series: Series, index: int, x: float, y: float) -> str:
    """A legend sample of the series, 20 units wide."""
    color = f"c{index % _NUM_COLORS}"
    if series.style == "points":
        return _point(x + 10, y, index, color)
    if series.style in ("area", "bars"):
        return (
            f'<path class="chart-fill {color}" d="M{x:.1f},{y - 4:.1f}h20v8h-20z"/>'
            f'<path class="chart-line {color}" d="M{x:.1f},{y - 4:.1f}h20"/>'
        )
    return f'<path class="chart-line {color}{_dashes(series, index)}" d="M{x:.1f},{y:.1f}h20"/>'


def _outline(series: Series, plot: _Plot) -> Points:
    """Closely spaced points along the visible part of the series."""
    places = _places(series, plot)
    if series.style == "points":
        return _inside(places, plot.frame)
    found = [np.zeros((0, 2))]
    for piece in _runs(places):
        for start, end in pairwise(_cut(piece, plot.frame)):
            steps = min(max(int(np.hypot(*(end - start)) / _SPACING), 1), 200)
            found.append(start + (end - start) * np.linspace(0, 1, steps + 1)[:, None])
        found.append(piece)
    return _inside(np.concatenate(found), plot.frame)


def _edges(series: Series) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """The series' points; each bar becomes a step from its x to the next, the last one as wide as the one before."""
    x, y = finite(series.x, is_log=False), finite(series.y, is_log=False)
    if series.style != "bars":
        return x, y
    if len(x) == len(y):
        x = np.append(x, 2 * x[-1] - x[-2] if len(x) > 1 else x[-1] + 1)
    return np.repeat(x, 2)[1:-1], np.repeat(y, 2)


def _places(series: Series, plot: _Plot) -> Points:
    x, y = _edges(series)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.stack([plot.x(x), plot.y(y)], axis=-1)


def _runs(places: Points) -> list[Points]:
    """The runs of finite points between gaps."""
    is_known = np.isfinite(places).all(axis=-1)
    starts = np.flatnonzero(np.diff(np.concatenate([[False], is_known]).astype(int)) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([is_known, [False]]).astype(int)) == -1) + 1
    return [places[start:end] for start, end in zip(starts, ends, strict=True)]


def _cut(piece: Points, frame: Box) -> Points:
    """The line with a point added wherever it crosses an edge of the frame."""
    right, bottom = frame.left + frame.width, frame.top + frame.height
    for column, edge in ((0, frame.left), (0, right), (1, frame.top), (1, bottom)):
        points = [piece[:1]]
        for start, end in pairwise(piece):
            if (start[column] - edge) * (end[column] - edge) < 0:
                crossed = start + (end - start) * (edge - start[column]) / (end[column] - start[column])
                crossed[column] = edge
                points.append(crossed[None])
            points.append(end[None])
        piece = np.concatenate(points)
    return piece


def _is_inside(points: Points, frame: Box) -> np.ndarray:
    x, y, by = points[:, 0], points[:, 1], 1e-6
    return (
        (x >= frame.left - by)
        & (x <= frame.left + frame.width + by)
        & (y >= frame.top - by)
        & (y <= frame.top + frame.height + by)
    )


def _inside(points: Points, frame: Box) -> Points:
    with np.errstate(invalid="ignore"):
        return points[_is_inside(points, frame)]


def _closed(piece: Points, plot: _Plot) -> Points:
    """The curve clipped to the frame, closed along the floor."""
    frame, floor = plot.frame, plot.floor
    held = np.clip(piece, [frame.left, frame.top], [frame.left + frame.width, frame.top + frame.height])
    return np.concatenate([[[held[0, 0], floor]], held, [[held[-1, 0], floor]]])


def _path(points: Points) -> str:
    """A path through the points, without repeating points that round to the same place."""
    places = [f"{x:.1f},{y:.1f}" for x, y in points]
    kept = [place for before, place in pairwise(["", *places]) if place != before]
    return "M" + "L".join(kept if len(kept) > 1 else kept * 2)


def _point(x: float, y: float, index: int, color: str) -> str:
    shape = _SHAPES[index % len(_SHAPES)]
    return f'<path class="chart-point {color}" transform="translate({x:.1f} {y:.1f})" d="{shape}"/>'


def _dashes(series: Series, index: int) -> str:
    """A style class that distinguishes lines without color."""
    if series.style == "dashed":
        return " dashed"
    return f" dash{index % _NUM_COLORS}" if series.style == "line" else ""
