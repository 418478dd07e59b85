"""Where two answers cross: a root between two points at which the sign is certain."""

import math
from collections.abc import Callable

from regard.core.errors import InputError
from regard.core.estimate import Estimate


def certified_root(
    function: Callable[[float], Estimate], low: float, high: float, *, tolerance: float = 1e-12
) -> Estimate:
    """A bracket of a root of a continuous function, its signs at both ends known for certain.

    The bracket shrinks to the tolerance, or until the function is too close to zero to tell its sign. It holds at
    least one root; that it holds no second one is not claimed.

    >>> third = Estimate(value=1.0, lower=1.0, upper=1.0, method="certified") / 3
    >>> root = certified_root(lambda x: x - third, 0.0, 1.0)
    >>> root.contains(1 / 3), root.width <= 1e-12
    (True, True)
    """
    values = [function(low), function(high)]
    if not all(value.is_certain for value in values):
        raise InputError("A certified root needs certified values, but these were sampled. Use certified.answer.")
    left_sign, right_sign = map(_sign, values)
    if left_sign * right_sign != -1:
        raise InputError(
            f"The function is {values[0]} at {low} and {values[1]} at {high}: no certain change of sign. "
            "Give ends with opposite signs."
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
    """Where the chord is zero, a tenth further from the nearer end, so that the root is likely caught between them."""
    share = at_low / (at_low - at_high)
    share = min(1.1 * share, 0.5) if share < 0.5 else max(1.1 * share - 0.1, 0.5)
    point = low + share * (high - low)
    return point if low < point < high else low + (high - low) / 2


def _approach(function: Callable[[float], Estimate], end: float, doubtful: float, sign: int, tolerance: float) -> float:
    """A point of certain sign between a point of unknown sign and an end, in doubling steps from the former."""
    step = math.copysign(max(tolerance / 4, 2 * math.ulp(doubtful)), end - doubtful)
    while abs(step) < abs(end - doubtful):
        if _sign(function(doubtful + step)) == sign:
            return doubtful + step
        step *= 2
    return end


def _sign(value: Estimate) -> int:
    """1 or −1 if the whole interval has that sign, else 0."""
    return int(value.lower > 0) - int(value.upper < 0)
