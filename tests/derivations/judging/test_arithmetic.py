"""Balls agree with floats, and are sure of what they say."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from regard.derivations.judging.arithmetic import BALLS, FLOATS, ORDERS, is_complex

POINTS = np.random.default_rng(1).uniform(0.1, 2.0, size=(2, 3, 3))
PLANE = POINTS + 1j * np.random.default_rng(2).normal(size=(2, 3, 3))
REAL = ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "relu", "absolute", "conjugate", "real", "imag", "inverse")


def midpoints(balls: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda ball: complex(ball.real.mid(), ball.imag.mid()))(balls)


@pytest.mark.parametrize("name", [*REAL, "determinant"])
def test_balls_agree_with_floats(name):
    certain = getattr(BALLS, name)(BALLS.array(POINTS))
    np.testing.assert_allclose(midpoints(certain), getattr(FLOATS, name)(POINTS), rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["exp", "sin", "cos", "conjugate", "real", "imag", "absolute", "inverse", "determinant"]
)
def test_balls_agree_with_floats_in_the_plane(name):
    certain = getattr(BALLS, name)(BALLS.array(PLANE))
    np.testing.assert_allclose(midpoints(certain), getattr(FLOATS, name)(PLANE), rtol=1e-12)


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(midpoints(BALLS.sin(BALLS.array(POINTS))), FLOATS.cos(POINTS), rtol=1e-12)


def test_relu_of_negative_numbers_is_zero():
    for arithmetic in (FLOATS, BALLS):
        assert (arithmetic.relu(arithmetic.array(-POINTS)) == 0).all()


def test_powers_agree():
    certain = BALLS.power(BALLS.array(POINTS), BALLS.array(POINTS))
    np.testing.assert_allclose(midpoints(certain), POINTS**POINTS, rtol=1e-12)


def test_a_third_is_a_third_in_balls_and_rounded_in_floats():
    assert BALLS.number(Fraction(1, 3))[0, 0, 0].contains(arb(1) / 3)
    assert FLOATS.number(Fraction(1, 3)).item() == 1 / 3
    assert not BALLS.number(1 / 3)[0, 0, 0].contains(arb(1) / 3)


@pytest.mark.parametrize("arithmetic", [FLOATS, BALLS])
def test_constants(arithmetic):
    assert float(arithmetic.pi()[0, 0, 0]) == pytest.approx(np.pi)
    unit = arithmetic.imaginary_unit()
    assert (unit * unit + arithmetic.number(1))[0, 0, 0] == 0


def test_balls_do_not_overflow_where_floats_do():
    large = np.full((1, 1, 1), 1e5)
    with np.errstate(over="ignore"):
        assert np.isinf(FLOATS.exp(large)).all()
    assert BALLS.exp(BALLS.array(large))[0, 0, 0].is_finite()


def test_an_order_between_balls_must_be_certain():
    with ctx.workprec(64):
        near = arb(1).exp().log()
        assert not ORDERS["<"](near, arb(1))
        assert not ORDERS["≥"](near, arb(1))
    assert ORDERS["<"](arb(1), arb(2))
    assert not ORDERS[">"](arb(1), arb(2))


def test_real_and_complex_balls_are_told_apart():
    assert is_complex(BALLS.array(PLANE)[0, 0, 0])
    assert not is_complex(BALLS.array(POINTS)[0, 0, 0])
