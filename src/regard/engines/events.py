"""Probabilities and quantiles by subdivision: each stretch of δ is certainly in, certainly out, or split."""

import math
from typing import NamedTuple

from flint import arb, ctx

from regard.engines.balls import doubles_around
from regard.engines.estimate import Estimate
from regard.engines.lines import Affine, Line, Sigmoid
from regard.engines.root import certified_root
from regard.engines.spreads import Atoms, NormalStretch

__all__ = ["probability", "quantile"]

Bounds = tuple[float, float]

_MOST_PIECES = 4096
_MOST_ROUNDS = 300
_FINEST_STEP = 4e-16
# How much of a mass counts: all, none, or anything in between.
_SHARE_INSIDE = {True: lambda: arb(1), False: lambda: arb(0), None: lambda: arb(0.5, 0.5)}


class _Piece(NamedTuple):
    """A stretch of δ with the sigmoids' values at its ends; between them each sigmoid is monotone."""

    low: float
    high: float
    low_shares: tuple[arb, ...]
    high_shares: tuple[arb, ...]

    def hull(self) -> list[arb]:
        """All values that the sigmoids take on the piece."""
        return [low.union(high) for low, high in zip(self.low_shares, self.high_shares, strict=True)]


class _Event(NamedTuple):
    """at_least ≤ Q ≤ at_most."""

    quantity: Affine
    sigmoids: tuple[Sigmoid, ...]
    at_least: float
    at_most: float

    def values(self, piece: _Piece) -> arb:
        """All values of Q on a piece: those between its ends if Q is monotone there, else what the hull allows."""
        hull = piece.hull()
        terms = zip(self.quantity.slopes, self.sigmoids, hull, strict=True)
        derivative = sum((slope * curve.slope * share * (1 - share) for slope, curve, share in terms), arb(0))
        if derivative > 0 or derivative < 0:
            return self.quantity(piece.low_shares).union(self.quantity(piece.high_shares))
        return self.quantity(hull)

    def happens(self, ball: arb) -> bool | None:
        """True or False if every number of the ball agrees, None otherwise."""
        low, high = self.at_least, self.at_most
        if (low == -math.inf or ball >= low) and (high == math.inf or ball <= high):
            return True
        if (low != -math.inf and ball < low) or (high != math.inf and ball > high):
            return False
        return None

    def is_blurred(self, piece: _Piece, values: arb) -> bool:
        """True if the working precision, not the length of the piece, makes Q uncertain."""
        ends = self.quantity(piece.low_shares).rad() + self.quantity(piece.high_shares).rad()
        return bool(values.rad() <= 2 * ends)


def probability(line: Line, quantity: Affine, at_least: float, at_most: float) -> arb:
    """P(at_least ≤ Q ≤ at_most), enclosed by what is certainly inside and what is not certainly outside."""
    event = _Event(quantity, line.sigmoids, at_least, at_most)
    if isinstance(line.spread, Atoms):
        places = line.spread.points
        judged = [(mass, event.happens(quantity([curve(place) for curve in line.sigmoids]))) for mass, place in places]
        return sum((mass * _SHARE_INSIDE[verdict]() for mass, verdict in judged), arb(0))
    stretch = line.spread
    inside, doubtful = _subdivide(line, stretch, event)
    certain = sum((stretch.mass(low, high) for low, high in _joined(inside)), arb(0))
    doubt = sum((stretch.mass(low, high) for low, high in _joined(doubtful)), arb(0))
    return (certain + doubt * arb(0.5, 0.5)) / stretch.mass(stretch.lower, stretch.upper)


