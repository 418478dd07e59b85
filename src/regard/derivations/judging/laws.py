"""The usual laws: densities, entropies, and means of functions of one random number."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from regard.derivations.judging.quadrature import over_interval
from regard.derivations.judging.values import BALLS, ORDERS, Arithmetic, IllShaped, Value, add, same_shape
from regard.derivations.notation.tokens import NotUnderstood

_NUM_PARAMETERS = {
    "normal": 2,
    "uniform": 2,
    "bernoulli": 1,
    "categorical": 1,
    "exponential": 1,
    "gamma": 2,
    "poisson": 1,
}
DISCRETE = frozenset({"bernoulli", "poisson"})
_POSITIVE = frozenset({"exponential", "gamma"})
_MOST_COUNTS = 200
_NEGLIGIBLE = 1e-25


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A condition on one number: what must be related to zero, as a function of the number."""

    gap: Callable[[Value], Value]
    sign: str


@dataclass(frozen=True, kw_only=True)
class ValuedLaw:
    """A law with values for its parameters, one for each draw.

    A normal law has a mean and a variance (or covariance matrix), an exponential law its rate, a gamma law its shape
    and rate.
    """

    family: str
    parameters: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len(self.parameters) != _NUM_PARAMETERS[self.family]:
            raise NotUnderstood(f"A {self.family} law has {_NUM_PARAMETERS[self.family]} parameters.")

    @property
    def is_of_a_number(self) -> bool:
        """True for the law of a single number."""
        return self.family != "categorical" and all(parameter.is_scalar for parameter in self.parameters)

    def _arrays(self) -> list[np.ndarray]:
        return [parameter.array for parameter in self.parameters]

    # -- densities ---------------------------------------------------------------------------------------------------
    def log_density(self, x: Value, arithmetic: Arithmetic) -> Value:
        """log p(x); for a discrete law, of the probability."""
        if self.family == "normal":
            return self._log_normal(x, arithmetic)
        if not (self.is_of_a_number and x.is_scalar):
            raise NotUnderstood("The density of this law is not supported here.")
        log, first, second = arithmetic.log, self._arrays()[0], self._arrays()[-1]
        match self.family:
            case "uniform":
                return Value(-log(second - first) + 0 * x.array)
            case "bernoulli":
                return Value(x.array * log(first) + (1 - x.array) * log(1 - first))
            case "exponential":
                return Value(log(first) - first * x.array)
            case "gamma":
                shape = first * log(second) - _log_gamma(first)
                return Value(shape + (first - 1) * log(x.array) - second * x.array)
            case _:
                return Value(x.array * log(first) - first - _log_gamma(x.array + 1))

    def _log_normal(self, x: Value, arithmetic: Arithmetic) -> Value:
        """−½ (x − μ)ᵀ Σ⁻¹ (x − μ) − ½ log det 2πΣ."""
        mean, covariance = self.moments(x.shape[0])
        return _log_normal_at(add(x, mean.negated()).array, covariance, arithmetic)

    def moments(self, size: int) -> tuple[Value, np.ndarray]:
        """The mean and the covariance matrix of a normal law of vectors of that length."""
        mean, variance = self.parameters
        if not variance.is_identity and variance.shape not in ((1, 1), (size, size)):
            raise IllShaped(f"a vector of length {size} and a covariance of {variance.describe_shape()}")
        if variance.shape == (size, size) and not variance.is_identity:
            return mean, variance.array
        return mean, variance.array * np.eye(size, dtype=int)[None]

    # -- means of functions of one number ----------------------------------------------------------------------------
    @property
    def mean(self) -> Value:
        """E[x]."""
        first, second = self._arrays()[0], self._arrays()[-1]
        match self.family:
            case "uniform":
                return Value((first + second) / 2)
            case "exponential":
                return Value(1 / first)
            case "gamma":
                return Value(first / second)
            case _:
                return Value(first)

    def mean_of(self, function: Callable[[Value], Value], bounds: Sequence[Bound] = ()) -> Value:
        """E[f(x)] of a number x, in balls; with bounds, the mean of f(x) where x meets them and 0 elsewhere."""
        if not self.is_of_a_number:
            raise NotUnderstood("Means under this law are not supported.")
        if self.family in DISCRETE:
            return self._summed(function, bounds)
        lower, upper = _interval(bounds)
        if self.family != "normal":
            lower = _larger(lower, self._arrays()[0] if self.family == "uniform" else BALLS.number(0))
        if self.family == "uniform":
            upper = _smaller(upper, self._arrays()[1])

        def weighted(x: np.ndarray) -> Value:
            value, density = function(Value(x)), BALLS.exp(self.log_density(Value(x), BALLS).array)
            return Value(value.array * density)

        ends = (lower, upper if lower is None or upper is None else _larger(upper, lower))
        return over_interval(weighted, ends, *self._place_and_scale())

    def _place_and_scale(self) -> tuple[np.ndarray, np.ndarray]:
        first, second = self._arrays()[0], self._arrays()[-1]
        match self.family:
            case "normal":
                return first, BALLS.sqrt(second)
            case "exponential" | "gamma":
                return 0 * second, 1 / second
            case _:
                return first, second - first

    def _summed(self, function: Callable[[Value], Value], bounds: Sequence[Bound]) -> Value:
        counts = 2 if self.family == "bernoulli" else _MOST_COUNTS
        total, rest = BALLS.number(0), BALLS.number(1)
        for count in range(counts):
            x = Value(BALLS.number(count) + 0 * self._arrays()[0])
            weight = BALLS.exp(self.log_density(x, BALLS).array)
            rest = rest - weight
            if all(_is_met(bound, x) for bound in bounds):
                total = total + function(x).array * weight
        if not all(bool(abs(each) < _NEGLIGIBLE) for each in rest.flat):
            raise NotUnderstood("This sum is too long to add up.")
        return Value(total)


