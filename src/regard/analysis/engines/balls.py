"""Between exact numbers, balls and doubles, always outwards."""

import math
from fractions import Fraction

from flint import arb, fmpq


def exact_ball(number: Fraction) -> arb:
    """A fraction as a ball of working precision."""
    return arb(fmpq(number.numerator, number.denominator))


def doubles_around(ball: arb) -> tuple[float, float]:
    """The narrowest doubles that are known to enclose a finite ball.

    >>> low, high = doubles_around(arb(1) / 3)
    >>> low <= 1 / 3 <= high, doubles_around(arb(0.25))
    (True, (0.25, 0.25))
    """
    return _double(ball.lower(), -math.inf), _double(ball.upper(), math.inf)


def _double(bound: arb, outwards: float) -> float:
    """The bound itself if it is a double, else the next double outwards."""
    nearest = float(bound)
    return nearest if arb(nearest) == bound else math.nextafter(nearest, outwards)
