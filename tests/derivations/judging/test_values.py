"""What may be added, multiplied and compared."""

import numpy as np
import pytest

from regard.derivations.judging.arithmetic import FLOATS
from regard.derivations.judging.values import IllShaped, Value, add, inner, multiply, same_shape

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
