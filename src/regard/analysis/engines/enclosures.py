"""Numbers between certain bounds: conversions between exact numbers, balls and doubles, and certified roots."""

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, fmpq

from regard.core.errors import InputError
from regard.core.estimate import Estimate


def exact_ball(number: Fraction) -> arb:
    """A fraction as a ball at the working precision."""
    return arb(fmpq(number.numerator, number.denominator))


def doubles_around(ball: arb) -> tuple[float, float]:
    """The narrowest interval of doubles that is known to contain a finite ball.

    >>> low, high = doubles_around(arb(1) / 3)
    >>> low <= 1 / 3 <= high, doubles_around(arb(0.25))
    (True, (0.25, 0.25))
    """
    return _double(ball.lower(), -math.inf), _double(ball.upper(), math.inf)


def _double(bound: arb, outwards: float) -> float:
    nearest = float(bound)
    return nearest if arb(nearest) == bound else math.nextafter(nearest, outwards)


def certified_root(
    function: Callable[[float], Estimate], low: float, high: float, *, tolerance: float = 1e-12
) -> Estimate:
    """An interval that certainly contains a root of a continuous function.

    The interval shrinks to the tolerance, or until the function is too close to zero for its sign to be certain. It may
    contain more than one root.

    >>> third = Estimate(value=1.0, lower=1.0, upper=1.0, method="certified") / 3
    >>> root = certified_root(lambda x: x - third, 0.0, 1.0)
    >>> root.contains(1 / 3), root.width <= 1e-12
    (True, True)
    """
    values = [function(low), function(high)]
    if not all(value.is_certain for value in values):
        raise InputError("A certified root needs certified values, but these are sampled. Use certified.answer.")
    left_sign, right_sign = map(_sign, values)
    if left_sign * right_sign != -1:
        raise InputError(
            f"The function is {values[0]} at {low} and {values[1]} at {high}: the sign does not certainly "
            "change. Give ends with opposite signs."
        )
    must_halve = False
    while high - low > max(tolerance, 4 * math.ulp(max(abs(low), abs(high)))):
        point = low + (high - low) / 2 if must_halve else _guess(low, values[0].value, high, values[1].value)
        width, value = high - low, function(point)
        if _sign(value) == 0:
            low = _approach(function, low, point, left_sign, tolerance)
            high = _approach(function, high, point, right_sign, tolerance)
            break
        if _sign(value) == left_sign:
            low, values[0] = point, value
        else:
            high, values[1] = point, value
        must_halve = not must_halve and high - low > width / 2
    return Estimate(value=low + (high - low) / 2, lower=low, upper=high, method="certified")


def _guess(low: float, at_low: float, high: float, at_high: float) -> float:
    """The zero of the chord, moved a tenth away from the nearer end, so that the root likely lies between the two."""
    share = at_low / (at_low - at_high)
    share = min(1.1 * share, 0.5) if share < 0.5 else max(1.1 * share - 0.1, 0.5)
    point = low + share * (high - low)
    return point if low < point < high else low + (high - low) / 2


def _approach(function: Callable[[float], Estimate], end: float, doubtful: float, sign: int, tolerance: float) -> float:
    """The first point of certain sign on the way from a doubtful point to an end, in doubling steps."""
    step = math.copysign(max(tolerance / 4, 2 * math.ulp(doubtful)), end - doubtful)
    while abs(step) < abs(end - doubtful):
        if _sign(function(doubtful + step)) == sign:
            return doubtful + step
        step *= 2
    return end


def _sign(value: Estimate) -> int:
    """1 or −1 if the whole interval has that sign, otherwise 0."""
    return int(value.lower > 0) - int(value.upper < 0)
