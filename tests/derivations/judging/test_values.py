"""What may be added, multiplied and compared, in floats and in balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from regard.derivations.judging.values import (
    BALLS,
    FLOATS,
    ORDERS,
    IllShaped,
    Value,
    add,
    inner,
    is_complex_ball,
    multiply,
    same_shape,
)

rng = np.random.default_rng(0)
SCALAR = Value(rng.normal(size=(2, 1, 1)))
COLUMN = Value(rng.normal(size=(2, 3, 1)))
SQUARE = Value(rng.normal(size=(2, 3, 3)))
WIDE = Value(rng.normal(size=(2, 3, 5)))
ZERO = Value(np.zeros((1, 1, 1)), is_zero=True)
IDENTITY = Value(np.ones((1, 1, 1)), is_identity=True)


def test_a_matrix_times_a_column_is_numpys():
    np.testing.assert_array_equal(multiply(SQUARE, COLUMN).array, SQUARE.array @ COLUMN.array)


def test_a_number_scales_anything():
    np.testing.assert_array_equal(multiply(SCALAR, WIDE).array, SCALAR.array * WIDE.array)


@pytest.mark.parametrize(("left", "right"), [(COLUMN, SQUARE), (WIDE, SQUARE), (COLUMN, COLUMN)])
def test_shapes_that_do_not_multiply_are_refused(left, right):
    with pytest.raises(IllShaped, match="times"):
        multiply(left, right)


def test_only_a_dot_multiplies_two_columns():
    dotted = multiply(COLUMN, COLUMN, is_dot=True)
    np.testing.assert_allclose(dotted.array, np.sum(COLUMN.array**2, axis=(1, 2), keepdims=True))
    with pytest.raises(IllShaped):
        multiply(WIDE, WIDE, is_dot=True)


@pytest.mark.parametrize(("left", "right"), [(COLUMN, SCALAR), (SQUARE, WIDE), (COLUMN, COLUMN.transposed())])
def test_shapes_that_differ_are_not_added(left, right):
    with pytest.raises(IllShaped, match="and"):
        add(left, right)


def test_the_identity_takes_the_size_it_meets():
    np.testing.assert_array_equal(add(SQUARE, IDENTITY).array, SQUARE.array + np.eye(3))
    np.testing.assert_array_equal(multiply(IDENTITY, WIDE).array, WIDE.array)
    with pytest.raises(IllShaped, match="a square matrix"):
        add(WIDE, IDENTITY)


def test_a_literal_zero_fits_every_shape_and_changes_nothing():
    assert add(ZERO, COLUMN) is COLUMN
    assert add(WIDE, ZERO) is WIDE
    assert same_shape(ZERO, WIDE)[1] is WIDE
    assert multiply(ZERO, SCALAR).is_zero


def test_a_computed_zero_is_a_number_like_others():
    with pytest.raises(IllShaped):
        same_shape(Value(np.zeros((1, 1, 1))), COLUMN)


def test_transposing_and_negating_keep_what_a_value_is():
    assert IDENTITY.negated().is_identity
    assert ZERO.transposed().is_zero
    assert WIDE.transposed().shape == (5, 3)


def test_the_inner_product_of_planes_is_real():
    z = Value(np.array([[[1 + 2j]]]))
    w = Value(np.array([[[3 - 1j]]]))
    assert inner(z, w, FLOATS).array.item() == pytest.approx((z.array * np.conjugate(w.array)).real.item())
    with pytest.raises(IllShaped):
        inner(COLUMN, WIDE, FLOATS)


@pytest.mark.parametrize(("given", "words"), [(SCALAR, "a number"), (WIDE, "3×5"), (IDENTITY, "a square matrix")])
def test_shapes_are_said_in_words(given, words):
    assert given.describe_shape() == words


# -- balls agree with floats, and are sure of what they say ------------------------------------------------------------
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
    assert is_complex_ball(BALLS.array(PLANE)[0, 0, 0])
    assert not is_complex_ball(BALLS.array(POINTS)[0, 0, 0])
