"""Approximate answers along one random direction, compared with certified enclosures."""

import itertools

import pytest

from regard.analysis.engines import Probability, SquaredError, Within, certified, coefficient
from regard.analysis.engines.approximate import OutputGrid
from regard.analysis.scenarios import CourseKeys, Deviation, QueryDesign, course_keys, one_head, two_heads
from regard.core.errors import NotCertifiable

TARGET = {"a": 0.5, "b": 0.5}
POSITIVE = Deviation(group="a", lower=-1.0)
CASES = [
    (course_keys(n=10), one_head(20.0), None),
    (course_keys(n=10), two_heads(3.0), POSITIVE),
    (course_keys(n=5), QueryDesign(coefficients={"a": (1e4,), "b": (9e3,)}), None),
    (course_keys(n=4, is_normalized=True), one_head(2.0), None),
    (course_keys(n=4, is_normalized=True), one_head(2.0), POSITIVE),
    (course_keys(n=10), two_heads(4.0), Deviation(group="a", lower=3.0, upper=3.5)),
    (CourseKeys(n=10, noise={}), two_heads(4.0), None),
    (CourseKeys(n=3, noise={"c": 0.5}), QueryDesign(coefficients={"c": (-7.0, 2.0), "b": (1.0, 1.0)}), None),
]


@pytest.mark.parametrize(("keys", "design", "given"), CASES)
def test_an_approximation_is_near_what_is_certified(keys, design, given):
    law = keys.logits(design)
    grid = OutputGrid.of(law, given)
    squares = grid.squared_distances(TARGET)
    error, near = certified.answers(
        law, [SquaredError(target=TARGET, given=given), Within(target=TARGET, radius=0.4, given=given)]
    )
    assert grid.mean(squares) == pytest.approx(error.value, abs=2e-3)
    assert grid.probability(squares, at_most=0.16) == pytest.approx(near.value, abs=5e-3)


@pytest.mark.parametrize(("keys", "design", "given"), CASES[:3])
def test_a_histogram_has_the_certified_shares(keys, design, given):
    law = keys.logits(design)
    shares = OutputGrid.of(law, given, fineness=8).histogram("a", 5)
    assert sum(shares) == pytest.approx(1)
    edges = [place / 5 for place in range(6)]
    for share, (low, high) in zip(shares, itertools.pairwise(edges), strict=True):
        question = Probability(of=coefficient("a"), at_least=low, at_most=high, given=given)
        assert share == pytest.approx(certified.answer(law, question).value, abs=1e-3)


def test_a_factor_multiplies_every_query():
    once, twice = (
        OutputGrid.of(course_keys(n=10).logits(one_head(beta)), None, factor) for beta, factor in ((8, 1), (4, 2))
    )
    assert once.mean(once.squared_distances(TARGET)) == pytest.approx(twice.mean(twice.squared_distances(TARGET)))


def test_several_random_directions_have_no_grid():
    law = CourseKeys(n=10, noise={"a": 0.5, "b": 0.5}).logits(one_head(1.0))
    assert OutputGrid.of(law, None) is None
    with pytest.raises(NotCertifiable):
        certified.answer(law, SquaredError(target=TARGET))
