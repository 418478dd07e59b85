"""Certified probabilities and quantiles of laws that are random in one direction.

If one sigmoid varies, the event is an interval of weights, and hence of deviations. Otherwise the deviations are
subdivided: on each interval the event certainly happens, certainly does not, or the interval is split.
"""

import math
from itertools import pairwise
from typing import NamedTuple

from flint import arb, ctx

from regard.analysis.engines.enclosures import certified_root, doubles_around
from regard.analysis.engines.one_direction import Affine, Curve, DiscreteSpread, NormalSpread, OneDirectionLaw, Sigmoid
from regard.core.estimate import Estimate

Bounds = tuple[float, float]

_MAX_PIECES = 4096
_MAX_ROUNDS = 300
_FINEST_STEP = 4e-16
# Bisection soon takes narrower pieces down to neighbouring doubles, so searching for a root is not worth it.
_MIN_RELATIVE_WIDTH = 1e-12
# How much of a probability counts: all, none, or anything in between.
_SHARE_INSIDE = {True: lambda: arb(1), False: lambda: arb(0), None: lambda: arb(0.5, 0.5)}


def probability(law: OneDirectionLaw, quantity: Curve, at_least: float, at_most: float | arb) -> arb:
    """A ball that contains P(at_least ≤ Q ≤ at_most)."""
    event = _Event(quantity, law.sigmoids, at_least, at_most)
    if isinstance(law.spread, DiscreteSpread):
        places = law.spread.points
        judged = [(mass, event.happens(quantity([curve(place) for curve in law.sigmoids]))) for mass, place in places]
        return sum((mass * _SHARE_INSIDE[verdict]() for mass, verdict in judged), arb(0))
    if (found := _by_inversion(law, quantity, at_least, at_most)) is not None:
        return found
    stretch = law.spread
    inside, doubtful = _subdivide(law, stretch, event)
    certain = sum((stretch.mass(low, high) for low, high in _joined(inside)), arb(0))
    doubt = sum((stretch.mass(low, high) for low, high in _joined(doubtful)), arb(0))
    return (certain + doubt * arb(0.5, 0.5)) / stretch.mass(stretch.lower, stretch.upper)


def quantile(law: OneDirectionLaw, quantity: Affine, level: float) -> arb:
    """The smallest x with P(Q ≤ x) ≥ level, for |Q| ≤ 1."""
    rising = [slope * curve.slope for slope, curve in zip(quantity.slopes, law.sigmoids, strict=True)]
    if isinstance(law.spread, NormalSpread):
        if all(product >= 0 for product in rising):
            return _at_level(law, quantity, law.spread, arb(level))
        if all(product <= 0 for product in rising):
            return _at_level(law, quantity, law.spread, 1 - arb(level))

    def excess(place: float) -> Estimate:
        return _estimate(probability(law, quantity, -math.inf, place) - level)

    crossing = certified_root(excess, -2.0, 2.0, tolerance=2 * _FINEST_STEP)
    return arb(crossing.lower).union(arb(crossing.upper))


def _at_level(law: OneDirectionLaw, quantity: Affine, stretch: NormalSpread, level: arb) -> arb:
    """Q at the deviation below which δ lies with probability `level`; Q is monotone."""
    below = stretch.mass(-math.inf, stretch.lower) + level * stretch.mass(stretch.lower, stretch.upper)
    above = stretch.mass(stretch.upper, math.inf) + (1 - level) * stretch.mass(stretch.lower, stretch.upper)
    # The smaller tail keeps its digits.
    standard = -(2 * below).erfcinv() if below < above else (2 * above).erfcinv()
    place = standard * (2 * stretch.variance).sqrt()
    return quantity([curve(place) for curve in law.sigmoids])


def _by_inversion(law: OneDirectionLaw, curve: Curve, at_least: float, at_most: float | arb) -> arb | None:
    """P(at_least ≤ Q ≤ at_most) from the weights at which Q meets its bounds, or None if a sign is uncertain.

    It applies if one sigmoid s varies: Q is a polynomial of degree two in s, and s is monotone in the deviation.
    """
    if len(law.sigmoids) != 1 or not isinstance(law.spread, NormalSpread):
        return None
    start, slope, bend = curve.polynomial()
    if bend == 0:
        shares = _between(start, slope, at_least, at_most)
    else:
        shares = _below(start - at_most, slope, bend) if at_least == -math.inf else None
    return None if shares is None else _mass(law.sigmoids[0], law.spread, shares)


