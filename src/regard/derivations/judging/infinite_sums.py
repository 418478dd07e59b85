"""Sums to infinity, by Levin's transformation of their first terms in high precision."""

from collections.abc import Callable
from math import comb

import numpy as np
from flint import arb

from regard.derivations.notation.tokens import NotUnderstood

_ORDER, _LOWER = 36, 30
_CLOSE = arb(10) ** -12


def sum_to_infinity(term: Callable[[int], np.ndarray], first: int) -> np.ndarray:
    """Σ term(n) from n = first on, (draw, 1, 1) in balls, which have a tenfold margin over the last improvement.

    NotUnderstood if the orders of the transformation disagree: the series diverges, or is none of the usual ones.
    """
    terms = [term(first + k) for k in range(_ORDER + 2)]
    if any(each.shape[1:] != (1, 1) for each in terms):
        raise NotUnderstood("Only sums of numbers to infinity are supported.")
    num_draws = max(len(each) for each in terms)
    rows = [[arb(each[min(draw, len(each) - 1), 0, 0].mid()) for each in terms] for draw in range(num_draws)]
    total = np.empty((num_draws, 1, 1), dtype=object)
    for draw, numbers in enumerate(rows):
        total[draw, 0, 0] = _limit(numbers)
    return total


def _limit(terms: list[arb]) -> arb:
    start = next((place for place, each in enumerate(terms[:2]) if not each.contains(0)), 2)
    if any(each.contains(0) for each in terms[start:]):
        raise NotUnderstood("This sum to infinity is not supported.")
    before = sum(terms[:start], arb(0))
    fine, coarse = (before + _levin(terms[start:], order) for order in (_ORDER - 1, _LOWER))
    gap = abs(fine - coarse)
    if not gap.is_finite() or not bool(gap < _CLOSE * (1 + abs(fine))):
        raise NotUnderstood("This sum does not converge, or too slowly.")
    return arb(fine.mid(), (10 * gap).upper())


def _levin(terms: list[arb], order: int) -> arb:
    """Levin's u-transform: the remainder after a term is a_n (n + 1) times a polynomial in 1/(n + 1)."""
    top, bottom, partial = arb(0), arb(0), arb(0)
    for place in range(order + 1):
        partial = partial + terms[place]
        weight = (-1) ** place * comb(order, place) * (arb(place + 1) / (order + 1)) ** (order - 1)
        inverse = weight / ((place + 1) * terms[place])
        top, bottom = top + inverse * partial, bottom + inverse
    return arb((top / bottom).mid())
