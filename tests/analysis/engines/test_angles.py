"""Generic angles do what angles do, for all angles at once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.analysis.engines.angles import Angle, angle_field, generic_angles, tangent
from regard.analysis.engines.symbolic import identity

FIELD = angle_field("a", "b")
A, B = generic_angles(FIELD, "a", "b")
tangents = st.fractions(min_value=-5, max_value=5, max_denominator=20)


@pytest.mark.parametrize("times", [-3, -1, 0, 1, 2, 5])
@settings(max_examples=25)
@given(m=tangents, n=tangents)
def test_sums_and_multiples_agree_with_floats(times, m, n):
    point = {tangent("a"): m, tangent("b"): n}
    a, b = 2 * math.atan(m), 2 * math.atan(n)
    combined, exact = a - times * b, A - times * B
    assert float(exact.cos().at(point)) == pytest.approx(math.cos(combined), abs=1e-12)
    assert float(exact.sin().at(point)) == pytest.approx(math.sin(combined), abs=1e-12)


def test_the_tangent_of_a_rational_point_is_exact():
    point = {tangent("a"): Fraction(1, 2), tangent("b"): Fraction(0)}
    assert (A.cos().at(point), A.sin().at(point)) == (Fraction(3, 5), Fraction(4, 5))


def test_a_true_identity_is_proved_and_a_false_one_refuted():
    rng = np.random.default_rng(0)
    true = identity((A + B).cos(), A.cos() * B.cos() - A.sin() * B.sin(), rng=rng, what="cos(a+b)")
    false = identity((A + B).cos(), A.cos() * B.cos() + A.sin() * B.sin(), rng=rng, what="cos(a+b)")
    assert (true.status, false.status) == ("proved", "refuted")
    assert "tan(a/2)" in false.counterexample


def test_what_is_no_point_of_the_circle_is_no_angle():
    with pytest.raises(AssertionError, match="circle"):
        Angle(A.cos(), A.cos())
