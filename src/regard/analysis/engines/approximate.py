"""Approximate answers in doubles where only one direction is random: weights on a grid of a few hundred deviations.

Good enough for histograms, plots and the start of a search. It proves nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from regard.analysis.scenarios import Deviation, LogitLaw

# The grid covers this many standard deviations of the deviation, and logits of a weight from −24 to 24.
_MAX_SIGMAS, _MAX_LOGIT = 8.0, 24.0
_STEPS, _LOGIT_STEPS = 96, 64


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputGrid:
    """The output's coefficients on a grid of deviations: `stretches` are (probability, left point, right point)."""

    law: LogitLaw
    points: Sequence[Sequence[float]]
    stretches: Sequence[tuple[float, int, int]]

    @classmethod
    def of(cls, law: LogitLaw, given: Deviation | None, factor: float = 1.0, *, fineness: int = 1) -> Self | None:
        """The grid with every query multiplied by the factor, None if more than one direction is random."""
        heads = range(law.num_heads)
        moves = [(group, column) for group in range(len(law.names)) for column in law.random_columns(group, heads)]
        if len(moves) > 1 or (moves and (moves[0][1] != 0 or law.counts[moves[0][0]] != 1)):
            return None
        group = moves[0][0] if moves else 0
        curves = [_WeightCurve.of(law, group, head, factor) for head in heads]
        if not moves:
            places, stretches = [0.0], [(1.0, 0, 0)]
        elif law.names[group] in law.normalized:
            places, stretches = _signs(law, group, given)
        else:
            bends = [place for curve in {*curves} for place in curve.bends(fineness)]
            places, stretches = _spread(law, group, given, bends)
        return cls(law=law, points=[_coefficients(group, curves, place) for place in places], stretches=stretches)

    def histogram(self, group: str, num_bins: int) -> list[float]:
        """The probability that the coefficient of one key of the group lies in each of the equal parts of [0, 1]."""
        values = [point[self.law.index(group)] * num_bins for point in self.points]
        shares = [0.0] * num_bins
        for mass, left, right in self.stretches:
            low, high = sorted((values[left], values[right]))
            first, last = (min(int(end), num_bins - 1) for end in (low, high))
            for part in range(first, last + 1):
                inside = min(high, part + 1) - max(low, part)
                shares[part] += mass * (inside / (high - low) if first < last else 1.0)
        return shares

    def squared_distances(self, target: Mapping[str, float]) -> list[float]:
        """‖c − target‖² at each point, for orthonormal values."""
        terms = [(count, target.get(name, 0.0)) for name, count in zip(self.law.names, self.law.counts, strict=True)]
        return [
            sum([count * (x - aim) * (x - aim) for (count, aim), x in zip(terms, point, strict=True)])
            for point in self.points
        ]

    def mean(self, values: Sequence[float]) -> float:
        """The expectation of a quantity with these values at the points."""
        return sum(mass * (values[left] + values[right]) / 2 for mass, left, right in self.stretches)

    def probability(self, values: Sequence[float], *, at_most: float) -> float:
        """The probability that a quantity with these values at the points is at most so large."""
        return sum(mass * _share_below(values[left], values[right], at_most) for mass, left, right in self.stretches)


