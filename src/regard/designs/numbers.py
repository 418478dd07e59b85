"""Numbers as exact as they were written: fractions, and balls once a root or a logarithm is taken."""

import math
from fractions import Fraction

from flint import arb, ctx

from regard.analysis.engines.enclosures import exact_ball
from regard.core.errors import InputError

Number = Fraction | arb

# Enough that equal expressions round to the same double, whichever way they are written.
_BITS = 400
_LARGEST_POWER = 64
_FUNCTIONS = {"sqrt": arb.sqrt, "log": arb.log, "exp": arb.exp}


def plus(left: Number, right: Number) -> Number:
    """left + right."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    with ctx.workprec(_BITS):
        return _settled(_ball(left) + _ball(right))


def times(left: Number, right: Number) -> Number:
    """left · right."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    with ctx.workprec(_BITS):
        return _settled(_ball(left) * _ball(right))


def divided(top: Number, bottom: Number) -> Number:
    """top / bottom, refused if the bottom is zero."""
    if bottom == 0:
        raise InputError("it divides by zero")
    if isinstance(top, Fraction) and isinstance(bottom, Fraction):
        return top / bottom
    with ctx.workprec(_BITS):
        return _settled(_ball(top) / _ball(bottom))


def power(base: Number, exponent: Number) -> Number:
    """base^exponent, for exponents that no one needs to wait for."""
    if not abs(exponent) <= _LARGEST_POWER:
        raise InputError(f"its exponent is beyond {_LARGEST_POWER}")
    if isinstance(exponent, Fraction) and exponent.denominator == 1 and isinstance(base, Fraction):
        if base == 0 and exponent < 0:
            raise InputError("it divides by zero")
        if max(base.numerator.bit_length(), base.denominator.bit_length()) < _BITS:
            return base ** int(exponent)
    with ctx.workprec(_BITS):
        return _settled(_ball(base) ** _ball(exponent))


def apply(function: str, argument: Number) -> Number:
    """sqrt, log or exp; the root of a square is exact."""
    if function not in _FUNCTIONS:
        raise InputError(f"'{function}' has no place in a query; sqrt, log and exp have")
    if function == "sqrt" and isinstance(argument, Fraction) and argument >= 0:
        root = _exact_root(argument)
        if root is not None:
            return root
    with ctx.workprec(_BITS):
        return _settled(_FUNCTIONS[function](_ball(argument)))


def rounded(number: Number) -> float:
    """The nearest double; infinite beyond the range of doubles."""
    try:
        return float(number) if isinstance(number, Fraction) else float(number.mid())
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _ball(number: Number) -> arb:
    return exact_ball(number) if isinstance(number, Fraction) else number


def _settled(ball: arb) -> Number:
    """The ball, or an exact zero if it cannot be told from one at this precision."""
    if not ball.is_finite():
        raise InputError("it is not a finite number")
    return Fraction(0) if ball.contains(0) else ball


def _exact_root(square: Fraction) -> Fraction | None:
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    return Fraction(top, bottom) if Fraction(top, bottom) ** 2 == square else None
