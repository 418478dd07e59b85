"""Means of quantities in several independent random numbers, without sampling.

Every random number runs over a few nodes with weights that have the same moments as its law, so that polynomials have
their exact mean. Where only a mean and a variance are known, laws are tried that differ in everything else; where more
nodes change a mean under a known law, it is not decided.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from flint import arb

from regard.derivations.judging.laws import ValuedLaw
from regard.derivations.judging.setting import AnyLaw, MomentLaw, SymbolMeaning
from regard.derivations.judging.values import Arithmetic, IllShaped, Value, multiply
from regard.derivations.notation.tokens import NotUnderstood

_MOST_POINTS = 1024
_CLOSE, _ROUNDING = 1e-9, 1e-12
# Nodes and weights of laws with mean 0 and variance 1: a symmetric one, one that is not, and one like a normal law.
_LAWS = (
    ((-1.0, 0.5), (1.0, 0.5)),
    ((2.0, 0.2), (-0.5, 0.8)),
    ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6)),
)
NUM_LAWS = len(_LAWS)


class RandomNumber(NamedTuple):
    """One entry of a random symbol: its meaning, its place in a family, its row and column."""

    meaning: SymbolMeaning
    place: int | None
    row: int
    column: int


Laws = Mapping[AnyLaw, ValuedLaw]
Evaluate = Callable[[Mapping[tuple[int, int | None], Value]], Value]
_Nodes = tuple[tuple[np.ndarray, np.ndarray], ...]


def random_numbers(meanings: Iterable[SymbolMeaning], size: Callable[[str], int]) -> list[RandomNumber]:
    """Every entry of every random symbol."""
    return [
        RandomNumber(meaning, place, row, column)
        for meaning in meanings
        if meaning.law is not None and meaning.formula is None
        for place in ([None] if meaning.over is None else range(size(meaning.over)))
        for row in range(size(meaning.shape[0]))
        for column in range(size(meaning.shape[1]))
    ]


@dataclass(frozen=True, kw_only=True)
class RandomPart:
    """The random numbers of a quantity, the laws with values for their parameters, and which unknown law is tried."""

    numbers: list[RandomNumber]
    laws: Laws
    law_number: int
    arithmetic: Arithmetic

    def mean(self, at: Evaluate) -> Value:
        """The mean of what `at` gives for the values of random symbols."""
        if all(isinstance(each.meaning.law, MomentLaw) for each in self.numbers):
            return self._mean(0, at)
        order = next((order for order in (5, 4, 3) if order ** len(self.numbers) <= _MOST_POINTS), 0)
        if not order:
            raise NotUnderstood("There are too many random numbers here.")
        found, coarser = (self._mean(nodes, at) for nodes in (order, order - 1))
        gaps = zip(np.abs(found.array - coarser.array).flat, found.array.flat, strict=True)
        if not all(bool(gap <= _CLOSE * (1 + abs(whole))) for gap, whole in gaps):
            raise NotUnderstood("This mean is no polynomial in few random numbers.")
        return found

    def _mean(self, order: int, at: Evaluate) -> Value:
        rules = [self._nodes(each, order) for each in self.numbers]
        if math.prod(map(len, rules)) > _MOST_POINTS:
            raise NotUnderstood("There are too many random numbers here.")
        total, scale = np.zeros((1, 1, 1)), np.zeros((1, 1, 1))
        for point in itertools.product(*rules):
            weight = np.prod([node[1] for node in point], axis=0)
            value = at(dict(self._values([node[0] for node in point])))
            if value.is_identity:
                raise NotUnderstood("The size of this matrix is not known.")
            total, scale = total + value.array * weight, scale + np.abs(value.array * weight)
        if self.arithmetic.is_certified:  # nodes are floats
            radius = np.frompyfunc(lambda size: arb(0, _ROUNDING * arb(size).upper()), 1, 1)
            total = total + np.asarray(radius(scale))
        return Value(total)

    def _nodes(self, number: RandomNumber, order: int) -> _Nodes:
        law = number.meaning.law
        assert law is not None
        if isinstance(law, MomentLaw):
            return tuple((np.full((1, 1, 1), node), np.full((1, 1, 1), w)) for node, w in _LAWS[self.law_number])
        return _gauss_nodes(self.laws[law], order)

    def _values(self, nodes: list[np.ndarray]) -> Iterator[tuple[tuple[int, int | None], Value]]:
        """The values of all random symbols at one point."""
        pairs = zip(self.numbers, nodes, strict=True)
        for (meaning, place), entries in itertools.groupby(pairs, key=lambda pair: (pair[0].meaning, pair[0].place)):
            assert meaning.law is not None
            rows = list(entries)
            shape = rows[-1][0].row + 1, rows[-1][0].column + 1
            steps = np.zeros((max(len(node) for _, node in rows), *shape))
            for each, node in rows:
                steps[:, each.row, each.column] = node[:, 0, 0]
            yield (id(meaning), place), _placed(self.laws[meaning.law], steps, self.arithmetic)


def _gauss_nodes(law: ValuedLaw, order: int) -> _Nodes:
    """Nodes of a standard number and their weights, exact for polynomials of degree 2·order − 1: Gauss's rule.

    They are the eigenvalues of the Jacobi matrix of the orthogonal polynomials, and the squares of the first entries
    of its eigenvectors.
    """
    first = _floats(law.parameters[0]) if law.is_of_a_number else np.zeros(1)
    count, one = np.arange(order), np.ones((len(first), order))
    match law.family:
        case "bernoulli":
            p = first.reshape(-1, 1, 1)
            return (np.zeros_like(p), 1 - p), (np.ones_like(p), p)
        case "normal":
            middle, beside = 0 * one, count * one
        case "uniform":
            middle, beside = 0 * one, count**2 / (4 * count**2 - 1) * one
        case "gamma" | "exponential":
            shape = first[:, None] if law.family == "gamma" else one[:, :1]
            middle, beside = 2 * count + shape, count * (count + shape - 1)
        case "poisson":
            middle, beside = count + first[:, None], count * first[:, None]
        case _:
            raise NotUnderstood(f"Means under a {law.family} law are not supported.")
    jacobi = np.zeros((len(middle), order, order))
    jacobi[:, count, count] = middle
    jacobi[:, count[1:], count[:-1]] = np.sqrt(np.abs(beside[:, 1:]))
    nodes, vectors = np.linalg.eigh(jacobi)  # reads the lower half
    return tuple((nodes[:, k].reshape(-1, 1, 1), vectors[:, 0, k].reshape(-1, 1, 1) ** 2) for k in range(order))


def _floats(value: Value) -> np.ndarray:
    return np.array([float(x.mid()) if isinstance(x, arb) else float(x) for x in value.array.flat])


def _placed(law: ValuedLaw, steps: np.ndarray, arithmetic: Arithmetic) -> Value:
    """The values of a law whose standard numbers are `steps`, (draw, row, column)."""
    first, last = law.parameters[0].array, law.parameters[-1].array
    match law.family:
        case "normal" if law.parameters[1].shape != (1, 1):
            if last.shape[1:] != (steps.shape[1],) * 2:
                raise IllShaped(f"{law.parameters[1].describe_shape()} as a covariance of {steps.shape[1]} numbers")
            return Value(first + np.matmul(_lower_root(last, arithmetic), steps))
        case "normal":
            return Value(first + arithmetic.sqrt(last) * steps)
        case "uniform":
            return Value((first + last) / 2 + (last - first) / 2 * steps)
        case "gamma" | "exponential":
            return Value(steps / last)
        case _:
            return Value(arithmetic.array(steps))


def _lower_root(matrices: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """The lower triangular L with L Lᵀ the given matrices, column by column."""
    root = 0 * matrices
    for k in range(matrices.shape[1]):
        rest = matrices[:, k:, k] - np.sum(root[:, k:, :k] * root[:, k : k + 1, :k], axis=2)
        root[:, k:, k] = rest / arithmetic.sqrt(rest[:, :1])
    return root


def centred_product(one: Value, other: Value) -> Value:
    """What a variance or covariance is the mean of: x y for numbers, x yᵀ for vectors."""
    return multiply(one, other) if one.is_scalar else multiply(one, other.transposed())
