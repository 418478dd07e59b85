"""Figures as plain values: charts and heat maps, independent of the page that draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What an axis measures, and its ends (those of the data by default)."""

    label: str
    is_log: bool = False
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points in order, with a label for the legend; `bars` are steps from one x to the next, `area` is a filled curve.

    Bars may have one x more than y, the end of the last bar; otherwise it is as wide as the one before.
    A number that is not finite leaves a gap.

    >>> Series(label="one head", x=(0.0, 1.0), y=(0.5, 0.25)).style
    'line'
    """

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    style: Literal["line", "dashed", "points", "bars", "area"] = "line"


@dataclass(frozen=True, kw_only=True)
class Guide:
    """A straight line across a chart at one value, with a short label: a bound, a target, a crossover."""

    at: float
    label: str
    is_vertical: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Series over two axes; `caption` says what the chart shows."""

    title: str
    caption: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    guides: Sequence[Guide] = ()


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Numbers in rows and columns as colors, the first row on top; `diverging` scales are centered at zero.

    The axes count rows and columns from 0 unless they give the values of the first and the last.
    The colors cover `lower` to `upper`, by default the range of the numbers.
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    values: Sequence[Sequence[float]] | np.ndarray
    scale: Literal["diverging", "sequential"] = "sequential"
    lower: float | None = None
    upper: float | None = None


Figure = Chart | HeatMap
