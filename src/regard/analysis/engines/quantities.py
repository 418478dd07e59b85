"""What one can ask about: sums of attention weights."""

from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational

from regard.analysis.scenarios import LogitLaw
from regard.core.errors import InputError

Number = float | Rational


@dataclass(frozen=True, kw_only=True)
class Term:
    """A multiple of a weight: of one key of the group or of all together, under one head or the mean over heads."""

    group: str
    head: int | None
    is_total: bool
    factor: Fraction

    def __str__(self) -> str:
        owner = f"Σ{self.group}" if self.is_total else self.group
        symbol = f"c[{owner}]" if self.head is None else f"w[{owner}, head {self.head}]"
        return symbol if self.factor == 1 else f"{float(self.factor):g}·{symbol}"


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A linear combination of weights, built with +, − and multiples of `weight` and its siblings.

    The output is c = (1/H) Σ_h Σ_i w_i^h v_i, so v_i's coefficient in c is the mean of its weights over the heads.

    >>> str(weight("a") - 0.5 * coefficient("b") + 1)
    'w[a, head 0] + -0.5·c[b] + 1'
    """

    terms: tuple[Term, ...]
    constant: Fraction = Fraction(0)

    def __add__(self, other: "Quantity | Number") -> "Quantity":
        if isinstance(other, Quantity):
            return Quantity(terms=self.terms + other.terms, constant=self.constant + other.constant)
        return replace(self, constant=self.constant + exact(other))

    def __mul__(self, factor: Number) -> "Quantity":
        scale = exact(factor)
        terms = tuple(replace(term, factor=term.factor * scale) for term in self.terms)
        return Quantity(terms=terms, constant=self.constant * scale)

    def __neg__(self) -> "Quantity":
        return self * -1

    def __sub__(self, other: "Quantity | Number") -> "Quantity":
        return self + (-other if isinstance(other, Quantity) else -exact(other))

    def __rsub__(self, other: Number) -> "Quantity":
        return -self + other

    def __truediv__(self, divisor: Number) -> "Quantity":
        return self * (1 / exact(divisor))

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def span(self) -> float:
        """Length of an interval that holds every value: weights lie between zero and one."""
        return float(sum(abs(term.factor) for term in self.terms))

    @property
    def reach(self) -> float:
        """Bound of the absolute value."""
        return abs(float(self.constant)) + self.span

    def heads(self, law: LogitLaw) -> tuple[int, ...]:
        """Heads that the quantity looks at; refuses names and heads that the law does not have."""
        used: set[int] = set()
        for term in self.terms:
            law.index(term.group)
            if term.head is not None and not 0 <= term.head < law.num_heads:
                raise InputError(
                    f"{self} asks for head {term.head}, but the law has {law.num_heads}. Heads count from 0."
                )
            used |= set(range(law.num_heads)) if term.head is None else {term.head}
        return tuple(sorted(used))

    def __str__(self) -> str:
        parts = [str(term) for term in self.terms]
        if self.constant or not parts:
            parts.append(f"{float(self.constant):g}")
        return " + ".join(parts)


def weight(group: str, head: int = 0) -> Quantity:
    """Weight that a head gives one key of a group; heads count from 0."""
    return _quantity(group, head, is_total=False)


def total_weight(group: str, head: int = 0) -> Quantity:
    """Weight that a head gives all keys of a group together."""
    return _quantity(group, head, is_total=True)


def coefficient(group: str) -> Quantity:
    """Coefficient in the output c of one key's value: the mean over the heads of its weight."""
    return _quantity(group, None, is_total=False)


def total_coefficient(group: str) -> Quantity:
    """Sum over a group of its values' coefficients in the output c."""
    return _quantity(group, None, is_total=True)


def exact(number: Number) -> Fraction:
    """The number as the fraction it is, doubles included."""
    try:
        return Fraction(number)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{number} is not finite, so no quantity can hold it. Give a finite number.") from error


def _quantity(group: str, head: int | None, *, is_total: bool) -> Quantity:
    return Quantity(terms=(Term(group=group, head=head, is_total=is_total, factor=Fraction(1)),))