def _between(start: arb, slope: arb, at_least: float, at_most: float | arb) -> tuple[arb, arb] | None:
    """The ends of the interval of s with at_least ≤ start + slope·s ≤ at_most."""
    if not (slope > 0 or slope < 0):
        return None
    # No weight lies outside [0, 1], so −1 and 2 represent bounds that are never met.
    nowhere = (arb(-1), arb(2)) if slope > 0 else (arb(2), arb(-1))
    low = nowhere[0] if at_least == -math.inf else (at_least - start) / slope
    high = nowhere[1] if at_most == math.inf else (at_most - start) / slope
    return (low, high) if slope > 0 else (high, low)


def _below(start: arb, slope: arb, bend: arb) -> tuple[arb, arb] | None:
    """The ends of the interval of s with start + slope·s + bend·s² ≤ 0; equal ends if it is empty."""
    inside = slope * slope - 4 * bend * start
    if not bend > 0 or not (inside > 0 or inside < 0):
        return None
    if inside < 0:
        return arb(0), arb(0)
    root = inside.sqrt()
    return (-slope - root) / (2 * bend), (root - slope) / (2 * bend)


def _mass(sigmoid: Sigmoid, stretch: NormalSpread, shares: tuple[arb, arb]) -> arb | None:
    """The conditional probability that the weight lies between the shares."""
    left, right = (sigmoid.place(share) for share in shares)
    if left is None or right is None:
        return None
    low, high = (left, right) if sigmoid.slope > 0 else (right, left)
    low, high = _max_if_certain(low, stretch.lower), _min_if_certain(high, stretch.upper)
    if low is None or high is None:
        return None
    if low >= high:
        return arb(0)
    return stretch.mass(low, high) / stretch.mass(stretch.lower, stretch.upper)


def _max_if_certain(place: arb | float, bound: float) -> arb | float | None:
    return place if place >= bound else bound if place <= bound else None


def _min_if_certain(place: arb | float, bound: float) -> arb | float | None:
    return place if place <= bound else bound if place >= bound else None


class _MonotonePiece(NamedTuple):
    """An interval of δ with the sigmoids' values at its ends; each sigmoid is monotone in between."""

    low: float
    high: float
    low_shares: tuple[arb, ...]
    high_shares: tuple[arb, ...]

    def hull(self) -> list[arb]:
        """Balls that contain all values of the sigmoids on the piece."""
        return [low.union(high) for low, high in zip(self.low_shares, self.high_shares, strict=True)]


class _Event(NamedTuple):
    """at_least ≤ Q ≤ at_most."""

    quantity: Curve
    sigmoids: tuple[Sigmoid, ...]
    at_least: float
    at_most: float | arb

    def happens_on(self, piece: _MonotonePiece) -> bool | None:
        """True if the event happens on the whole piece, False if nowhere on it, None if neither is certain."""
        if not self.is_monotone(piece):
            return self.happens(self.quantity(piece.hull()))
        # A ball around both ends would be too coarse if a bound lies near one of them.
        ends = [self.quantity(shares) for shares in (piece.low_shares, piece.high_shares)]
        if all(self.happens(end) for end in ends):
            return True
        is_outside = all(end < self.at_least for end in ends) or all(end > self.at_most for end in ends)
        return False if is_outside else None

    def is_monotone(self, piece: _MonotonePiece) -> bool:
        """True if Q is certainly monotone on the piece."""
        hull = piece.hull()
        rates = [curve.slope * share * (1 - share) for curve, share in zip(self.sigmoids, hull, strict=True)]
        derivative = self.quantity.derivative(hull, rates)
        return bool(derivative > 0 or derivative < 0)

    def crossed(self, piece: _MonotonePiece) -> float | arb | None:
        """The bound that Q certainly crosses between the ends of the piece, if it is the only one."""
        low, high = self.quantity(piece.low_shares), self.quantity(piece.high_shares)
        bounds = [bound for bound in (self.at_least, self.at_most) if abs(bound) != math.inf]
        passed = [bound for bound in bounds if (low < bound and high > bound) or (low > bound and high < bound)]
        others = [bound for bound in bounds if bound not in passed and low.union(high).contains(arb(bound))]
        return passed[0] if len(passed) == 1 and not others else None

    def happens(self, ball: arb) -> bool | None:
        """True or False if that holds for every number of the ball, otherwise None."""
        low, high = self.at_least, self.at_most
        if (low == -math.inf or ball >= low) and (high == math.inf or ball <= high):
            return True
        if (low != -math.inf and ball < low) or (high != math.inf and ball > high):
            return False
        return None

    def is_blurred(self, piece: _MonotonePiece) -> bool:
        """True if Q is uncertain because of the working precision, not the length of the piece."""
        low, high = self.quantity(piece.low_shares), self.quantity(piece.high_shares)
        values = low.union(high) if self.is_monotone(piece) else self.quantity(piece.hull())
        return bool(values.rad() <= 2 * (low.rad() + high.rad()))


