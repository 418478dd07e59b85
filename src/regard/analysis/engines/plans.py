"""What to count in each draw to answer a question, and how the answer follows from the counts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.engines.draws import Draws
from regard.analysis.engines.quantities import Quantity
from regard.analysis.engines.questions import (
    Chance,
    Correlation,
    Covariance,
    Mean,
    Probability,
    Quantile,
    Question,
    RawMoment,
    SquaredError,
    TotalVariance,
    Variance,
    Within,
)
from regard.analysis.engines.tally import Tally, order_interval, smooth_interval, wilson_interval
from regard.analysis.scenarios import LogitLaw
from regard.core.axes import Float
from regard.core.errors import InputError

Interval = tuple[float, float, float]
Columns = Callable[[Draws], Float[np.ndarray, "column draw"]]

_MOST_GROUPS = 2000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Columns to tally in each draw, and the interval at a confidence that the tally gives.

    With `keeps_values` the only column is kept whole instead, and the interval is made from its values.
    """

    columns: Columns
    interval: Callable[[Any, float], Interval]
    keeps_values: bool = False


def plan_for(question: Question, law: LogitLaw, centre: Draws) -> Plan:
    """The plan for a question; `centre` is the noiseless draw, around which second moments lose no digits."""
    match question:
        case Mean(of=quantity):
            return _mean_of(lambda draws: draws.values(quantity, law), span=quantity.span)
        case RawMoment(of=quantity, order=order):
            return _mean_of(lambda draws: draws.values(quantity, law) ** order, span=quantity.reach**order)
        case SquaredError(target=target):
            return _squared_error(np.array([target.get(name, 0.0) for name in law.names]), law)
        case Within(target=target, radius=radius):
            aims, counts = np.array([target.get(name, 0.0) for name in law.names]), np.array(law.counts, dtype=float)
            return _share_of(lambda draws: _between(draws.squared_distances(aims, counts), -math.inf, radius**2))
        case Variance(of=quantity):
            return _covariance((quantity, quantity), law, centre, is_correlation=False)
        case Covariance(between=pair):
            return _covariance(pair, law, centre, is_correlation=False)
        case Correlation(between=pair):
            return _covariance(pair, law, centre, is_correlation=True)
        case TotalVariance():
            return _total_variance(law, centre)
        case Probability(of=quantity, at_least=low, at_most=high):
            return _share_of(lambda draws: _between(draws.values(quantity, law), low, high))
        case Chance(of=event):
            group = law.index(event.group)
            return _share_of(lambda draws: _between(draws.deviation[group], event.lower, event.upper))
        case Quantile(of=quantity, level=level):
            return _quantile(quantity, level, law)


def _between(values: Float[np.ndarray, " draw"], low: float, high: float) -> Float[np.ndarray, " draw"]:
    return ((low <= values) & (values <= high)).astype(np.float64)


def _mean_of(values: Callable[[Draws], Float[np.ndarray, " draw"]], *, span: float) -> Plan:
    return Plan(
        columns=lambda draws: values(draws)[None],
        interval=lambda tally, confidence: smooth_interval(
            tally, float(tally.mean[0]), np.ones(1), span=span, confidence=confidence
        ),
    )


def _squared_error(target: Float[np.ndarray, " group"], law: LogitLaw) -> Plan:
    counts = np.array(law.counts, dtype=np.float64)
    # The output is no longer than one, so it is at most this far from the target.
    span = (1 + math.sqrt(float(counts @ target**2))) ** 2
    return _mean_of(lambda draws: draws.squared_distances(target, counts), span=span)


def _quantile(quantity: Quantity, level: float, law: LogitLaw) -> Plan:
    def interval(values: Float[np.ndarray, " draw"], confidence: float) -> Interval:
        return order_interval(values, level, reach=quantity.reach, confidence=confidence)

    return Plan(columns=lambda draws: draws.values(quantity, law)[None], interval=interval, keeps_values=True)


def _share_of(indicator: Callable[[Draws], Float[np.ndarray, " draw"]]) -> Plan:
    return Plan(
        columns=lambda draws: indicator(draws)[None],
        interval=lambda tally, confidence: wilson_interval(tally, confidence=confidence),
    )


def _covariance(pair: tuple[Quantity, Quantity], law: LogitLaw, centre: Draws, *, is_correlation: bool) -> Plan:
    """E[QR] − E[Q] E[R], or its share of √(Var Q · Var R), from five columns of Q and R around the centre."""
    left, right = pair
    shifts = [float(centre.values(quantity, law)[0]) for quantity in pair]

    def columns(draws: Draws) -> Float[np.ndarray, "5 draw"]:
        x = draws.values(left, law) - shifts[0]
        y = x if right is left else draws.values(right, law) - shifts[1]
        return np.stack([x, y, x * x, y * y, x * y])

    def interval(tally: Tally, confidence: float) -> Interval:
        x, y, xx, yy, xy = (float(mean) for mean in tally.mean)
        covariance, spreads = xy - x * y, (xx - x * x, yy - y * y)
        gradient = np.array([-y, -x, 0.0, 0.0, 1.0])
        if not is_correlation:
            low_limit = 0.0 if left == right else -math.inf
            span = left.span * right.span
            return _clipped(
                smooth_interval(tally, covariance, gradient, span=span, confidence=confidence), low_limit, math.inf
            )
        if not min(spreads) > 0:
            raise InputError(f"{left} or {right} did not vary in {tally.count} draws, so they have no correlation.")
        scale = math.sqrt(spreads[0] * spreads[1])
        value = covariance / scale
        of_spreads = np.array([x, 0, -0.5, 0, 0]) / spreads[0] + np.array([0, y, 0, -0.5, 0]) / spreads[1]
        gradient = gradient / scale + value * of_spreads
        return _clipped(smooth_interval(tally, value, gradient, span=1.0, confidence=confidence), -1.0, 1.0)

    return Plan(columns=columns, interval=interval)


def _total_variance(law: LogitLaw, centre: Draws) -> Plan:
    """tr Cov(c) = E‖c − m‖² − Σ_g (E Σ_{i∈g} (c_i − m_g))²/count_g for any fixed m, the keys of a group being alike."""
    if len(law.names) > _MOST_GROUPS:
        raise InputError(
            f"The total variance over {len(law.names)} groups needs their squared number of sums; {_MOST_GROUPS} fit. "
            "Give keys that are identical in law one name."
        )
    counts = np.array(law.counts, dtype=np.float64)
    middle = centre.group_coefficients()[:, 0] / counts

    def columns(draws: Draws) -> Float[np.ndarray, "column draw"]:
        gaps = draws.group_coefficients() - (middle * counts)[:, None]
        return np.vstack([draws.squared_distances(middle, counts), gaps])

    def interval(tally: Tally, confidence: float) -> Interval:
        distance, gaps = float(tally.mean[0]), tally.mean[1:]
        value = distance - float(gaps @ (gaps / counts))
        gradient = np.concatenate([[1.0], -2 * gaps / counts])
        # Two points of the simplex are at most √2 apart.
        return _clipped(smooth_interval(tally, value, gradient, span=2.0, confidence=confidence), 0.0, math.inf)

    return Plan(columns=columns, interval=interval)


def _clipped(interval: Interval, low: float, high: float) -> Interval:
    """The interval cut to the values that are possible at all."""
    value, below, above = (min(max(number, low), high) for number in interval)
    return value, below, above
