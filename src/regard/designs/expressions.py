"""Queries and targets: linear combinations of the keys' means (mu_a) or of their values (v_a), as people type them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from regard.core.errors import InputError
from regard.derivations.notation.parser import parse
from regard.derivations.notation.syntax import (
    Apply,
    Expression,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    describe,
)
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize
from regard.designs import numbers
from regard.designs.spelling import as_latex, shown


@dataclass(frozen=True, kw_only=True)
class Combination:
    """constant + Σ_j parts[j] · (the vector of key j)."""

    constant: numbers.Number = Fraction(0)
    parts: Mapping[str, numbers.Number]

    @property
    def is_scalar(self) -> bool:
        """True if no vector stands in it."""
        return not self.parts

    def times(self, factor: numbers.Number) -> "Combination":
        """The combination, every part multiplied."""
        scaled = {key: numbers.times(part, factor) for key, part in self.parts.items()}
        return Combination(constant=numbers.times(self.constant, factor), parts=scaled)

    def plus(self, other: "Combination") -> "Combination":
        """The sum, part by part."""
        keys = dict.fromkeys((*self.parts, *other.parts))
        zero = Fraction(0)
        parts = {key: numbers.plus(self.parts.get(key, zero), other.parts.get(key, zero)) for key in keys}
        return Combination(constant=numbers.plus(self.constant, other.constant), parts=parts)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads combinations of one kind of vector; `scalars` are the letters that stand for numbers.

    >>> reader = Reader(vector="mu", scalars={"beta": Fraction(20)})
    >>> reader.coefficients("beta*(mu_a + 3 mu_b)/2")
    {'a': 10.0, 'b': 30.0}
    """

    vector: str
    scalars: Mapping[str, Fraction]

    def coefficients(self, text: str) -> dict[str, float]:
        """The coefficient of every key that the text names, each rounded once."""
        found = self._read(text)
        if found.constant != 0 or not found.parts:
            raise InputError(
                f"{shown(text)} is not a sum of multiples of {self.vector}_a, {self.vector}_b, …. "
                f"Write for example {self._example}."
            )
        rounded = {key: numbers.rounded(part) for key, part in found.parts.items()}
        for key, number in rounded.items():
            if not math.isfinite(number):
                raise InputError(
                    f"{shown(text)} multiplies {self.vector}_{key} by a number beyond 1.8e308, so it is not finite in "
                    "double precision. Give smaller numbers."
                )
        return rounded

    def number(self, tokens: tuple[Token, ...], text: str) -> numbers.Number:
        """The number that the tokens stand for."""
        found = self._explained(text, lambda: self._value(parse(tokens)))
        if not found.is_scalar:
            raise InputError(f"{shown(text)} has a vector where a number should stand.")
        return found.constant

    @property
    def _example(self) -> str:
        return "beta*(mu_a+mu_b)" if self.vector == "mu" else f"({self.vector}_a+{self.vector}_b)/2"

    def _read(self, text: str) -> Combination:
        if not text.strip():
            raise InputError(f"An expression is empty. Write for example {self._example}.")
        return self._explained(text, lambda: self._value(parse(tokenize(as_latex(text)))))

    def _explained(self, text: str, read: Callable[[], Combination]) -> Combination:
        try:
            return read()
        except NotUnderstood as error:
            raise InputError(f"{shown(text)} cannot be read: {error} Write for example {self._example}.") from error
        except _Unfit as error:
            raise InputError(f"{shown(text)} is no sum of {self.vector}_a, {self.vector}_b, …: {error}.") from error

    def _value(self, node: Expression) -> Combination:
        match node:
            case Number(value=value):
                return Combination(constant=value, parts={})
            case Symbol():
                return self._symbol(node)
            case Negative(body=body):
                return self._value(body).times(Fraction(-1))
            case Sum(terms=terms):
                return reduce(Combination.plus, map(self._value, terms))
            case Product(factors=factors):
                return reduce(_product, map(self._value, factors))
            case Quotient(top=top, bottom=bottom):
                divisor = _scalar(self._value(bottom), "divides by a vector")
                return self._value(top).times(_fit(numbers.divided, Fraction(1), divisor))
            case Power(base=base, exponent=exponent):
                operands = [_scalar(self._value(each), "raises a vector to a power") for each in (base, exponent)]
                return Combination(constant=_fit(numbers.power, *operands), parts={})
            case Apply(function=name, arguments=(argument,)):
                inside = _scalar(self._value(argument), f"takes the {name} of a vector")
                return Combination(constant=_fit(numbers.apply, name, inside), parts={})
            case _:
                raise _Unfit("it holds more than sums, products, powers and sqrt, log, exp")

    def _symbol(self, symbol: Symbol) -> Combination:
        name = describe(symbol)
        if symbol.name == self.vector and len(symbol.subscripts) == 1:
            return Combination(parts={describe(symbol.subscripts[0]): Fraction(1)})
        if name in self.scalars:
            return Combination(constant=self.scalars[name], parts={})
        raise _Unfit(self._unknown(name))

    def _unknown(self, name: str) -> str:
        known = ", ".join([f"{self.vector}_a", f"{self.vector}_b", *self.scalars])
        if not name.isalpha():
            return f"{name} is not known (known are {known})"
        option = "--beta NUMBER" if name == "beta" else f"--set {name}=NUMBER"
        return f"{name} has no value (known are {known}); give it one with {option}"


class _Unfit(Exception):
    """Why an expression is no linear combination."""


def _product(left: Combination, right: Combination) -> Combination:
    if not left.is_scalar and not right.is_scalar:
        raise _Unfit("it multiplies two vectors")
    return left.times(right.constant) if right.is_scalar else right.times(left.constant)


def _scalar(found: Combination, what: str) -> numbers.Number:
    if not found.is_scalar:
        raise _Unfit(f"it {what}")
    return found.constant


def _fit(operation: Callable[..., numbers.Number], *operands: numbers.Number | str) -> numbers.Number:
    try:
        return operation(*operands)
    except InputError as error:
        raise _Unfit(str(error)) from error