def _subdivide(law: OneDirectionLaw, stretch: NormalSpread, event: _Event) -> tuple[list[Bounds], list[Bounds]]:
    """Intervals on which the event certainly happens, and intervals of little probability on which it may."""
    inside: list[Bounds] = []
    doubtful: list[Bounds] = []
    ends = stretch.lower, stretch.upper
    pieces = [_MonotonePiece(*ends, _shares(law, ends[0]), _shares(law, ends[1]))]
    affordable = stretch.mass(*ends) * arb(2) ** (8 - ctx.prec)
    for _ in range(_MAX_ROUNDS):
        undecided: list[_MonotonePiece] = []
        for piece in pieces:
            happens = event.happens_on(piece)
            if happens:
                inside.append((piece.low, piece.high))
            elif happens is None:
                parts = [] if event.is_blurred(piece) else _parts(law, piece, stretch, event)
                undecided += parts
                doubtful += [] if parts else [(piece.low, piece.high)]
        pieces = undecided
        doubt = sum((stretch.mass(piece.low, piece.high) for piece in pieces), arb(0))
        if not doubt > affordable or len(pieces) > _MAX_PIECES:
            break
    return inside, doubtful + [(piece.low, piece.high) for piece in pieces]


def _parts(law: OneDirectionLaw, piece: _MonotonePiece, stretch: NormalSpread, event: _Event) -> list[_MonotonePiece]:
    """A piece on which Q crosses one bound is cut tightly around that place, any other piece is halved."""
    is_wide = math.isfinite(piece.low + piece.high) and piece.high - piece.low > _MIN_RELATIVE_WIDTH * abs(piece.high)
    bound = event.crossed(piece) if is_wide and event.is_monotone(piece) else None
    if bound is None:
        return _halves(law, piece, stretch)

    def excess(place: float) -> Estimate:
        return _estimate(event.quantity(_shares(law, place)) - bound)

    root = certified_root(excess, piece.low, piece.high, tolerance=0.0)
    places = sorted({piece.low, root.lower, root.upper, piece.high})
    shares = [_shares(law, place) for place in places]
    return [_MonotonePiece(*ends, *at) for ends, at in zip(pairwise(places), pairwise(shares), strict=True)]


def _estimate(ball: arb) -> Estimate:
    low, high = doubles_around(ball)
    return Estimate(value=low + (high - low) / 2, lower=low, upper=high, method="certified")


def _halves(law: OneDirectionLaw, piece: _MonotonePiece, stretch: NormalSpread) -> list[_MonotonePiece]:
    """The two halves of a piece, or none if no double lies between its ends."""
    low, high = piece.low, piece.high
    step = math.sqrt(float(stretch.variance.mid()))
    if math.isinf(low) or math.isinf(high):
        # Doubling steps outwards reach a negligible tail quickly.
        middle = 0.0 if math.isinf(low) and math.isinf(high) else low + max(step, abs(low))
        middle = high - max(step, abs(high)) if math.isinf(low) and not math.isinf(high) else middle
    else:
        middle = low + (high - low) / 2
    if middle in (low, high):
        return []
    shares = _shares(law, middle)
    return [
        _MonotonePiece(low, middle, piece.low_shares, shares),
        _MonotonePiece(middle, high, shares, piece.high_shares),
    ]


def _shares(law: OneDirectionLaw, place: float) -> tuple[arb, ...]:
    """The sigmoids at a deviation, which may be infinite."""
    if math.isinf(place):
        return tuple(curve.limit(at_plus=place > 0) for curve in law.sigmoids)
    return tuple(curve(arb(place)) for curve in law.sigmoids)


def _joined(stretches: list[Bounds]) -> list[Bounds]:
    """The intervals, neighbours merged, so that their probability is rounded only once."""
    joined: list[Bounds] = []
    for low, high in sorted(stretches):
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined
