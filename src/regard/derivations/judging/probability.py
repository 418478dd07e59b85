"""Means of quantities in several independent random numbers, without sampling.

Every random number runs over a few nodes with weights that have the same moments as its law, so that polynomials have
their exact mean. Where only a mean and a variance are known, laws are tried that differ in everything else; where more
nodes change a mean under a known law, it is not decided. Many numbers do not all vary at once.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from flint import arb

from regard.derivations.judging.laws import ValuedLaw
from regard.derivations.judging.setting import AnyLaw, MomentLaw, SymbolMeaning
from regard.derivations.judging.values import Arithmetic, IllShaped, Value, multiply
from regard.derivations.notation.tokens import NotUnderstood

_MOST_POINTS = 16384
_ORDERS, _FEW = (5, 9, 16, 24), (4,)  # nodes for each number, and where there are many numbers
_TOGETHER = 3  # numbers that vary at once where there are too many for all to do so
_ANCHOR = 0.37  # where the first of the others stays
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
Values = Mapping[tuple[int, int | None], Value]
Evaluate = Callable[[Values, int], Value]
_Nodes = tuple[tuple[np.ndarray, np.ndarray], ...]
_Rule = tuple[list[_Nodes], int]


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
    num_draws: int
    laws: Laws
    law_number: int
    arithmetic: Arithmetic

    def mean(self, at: Evaluate) -> Value:
        """The mean of what `at` gives for the values of random symbols, each draw repeated for a number of points."""
        for (rules, most), coarser in self._ways():
            found = self._mean(rules, most, at)
            if coarser is None or _agree(found, self._mean(*coarser, at)):
                return found
        raise NotUnderstood("This mean is no polynomial in few random numbers.")

    def _ways(self) -> Iterator[tuple[_Rule, _Rule | None]]:
        """Nodes of each number and how many vary at once, with a coarser rule: means that differ are not to be trusted.

        There is none where all numbers vary at once and have the very laws that are tried.
        """
        count = len(self.numbers)
        orders = [order for order in _ORDERS if order**count <= _MOST_POINTS] or [
            order for order in _FEW if order**count <= _MOST_POINTS
        ]
        if all(map(_is_tried, self.numbers)) and max(map(len, rules := self._rules(0))) ** count <= _MOST_POINTS:
            yield (rules, count), None
        elif orders:
            yield from (((self._rules(order), count), (self._rules(order - 1), count)) for order in orders)
        else:
            order = 4 if _num_points(count, 4) <= _MOST_POINTS else 3
            if _num_points(count, order) > _MOST_POINTS:
                raise NotUnderstood("There are too many random numbers here.")
            yield (self._rules(order), _TOGETHER), (self._rules(order - 1), _TOGETHER - 1)

    def _rules(self, order: int) -> list[_Nodes]:
        return [self._nodes(each, order) for each in self.numbers]

    def _mean(self, rules: list[_Nodes], most: int, at: Evaluate) -> Value:
        """The mean with at most that many numbers away from their anchors at once.

        With fewer than all it is exact for sums of functions of that many numbers: the anchored expansion.
        """
        chosen, factors = _choices(rules, most)
        steps, weights = [], factors[None, :]
        for number, rule in enumerate(rules):
            anchor = np.full((1, 1, 1), _ANCHOR + number / 16), np.ones((1, 1, 1))
            nodes, node_weights = (
                np.concatenate(np.broadcast_arrays(*parts), axis=1)[:, :, 0]
                for parts in zip(*rule, anchor, strict=True)
            )
            steps.append(nodes[:, chosen[:, number]])
            weights = weights * node_weights[:, chosen[:, number]]
        value = at(dict(self._values(steps)), len(factors))
        if value.is_identity:
            raise NotUnderstood("The size of this matrix is not known.")
        rows, columns = value.array.shape[1:]
        parts = np.broadcast_to(value.array, (self.num_draws * len(factors), rows, columns))
        parts = parts.reshape(-1, len(factors), rows, columns) * weights[:, :, None, None]
        total = np.sum(parts, axis=1)
        if self.arithmetic.is_certified:  # nodes are floats
            radius = np.frompyfunc(lambda size: arb(0, _ROUNDING * arb(size).upper()), 1, 1)
            total = total + np.asarray(radius(np.sum(np.abs(parts), axis=1)))
        return Value(total)

    def _nodes(self, number: RandomNumber, order: int) -> _Nodes:
        law = number.meaning.law
        assert law is not None
        if isinstance(law, MomentLaw) and not law.is_normal:
            return tuple((np.full((1, 1, 1), node), np.full((1, 1, 1), w)) for node, w in _LAWS[self.law_number])
        return _gauss_nodes(self.laws[law], order)

    def _values(self, steps: list[np.ndarray]) -> Iterator[tuple[tuple[int, int | None], Value]]:
        """The values of all random symbols at all points, (draw and point, row, column)."""
        pairs = zip(self.numbers, steps, strict=True)
        for (meaning, place), entries in itertools.groupby(pairs, key=lambda pair: (pair[0].meaning, pair[0].place)):
            assert meaning.law is not None
            rows = list(entries)
            shape = rows[-1][0].row + 1, rows[-1][0].column + 1
            law = self.laws[meaning.law]
            num_points = rows[0][1].shape[1]
            table = np.zeros((self.num_draws, num_points, *shape))
            for each, node in rows:
                table[:, :, each.row, each.column] = node
            law = replace(law, parameters=tuple(each.repeated(num_points) for each in law.parameters))
            yield (id(meaning), place), _placed(law, table.reshape(-1, *shape), self.arithmetic)


def _is_tried(number: RandomNumber) -> bool:
    """True for a number of which only the mean and the variance are known, so that laws are tried."""
    return isinstance(number.meaning.law, MomentLaw) and not number.meaning.law.is_normal


def _agree(found: Value, other: Value) -> bool:
    gaps = zip(np.abs(found.array - other.array).flat, found.array.flat, strict=True)
    return all(bool(gap <= _CLOSE * (1 + abs(whole))) for gap, whole in gaps)


def _num_points(count: int, order: int) -> int:
    """How many points there are with only a few numbers away from their anchors."""
    return sum(math.comb(count, moved) * order**moved for moved in range(_TOGETHER + 1))


def _choices(rules: list[_Nodes], most: int) -> tuple[np.ndarray, np.ndarray]:
    """The node of each number at each point, the last one for its anchor, and the factor of each point."""
    count = len(rules)
    if most == count:
        chosen = np.array(list(itertools.product(*(range(len(rule)) for rule in rules))), dtype=int)
        return chosen.reshape(-1, count), np.ones(len(chosen))
    anchored = [len(rule) for rule in rules]
    rows: list[list[int]] = []
    factors: list[float] = []
    for num_moved in range(most + 1):
        factor = sum((-1) ** left * math.comb(count - num_moved, left) for left in range(most - num_moved + 1))
        for moved in itertools.combinations(range(count), num_moved):
            for nodes in itertools.product(*(range(len(rules[number])) for number in moved)):
                row = list(anchored)
                for number, node in zip(moved, nodes, strict=True):
                    row[number] = node
                rows.append(row)
                factors.append(factor)
    return np.array(rows, dtype=int), np.array(factors)


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
