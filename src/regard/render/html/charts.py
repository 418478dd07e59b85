"""Figures as SVG inside a page: `draw` gives a `figure` element that needs only the style sheet charts.css."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.render.figures import Chart, Figure, HeatMap, Rule, Series
from regard.render.html.chart_labels import HEIGHT, Box, Canvas, text, width_of, wrapped
from regard.render.html.chart_marks import NUM_COLOURS, Plot, edges, marks, outline, sample
from regard.render.html.chart_scales import Scale, Tick, scale_of, ticks
from regard.render.html.heat_maps import heat_map_svg
from regard.render.html.scripts import scripted

WIDTH, PLOT_HEIGHT = 400.0, 200.0
_RIGHT, _TOP = 14.0, 6.0
_SAMPLE, _BOLD = 26.0, 1.08


def draw(figure: Figure) -> str:
    """The figure as HTML: an image in SVG that can be read aloud, and its caption.

    >>> from regard.render.figures import Axis
    >>> line = Series(label="y", x=(0.0, 1.0), y=(0.0, 1.0))
    >>> chart = Chart(title="A line", caption="It rises.", x=Axis(label="x"), y=Axis(label="y"), series=(line,))
    >>> draw(chart).startswith('<figure class="chart"><svg')
    True
    """
    body, height = heat_map_svg(figure, width=WIDTH) if isinstance(figure, HeatMap) else _chart_svg(figure)
    title, caption = html.escape(figure.title), html.escape(figure.caption)
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH:g} {height:.0f}" role="img" focusable="false">'
        f"<title>{title}</title><desc>{caption}</desc>{body}</svg>"
        f"<figcaption><b>{scripted(figure.title)}</b> {scripted(figure.caption)}</figcaption></figure>"
    )


@dataclass(frozen=True, kw_only=True)
class _Key:
    """A row of the legend: what it looks like and what it is."""

    label: str
    series: Series | None
    index: int = 0


def _chart_svg(chart: Chart) -> tuple[str, float]:
    _ensure_drawable(chart)
    heading = wrapped(chart.y.label, WIDTH - _RIGHT)
    top = _TOP + HEIGHT * len(heading) + 7
    plot = _plot(chart, top)
    words, keys = _labels(chart, plot)
    if keys:
        legend, rows = _legend(keys, top)
        plot = _plot(chart, top + rows * (HEIGHT + 2) + 5)
        words, _ = _labels(chart, plot, left_out=keys)
    else:
        legend = ""
    footing = wrapped(chart.x.label, WIDTH - _RIGHT)
    shown = [
        *(text(line, 0, _TOP + HEIGHT * (row + 0.8), name="chart-axis") for row, line in enumerate(heading)),
        legend,
        _grid(plot),
        *(_rule_line(rule, plot) for rule in chart.rules),
        *(marks(series, index, plot) for index, series in _in_order(chart.series)),
        words,
        *_footing(footing, plot),
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


def _in_order(series: Sequence[Series]) -> list[tuple[int, Series]]:
    """Filled marks first, so that lines and points stay visible."""
    layers = ("area", "bars", "dashed", "line", "points")
    return sorted(enumerate(series), key=lambda item: layers.index(item[1].style))


def _plot(chart: Chart, top: float) -> Plot:
    points = [edges(series) for series in chart.series]
    across = [x for x, _ in points] + [np.array([rule.at]) for rule in chart.rules if rule.is_vertical]
    upward = [y for _, y in points] + [np.array([rule.at]) for rule in chart.rules if not rule.is_vertical]
    if any(series.style in ("area", "bars") for series in chart.series) and not chart.y.is_log:
        upward.append(np.zeros(1))
    y = scale_of(chart.y, np.concatenate(upward), start=top + PLOT_HEIGHT, end=top, is_padded=True)
    left = max(width_of(tick.label) for tick in (ticks(y) or [Tick(at=0, label="0")])) + 6
    has_points = all(series.style == "points" for series in chart.series)
    x = scale_of(chart.x, np.concatenate(across), start=left, end=WIDTH - _RIGHT, is_padded=has_points)
    return Plot(x=x, y=y)


def _x_ticks(scale: Scale) -> list[Tick]:
    """As many ticks as have room for their numbers."""
    for most in range(8, 1, -1):
        found = ticks(scale, most)
        places = [float(scale(tick.at)) for tick in found]
        halves = [width_of(tick.label) / 2 for tick in found]
        ends = zip(places, halves, places[1:], halves[1:], strict=False)
        if all(here + half + 8 <= there - other for here, half, there, other in ends):
            return found
    return found[:1]


def _grid(plot: Plot) -> str:
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


def _footing(lines: Sequence[str], plot: Plot) -> list[str]:
    middle, top = (plot.x.start + plot.x.end) / 2, plot.y.start + 18
    return [
        text(line, middle, top + HEIGHT * (row + 0.9), name="chart-axis", anchor="middle")
        for row, line in enumerate(lines)
    ]


def _is_visible(rule: Rule, plot: Plot) -> bool:
    scale = plot.x if rule.is_vertical else plot.y
    return bool(scale.lower <= rule.at <= scale.upper)


def _rule_line(rule: Rule, plot: Plot) -> str:
    if not _is_visible(rule, plot):
        return ""
    frame = plot.frame
    if rule.is_vertical:
        return f'<path class="chart-rule" d="M{float(plot.x(rule.at)):.1f},{frame.top:.1f}v{frame.height:.1f}"/>'
    return f'<path class="chart-rule" d="M{frame.left:.1f},{float(plot.y(rule.at)):.1f}h{frame.width:.1f}"/>'


def _rule_points(rule: Rule, plot: Plot) -> np.ndarray:
    frame = plot.frame
    along = np.linspace(0, 1, 60)
    if rule.is_vertical:
        return np.stack([np.full(60, float(plot.x(rule.at))), frame.top + along * frame.height], axis=-1)
    return np.stack([frame.left + along * frame.width, np.full(60, float(plot.y(rule.at)))], axis=-1)


def _labels(chart: Chart, plot: Plot, left_out: Sequence[_Key] = ()) -> tuple[str, list[_Key]]:
    """Words inside the plot, beside what they name; where one finds no place, the series go to the legend."""
    canvas = Canvas(frame=plot.frame, lines=[outline(series, plot) for series in chart.series])
    rules = [rule for rule in chart.rules if _is_visible(rule, plot)]
    canvas.lines += [_rule_points(rule, plot) for rule in rules]
    named = {key.label for key in left_out}
    words, keys = [], []
    for rule in rules:
        box = None if rule.label in named else canvas.clearest(_beside_rule(rule, plot))
        if box is None:
            keys.append(_Key(label=rule.label, series=None))
            continue
        canvas.boxes.append(box)
        words.append(text(rule.label, box.left, box.top + HEIGHT * 0.8, name="chart-note"))
    labels = _series_labels(chart, canvas) if not any(key.series for key in left_out) else None
    if labels is None:
        rows = [_Key(label=series.label, series=series, index=index) for index, series in enumerate(chart.series)]
        return "".join(words), [*(row for row in rows if row.label), *keys]
    return "".join([*words, *labels]), keys


def _series_labels(chart: Chart, canvas: Canvas) -> list[str] | None:
    """A label beside each series, or None if one of them has no room."""
    words = []
    for index, series in enumerate(chart.series):
        if not series.label or (len(chart.series) == 1 and series.label == chart.y.label):
            continue
        box = canvas.beside(index, _BOLD * width_of(series.label))
        if box is None:
            return None
        canvas.boxes.append(box)
        name = f"chart-label c{index % NUM_COLOURS}"
        words.append(text(series.label, box.left, box.top + HEIGHT * 0.8, name=name))
    return words


def _beside_rule(rule: Rule, plot: Plot) -> list[Box]:
    frame, width = plot.frame, width_of(rule.label)
    if rule.is_vertical:
        x = float(plot.x(rule.at))
        tops = np.linspace(frame.top + 2, frame.top + frame.height - HEIGHT - 2, 12)
        return [Box(left=left, top=float(top), width=width) for top in tops for left in (x + 4, x - 4 - width)]
    y = float(plot.y(rule.at))
    lefts = np.linspace(frame.left + frame.width - width - 4, frame.left + 4, 12)
    return [Box(left=float(left), top=top, width=width) for top in (y - 2 - HEIGHT, y + 3) for left in lefts]


def _legend(keys: Sequence[_Key], top: float) -> tuple[str, int]:
    """The keys in rows from the left, and how many rows they took."""
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
            else sample(key.series, key.index, x, y)
        )
        drawn += [
            text(line, x + _SAMPLE, y + 4 + place * (HEIGHT + 2), name="chart-key") for place, line in enumerate(lines)
        ]
        x, row = (x + width + 14, row) if len(lines) == 1 else (0.0, row + len(lines))
    return "".join(drawn), row + (x > 0)
