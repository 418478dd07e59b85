"""Means, variances and covariances of quantities in independent random numbers, without sampling.

Every random number runs over a few nodes with weights that have the same moments as its law, so that polynomials have
their exact mean. Where only a mean and a variance are known, laws are tried that differ in everything else; where more
nodes change a mean of normal numbers, it is not decided.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from regard.derivations.judging.setting import MomentLaw, SymbolMeaning
from regard.derivations.judging.values import Value, multiply
from regard.derivations.notation.tokens import NotUnderstood

_MOST_POINTS = 1024
_CLOSE = 1e-9
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


Parameters = Mapping[MomentLaw, tuple[Value, Value]]
Evaluate = Callable[[Mapping[tuple[int, int | None], Value]], Value]


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


def mean(numbers: list[RandomNumber], parameters: Parameters, number: int, at: Evaluate) -> Value:
    """The mean of what `at` gives for the values of random symbols; `number` says which law is tried.

    `parameters` has the mean and variance of each law.
    """
    is_normal = all(each.meaning.law is not None and each.meaning.law.is_normal for each in numbers)
    if not is_normal:
        return _mean(numbers, parameters, _LAWS[number], at)
    order = next((order for order in (5, 4, 3) if order ** len(numbers) <= _MOST_POINTS), 0)
    if not order:
        raise NotUnderstood("There are too many random numbers here.")
    found, coarser = (_mean(numbers, parameters, _normal_nodes(nodes), at) for nodes in (order, order - 1))
    gap = np.abs(found.array - coarser.array)
    if not all(bool(each <= _CLOSE * (1 + abs(whole))) for each, whole in zip(gap.flat, found.array.flat, strict=True)):
        raise NotUnderstood("This mean is no polynomial in few random numbers.")
    return found


def _normal_nodes(order: int) -> tuple[tuple[float, float], ...]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    return tuple(zip(nodes.tolist(), (weights / math.sqrt(2 * math.pi)).tolist(), strict=True))


def _mean(
    numbers: list[RandomNumber], parameters: Parameters, nodes: tuple[tuple[float, float], ...], at: Evaluate
) -> Value:
    if len(nodes) ** len(numbers) > _MOST_POINTS:
        raise NotUnderstood("There are too many random numbers here.")
    total: np.ndarray | None = None
    for point in itertools.product(nodes, repeat=len(numbers)):
        weight = math.prod(node[1] for node in point)
        value = at(dict(_values(numbers, parameters, [node[0] for node in point])))
        if value.is_identity:
            raise NotUnderstood("The size of this matrix is not known.")
        total = value.array * weight if total is None else total + value.array * weight
    assert total is not None
    return Value(total)


def _values(
    numbers: list[RandomNumber], parameters: Parameters, nodes: list[float]
) -> Iterator[tuple[tuple[int, int | None], Value]]:
    """The values of all random symbols at one point: mean + √variance · node, entry by entry."""
    pairs = zip(numbers, nodes, strict=True)
    for (meaning, place), entries in itertools.groupby(pairs, key=lambda pair: (pair[0].meaning, pair[0].place)):
        assert meaning.law is not None
        middle, deviation = parameters[meaning.law]
        rows = list(entries)
        shape = rows[-1][0].row + 1, rows[-1][0].column + 1
        steps = np.zeros((1, *shape))
        for each, node in rows:
            steps[0, each.row, each.column] = node
        yield (id(meaning), place), Value(middle.array + deviation.array * steps)


def centred_product(one: Value, other: Value) -> Value:
    """What a variance or covariance is the mean of: x y for numbers, x yᵀ for vectors."""
    return multiply(one, other) if one.is_scalar else multiply(one, other.transposed())
