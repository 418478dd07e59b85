"""A number with an interval that says how far to trust it."""

import math
from dataclasses import dataclass
from typing import Union

Operand = Union["Estimate", float, int]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value and an interval around it: certain if `confidence` is None, otherwise correct with that probability.

    Arithmetic preserves this: intervals are rounded outwards, and the probabilities of error add up.

    Args:
        value: the best guess.
        lower: the lower end of the interval.
        upper: its upper end.
        method: how it was computed.
        confidence: the probability that the interval contains the true value; None if it certainly does.
        draws: the number of random draws, if it was sampled.
        seed: their seed.

    >>> third = Estimate(value=1.0, lower=1.0, upper=1.0, method="certified") / 3
    >>> third.lower < 1 / 3 < third.upper, third.is_certain
    (True, True)
    """

    value: float
    lower: float
    upper: float
    method: str
    confidence: float | None = None
    draws: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        assert self.lower <= self.value <= self.upper, (self.lower, self.value, self.upper)

    @property
    def is_certain(self) -> bool:
        """True if the interval certainly contains the value, not just with high probability."""
        return self.confidence is None

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.upper - self.lower

    def contains(self, number: float) -> bool:
        """True if the number lies in the interval."""
        return bool(self.lower <= number <= self.upper)

    @property
    def enclosure(self) -> str:
        """The interval with all digits of its bounds."""
        return f"[{self.lower!r}, {self.upper!r}]"

    def __str__(self) -> str:
        radius = max(self.upper - self.value, self.value - self.lower)
        digits = 17 if radius == 0 else math.ceil(math.log10(max(abs(self.value), radius) / radius)) + 1
        number = f"{self.value:.{min(max(digits, 1), 17)}g} ± {radius:.1e} ({self.method}"
        if self.confidence is None:
            return f"{number})"
        return f"{number}, {self.confidence:.4%} sure, {self.draws} draws, seed {self.seed})"

    def __neg__(self) -> "Estimate":
        return self._combined((), -self.value, -self.upper, -self.lower)

    def __add__(self, other: Operand) -> "Estimate":
        right = _as_estimate(other)
        low, high = _outward(self.lower + right.lower, self.upper + right.upper)
        return self._combined((right,), self.value + right.value, low, high)

    def __sub__(self, other: Operand) -> "Estimate":
        return self + -_as_estimate(other)

    def __mul__(self, other: Operand) -> "Estimate":
        right = _as_estimate(other)
        corners = [x * y for x in (self.lower, self.upper) for y in (right.lower, right.upper)]
        low, high = _outward(min(corners), max(corners))
        return self._combined((right,), self.value * right.value, low, high)

    def __truediv__(self, other: Operand) -> "Estimate":
        right = _as_estimate(other)
        if right.contains(0.0):
            raise ZeroDivisionError(f"The divisor {right.enclosure} may be zero, so the quotient has no bounds.")
        corners = [x / y for x in (self.lower, self.upper) for y in (right.lower, right.upper)]
        low, high = _outward(min(corners), max(corners))
        return self._combined((right,), self.value / right.value, low, high)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Operand) -> "Estimate":
        return _as_estimate(other) - self

    def __rtruediv__(self, other: Operand) -> "Estimate":
        return _as_estimate(other) / self

    def _combined(self, others: tuple["Estimate", ...], value: float, lower: float, upper: float) -> "Estimate":
        sources = (self, *others)
        doubts = [1 - source.confidence for source in sources if source.confidence is not None]
        methods = dict.fromkeys(source.method for source in sources if source.method != "exact")
        return Estimate(
            value=min(max(value, lower), upper),
            lower=lower,
            upper=upper,
            method="+".join(methods) or "exact",
            confidence=max(0.0, 1 - sum(doubts)) if doubts else None,
            draws=next((source.draws for source in sources if source.draws is not None), None),
            seed=next((source.seed for source in sources if source.seed is not None), None),
        )


def _as_estimate(number: Operand) -> Estimate:
    if isinstance(number, Estimate):
        return number
    return Estimate(value=float(number), lower=float(number), upper=float(number), method="exact")


def _outward(lower: float, upper: float) -> tuple[float, float]:
    """The next doubles outwards, since a floating-point operation may have rounded inwards."""
    return math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)
