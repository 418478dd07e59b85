"""Logarithms of generic rational functions, kept formal until exp undoes them."""

import math
from fractions import Fraction
from typing import Any


class Logarithm:
    """r·log f of a rational function f, r a fraction: sums are logarithms of products, and exp undoes it.

    >>> from regard.analysis.engines.symbolic import Field
    >>> field = Field("x", "y")
    >>> (2 * field["x"].log() - field["y"].log()).exp() == field["x"] ** 2 / field["y"]
    True
    >>> (4 * (field["x"].log() / 2)).exp() == field["x"] ** 2
    True
    """

    __slots__ = ("argument", "times")

    def __init__(self, argument: Any, times: Fraction = Fraction(1)) -> None:
        self.argument, self.times = argument, times

    def exp(self) -> Any:
        """The function whose logarithm this is; ValueError if that is a root and no rational function."""
        if self.times.denominator != 1:
            raise ValueError(f"({self.argument})^({self.times}) is no rational function; take a multiple of it")
        return self.argument ** int(self.times)

    def __add__(self, other: Any) -> "Logarithm | Any":
        if not isinstance(other, Logarithm):
            return NotImplemented
        common = math.lcm(self.times.denominator, other.times.denominator)
        product = self.argument ** int(self.times * common) * other.argument ** int(other.times * common)
        return Logarithm(product, Fraction(1, common))

    def __sub__(self, other: Any) -> "Logarithm | Any":
        return self + -other if isinstance(other, Logarithm) else NotImplemented

    def __mul__(self, times: int) -> "Logarithm":
        return Logarithm(self.argument, self.times * times)

    def __truediv__(self, parts: int) -> "Logarithm":
        return Logarithm(self.argument, self.times / parts)

    def __neg__(self) -> "Logarithm":
        return self * -1

    __rmul__ = __mul__
