"""Whole numbers in narrow floating point: where they merge, how many are lost, where they overflow."""

from fractions import Fraction

import numpy as np

from regard.core.axes import Float


def first_merge(bits: int) -> int:
    """2^p + 1: the first whole number that p significant bits cannot represent; it rounds to 2^p."""
    return 2**bits + 1


def overflow_from(bits: int, largest_exponent: int) -> int:
    """2^{e+1} − 2^{e−p}: the number from which rounding gives infinity, half a step above the largest number."""
    return 2 ** (largest_exponent + 1) - 2 ** (largest_exponent - bits)


def rounded_whole(number: int, bits: int) -> int:
    """The nearest whole number of p significant bits, ties to even, in exact arithmetic.

    >>> [rounded_whole(n, 8) for n in (256, 257, 258, 259, 511)]
    [256, 256, 258, 260, 512]
    """
    step = 1 << max(number.bit_length() - bits, 0)
    down, rest = divmod(number, step)
    is_up = 2 * rest > step or (2 * rest == step and down % 2)
    return (down + 1) * step if is_up else down * step


def lost_whole_numbers(count: int, bits: int) -> int:
    """N less the numbers of p bits from 0 to m, the rounding of N−1: how many of 0…N−1 are lost to rounding.

    From 2^p on, a binade [2^k, 2^{k+1}) holds 2^{p−1} numbers of p bits, and each rounds to itself.

    >>> lost_whole_numbers(512, 8)
    127
    """
    last = rounded_whole(count - 1, bits)
    if last < 2**bits:
        return count - (last + 1)
    top = last.bit_length() - 1
    held = 2**bits + (top - bits) * 2 ** (bits - 1) + ((last - 2**top) >> (top - bits + 1)) + 1
    return count - held


def rounded(x: Float[np.ndarray, "..."], bits: int) -> Float[np.ndarray, "..."]:
    """The nearest numbers of p significant bits, ties to even, with unbounded exponents."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)


def stall(bits: int) -> int:
    """2^p: where counting up by ones stops in p significant bits, ties to even."""
    return 2**bits


def narrow_sum(count: int, bits: int) -> Fraction:
    """min(n, 2^p)/n: the sum of n weights 1/n, n a power of two, added one by one in p significant bits."""
    return Fraction(min(count, stall(bits)), count)
