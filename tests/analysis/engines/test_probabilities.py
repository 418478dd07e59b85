"""Probabilities by inverting the only sigmoid, beside those by subdivision."""

import math

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.analysis.engines import coefficient, probabilities, weight
from regard.analysis.engines.one_direction import Affine, OneDirectionLaw, along_one_direction
from regard.analysis.scenarios import Deviation, QueryDesign, course_keys, one_head

CONDITIONS = [None, Deviation(group="a", lower=-1.0), Deviation(group="a", lower=0.5, upper=0.75)]


def reduced(design: QueryDesign, condition: Deviation | None = None) -> OneDirectionLaw:
    return along_one_direction(course_keys(n=6).logits(design), range(design.num_heads), given=condition)


def subdivided(monkeypatch, *question):
    with monkeypatch.context() as patched:
        patched.setattr(probabilities, "_by_inversion", lambda *_: None)
        return probabilities.probability(*question)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("slope", [-5.0, 0.3, 40.0])
def test_both_ways_enclose_the_same_probability(monkeypatch, slope, condition):
    some = reduced(QueryDesign(coefficients={"a": (slope, 0.0), "b": (1.0, 2.0)}), condition)
    for curve, low, high in [
        (some.affine(coefficient("a")), 0.1, 0.3),
        (some.affine(coefficient("b")), -math.inf, 0.25),
        (some.affine(coefficient("b")), 0.2, math.inf),
        (some.squared_distance([arb(0.3), arb(0.3), arb(0)]), -math.inf, 0.05),
        (some.squared_distance([arb(0.3), arb(0.3), arb(0)]), -math.inf, arb("1e-6")),
    ]:
        quick = probabilities._by_inversion(some, curve, low, high)
        assert quick is not None
        assert quick.overlaps(subdivided(monkeypatch, some, curve, low, high))
        assert quick.rad() < 1e-9


@settings(max_examples=30)
@given(st.floats(0.01, 0.99), st.floats(0.5, 30))
def test_what_is_below_and_what_is_above_make_one(bound, beta):
    some = reduced(one_head(beta))
    curve = some.affine(weight("a"))
    below = probabilities._by_inversion(some, curve, -math.inf, bound)
    above = probabilities._by_inversion(some, curve, bound, math.inf)
    assert (below + above).contains(1)


def test_what_cannot_be_inverted_is_left_to_subdivision():
    two = reduced(QueryDesign(coefficients={"a": (3.0, 7.0), "b": (1.0, 0.0)}))
    assert probabilities._by_inversion(two, two.affine(coefficient("a")), 0.1, 0.2) is None
    flat = reduced(one_head(5.0))
    constant = Affine(constant=arb(0.15), slopes=(arb(0),))
    assert probabilities._by_inversion(flat, constant, 0.1, 0.2) is None
