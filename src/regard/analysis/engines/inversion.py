"""Probabilities where one sigmoid varies: the event is a stretch of weights, so it is a stretch of deviations.

Every curve is a polynomial of degree two in the sigmoid s, and s is monotone in the deviation.
"""

import math

from flint import arb

from regard.analysis.engines.lines import Curve, Line, Sigmoid
from regard.analysis.engines.spreads import NormalStretch

Stretch = tuple[arb, arb]


def probability_by_inversion(line: Line, curve: Curve, at_least: float, at_most: float | arb) -> arb | None:
    """P(at_least ≤ Q ≤ at_most) from the weights at which Q meets its bounds; None where a sign is in doubt."""
    if len(line.sigmoids) != 1 or not isinstance(line.spread, NormalStretch):
        return None
    start, slope, bend = curve.polynomial()
    if bend == 0:
        shares = _between(start, slope, at_least, at_most)
    else:
        shares = _below(start - at_most, slope, bend) if at_least == -math.inf else None
    return None if shares is None else _mass(line.sigmoids[0], line.spread, shares)


def _between(start: arb, slope: arb, at_least: float, at_most: float | arb) -> Stretch | None:
    """The s with at_least ≤ start + slope·s ≤ at_most, in order."""
    if not (slope > 0 or slope < 0):
        return None
    # No weight lies outside [0, 1], so −1 and 2 stand for bounds that are never met.
    nowhere = (arb(-1), arb(2)) if slope > 0 else (arb(2), arb(-1))
    low = nowhere[0] if at_least == -math.inf else (at_least - start) / slope
    high = nowhere[1] if at_most == math.inf else (at_most - start) / slope
    return (low, high) if slope > 0 else (high, low)


def _below(start: arb, slope: arb, bend: arb) -> Stretch | None:
    """The s with start + slope·s + bend·s² ≤ 0, in order; twice the same where there is none."""
    inside = slope * slope - 4 * bend * start
    if not bend > 0 or not (inside > 0 or inside < 0):
        return None
    if inside < 0:
        return arb(0), arb(0)
    root = inside.sqrt()
    return (-slope - root) / (2 * bend), (root - slope) / (2 * bend)


def _mass(sigmoid: Sigmoid, stretch: NormalStretch, shares: Stretch) -> arb | None:
    """The probability that the weight lies in the stretch of shares, given the condition."""
    left, right = (sigmoid.place(share) for share in shares)
    if left is None or right is None:
        return None
    low, high = (left, right) if sigmoid.slope > 0 else (right, left)
    low, high = _larger(low, stretch.lower), _smaller(high, stretch.upper)
    if low is None or high is None:
        return None
    if low >= high:
        return arb(0)
    return stretch.mass(low, high) / stretch.mass(stretch.lower, stretch.upper)


def _larger(place: arb | float, bound: float) -> arb | float | None:
    """The larger of the two, None if they cannot be told apart."""
    return place if place >= bound else bound if place <= bound else None


def _smaller(place: arb | float, bound: float) -> arb | float | None:
    """The smaller of the two, None if they cannot be told apart."""
    return place if place <= bound else bound if place >= bound else None
