"""Certified answers: enclosures in ball arithmetic, for laws with at most one random direction."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import acb, arb, ctx

from regard.analysis.engines import probabilities
from regard.analysis.engines import questions as ask
from regard.analysis.engines.enclosures import doubles_around, exact_ball
from regard.analysis.engines.one_direction import Affine, NormalSpread, OneDirectionLaw, along_one_direction
from regard.analysis.engines.questions import Question, check_question, heads_of
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.errors import NotCertifiable
from regard.core.estimate import Estimate

# Working precisions in bits; the next one is tried if too few digits are certain.
_PRECISIONS = (64, 128, 256, 512)
_ENOUGH_BITS = 46
_SPARE_BITS = 11

Ball = Any


def answer(law: LogitLaw, question: Question) -> Estimate:
    """An interval that certainly contains the answer, or NotCertifiable.

    >>> from regard.analysis.engines import Variance, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
    >>> variance = answer(course_keys(n=10).logits(one_head(20.0)), Variance(of=weight("a")))
    >>> f"{variance.value:.12f}", variance.width < 1e-14
    ('0.222018627920', True)
    """
    return answers(law, [question])[0]


def answers(law: LogitLaw, questions: Sequence[Question]) -> tuple[Estimate, ...]:
    """Answers to several questions; those about the same heads and condition share their integrals."""
    for question in questions:
        check_question(question, law)
    balls: dict[int, arb] = {}
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            engine = _FixedPrecision(law)
            for place, question in enumerate(questions):
                if place not in balls or not _is_sharp(balls[place], question):
                    balls[place] = engine.answer(question)
    return tuple(_estimate(balls[place], question) for place, question in enumerate(questions))


class _FixedPrecision:
    """Answers at one precision; moments are computed once for all questions that need them."""

    def __init__(self, law: LogitLaw) -> None:
        self.law = law
        self.laws: dict[tuple[tuple[int, ...], Deviation | None], OneDirectionLaw] = {}
        self.moments: dict[int, _SigmoidMoments] = {}
        self.tolerance = 2.0 ** (_SPARE_BITS - ctx.prec)

    def answer(self, question: Question) -> arb:
        if isinstance(question, ask.ConditionProbability):
            return self._condition_probability(question.of)
        law = self._reduced(question)
        match question:
            case ask.Mean(of=quantity):
                return self._moments(law).mean(law.affine(quantity))
            case ask.Variance(of=quantity):
                return self._moments(law).variance(law.affine(quantity))
            case ask.Probability(of=quantity, at_least=low, at_most=high):
                return probabilities.probability(law, law.affine(quantity), low, high)
            case ask.Quantile(of=quantity, level=level):
                return probabilities.quantile(law, law.affine(quantity), level)
            case ask.SquaredError(target=target):
                return self._squared_error(law, self._targets(target))
            case ask.Within(target=target, radius=radius):
                distance = law.squared_distance(self._targets(target))
                return probabilities.probability(law, distance, -math.inf, exact_ball(Fraction(radius)) ** 2)
            case ask.TotalVariance():
                return self._total_variance(law)

    def _targets(self, target: Mapping[str, float]) -> list[arb]:
        return [exact_ball(Fraction(target.get(name, 0.0))) for name in self.law.names]

    def _reduced(self, question: Question) -> OneDirectionLaw:
        key = (heads_of(question, self.law) or (0,), question.given)
        if key not in self.laws:
            self.laws[key] = along_one_direction(self.law, key[0], given=key[1])
        return self.laws[key]

    def _moments(self, law: OneDirectionLaw) -> "_SigmoidMoments":
        if id(law) not in self.moments:
            self.moments[id(law)] = _SigmoidMoments(law, self.tolerance)
        return self.moments[id(law)]

    def _condition_probability(self, event: Deviation) -> arb:
        variance = self.law.own_variance(event.group)
        if variance == 0:
            return arb(int(event.lower <= 0 <= event.upper))
        return NormalSpread(variance=arb(variance)).mass(event.lower, event.upper)

    def _squared_error(self, law: OneDirectionLaw, target: Sequence[arb]) -> arb:
        moments = self._moments(law)
        biases = [moments.mean(each) - aim for (_, each), aim in zip(law.coefficients(), target, strict=True)]
        squares = (count * bias * bias for count, bias in zip(self.law.counts, biases, strict=True))
        return sum(squares, arb(0)) + self._total_variance(law)

    def _total_variance(self, law: OneDirectionLaw) -> arb:
        moments = self._moments(law)
        return sum((count * moments.variance(each) for count, each in law.coefficients()), arb(0))


class _SigmoidMoments:
    """First and second moments of the sigmoids that vary: enough for every quadratic question."""

    def __init__(self, law: OneDirectionLaw, tolerance: float) -> None:
        size = len(law.sigmoids)
        wanted = [(j,) for j in range(size)] + [(j, k) for j in range(size) for k in range(j, size)]
        found: dict[tuple[int, ...], arb] = {}
        for first, second in zip(wanted[::2], [*wanted[1::2], ()][: len(wanted[::2])], strict=True):
            value = law.spread.expectation(_pair(first, second), law.sigmoids, tolerance)
            found[first], found[second] = value.real, value.imag
        self.means = [found[(j,)] for j in range(size)]
        self.covariances = [
            [found[(min(j, k), max(j, k))] - self.means[j] * self.means[k] for k in range(size)] for j in range(size)
        ]

    def mean(self, quantity: Affine) -> arb:
        return quantity(self.means)

    def variance(self, quantity: Affine) -> arb:
        """Var Q = Σ_jk slopes_j slopes_k Cov(s_j, s_k)."""
        slopes = list(enumerate(quantity.slopes))
        return sum((x * y * self.covariances[j][k] for j, x in slopes for k, y in slopes), arb(0))


def _pair(first: tuple[int, ...], second: tuple[int, ...]) -> Callable[[Sequence[Ball]], Ball]:
    """Two products of sigmoids as one integrand: the second is the imaginary part."""
    unit = acb(0, 1)
    if len(first) == 1 and second == first * 2:
        return lambda shares: shares[first[0]] * (1 + unit * shares[first[0]])
    return lambda shares: math.prod(shares[k] for k in first) + unit * math.prod(shares[k] for k in second)


def _is_sharp(ball: arb, question: Question) -> bool:
    """True if a higher precision is not worth its time."""
    if isinstance(question, ask.Probability | ask.Within):
        return bool(ball.rad() < 2.0**-44)
    return ball.is_exact() or ball.rel_accuracy_bits() >= _ENOUGH_BITS


def _estimate(ball: arb, question: Question) -> Estimate:
    """The ball as doubles, rounded outwards and clipped to the possible answers."""
    if not ball.is_finite():
        raise NotCertifiable(
            f"The integral for {question} did not converge in ball arithmetic. Use monte_carlo.answer."
        )
    low, high = doubles_around(ball)
    if not isinstance(question, ask.Mean | ask.Quantile):
        low = max(low, 0.0)
    if isinstance(question, ask.Probability | ask.Within | ask.ConditionProbability):
        high = min(high, 1.0)
    return Estimate(value=min(max(float(ball.mid()), low), high), lower=low, upper=high, method="certified")
