"""Generic angles: the cosine and the sine of an angle as rational functions, so that identities decide all angles.

    cos φ = (1−m²)/(1+m²),   sin φ = 2m/(1+m²),   m = tan(φ/2)

An identity in m holds for every angle: m reaches all of them but φ = π, and continuity reaches that one.
A rational m gives a rational point of the circle, so a counterexample is exact.
"""

from typing import Any

from regard.analysis.engines.symbolic import Field, RationalFunction


class Angle:
    """An angle known by its cosine and sine; sums go by e^{i(φ+ψ)} = e^{iφ}e^{iψ}.

    >>> field = angle_field("a", "b")
    >>> a, b = generic_angles(field, "a", "b")
    >>> (a - b).cos() == a.cos() * b.cos() + a.sin() * b.sin()
    True
    >>> (2 * a).sin() == 2 * a.sin() * a.cos()
    True
    """

    __slots__ = ("_cos", "_sin")

    def __init__(self, cos: RationalFunction, sin: RationalFunction) -> None:
        assert cos * cos + sin * sin == 1, "not a point of the circle"
        self._cos, self._sin = cos, sin

    def cos(self) -> RationalFunction:
        """The cosine."""
        return self._cos

    def sin(self) -> RationalFunction:
        """The sine."""
        return self._sin

    def __add__(self, other: "Angle") -> "Angle":
        return Angle(self._cos * other._cos - self._sin * other._sin, self._sin * other._cos + self._cos * other._sin)

    def __neg__(self) -> "Angle":
        return Angle(self._cos, -self._sin)

    def __sub__(self, other: "Angle") -> "Angle":
        return self + -other

    def __mul__(self, times: int) -> "Angle":
        if times < 0:
            return -self * -times
        one = self._cos.field.constant(1)
        return sum((self for _ in range(times)), Angle(one, 0 * one))

    __rmul__ = __mul__


def tangent(name: str) -> str:
    """The name of the symbol that a generic angle is made of."""
    return f"tan({name}/2)"


def angle_field(*angles: str, symbols: tuple[str, ...] = ()) -> Field:
    """Rational functions in the given symbols and in the half-angle tangents of the named angles."""
    return Field(*symbols, *map(tangent, angles))


def generic_angles(field: Field, *names: str) -> list[Any]:
    """The named angles of a field, independent of each other."""
    tangents = [field[tangent(name)] for name in names]
    return [Angle((1 - m * m) / (1 + m * m), 2 * m / (1 + m * m)) for m in tangents]
