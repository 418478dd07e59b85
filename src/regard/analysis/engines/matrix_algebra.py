"""Identities between matrix expressions of any size, decided by rewriting noncommutative words.

A matrix is a letter, a product is a word, an expression is a sum of words. An `Algebra` knows rules that shorten words
(PᵀP = I, P1 = 1, AᵀB = 0) and that softmax and ReLU commute with permutations (softmax(PA) = P·softmax(A)).
Two expressions with the same normal form are equal for all matrices, of any size, that obey the rules. Two expressions
with different normal forms may still be equal, so a difference refutes nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from regard.core.errors import InputError
from regard.core.verdict import Evidence

_MAX_SHOWN = 100

Shape = tuple[str, str]

# Functions that commute with every permutation of their argument's rows or columns.
_COMMUTING = ("softmax", "ReLU")


class ShapeMismatch(InputError):
    """The generic shapes of two matrices do not fit together."""


@dataclass(frozen=True)
class Scalar:
    """A number that commutes with every matrix, such as 1/√d."""

    name: str


@dataclass(frozen=True)
class Letter:
    """A matrix in a word; `argument` is set if it is the value of a function."""

    name: str
    is_transposed: bool = False
    argument: "MatrixExpression | None" = None

    @property
    def transposed(self) -> "Letter":
        """The transpose."""
        return Letter(self.name, not self.is_transposed, self.argument)

    def __str__(self) -> str:
        base = self.name if self.argument is None else f"{self.name}({self.argument})"
        return base + "ᵀ" * self.is_transposed


@dataclass(frozen=True)
class Word:
    """A product of letters, times commuting scalars."""

    letters: tuple[Letter, ...]
    scalars: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "·".join([*self.scalars, *map(str, self.letters)]) or "I"


class Algebra:
    """Generic matrices and the rules that they obey.

    >>> algebra = Algebra()
    >>> swap, x = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d")
    >>> swap.T @ (swap @ x) == x
    True
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[Letter, Letter], tuple[Letter, ...] | None] = {}
        self.permutations: set[str] = set()

    def matrix(self, name: str, rows: str, columns: str) -> "MatrixExpression":
        """A matrix of which only the shape is known."""
        return MatrixExpression(self, (rows, columns), {Word((Letter(name),)): Fraction(1)})

    def ones(self, rows: str) -> "MatrixExpression":
        """The column of ones, which every permutation of that size leaves unchanged."""
        return self.matrix(f"1_{rows}", rows, "1")

    def permutation(self, name: str, size: str) -> "MatrixExpression":
        """A permutation matrix: PᵀP = PPᵀ = I and P1 = Pᵀ1 = 1."""
        self.permutations.add(name)
        letter, ones = Letter(name), Letter(f"1_{size}")
        for one in (letter, letter.transposed):
            self._pairs[one.transposed, one] = ()
            self._pairs[one, ones] = (ones,)
            self._pairs[ones.transposed, one] = (ones.transposed,)
        return self.matrix(name, size, size)

    def orthonormal(self, name: str, rows: str, columns: str) -> "MatrixExpression":
        """A matrix with orthonormal columns: AᵀA = I."""
        letter = Letter(name)
        self._pairs[letter.transposed, letter] = ()
        return self.matrix(name, rows, columns)

    def let_vanish(self, left: "MatrixExpression", right: "MatrixExpression") -> None:
        """Adds the rule that the product of these two letters, and hence its transpose, is zero."""
        one, other = left.letter, right.letter
        self._pairs[one, other] = None
        self._pairs[other.transposed, one.transposed] = None

    def reduced(self, letters: Iterable[Letter]) -> tuple[Letter, ...] | None:
        """The word in normal form, or None if it is zero; every rule shortens it, so this terminates."""
        done: list[Letter] = []
        waiting = list(letters)[::-1]
        while waiting:
            letter = waiting.pop()
            if not done or (done[-1], letter) not in self._pairs:
                done.append(letter)
                continue
            result = self._pairs[done.pop(), letter]
            if result is None:
                return None
            waiting.extend(result[::-1])
        return tuple(done)


