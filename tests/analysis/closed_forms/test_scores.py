"""Score variances against exact enumeration of small discrete laws."""

from fractions import Fraction
from itertools import product

import pytest

from regard.analysis.closed_forms.scores import aligned_mean, score_variance, square_variance


def exact_variance(laws: list[list[tuple[Fraction, Fraction]]], score) -> Fraction:
    """Var of a function of independent entries, each a list of (value, probability), by summing over all outcomes."""
    first = second = Fraction(0)
    for outcome in product(*laws):
        probability = Fraction(1)
        for _, chance in outcome:
            probability *= chance
        found = score([entry for entry, _ in outcome])
        first, second = first + probability * found, second + probability * found**2
    return second - first**2


# Mean 0, variance 1: −½ with probability 4/5, 2 with probability 1/5.
LOPSIDED = [(Fraction(-1, 2), Fraction(4, 5)), (Fraction(2), Fraction(1, 5))]


@pytest.mark.parametrize("mean", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_independent_vectors(d, mean):
    law = [(value + mean, chance) for value, chance in LOPSIDED]
    found = exact_variance([law] * (2 * d), lambda entries: sum(entries[i] * entries[d + i] for i in range(d)))
    assert found == score_variance(d, mean=mean)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_vector_with_itself(d):
    fourth = sum(value**4 * chance for value, chance in LOPSIDED)
    found = exact_variance([LOPSIDED] * d, lambda entries: sum(entry**2 for entry in entries))
    assert found == square_variance(d, fourth_moment=fourth)
    assert square_variance(d) == 2 * d


@pytest.mark.parametrize("d", [1, 4, 9])
def test_the_mean_logit_of_a_vector_with_itself(d):
    """E kᵀk = d·E k_1² = d, divided by √d."""
    second = sum(value**2 * chance for value, chance in LOPSIDED)
    assert aligned_mean(Fraction(1), Fraction(round(d**0.5))) == d * second / Fraction(round(d**0.5))
