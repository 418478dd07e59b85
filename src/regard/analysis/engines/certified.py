"""Answers with a proof: enclosures in ball arithmetic, for laws with at most one random direction."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flint import acb, arb, ctx

from regard.analysis.engines import events
from regard.analysis.engines.balls import doubles_around, exact_ball
from regard.analysis.engines.lines import Affine, Line, line_of
from regard.analysis.engines.quantities import Quantity, exact
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
    check_question,
    heads_of,
)
from regard.analysis.engines.spreads import NormalStretch
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.errors import InputError, NotCertifiable
from regard.core.estimate import Estimate

# Working precisions in bits, each tried if the one before left too few digits.
_PRECISIONS = (64, 128, 256, 512)
_ENOUGH_BITS = 46
_SPARE_BITS = 11

Ball = Any


def answer(law: LogitLaw, question: Question, *, scale: tuple[float, float] | None = None) -> Estimate:
    """An enclosure of the answer that holds with certainty, or NotCertifiable.

    With `scale` every logit is multiplied by a number from that interval, and the enclosure holds for all of them.

    >>> from regard.analysis.engines import Variance, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
    >>> variance = answer(course_keys(n=10).logits(one_head(20.0)), Variance(of=weight("a")))
    >>> f"{variance.value:.12f}", variance.width < 1e-14
    ('0.222018627920', True)
    """
    return answers(law, [question], scale=scale)[0]


def answers(
    law: LogitLaw, questions: Sequence[Question], *, scale: tuple[float, float] | None = None
) -> tuple[Estimate, ...]:
    """Enclosures of several answers; questions about the same heads and condition share their integrals."""
    for question in questions:
        check_question(question, law)
    if scale is not None and not 0 < scale[0] <= scale[1] < math.inf:
        raise InputError(f"The scale {scale} is not an interval of positive finite numbers.")
    balls: dict[int, arb] = {}
    for bits in _PRECISIONS if scale is None else _PRECISIONS[:1]:
        with ctx.workprec(bits):
            desk = _Desk(law, arb(1) if scale is None else arb(scale[0]).union(arb(scale[1])))
            for place, question in enumerate(questions):
                if place not in balls or not _is_sharp(balls[place], question):
                    balls[place] = desk.answer(question)
    return tuple(_estimate(balls[place], question) for place, question in enumerate(questions))


class _Desk:
    """One precision's work: lines and moments, computed once for all questions that need them."""

    def __init__(self, law: LogitLaw, scale: arb) -> None:
        self.law = law
        self.scale = scale
        self.lines: dict[tuple[tuple[int, ...], Deviation | None], Line] = {}
        self.moments: dict[int, _Moments] = {}
        # Nothing is gained by integrating more finely than the scale is known.
        self.tolerance = max(2.0 ** (_SPARE_BITS - ctx.prec), float(scale.rad() / scale.mid()) / 16)

    def answer(self, question: Question) -> arb:
        """The ball for one question."""
        if isinstance(question, Chance):
            return self._chance(question.of)
        line = self._line(question)
        match question:
            case Mean(of=quantity):
                return self._moments(line).mean(line.affine(quantity))
            case Variance(of=quantity):
                return self._moments(line).covariance(line.affine(quantity), line.affine(quantity))
            case Covariance(between=(left, right)):
                return self._moments(line).covariance(line.affine(left), line.affine(right))
            case Correlation(between=pair):
                return self._correlation(line, pair)
            case RawMoment(of=quantity, order=order):
                return self._raw_moment(line, line.affine(quantity), order)
            case Probability(of=quantity, at_least=low, at_most=high):
                return events.probability(line, line.affine(quantity), low, high)
            case Quantile(of=quantity, level=level):
                return events.quantile(line, line.affine(quantity), level, quantity.reach)
            case SquaredError(target=target):
                return self._squared_error(line, self._aims(target))
            case Within(target=target, radius=radius):
                distance = line.squared_distance(self._aims(target))
                return events.probability(line, distance, -math.inf, exact_ball(exact(radius)) ** 2)
            case TotalVariance():
                return self._total_variance(line)

    def _aims(self, target: Mapping[str, float]) -> list[arb]:
        return [exact_ball(exact(target.get(name, 0.0))) for name in self.law.names]

    def _line(self, question: Question) -> Line:
        key = (heads_of(question, self.law) or (0,), question.given)
        if key not in self.lines:
            self.lines[key] = line_of(self.law, key[0], given=key[1], scale=self.scale)
        return self.lines[key]

    def _moments(self, line: Line) -> "_Moments":
        if id(line) not in self.moments:
            self.moments[id(line)] = _Moments(line, self.tolerance)
        return self.moments[id(line)]

    def _chance(self, event: Deviation) -> arb:
        variance = self.law.own_variance(event.group)
        if variance == 0:
            return arb(int(event.lower <= 0 <= event.upper))
        return NormalStretch(variance=arb(variance)).mass(event.lower, event.upper)

    def _correlation(self, line: Line, pair: tuple[Quantity, Quantity]) -> arb:
        left, right = (line.affine(quantity) for quantity in pair)
        if any(all(slope == 0 for slope in each.slopes) for each in (left, right)):
            raise InputError(f"{pair[0]} or {pair[1]} does not vary under this law, so they have no correlation.")
        if len(line.sigmoids) == 1:
            # Both are affine in the same sigmoid.
            return (left.slopes[0] * right.slopes[0]).sgn()
        moments = self._moments(line)
        spreads = moments.covariance(left, left) * moments.covariance(right, right)
        return moments.covariance(left, right) / spreads.sqrt()

    def _raw_moment(self, line: Line, quantity: Affine, order: int) -> arb:
        def power(shares: Sequence[Ball]) -> Ball:
            # Not `**`, which takes logarithms and fails on balls that hold zero.
            return math.prod([acb(quantity(shares))] * order)

        return line.spread.expectation(power, line.sigmoids, self.tolerance).real

    def _squared_error(self, line: Line, target: Sequence[arb]) -> arb:
        moments = self._moments(line)
        biases = [moments.mean(each) - aim for (_, each), aim in zip(line.coefficients(), target, strict=True)]
        squares = (count * bias * bias for count, bias in zip(self.law.counts, biases, strict=True))
        return sum(squares, arb(0)) + self._total_variance(line)

    def _total_variance(self, line: Line) -> arb:
        moments = self._moments(line)
        return sum((count * moments.covariance(each, each) for count, each in line.coefficients()), arb(0))


