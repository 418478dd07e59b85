"""Figures as plain values: what a claim, a design or a run shows, whichever page draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Axis", "Chart", "Figure", "HeatMap", "Rule", "Series"]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What an axis measures, and how far it reaches (as far as the data unless told)."""

    label: str
    is_log: bool = False
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points in order with a name for the legend; `bars` are steps from one x to the next, `area` a filled curve.

    >>> Series(label="one head", x=(0.0, 1.0), y=(0.5, 0.25)).style
    'line'
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Literal["line", "dashed", "points", "bars", "area"] = "line"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A straight line across a chart at one value, with a few words: a bound, a target, a crossover."""

    at: float
    label: str
    is_vertical: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Series over two axes. `caption` says what is to be seen."""

    title: str
    caption: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    rules: Sequence[Rule] = ()


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Numbers in rows and columns as colours; `diverging` scales are centred at zero."""

    title: str
    caption: str
    x: Axis
    y: Axis
    values: Sequence[Sequence[float]]
    scale: Literal["diverging", "sequential"] = "sequential"


Figure = Chart | HeatMap
