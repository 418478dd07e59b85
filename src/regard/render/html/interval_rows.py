"""Named intervals under each other, as SVG inside a page that has charts.css."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.render.figures import Axis
from regard.render.html.chart_labels import HEIGHT, text, width_of
from regard.render.html.chart_scales import Scale, scale_of, ticks

_WIDTH, _RIGHT, _ROW, _TOP = 400.0, 14.0, 22.0, 8.0


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """A name, a value, how far it reaches to either side, the single values behind it, and a status that tints it."""

    name: str
    value: float
    lower: float
    upper: float
    points: Sequence[float] = ()
    status: str = ""


def draw_rows(rows: Sequence[IntervalRow], axis: Axis, *, title: str, caption: str, at: float | None = None) -> str:
    """A figure with one line for each row; `at` is a value worth a dotted line."""
    left = max(width_of(row.name) for row in rows) + 10
    known = [value for row in rows for value in (row.value, row.lower, row.upper, *row.points) if math.isfinite(value)]
    values = np.array([*known, *([] if at is None else [at])])
    scale = scale_of(axis, values, start=left, end=_WIDTH - _RIGHT, is_padded=True)
    bottom = _TOP + _ROW * len(rows)
    drawn = [
        *(_tick(scale, tick.at, tick.label, bottom) for tick in ticks(scale, 5)),
        "" if at is None else f'<path class="chart-rule" d="M{float(scale(at)):.1f},{_TOP:.1f}V{bottom:.1f}"/>',
        *(_row(row, scale, _TOP + _ROW * (number + 0.5)) for number, row in enumerate(rows)),
        text(axis.label, (left + _WIDTH - _RIGHT) / 2, bottom + 18 + HEIGHT, name="chart-axis", anchor="middle"),
    ]
    height = bottom + 24 + HEIGHT
    return (
        f'<figure class="chart rows"><svg viewBox="0 0 {_WIDTH:g} {height:.0f}" role="img" focusable="false">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(caption)}</desc>{''.join(drawn)}</svg>"
        f"<figcaption><b>{html.escape(title)}</b> {html.escape(caption)}</figcaption></figure>"
    )


def _tick(scale: Scale, at: float, label: str, bottom: float) -> str:
    x = float(scale(at))
    line = f'<path class="chart-grid" d="M{x:.1f},{_TOP:.1f}V{bottom:.1f}"/>'
    return line + text(label, x, bottom + 15, name="chart-tick", anchor="middle")


def _row(row: IntervalRow, scale: Scale, y: float) -> str:
    low, high = (float(scale(_inside(scale, value))) for value in (row.lower, row.upper))
    singles = "".join(f'<circle class="single" cx="{float(scale(x)):.1f}" cy="{y:.1f}" r="2.2"/>' for x in row.points)
    return (
        text(row.name, scale.start - 8, y + 4, name="chart-tick", anchor="end")
        + f'<g class="{html.escape(row.status)} interval"><path class="reach" d="M{low:.1f},{y:.1f}H{high:.1f}"/>'
        + singles
        + f'<circle class="middle" cx="{float(scale(row.value)):.1f}" cy="{y:.1f}" r="4"/></g>'
    )


def _inside(scale: Scale, value: float) -> float:
    """The value, or the end of the scale that it lies beyond."""
    return min(max(value, scale.lower), scale.upper)