class MatrixExpression:
    """A sum of words with rational coefficients in normal form; `==` compares normal forms."""

    __slots__ = ("algebra", "shape", "terms")

    def __init__(self, algebra: Algebra, shape: Shape, terms: dict[Word, Fraction]) -> None:
        self.algebra, self.shape = algebra, shape
        self.terms = {word: coefficient for word, coefficient in terms.items() if coefficient}

    @property
    def letter(self) -> Letter:
        """The letter of an expression that consists of a single one."""
        [(word, coefficient)] = self.terms.items()
        [letter] = word.letters
        assert coefficient == 1
        assert not word.scalars
        return letter

    @property
    def length(self) -> int:
        """The number of letters in all words."""
        return sum(len(word.letters) for word in self.terms)

    @property
    def T(self) -> "MatrixExpression":
        """The transpose: words reversed, letters transposed."""
        flipped = {
            Word(tuple(letter.transposed for letter in word.letters[::-1]), word.scalars): coefficient
            for word, coefficient in self.terms.items()
        }
        return MatrixExpression(self.algebra, (self.shape[1], self.shape[0]), flipped)

    def __matmul__(self, other: "MatrixExpression") -> "MatrixExpression":
        if self.shape[1] != other.shape[0]:
            raise ShapeMismatch(f"{_size(self)} times {_size(other)} is not a product: the inner sizes differ.")
        return self._collect(
            (self.shape[0], other.shape[1]),
            (
                (one.letters + two.letters, one.scalars + two.scalars, first * second)
                for one, first in self.terms.items()
                for two, second in other.terms.items()
            ),
        )

    def __add__(self, other: "MatrixExpression") -> "MatrixExpression":
        if self.shape != other.shape:
            raise ShapeMismatch(f"{_size(self)} plus {_size(other)} is not a sum: the shapes differ.")
        both = [*self.terms.items(), *other.terms.items()]
        return self._collect(self.shape, ((word.letters, word.scalars, times) for word, times in both))

    def __mul__(self, factor: int | Fraction | Scalar) -> "MatrixExpression":
        name, number = ((factor.name,), Fraction(1)) if isinstance(factor, Scalar) else ((), Fraction(factor))
        return self._collect(
            self.shape, ((word.letters, word.scalars + name, times * number) for word, times in self.terms.items())
        )

    __rmul__ = __mul__

    def __neg__(self) -> "MatrixExpression":
        return self * -1

    def __sub__(self, other: "MatrixExpression") -> "MatrixExpression":
        return self + -other

    def apply(self, function: str) -> "MatrixExpression":
        """The function applied to this, with the permutations that it commutes with moved outside."""
        argument, left, right = self, (), ()
        while (found := argument._strip(function)) is not None:
            argument, before, after = found
            left, right = left + before, after + right
        value = Letter(function, argument=argument)
        return self._collect(self.shape, [((*left, value, *right), (), Fraction(1))])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixExpression) and self.shape == other.shape and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.shape, frozenset(self.terms.items())))

    def __repr__(self) -> str:
        return " + ".join(f"{'' if times == 1 else f'{times}·'}{word}" for word, times in self.terms.items()) or "0"

    def _strip(self, function: str) -> "tuple[MatrixExpression, tuple[Letter, ...], tuple[Letter, ...]] | None":
        """f(A) = P·f(PᵀA) = f(AQ)·Qᵀ with a permutation whose removal shortens the argument, if there is one."""
        permutations = self.algebra.permutations if function in _COMMUTING else ()
        for word in self.terms:
            first, last = word.letters[:1], word.letters[-1:]
            if first and first[0].name in permutations:
                shorter = self._square(first[0].transposed, self.shape[0]) @ self
                if shorter.length < self.length:
                    return shorter, first, ()
            if last and last[0].name in permutations:
                shorter = self @ self._square(last[0].transposed, self.shape[1])
                if shorter.length < self.length:
                    return shorter, (), last
        return None

    def _square(self, letter: Letter, size: str) -> "MatrixExpression":
        return MatrixExpression(self.algebra, (size, size), {Word((letter,)): Fraction(1)})

    def _collect(
        self, shape: Shape, products: Iterable[tuple[tuple[Letter, ...], tuple[str, ...], Fraction]]
    ) -> "MatrixExpression":
        terms: dict[Word, Fraction] = {}
        for letters, scalars, coefficient in products:
            if (letters_left := self.algebra.reduced(letters)) is not None:
                word = Word(letters_left, tuple(sorted(scalars)))
                terms[word] = terms.get(word, Fraction(0)) + coefficient
        return MatrixExpression(self.algebra, shape, terms)


def _size(expression: MatrixExpression) -> str:
    return f"{expression} ({expression.shape[0]}×{expression.shape[1]})"


def matrix_identity(left: Callable[[], Any], right: Callable[[], Any], what: str) -> Evidence:
    """Whether both sides have the same normal form; they are thunks, since even their shapes may not fit."""
    try:
        one, other = left(), right()
        if one.shape != other.shape:
            raise ShapeMismatch(f"{_size(one)} cannot equal {_size(other)}: the shapes differ.")
    except ShapeMismatch as mismatch:
        return Evidence(
            status="refuted",
            detail=f"{what}: the shapes do not fit",
            counterexample=f"whenever the sizes differ: {mismatch}",
        )
    if one == other:
        shown = f"both sides are {one}" if len(str(one)) <= _MAX_SHOWN else "both sides have the same normal form"
        return Evidence(status="proved", detail=f"{what}: {shown}, for matrices of any size")
    return Evidence(status="undecided", detail=f"{what}: the normal forms differ: {one} and {other}")
