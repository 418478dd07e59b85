"""Probabilities and quantiles by subdivision: each stretch of δ is certainly in, certainly out, or split."""

import math
from itertools import pairwise
from typing import NamedTuple

from flint import arb, ctx

from regard.analysis.engines.balls import doubles_around
from regard.analysis.engines.inversion import probability_by_inversion
from regard.analysis.engines.lines import Affine, Curve, Line, Sigmoid
from regard.analysis.engines.root import certified_root
from regard.analysis.engines.spreads import Atoms, NormalStretch
from regard.core.estimate import Estimate

Bounds = tuple[float, float]

_MOST_PIECES = 4096
_MOST_ROUNDS = 300
_FINEST_STEP = 4e-16
# Pieces that are relatively shorter are soon halved down to neighbouring doubles.
_WORTH_A_ROOT = 1e-12
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

    quantity: Curve
    sigmoids: tuple[Sigmoid, ...]
    at_least: float
    at_most: float | arb

    def values(self, piece: _Piece) -> arb:
        """All values of Q on a piece: those between its ends if Q is monotone there, else what the hull allows."""
        if self.is_monotone(piece):
            return self.quantity(piece.low_shares).union(self.quantity(piece.high_shares))
        return self.quantity(piece.hull())

    def verdict(self, piece: _Piece) -> bool | None:
        """Whether the event happens on the whole piece, nowhere on it, or neither for sure."""
        if not self.is_monotone(piece):
            return self.happens(self.quantity(piece.hull()))
        # A ball around both ends would be too coarse to part from a bound that lies at one of them.
        ends = [self.quantity(shares) for shares in (piece.low_shares, piece.high_shares)]
        if all(self.happens(end) for end in ends):
            return True
        is_outside = all(end < self.at_least for end in ends) or all(end > self.at_most for end in ends)
        return False if is_outside else None

    def is_monotone(self, piece: _Piece) -> bool:
        """True if Q certainly only rises or only falls on the piece."""
        hull = piece.hull()
        rates = [curve.slope * share * (1 - share) for curve, share in zip(self.sigmoids, hull, strict=True)]
        derivative = self.quantity.derivative(hull, rates)
        return bool(derivative > 0 or derivative < 0)

    def crossed(self, piece: _Piece) -> float | arb | None:
        """The only bound that Q certainly passes from one end of the piece to the other."""
        low, high = self.quantity(piece.low_shares), self.quantity(piece.high_shares)
        bounds = [bound for bound in (self.at_least, self.at_most) if abs(bound) != math.inf]
        passed = [bound for bound in bounds if (low < bound and high > bound) or (low > bound and high < bound)]
        others = [bound for bound in bounds if bound not in passed and low.union(high).contains(arb(bound))]
        return passed[0] if len(passed) == 1 and not others else None

    def happens(self, ball: arb) -> bool | None:
        """True or False if every number of the ball agrees, None otherwise."""
        low, high = self.at_least, self.at_most
        if (low == -math.inf or ball >= low) and (high == math.inf or ball <= high):
            return True
        if (low != -math.inf and ball < low) or (high != math.inf and ball > high):
            return False
        return None

    def is_blurred(self, piece: _Piece) -> bool:
        """True if the working precision, not the length of the piece, makes Q uncertain."""
        values = self.values(piece)
        ends = self.quantity(piece.low_shares).rad() + self.quantity(piece.high_shares).rad()
        return bool(values.rad() <= 2 * ends)


def probability(line: Line, quantity: Curve, at_least: float, at_most: float | arb) -> arb:
    """P(at_least ≤ Q ≤ at_most), enclosed by what is certainly inside and what is not certainly outside."""
    event = _Event(quantity, line.sigmoids, at_least, at_most)
    if isinstance(line.spread, Atoms):
        places = line.spread.points
        judged = [(mass, event.happens(quantity([curve(place) for curve in line.sigmoids]))) for mass, place in places]
        return sum((mass * _SHARE_INSIDE[verdict]() for mass, verdict in judged), arb(0))
    if (found := probability_by_inversion(line, quantity, at_least, at_most)) is not None:
        return found
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
        return _estimate(probability(line, quantity, -math.inf, place) - level)

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
            verdict = event.verdict(piece)
            if verdict:
                inside.append((piece.low, piece.high))
            elif verdict is None:
                parts = [] if event.is_blurred(piece) else _parts(line, piece, stretch, event)
                undecided += parts
                doubtful += [] if parts else [(piece.low, piece.high)]
        pieces = undecided
        doubt = sum((stretch.mass(piece.low, piece.high) for piece in pieces), arb(0))
        if not doubt > affordable or len(pieces) > _MOST_PIECES:
            break
    return inside, doubtful + [(piece.low, piece.high) for piece in pieces]


def _parts(line: Line, piece: _Piece, stretch: NormalStretch, event: _Event) -> list[_Piece]:
    """A piece on which Q passes one bound, cut tightly around that place; any other piece halved."""
    is_wide = math.isfinite(piece.low + piece.high) and piece.high - piece.low > _WORTH_A_ROOT * abs(piece.high)
    bound = event.crossed(piece) if is_wide and event.is_monotone(piece) else None
    if bound is None:
        return _halves(line, piece, stretch)

    def excess(place: float) -> Estimate:
        return _estimate(event.quantity(_shares(line, place)) - bound)

    root = certified_root(excess, piece.low, piece.high, tolerance=0.0)
    places = sorted({piece.low, root.lower, root.upper, piece.high})
    shares = [_shares(line, place) for place in places]
    return [_Piece(*ends, *at) for ends, at in zip(pairwise(places), pairwise(shares), strict=True)]


def _estimate(ball: arb) -> Estimate:
    low, high = doubles_around(ball)
    return Estimate(value=low + (high - low) / 2, lower=low, upper=high, method="certified")


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
