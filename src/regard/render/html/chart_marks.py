"""The marks of a chart: a series as lines, points, bars or a filled curve, cut at the plot's edges and at gaps."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from regard.core.axes import Float
from regard.render.figures import Series
from regard.render.html.chart_labels import Box
from regard.render.html.chart_scales import Scale, finite

NUM_COLOURS = 6
_SHAPES = (
    "M-3.4,0a3.4,3.4 0 1 0 6.8,0a3.4,3.4 0 1 0 -6.8,0z",
    "M-3,-3h6v6h-6z",
    "M0,-3.6l3.4,6h-6.8z",
    "M0,-3.8l3.6,3.8l-3.6,3.8l-3.6,-3.8z",
)
# Points this far apart show the course of a line to whoever looks for free room.
_CLOSE = 4.0

Points = Float[np.ndarray, "_ 2"]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Where the data are drawn: one scale across, one upward."""

    x: Scale
    y: Scale

    @property
    def frame(self) -> Box:
        """The rectangle between the axes."""
        return Box(left=self.x.start, top=self.y.end, width=self.x.end - self.x.start, height=self.y.start - self.y.end)

    @property
    def floor(self) -> float:
        """Where filled marks stand: at zero, or at the end of the axis that is nearest to it."""
        if self.y.is_log:
            return self.y.start
        return float(self.y(min(max(0.0, self.y.lower), self.y.upper)))


def marks(series: Series, index: int, plot: Plot) -> str:
    """The series as SVG; `index` gives it colour, dashes and the shape of its points."""
    colour = f"c{index % NUM_COLOURS}"
    if series.style == "points":
        return "".join(_point(x, y, index, colour) for x, y in _inside(_places(series, plot), plot.frame))
    pieces = [_cut(piece, plot.frame) for piece in _runs(_places(series, plot))]
    drawn = []
    if series.style in ("area", "bars"):
        filled = [_path(_closed(piece, plot)) for piece in pieces]
        drawn += [f'<path class="chart-fill {colour}" d="{path}"/>' for path in filled]
    dashes = _dashes(series, index)
    for piece in pieces:
        visible = np.where(_is_inside(piece, plot.frame)[:, None], piece, np.nan)
        drawn += [f'<path class="chart-line {colour}{dashes}" d="{_path(part)}"/>' for part in _runs(visible)]
    return "".join(drawn)


def sample(series: Series, index: int, x: float, y: float) -> str:
    """What the series looks like, 20 units wide, for a legend."""
    colour = f"c{index % NUM_COLOURS}"
    if series.style == "points":
        return _point(x + 10, y, index, colour)
    if series.style in ("area", "bars"):
        return (
            f'<path class="chart-fill {colour}" d="M{x:.1f},{y - 4:.1f}h20v8h-20z"/>'
            f'<path class="chart-line {colour}" d="M{x:.1f},{y - 4:.1f}h20"/>'
        )
    return f'<path class="chart-line {colour}{_dashes(series, index)}" d="M{x:.1f},{y:.1f}h20"/>'


def outline(series: Series, plot: Plot) -> Points:
    """Points along the visible series, close together."""
    places = _places(series, plot)
    if series.style == "points":
        return _inside(places, plot.frame)
    found = [np.zeros((0, 2))]
    for piece in _runs(places):
        for start, end in pairwise(_cut(piece, plot.frame)):
            steps = min(max(int(np.hypot(*(end - start)) / _CLOSE), 1), 200)
            found.append(start + (end - start) * np.linspace(0, 1, steps + 1)[:, None])
        found.append(piece)
    return _inside(np.concatenate(found), plot.frame)


def edges(series: Series) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """The series' points; bars become steps, each from its x to the next, the last as wide as the one before."""
    x, y = finite(series.x, is_log=False), finite(series.y, is_log=False)
    if series.style != "bars":
        return x, y
    if len(x) == len(y):
        x = np.append(x, 2 * x[-1] - x[-2] if len(x) > 1 else x[-1] + 1)
    return np.repeat(x, 2)[1:-1], np.repeat(y, 2)


def _places(series: Series, plot: Plot) -> Points:
    x, y = edges(series)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.stack([plot.x(x), plot.y(y)], axis=-1)


def _runs(places: Points) -> list[Points]:
    """The stretches between gaps."""
    is_known = np.isfinite(places).all(axis=-1)
    starts = np.flatnonzero(np.diff(np.concatenate([[False], is_known]).astype(int)) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([is_known, [False]]).astype(int)) == -1) + 1
    return [places[start:end] for start, end in zip(starts, ends, strict=True)]


def _cut(piece: Points, frame: Box) -> Points:
    """The same line with a point added wherever it crosses an edge of the frame."""
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


def _closed(piece: Points, plot: Plot) -> Points:
    """The curve held within the frame, down to the floor and back."""
    frame, floor = plot.frame, plot.floor
    held = np.clip(piece, [frame.left, frame.top], [frame.left + frame.width, frame.top + frame.height])
    return np.concatenate([[[held[0, 0], floor]], held, [[held[-1, 0], floor]]])


def _path(points: Points) -> str:
    """Straight lines through the points, those that round to the same place only once."""
    places = [f"{x:.1f},{y:.1f}" for x, y in points]
    kept = [place for before, place in pairwise(["", *places]) if place != before]
    return "M" + "L".join(kept if len(kept) > 1 else kept * 2)


def _point(x: float, y: float, index: int, colour: str) -> str:
    shape = _SHAPES[index % len(_SHAPES)]
    return f'<path class="chart-point {colour}" transform="translate({x:.1f} {y:.1f})" d="{shape}"/>'


def _dashes(series: Series, index: int) -> str:
    """A class that tells lines apart without colour."""
    if series.style == "dashed":
        return " dashed"
    return f" dash{index % NUM_COLOURS}" if series.style == "line" else ""