def _log_normal_at(gap: np.ndarray, covariance: np.ndarray, arithmetic: Arithmetic) -> Value:
    inverse, determinant = arithmetic.inverse(covariance), arithmetic.determinant(2 * arithmetic.pi() * covariance)
    squares = np.matmul(np.swapaxes(gap, 1, 2), np.matmul(inverse, gap))
    return Value(-(squares + arithmetic.log(determinant)) / 2)


def _log_gamma(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.frompyfunc(lambda y: y.lgamma() if isinstance(y, arb) else math.lgamma(y), 1, 1)(x))


# -- intervals ---------------------------------------------------------------------------------------------------------
def _larger(one: np.ndarray | None, other: np.ndarray) -> np.ndarray:
    return other if one is None else np.frompyfunc(lambda x, y: x.max(y), 2, 1)(one, other)


def _smaller(one: np.ndarray | None, other: np.ndarray) -> np.ndarray:
    return other if one is None else np.frompyfunc(lambda x, y: x.min(y), 2, 1)(one, other)


def _interval(bounds: Sequence[Bound]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The interval of the numbers that meet conditions, each linear in the number."""
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    for bound in bounds:
        at_zero, at_one, at_two = (bound.gap(Value(BALLS.number(count))).array for count in (0, 1, 2))
        slope = at_one - at_zero
        is_linear = all(bool(abs(bend) < _NEGLIGIBLE) for bend in (at_two - 2 * at_one + at_zero).flat)
        is_rising = {bool(each > 0) for each in slope.flat}
        is_steep = all(bool(abs(each) > _NEGLIGIBLE) for each in slope.flat)
        if not is_linear or len(is_rising) != 1 or not is_steep or bound.sign == "=":
            raise NotUnderstood("The probability of this event is not supported.")
        if is_rising.pop() == (bound.sign in (">", "≥")):
            lower = _larger(lower, -at_zero / slope)
        else:
            upper = _smaller(upper, -at_zero / slope)
    return lower, upper


def _is_met(bound: Bound, x: Value) -> bool:
    """Whether a count meets a condition, in every draw alike."""
    gaps = bound.gap(x).array
    answers = {_holds(bound.sign, gap) for gap in gaps.flat}
    if len(answers) != 1:
        raise NotUnderstood("The event is another one for other numbers.")
    return answers.pop()


def _holds(sign: str, gap: Any) -> bool:
    is_zero = not bool(abs(gap) > _NEGLIGIBLE)
    return is_zero if sign == "=" else sign in ("≤", "≥") if is_zero else bool(ORDERS[sign](gap, 0))


# -- information -------------------------------------------------------------------------------------------------------
def cross_entropy(law: ValuedLaw, other: ValuedLaw) -> Value:
    """−E[log q(x)] for x of law p, in balls: the entropy where both are the same."""
    if law.family == other.family == "normal":
        return _of_normals(law, other)
    if law.family == other.family == "categorical":
        weights, others = same_shape(law.parameters[0], other.parameters[0])
        if 1 not in weights.shape:
            raise NotUnderstood("The probabilities of a categorical law are a vector.")
        return Value(-np.sum(weights.array * BALLS.log(others.array), axis=(1, 2), keepdims=True))
    is_same_support = law.family == other.family != "uniform" or {law.family, other.family} <= _POSITIVE
    if not is_same_support and law is not other:
        raise NotUnderstood("These two laws are not compared.")
    return law.mean_of(lambda x: other.log_density(x, BALLS).negated())


def _of_normals(law: ValuedLaw, other: ValuedLaw) -> Value:
    """½ (log det 2πΣ_q + tr Σ_q⁻¹Σ_p + (μ_q − μ_p)ᵀ Σ_q⁻¹ (μ_q − μ_p))."""
    sizes = {parameter.shape[0] for each in (law, other) for parameter in each.parameters if not parameter.is_zero}
    unsized = any(parameter.is_identity for each in (law, other) for parameter in each.parameters)
    size = max(sizes)
    if unsized and size == 1:
        raise NotUnderstood("The length of these vectors is not known.")
    (mean, covariance), (other_mean, other_covariance) = law.moments(size), other.moments(size)
    gap = add(mean, other_mean.negated())
    zero = np.zeros((1, size, 1), dtype=int)
    log_density = _log_normal_at(gap.array + zero, other_covariance, BALLS).array
    ratio = np.matmul(BALLS.inverse(other_covariance + 0 * covariance), covariance + 0 * other_covariance)
    return Value(np.trace(ratio, axis1=1, axis2=2)[:, None, None] / 2 - log_density)
