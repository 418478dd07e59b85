"""Identities and inequalities for generic symbols, decided by exact rational-function arithmetic.

A `Field` holds rational functions over ℚ in named symbols. Declaring `exponentials=("z",)` adds the formal
symbol e^z beside z, so that softmax formulas become rational: `field["z"].exp()`. Declaring `counts=("n",)` says that
a symbol stands for whole numbers: proofs don't use it, counterexamples keep to it.
An equality of two elements is an identity for *all* values of the symbols at which both sides are defined.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from regard.analysis.engines.logarithms import Logarithm
from regard.core.verdict import Evidence


class Field:
    """Rational functions over ℚ in the given generic symbols.

    >>> field = Field("n", exponentials=("beta",))
    >>> weight = field["beta"].exp() / (2 * field["beta"].exp() + field["n"] - 2)
    >>> 2 * weight + (field["n"] - 2) * weight / field["beta"].exp() == 1
    True
    """

    def __init__(self, *symbols: str, counts: tuple[str, ...] = (), exponentials: tuple[str, ...] = ()) -> None:
        self.symbols = (*symbols, *counts, *exponentials)
        self.counts, self.exponentials = counts, exponentials
        self.names = (*self.symbols, *(f"e^{name}" for name in exponentials))
        self.context = fmpq_mpoly_ctx.get(self.names, Ordering.degrevlex)
        self._by_name = dict(zip(self.names, self.context.gens(), strict=True))

    def __getitem__(self, name: str) -> "RationalFunction":
        return RationalFunction(self, self._by_name[name], self.context.constant(1))

    def array(self, name: str, *shape: int) -> np.ndarray:
        """The symbols name_0, name_1, … (or name_00, name_01, …) in an array of the given shape."""
        entries = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            entries[index] = self[name + "_" + "".join(map(str, index))]
        return entries

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
            raise ZeroDivisionError("a rational function with denominator zero")
        self.field, self.numerator, self.denominator = field, numerator, denominator

    def _lift(self, other: Any) -> "RationalFunction | None":
        if isinstance(other, RationalFunction):
            assert other.field is self.field, "symbols of two fields do not mix"
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
        """The logarithm, kept formal; meant where self > 0."""
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
        """The limit as a symbol (e^z by its own name) grows without bound; ZeroDivisionError if there is none.

        The other symbols stay fixed, at values where the denominator's leading coefficient is not zero.

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
        """The function with some of its symbols (written e_z for e^z) replaced by other elements."""
        by_name = {name.replace("e_", "e^", 1) if name.startswith("e_") else name: v for name, v in values.items()}
        inputs = [by_name.get(name, self.field[name]) for name in self.field.names]
        return self.field.constant(1) * _evaluate(self.numerator, inputs) / _evaluate(self.denominator, inputs)

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """The exact value at a point that names every symbol."""
        inputs = [values[name] for name in self.field.names]
        return Fraction(_evaluate(self.numerator, inputs)) / Fraction(_evaluate(self.denominator, inputs))

    def __repr__(self) -> str:
        return str(self.numerator) if self.denominator.is_one() else f"({self.numerator})/({self.denominator})"


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


def _point(field: Field, rng: np.random.Generator) -> dict[str, Fraction]:
    """A small positive point; every symbol gets its own value, e^z too, since the two are independent."""
    return {
        name: Fraction(int(rng.integers(3, 30)), 1)
        if name in field.counts
        else Fraction(int(rng.integers(1, 8)), int(rng.integers(1, 4)))
        for name in field.names
    }


def identity(left: Any, right: Any, *, rng: np.random.Generator, what: str) -> Evidence:
    """Whether left = right for all values of the symbols, with a rational counterexample if not."""
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
        place, (here, there) = _where(sides, lambda here, there: here != there, rng)
        return Evidence(
            status="refuted",
            detail=f"{what}: not an identity",
            value=float(here - there),
            counterexample=f"{what}: the sides are {float(here):.6g} and {float(there):.6g} {place}",
        )
    return Evidence(status="proved", detail=f"{what}: an identity for all values of the symbols")


def nonnegative(expression: RationalFunction, *, rng: np.random.Generator, what: str) -> Evidence:
    """Whether expression ≥ 0 for all nonnegative symbols, certified by coefficients that are all ≥ 0.

    Substitute x = lower + slack first where a symbol has another lower end. An expression whose coefficients
    have both signs is refuted if a negative value turns up, and undecided otherwise.
    """
    if expression == 0 or _has_one_sign(expression):
        return Evidence(status="proved", detail=f"{what}: every coefficient is nonnegative")
    return _sign_search(expression, lambda found: found < 0, rng, what)


def positive(expression: RationalFunction, *, rng: np.random.Generator, what: str) -> Evidence:
    """Whether expression > 0 for all positive symbols, certified by coefficients that are all ≥ 0 and not all zero."""
    if expression != 0 and _has_one_sign(expression):
        return Evidence(status="proved", detail=f"{what}: every coefficient is positive")
    return _sign_search(expression, lambda found: found <= 0, rng, what)


def _has_one_sign(expression: RationalFunction) -> bool:
    parts = (expression.numerator, expression.denominator)
    return len({coefficient >= 0 for part in parts for coefficient in part.coeffs()}) == 1


def _sign_search(
    expression: RationalFunction, accept: Callable[..., bool], rng: np.random.Generator, what: str
) -> Evidence:
    try:
        place, (value,) = _where((expression,), accept, rng)
    except LookupError:
        return Evidence(status="undecided", detail=f"{what}: no sign certificate, no counterexample")
    return Evidence(
        status="refuted",
        detail=f"{what}: fails",
        value=float(value),
        counterexample=f"{what} fails: the difference is {float(value):.6g} {place}",
    )


def _where(
    expressions: tuple[RationalFunction, ...], accept: Callable[..., bool], rng: np.random.Generator
) -> tuple[str, list[Fraction]]:
    """A point at which the values are accepted, and those values."""
    for _ in range(1000):
        point = _point(expressions[0].field, rng)
        try:
            values = [expression.at(point) for expression in expressions]
        except ZeroDivisionError:
            continue
        if accept(*values):
            return _shown(point, expressions), values
    raise LookupError("no such point among 1000")


def _shown(point: Mapping[str, Fraction], expressions: tuple[RationalFunction, ...]) -> str:
    """Where the point lies, in the coordinates on which the expressions depend."""
    parts = [part for expression in expressions for part in (expression.numerator, expression.denominator)]
    used = [name for place, name in enumerate(point) if any(part.degrees()[place] > 0 for part in parts)]
    return "where " + ", ".join(f"{name} = {point[name]}" for name in used) if used else "everywhere"
