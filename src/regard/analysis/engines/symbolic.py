"""Identities and inequalities for generic symbols, decided by exact rational-function arithmetic.

A `Field` contains the rational functions over ℚ in named symbols. Declaring `exponentials=("z",)` adds the formal
symbol e^z next to z, so that softmax formulas become rational: `field["z"].exp()`. Declaring `counts=("n",)` says that
a symbol stands for whole numbers: proofs do not use this, but counterexamples respect it.
An equality of two elements is an identity for *all* values of the symbols at which both sides are defined.

Generic angles are rational, too: cos φ = (1−m²)/(1+m²), sin φ = 2m/(1+m²) with m = tan(φ/2). An identity in m holds for
every angle, since m reaches all of them but φ = π, and continuity reaches that one. A rational m gives a rational point
of the circle, so a counterexample is exact.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from regard.core.verdict import Evidence


class Field:
    """Rational functions over ℚ in the given generic symbols; unpacking it gives them in order, angles after symbols.

    `rng` draws the points at which counterexamples are looked for.

    >>> n, beta = Field("n", exponentials=("beta",))
    >>> weight = beta.exp() / (2 * beta.exp() + n - 2)
    >>> 2 * weight + (n - 2) * weight / beta.exp() == 1
    True
    """

    def __init__(
        self,
        *symbols: str,
        angles: tuple[str, ...] = (),
        counts: tuple[str, ...] = (),
        exponentials: tuple[str, ...] = (),
        rng: np.random.Generator | None = None,
    ) -> None:
        self.symbols = (*symbols, *angles, *counts, *exponentials)
        self.angles, self.counts, self.exponentials = angles, counts, exponentials
        plain = (tangent(name) if name in angles else name for name in self.symbols)
        self.names = (*plain, *(f"e^{name}" for name in exponentials))
        self.context = fmpq_mpoly_ctx.get(self.names, Ordering.degrevlex)
        self.rng = np.random.default_rng(0) if rng is None else rng
        self._by_name = dict(zip(self.names, self.context.gens(), strict=True))

    def __getitem__(self, name: str) -> Any:
        if name in self.angles:
            m = self[tangent(name)]
            return Angle((1 - m * m) / (1 + m * m), 2 * m / (1 + m * m))
        return RationalFunction(self, self._by_name[name], self.context.constant(1))

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self.symbols)

    def constant(self, number: int | Fraction) -> "RationalFunction":
        """The number as an element of the field."""
        ratio = Fraction(number)
        polynomial = self.context.constant(fmpq(ratio.numerator, ratio.denominator))
        return RationalFunction(self, polynomial, self.context.constant(1))


class RationalFunction:
    """A quotient of polynomials in a field's symbols; equality is exact."""

    __slots__ = ("denominator", "field", "numerator")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, field: Field, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> None:
        if denominator.is_zero():
            raise ZeroDivisionError("a rational function cannot have the denominator zero")
        self.field, self.numerator, self.denominator = field, numerator, denominator

    def _lift(self, other: Any) -> "RationalFunction | None":
        if isinstance(other, RationalFunction):
            assert other.field is self.field, "symbols of different fields do not mix"
            return other
        if isinstance(other, int | Fraction | np.integer):
            return self.field.constant(Fraction(int(other)) if isinstance(other, np.integer) else Fraction(other))
        if isinstance(other, float) and other.is_integer():
            return self.field.constant(int(other))
        return None

    def _reduced(self, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> "RationalFunction":
        common = numerator.gcd(denominator)
        return RationalFunction(self.field, numerator / common, denominator / common)

    def __add__(self, other: Any) -> Self | Any:
        if (right := self._lift(other)) is None:
            return NotImplemented
        top = self.numerator * right.denominator + right.numerator * self.denominator
        return self._reduced(top, self.denominator * right.denominator)

    def __mul__(self, other: Any) -> Self | Any:
        if (right := self._lift(other)) is None:
            return NotImplemented
        return self._reduced(self.numerator * right.numerator, self.denominator * right.denominator)

    def __truediv__(self, other: Any) -> Self | Any:
        if (right := self._lift(other)) is None:
            return NotImplemented
        return self._reduced(self.numerator * right.denominator, self.denominator * right.numerator)

    def __rtruediv__(self, other: Any) -> Self | Any:
        left = self._lift(other)
        return NotImplemented if left is None else left / self

    def __pow__(self, power: int) -> "RationalFunction":
        if power < 0:
            return (1 / self) ** -power
        return RationalFunction(self.field, self.numerator**power, self.denominator**power)

    def __neg__(self) -> "RationalFunction":
        return self * -1

    def __sub__(self, other: Any) -> Self | Any:
        return self + (-1) * other

    def __rsub__(self, other: Any) -> Self | Any:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        right = self._lift(other)
        return right is not None and (self.numerator * right.denominator == right.numerator * self.denominator)

    def exp(self) -> "RationalFunction":
        """e^self, for whole-number combinations of the field's exponential symbols.

        >>> field = Field(exponentials=("x", "y"))
        >>> (field["x"] - 2 * field["y"]).exp() * field["y"].exp() ** 2 == field["x"].exp()
        True
        """
        result, rest = self.field.constant(1), self
        for name in self.field.exponentials:
            times = (self.numerator / self.denominator).derivative(name)
            if not times.is_constant():
                raise ValueError(f"e^({self}) is not a product of the field's exponentials {self.field.exponentials}")
            coefficient = Fraction(str(times))
            if coefficient.denominator != 1:
                raise ValueError(f"e^({self}) has a fractional exponent; declare a finer exponential symbol")
            result = result * self.field[f"e^{name}"] ** int(coefficient)
            rest = rest - coefficient * self.field[name]
        if rest != 0:
            raise ValueError(f"e^({self}) is not a product of the field's exponentials {self.field.exponentials}")
        return result

    def log(self) -> "Logarithm":
        """The formal logarithm, for self > 0."""
        return Logarithm(self)

    def derivative(self, name: str) -> "RationalFunction":
        """∂/∂name, where e^name counts as a function of name."""
        top, bottom = self.numerator, self.denominator
        d_top, d_bottom = top.derivative(name), bottom.derivative(name)
        if name in self.field.exponentials:
            factor = self.field._by_name[f"e^{name}"]
            d_top += top.derivative(f"e^{name}") * factor
            d_bottom += bottom.derivative(f"e^{name}") * factor
        return self._reduced(d_top * bottom - top * d_bottom, bottom * bottom)

    def limit(self, name: str) -> "RationalFunction":
        """The limit as a symbol (or "e^z") goes to infinity; ZeroDivisionError if there is none.

        The other symbols are fixed at values where the denominator's leading coefficient is not zero.

        >>> field = Field("n", "x")
        >>> (field["n"] / (2 * field["n"] + field["x"])).limit("n") == Fraction(1, 2)
        True
        """
        place = self.field.names.index(name)
        top, bottom = self.numerator.degrees()[place], self.denominator.degrees()[place]
        if self.numerator.is_zero() or top < bottom:
            return self.field.constant(0)
        if top > bottom:
            raise ZeroDivisionError(f"{self} grows without bound with {name}")
        return self._reduced(_leading(self.numerator, place), _leading(self.denominator, place))

    def substitute(self, **values: Any) -> "RationalFunction":
        """The function with some of its symbols (e_z for e^z) replaced by other elements."""
        by_name = {name.replace("e_", "e^", 1) if name.startswith("e_") else name: v for name, v in values.items()}
        inputs = [by_name.get(name, self.field[name]) for name in self.field.names]
        return self.field.constant(1) * _evaluate(self.numerator, inputs) / _evaluate(self.denominator, inputs)

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """The exact value at a point that gives every symbol a value."""
        inputs = [values[name] for name in self.field.names]
        return Fraction(_evaluate(self.numerator, inputs)) / Fraction(_evaluate(self.denominator, inputs))

    def __repr__(self) -> str:
        return str(self.numerator) if self.denominator.is_one() else f"({self.numerator})/({self.denominator})"


class Logarithm:
    """r·log f of a rational function f, r a fraction, kept formal: sums are logarithms of products, and exp undoes it.

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
        """The function whose logarithm this is; ValueError if that is a root, not a rational function."""
        if self.times.denominator != 1:
            raise ValueError(f"({self.argument})^({self.times}) is not a rational function; take a multiple of it")
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


class Angle:
    """An angle represented by its cosine and sine; sums use e^{i(φ+ψ)} = e^{iφ}e^{iψ}.

    >>> a, b = Field(angles=("a", "b"))
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
    """The symbol in which the cosine and sine of a generic angle are rational."""
    return f"tan({name}/2)"


def _leading(polynomial: fmpq_mpoly, place: int) -> fmpq_mpoly:
    """The coefficient of the highest power of one symbol, a polynomial in the others."""
    highest = polynomial.degrees()[place]
    terms = {
        (*exponents[:place], 0, *exponents[place + 1 :]): coefficient
        for exponents, coefficient in polynomial.to_dict().items()
        if exponents[place] == highest
    }
    return polynomial.context().from_dict(terms)


def _evaluate(polynomial: fmpq_mpoly, inputs: list[Any]) -> Any:
    total: Any = 0
    for exponents, coefficient in polynomial.to_dict().items():
        term: Any = Fraction(int(coefficient.p), int(coefficient.q))
        for base, power in zip(inputs, exponents, strict=True):
            if power:
                term = base ** int(power) * term
        total = total + term
    return total


def _point(field: Field) -> dict[str, Fraction]:
    """A small positive point; z and e^z get independent values, as identities treat them."""
    return {
        name: Fraction(int(field.rng.integers(3, 30)), 1)
        if name in field.counts
        else Fraction(int(field.rng.integers(1, 8)), int(field.rng.integers(1, 4)))
        for name in field.names
    }


def identity(left: Any, right: Any, what: str) -> Evidence:
    """Whether left = right for all values of the symbols; if not, with a rational counterexample."""
    for one, other in np.broadcast(np.asarray(left, dtype=object), np.asarray(right, dtype=object)):
        difference = one - other
        if difference == 0:
            continue
        if not isinstance(difference, RationalFunction):
            return Evidence(
                status="refuted",
                detail=f"{what}: the sides differ by {difference}",
                counterexample=f"{what}: the sides are {one} and {other} everywhere",
            )
        sides = (one + 0 * difference, other + 0 * difference)
        place, (here, there) = _where(sides, lambda here, there: here != there)
        return Evidence(
            status="refuted",
            detail=f"{what}: not an identity",
            value=float(here - there),
            counterexample=f"{what}: the sides are {float(here):.6g} and {float(there):.6g} {place}",
        )
    return Evidence(status="proved", detail=f"{what}: an identity for all values of the symbols")


def limit_identity(expression: RationalFunction, name: str, limit: Any, what: str) -> Evidence:
    """Whether the expression tends to that limit as a symbol (or "e^z") goes to infinity; undecided if it has none."""
    try:
        return identity(expression.limit(name), limit, what)
    except ZeroDivisionError as no_limit:
        return Evidence(status="undecided", detail=str(no_limit))


def nonnegative(expression: RationalFunction, what: str) -> Evidence:
    """Whether expression ≥ 0 for all nonnegative symbols, certified by coefficients that are all ≥ 0.

    Substitute x = lower + slack first if a symbol has another lower bound. An expression whose coefficients
    have both signs is refuted if a negative value is found, and undecided otherwise.
    """
    if expression == 0 or _has_one_sign(expression):
        return Evidence(status="proved", detail=f"{what}: every coefficient is nonnegative")
    return _sign_search(expression, lambda found: found < 0, what)


def positive(expression: RationalFunction, what: str) -> Evidence:
    """Whether expression > 0 for all positive symbols, certified by coefficients that are all ≥ 0 and not all zero."""
    if expression != 0 and _has_one_sign(expression):
        return Evidence(status="proved", detail=f"{what}: every coefficient is positive")
    return _sign_search(expression, lambda found: found <= 0, what)


def _has_one_sign(expression: RationalFunction) -> bool:
    parts = (expression.numerator, expression.denominator)
    return len({coefficient >= 0 for part in parts for coefficient in part.coeffs()}) == 1


def _sign_search(expression: RationalFunction, accept: Callable[..., bool], what: str) -> Evidence:
    try:
        place, (value,) = _where((expression,), accept)
    except LookupError:
        return Evidence(status="undecided", detail=f"{what}: no sign certificate, no counterexample")
    return Evidence(
        status="refuted",
        detail=f"{what}: fails",
        value=float(value),
        counterexample=f"{what} fails: the difference is {float(value):.6g} {place}",
    )


def _where(expressions: tuple[RationalFunction, ...], accept: Callable[..., bool]) -> tuple[str, list[Fraction]]:
    """A point, in words, at which the values are accepted, and those values."""
    for _ in range(1000):
        point = _point(expressions[0].field)
        try:
            values = [expression.at(point) for expression in expressions]
        except ZeroDivisionError:
            continue
        if accept(*values):
            return _shown(point, expressions), values
    raise LookupError("no such point among 1000")


def _shown(point: Mapping[str, Fraction], expressions: tuple[RationalFunction, ...]) -> str:
    """The point in words, restricted to the symbols on which the expressions depend."""
    parts = [part for expression in expressions for part in (expression.numerator, expression.denominator)]
    used = [name for place, name in enumerate(point) if any(part.degrees()[place] > 0 for part in parts)]
    return "where " + ", ".join(f"{name} = {point[name]}" for name in used) if used else "everywhere"