class _Moments:
    """First and second moments of the sigmoids that vary: all that a quadratic question needs."""

    def __init__(self, line: Line, tolerance: float) -> None:
        size = len(line.sigmoids)
        wanted = [(j,) for j in range(size)] + [(j, k) for j in range(size) for k in range(j, size)]
        found: dict[tuple[int, ...], arb] = {}
        for first, second in zip(wanted[::2], [*wanted[1::2], ()][: len(wanted[::2])], strict=True):
            value = line.spread.expectation(_pair(first, second), line.sigmoids, tolerance)
            found[first], found[second] = value.real, value.imag
        self.means = [found[(j,)] for j in range(size)]
        self.covariances = [
            [found[(min(j, k), max(j, k))] - self.means[j] * self.means[k] for k in range(size)] for j in range(size)
        ]

    def mean(self, quantity: Affine) -> arb:
        """E Q."""
        return quantity(self.means)

    def covariance(self, left: Affine, right: Affine) -> arb:
        """Cov(Q, R), the pairs of sigmoids weighted by their slopes."""
        return sum(
            (x * y * self.covariances[j][k] for j, x in enumerate(left.slopes) for k, y in enumerate(right.slopes)),
            arb(0),
        )


def _pair(first: tuple[int, ...], second: tuple[int, ...]) -> Callable[[Sequence[Ball]], Ball]:
    """Two products of sigmoids, one as the real and one as the imaginary part."""
    unit = acb(0, 1)
    if len(first) == 1 and second == first * 2:
        return lambda shares: shares[first[0]] * (1 + unit * shares[first[0]])
    return lambda shares: math.prod(shares[k] for k in first) + unit * math.prod(shares[k] for k in second)


def _is_sharp(ball: arb, question: Question) -> bool:
    """True if a higher precision would not be worth its time."""
    if isinstance(question, Probability | Within):
        return bool(ball.rad() < 2.0**-44)
    return ball.is_exact() or ball.rel_accuracy_bits() >= _ENOUGH_BITS


def _estimate(ball: arb, question: Question) -> Estimate:
    """The ball as doubles, rounded outwards and cut to what the question can have for an answer."""
    if not ball.is_finite():
        raise NotCertifiable(f"The integral for {question} did not converge in balls. Use monte_carlo.answer.")
    low, high = doubles_around(ball)
    if isinstance(question, Variance | TotalVariance | SquaredError | Probability | Within | Chance):
        low = max(low, 0.0)
    if isinstance(question, Probability | Within | Chance | Correlation):
        low, high = max(low, -1.0), min(high, 1.0)
    return Estimate(value=min(max(float(ball.mid()), low), high), lower=low, upper=high, method="certified")