@dataclass(frozen=True, kw_only=True)
class _WeightCurve:
    """A head's weight on the random key, 1/(1 + exp(offset − slope·δ)), and each key's share of the rest."""

    offset: float
    slope: float
    shares: tuple[float, ...]

    @classmethod
    def of(cls, law: LogitLaw, group: int, head: int, factor: float) -> "_WeightCurve":
        means = [factor * row[head] for row in law.means]
        counts = [count - (place == group) for place, count in enumerate(law.counts)]
        others = list(zip(means, counts, strict=True))
        top = max((mean for mean, count in others if count), default=-math.inf)
        powers = [math.exp(mean - top) if count else 0.0 for mean, count in others]
        total = sum(count * power for (_, count), power in zip(others, powers, strict=True))
        return cls(
            offset=math.log(total) + top - means[group] if total else -math.inf,
            slope=factor * law.directions[group][head][0] if law.rank else 0.0,
            shares=tuple(power / total if total else 0.0 for power in powers),
        )

    def __call__(self, deviation: float) -> float:
        exponent = self.offset - self.slope * deviation
        if exponent > 0:
            small = math.exp(-exponent)
            return small / (1 + small)
        return 1 / (1 + math.exp(exponent))

    def bends(self, fineness: int) -> list[float]:
        """Deviations over which the weight goes from 0 to 1, evenly spaced in its logit."""
        if self.slope == 0 or math.isinf(self.offset):
            return []
        steps = _LOGIT_STEPS * fineness
        logits = (_MAX_LOGIT * (2 * step / steps - 1) for step in range(steps + 1))
        return [(self.offset - logit) / self.slope for logit in logits]


def _coefficients(group: int, curves: Sequence[_WeightCurve], deviation: float) -> list[float]:
    """The coefficient of one key of each group, given the random key's deviation."""
    weights = [curve(deviation) for curve in curves]
    found = [0.0] * len(curves[0].shares)
    for weight, curve in zip(weights, curves, strict=True):
        for place, share in enumerate(curve.shares):
            found[place] += (1 - weight) * share / len(curves)
    # Where no key is random, this is the first key of the first group; the other keys of that group equal it.
    found[group] = sum(weights) / len(weights)
    return found


def _signs(law: LogitLaw, group: int, given: Deviation | None) -> tuple[list[float], list[tuple[float, int, int]]]:
    """A key divided by its norm points along its mean or against it."""
    name, bound = law.names[group], _bound(law, group, given)
    sides = [
        Deviation(group=name, lower=max(bound.lower, -1.0), upper=max(bound.upper, -1.0)),
        Deviation(group=name, lower=min(bound.lower, -1.0), upper=min(bound.upper, -1.0)),
    ]
    forward, backward = (side.probability(law.own_variance(name)) for side in sides)
    if not forward + backward > 0:
        forward, backward = float(bound.upper > -1.0), float(bound.upper <= -1.0)
    whole = forward + backward
    return [0.0, -2.0], [(forward / whole, 0, 0), (backward / whole, 1, 1)]


def _spread(
    law: LogitLaw, group: int, given: Deviation | None, bends: Sequence[float]
) -> tuple[list[float], list[tuple[float, int, int]]]:
    """Deviations of the random key, dense where its density or a weight changes, and each stretch's probability."""
    sigma, bound = math.sqrt(law.own_variance(law.names[group])), _bound(law, group, given)
    low, high = max(bound.lower, -_MAX_SIGMAS * sigma), min(bound.upper, _MAX_SIGMAS * sigma)
    if not low < high:
        # The condition lies outside the grid: put all the probability at its nearer end.
        return [low if low > 0 else high], [(1.0, 0, 0)]
    even = (low + (high - low) * step / _STEPS for step in range(_STEPS))
    places = sorted({*even, *(place for place in bends if low < place < high), high})
    # Measured from the smaller tail, which keeps its digits.
    side = 1.0 if low + high < 0 else -1.0
    tails = [math.erfc(-side * place / (sigma * math.sqrt(2))) for place in places]
    masses = [abs(after - before) for before, after in pairwise(tails)]
    whole = sum(masses)
    return places, [(mass / whole, place, place + 1) for place, mass in enumerate(masses)]


def _bound(law: LogitLaw, group: int, given: Deviation | None) -> Deviation:
    """The condition if it is on this key, else none."""
    is_on_it = given is not None and given.group == law.names[group]
    return given if is_on_it and given is not None else Deviation(group=law.names[group])


def _share_below(one: float, other: float, bound: float) -> float:
    """The share of the interval between two numbers that lies at or below the bound."""
    low, high = (one, other) if one <= other else (other, one)
    if high <= bound:
        return 1.0
    return (bound - low) / (high - low) if low < bound else 0.0
