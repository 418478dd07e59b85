"""Terms of a derivation: small trees that can be written down, evaluated, and changed at one place.

Nothing here knows how Regard reads or judges: a slip is a change of the tree, so that what is written and what it is
worth change together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction


@dataclass(frozen=True)
class Term:
    """The arithmetic of terms builds trees as they are written: `2 * x` stays two factors, `x + y` two summands."""

    def __add__(self, other: Term | int) -> Term:
        return plus((*_summands(self), *_summands(term(other))))

    def __sub__(self, other: Term | int) -> Term:
        return plus((*_summands(self), (-1, term(other))))

    def __radd__(self, other: int) -> Term:
        return term(other) + self

    def __rsub__(self, other: int) -> Term:
        return term(other) - self

    def __neg__(self) -> Term:
        return Plus(((-1, self),))

    def __mul__(self, other: Term | int) -> Term:
        return times((self, term(other)))

    def __rmul__(self, other: int) -> Term:
        return term(other) * self

    def __truediv__(self, other: Term | int) -> Term:
        return Over(self, term(other))

    def __rtruediv__(self, other: int) -> Term:
        return Over(term(other), self)

    def __pow__(self, exponent: int) -> Term:
        return Power(self, exponent)

    @property
    def T(self) -> Term:
        return Transposed(self)

    @property
    def children(self) -> tuple[Term, ...]:
        return ()

    def with_children(self, new: tuple[Term, ...]) -> Term:
        assert not new
        return self


@dataclass(frozen=True)
class Number(Term):
    value: Fraction


@dataclass(frozen=True)
class Symbol(Term):
    """A letter, its index if it has one, and whether it is the one of the shuffled input (Q_perm)."""

    name: str
    index: str | None = None
    is_shuffled: bool = False


@dataclass(frozen=True)
class Plus(Term):
    summands: tuple[tuple[int, Term], ...]

    @property
    def children(self) -> tuple[Term, ...]:
        return tuple(summand for _, summand in self.summands)

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return Plus(tuple((sign, summand) for (sign, _), summand in zip(self.summands, new, strict=True)))


@dataclass(frozen=True)
class Times(Term):
    factors: tuple[Term, ...]

    @property
    def children(self) -> tuple[Term, ...]:
        return self.factors

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return times(new)


@dataclass(frozen=True)
class Over(Term):
    top: Term
    bottom: Term

    @property
    def children(self) -> tuple[Term, ...]:
        return self.top, self.bottom

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return Over(*new)


@dataclass(frozen=True)
class _Around(Term):
    """One term inside another."""

    body: Term

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return replace(self, body=new[0])


@dataclass(frozen=True)
class Transposed(_Around):
    pass


@dataclass(frozen=True)
class Group(_Around):
    """A term in brackets that its neighbours don't need: (PX)W."""


@dataclass(frozen=True)
class Power(_Around):
    exponent: int


@dataclass(frozen=True)
class Total(_Around):
    """The sum over an index, all its values or all but some: Σ_{i ≠ a, b}."""

    index: str
    upper: str = "n"
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dot(Term):
    """The inner product of two vectors, or of two complex numbers as pairs."""

    left: Term
    right: Term

    @property
    def children(self) -> tuple[Term, ...]:
        return self.left, self.right

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return Dot(*new)


@dataclass(frozen=True)
class Apply(Term):
    """A named function: exp, sqrt, sin, cos, Re, conj, inner, norm, softmax, ReLU, RoPE, and R_t, Φ_t."""

    name: str
    arguments: tuple[Term, ...]

    @property
    def children(self) -> tuple[Term, ...]:
        return self.arguments

    def with_children(self, new: tuple[Term, ...]) -> Term:
        return Apply(self.name, new)


@dataclass(frozen=True)
class Grid(Term):
    """A matrix written out, row by row."""

    rows: tuple[tuple[Term, ...], ...]

    @property
    def children(self) -> tuple[Term, ...]:
        return tuple(entry for row in self.rows for entry in row)

    def with_children(self, new: tuple[Term, ...]) -> Term:
        width = len(self.rows[0])
        return Grid(tuple(new[k : k + width] for k in range(0, len(new), width)))


def term(value: Term | int | Fraction) -> Term:
    return value if isinstance(value, Term) else Number(Fraction(value))


def plus(summands: tuple[tuple[int, Term], ...]) -> Term:
    """A sum; one summand with a plus is that summand, none is zero."""
    if not summands:
        return term(0)
    return summands[0][1] if len(summands) == 1 and summands[0][0] == 1 else Plus(summands)


def times(factors: tuple[Term, ...]) -> Term:
    """A product, products among its factors taken apart; one factor is that factor, none is one."""
    flat = tuple(part for factor in factors for part in (factor.factors if isinstance(factor, Times) else (factor,)))
    if not flat:
        return term(1)
    return flat[0] if len(flat) == 1 else Times(flat)


def _summands(value: Term) -> tuple[tuple[int, Term], ...]:
    return value.summands if isinstance(value, Plus) else ((1, value),)


def symbols(names: str) -> tuple[Symbol, ...]:
    """Letters with their indices: `symbols("k_a k_b n")`."""
    return tuple(Symbol(*name.split("_")) for name in names.split())


def call(name: str, *arguments: Term | int) -> Term:
    return Apply(name, tuple(map(term, arguments)))


def exp(value: Term | int) -> Term:
    return call("exp", value)


def subterms(value: Term) -> Iterator[Term]:
    yield value
    for child in value.children:
        yield from subterms(child)


half = Number(Fraction(1, 2))
zero, one, two = term(0), term(1), term(2)