def quantile(line: Line, quantity: Affine, level: float, reach: float) -> arb:
    """The smallest x with P(Q ≤ x) ≥ level, for |Q| ≤ reach."""
    rising = [slope * curve.slope for slope, curve in zip(quantity.slopes, line.sigmoids, strict=True)]
    if isinstance(line.spread, NormalStretch):
        if all(product >= 0 for product in rising):
            return _at_level(line, quantity, line.spread, arb(level))
        if all(product <= 0 for product in rising):
            return _at_level(line, quantity, line.spread, 1 - arb(level))

    def excess(place: float) -> Estimate:
        ball = probability(line, quantity, -math.inf, place) - level
        low, high = doubles_around(ball)
        return Estimate(value=low + (high - low) / 2, lower=low, upper=high, method="certified")

    crossing = certified_root(excess, -reach - 1.0, reach + 1.0, tolerance=_FINEST_STEP * (1 + reach))
    return arb(crossing.lower).union(arb(crossing.upper))


def _at_level(line: Line, quantity: Affine, stretch: NormalStretch, level: arb) -> arb:
    """Q at the deviation that a share `level` of the stretch lies below; Q is monotone."""
    below = stretch.mass(-math.inf, stretch.lower) + level * stretch.mass(stretch.lower, stretch.upper)
    above = stretch.mass(stretch.upper, math.inf) + (1 - level) * stretch.mass(stretch.lower, stretch.upper)
    # The smaller tail keeps its digits.
    standard = -(2 * below).erfcinv() if below < above else (2 * above).erfcinv()
    place = standard * (2 * stretch.variance).sqrt()
    return quantity([curve(place) for curve in line.sigmoids])


def _subdivide(line: Line, stretch: NormalStretch, event: _Event) -> tuple[list[Bounds], list[Bounds]]:
    """Stretches that are certainly inside, and pieces of little mass that could be either."""
    inside: list[Bounds] = []
    doubtful: list[Bounds] = []
    ends = stretch.lower, stretch.upper
    pieces = [_Piece(*ends, _shares(line, ends[0]), _shares(line, ends[1]))]
    affordable = stretch.mass(*ends) * arb(2) ** (8 - ctx.prec)
    for _ in range(_MOST_ROUNDS):
        undecided: list[_Piece] = []
        for piece in pieces:
            values = event.values(piece)
            verdict = event.happens(values)
            if verdict:
                inside.append((piece.low, piece.high))
            elif verdict is None:
                halves = [] if event.is_blurred(piece, values) else _halves(line, piece, stretch)
                undecided += halves
                doubtful += [] if halves else [(piece.low, piece.high)]
        pieces = undecided
        doubt = sum((stretch.mass(piece.low, piece.high) for piece in pieces), arb(0))
        if not doubt > affordable or len(pieces) > _MOST_PIECES:
            break
    return inside, doubtful + [(piece.low, piece.high) for piece in pieces]


def _halves(line: Line, piece: _Piece, stretch: NormalStretch) -> list[_Piece]:
    """The two parts of a piece, or none if no double lies between its ends."""
    low, high = piece.low, piece.high
    step = math.sqrt(float(stretch.variance.mid()))
    if math.isinf(low) or math.isinf(high):
        # Doubling outwards reaches a negligible tail in a few steps.
        middle = 0.0 if math.isinf(low) and math.isinf(high) else low + max(step, abs(low))
        middle = high - max(step, abs(high)) if math.isinf(low) and not math.isinf(high) else middle
    else:
        middle = low + (high - low) / 2
    if middle in (low, high):
        return []
    shares = _shares(line, middle)
    return [_Piece(low, middle, piece.low_shares, shares), _Piece(middle, high, shares, piece.high_shares)]


def _shares(line: Line, place: float) -> tuple[arb, ...]:
    """The sigmoids at a deviation, infinity included."""
    if math.isinf(place):
        return tuple(curve.limit(at_plus=place > 0) for curve in line.sigmoids)
    return tuple(curve(arb(place)) for curve in line.sigmoids)


def _joined(stretches: list[Bounds]) -> list[Bounds]:
    """The same stretches, neighbours made one, so that their masses round once."""
    joined: list[Bounds] = []
    for low, high in sorted(stretches):
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined
