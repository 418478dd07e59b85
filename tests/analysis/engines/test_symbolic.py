import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.analysis.engines.symbolic import Angle, Field, identity, limit_identity, nonnegative, positive, tangent


def test_logarithms_turn_products_into_sums():
    field = Field("x", "y")
    x, y = field["x"], field["y"]
    assert (x.log() + 2 * y.log() - (x * y).log()).exp() == y
    assert (-x.log()).exp() == 1 / x
    assert (6 * (x.log() / 2 - y.log() / 6 + x.log() / 2)).exp() == x**6 / y
    with pytest.raises(ValueError, match="not a rational function"):
        (x.log() / 2).exp()


def test_limits_at_infinity():
    field = Field("n", exponentials=("z",))
    n, z = field["n"], field["z"]
    assert (z.exp() / (2 * z.exp() + n)).limit("e^z") == Fraction(1, 2)
    assert (1 / (1 + n * z.exp())).limit("n") == 0
    assert ((n + 1) / (z.exp() * n - 3)).limit("n") == 1 / z.exp()
    with pytest.raises(ZeroDivisionError, match="without bound"):
        (n / z.exp()).limit("n")
    assert limit_identity(1 / n, "n", 0, "1/n").status == "proved"
    assert limit_identity(1 / n, "n", 1, "1/n").status == "refuted"
    assert limit_identity(n / z.exp(), "n", 0, "n").status == "undecided"


def test_a_limit_is_approached():
    field = Field("n", "x")
    expression = (3 * field["n"] ** 2 + field["x"]) / (field["n"] ** 2 + field["n"])
    far = expression.at({"n": Fraction(10**9), "x": Fraction(5)})
    assert abs(far - expression.limit("n").at({"n": Fraction(1), "x": Fraction(5)})) < Fraction(1, 10**8)


def test_substitution_of_numbers_gives_a_function():
    field = Field("x", "y")
    assert nonnegative(field["x"].substitute(x=2), "2").status == "proved"


def test_nonnegative_needs_a_certificate_or_a_counterexample():
    field = Field("x", "y")
    x, y = field["x"], field["y"]
    assert nonnegative(x / (1 + y), "sum").status == "proved"
    assert nonnegative(0 * x, "zero").status == "proved"
    assert nonnegative(-(0 * x) / (-1 - x), "zero").status == "proved"
    assert nonnegative(x**2 - 2 * x * y + y**2, "square").status == "undecided"
    refuted = nonnegative(x - y, "x ≥ y")
    assert refuted.status == "refuted"
    assert "x = " in refuted.counterexample
    assert "y = " in refuted.counterexample


def test_positive_is_stricter_than_nonnegative():
    field = Field("x")
    assert positive(field["x"], "x").status == "proved"
    assert positive(0 * field["x"], "0").status == "refuted"
    assert positive(-field["x"], "−x").status == "refuted"


def test_counterexamples_keep_counts_whole():
    field = Field("x", counts=("n",))
    for _ in range(20):
        found = identity(field["n"] + field["x"], 2 * field["n"], "n")
        assert found.status == "refuted"
        n = Fraction(found.counterexample.split("n = ")[1])
        assert n.denominator == 1
        assert n >= 3


def test_an_identity_shows_both_sides():
    field = Field("x")
    found = identity(field["x"] * 0 + 2, field["x"] * 0 + 3, "two")
    assert "2 and 3" in found.counterexample
    assert identity([[1, 0]], [[1, 0]], "numbers").status == "proved"
    assert identity([[1, 0]], [[1, 1]], "numbers").status == "refuted"


A, B = Field(angles=("a", "b"))
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
    true = identity((A + B).cos(), A.cos() * B.cos() - A.sin() * B.sin(), "cos(a+b)")
    false = identity((A + B).cos(), A.cos() * B.cos() + A.sin() * B.sin(), "cos(a+b)")
    assert (true.status, false.status) == ("proved", "refuted")
    assert "tan(a/2)" in false.counterexample


def test_what_is_no_point_of_the_circle_is_no_angle():
    with pytest.raises(AssertionError, match="circle"):
        Angle(A.cos(), A.cos())
