"""Words: normal forms keep the value, rules shorten, and a difference refutes nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.order import LayerWeights, layer, relu, softmax
from regard.analysis.engines.matrix_algebra import Algebra, MatrixExpression, Scalar, ShapeMismatch, matrix_identity

FUNCTIONS = {"softmax": softmax, "ReLU": relu, "causal softmax": lambda scores: softmax(scores) + np.tri(len(scores))}


def value(expression: MatrixExpression, matrices: dict[str, np.ndarray], scalars: dict[str, float]) -> np.ndarray:
    """The expression at the given matrices, word by word: an oracle that knows no rule."""
    total = 0.0
    for word, coefficient in expression.terms.items():
        product = float(coefficient) * np.prod([scalars[name] for name in word.scalars])
        for letter in word.letters:
            inner = letter.argument
            matrix = matrices[letter.name] if inner is None else FUNCTIONS[letter.name](value(inner, matrices, scalars))
            product = (
                product * (matrix.T if letter.is_transposed else matrix)
                if np.ndim(product) == 0
                else (product @ (matrix.T if letter.is_transposed else matrix))
            )
        total = total + product
    return np.asarray(total)


@pytest.fixture
def algebra() -> Algebra:
    return Algebra()


def test_permutations_cancel_and_leave_ones_alone(algebra):
    order, x, ones = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d"), algebra.ones("T")
    assert order.T @ order @ x == x == order @ (order.T @ x)
    assert order @ ones == ones == order.T @ ones
    assert ones.T @ (order @ x) == ones.T @ x
    assert order @ x != x


def test_two_permutations_do_not_commute(algebra):
    p, r = algebra.permutation("P", "T"), algebra.permutation("R", "T")
    assert p @ r != r @ p
    assert (p @ r).T == r.T @ p.T


def test_a_function_lets_only_declared_permutations_pass(algebra):
    order, a = algebra.permutation("P", "T"), algebra.matrix("A", "T", "T")
    assert (order @ a @ order.T).apply("softmax") == order @ a.apply("softmax") @ order.T
    assert (order @ a @ order.T).apply("causal softmax") != order @ a.apply("causal softmax") @ order.T
    other = algebra.matrix("M", "T", "T")
    assert (other @ a).apply("softmax") != other @ a.apply("softmax")


def test_products_of_permutations_pass_one_after_the_other(algebra):
    p, r, a = algebra.permutation("P", "T"), algebra.permutation("R", "T"), algebra.matrix("A", "T", "d")
    assert (p @ r @ a).apply("ReLU") == p @ r @ a.apply("ReLU")


def test_orthonormal_columns_and_orthogonal_subspaces(algebra):
    a, b = algebra.orthonormal("A", "d", "m"), algebra.orthonormal("B", "d", "p")
    x, y = algebra.matrix("x", "m", "1"), algebra.matrix("y", "p", "1")
    assert a.T @ (a @ x + b @ y) != x
    algebra.let_vanish(a.T, b)
    assert a.T @ (a @ x + b @ y) == x
    assert b.T @ (a @ x) == 0 * y
    assert a @ a.T != algebra.matrix("I", "d", "d")


def test_scalars_commute_and_coefficients_add(algebra):
    a, b, c = algebra.matrix("A", "n", "n"), algebra.matrix("B", "n", "n"), Scalar("c")
    assert (c * a) @ b == a @ (b * c)
    assert a + a - 2 * a == 0 * b
    assert (a + b) @ (a - b) == a @ a - a @ b + b @ a - b @ b


def test_shapes_must_fit(algebra):
    a = algebra.matrix("A", "d", "m")
    with pytest.raises(ShapeMismatch, match="d×m"):
        a @ a
    with pytest.raises(ShapeMismatch, match="m×d"):
        a + a.T


def test_sameness_is_proved_by_one_normal_form_refuted_by_shapes_only(algebra):
    a, b = algebra.matrix("A", "d", "m"), algebra.matrix("B", "d", "m")
    assert matrix_identity(lambda: a + b, lambda: b + a, "sum").status == "proved"
    assert matrix_identity(lambda: a, lambda: b, "letters").status == "undecided"
    by_shape = matrix_identity(lambda: a, lambda: b.T, "shapes")
    assert by_shape.status == "refuted"
    assert by_shape.counterexample
    assert matrix_identity(lambda: a @ b, lambda: a, "no product").status == "refuted"


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_a_normal_form_has_the_value_of_what_it_came_from(seed, is_permuted_twice, is_transposed):
    rng = np.random.default_rng(seed)
    tokens, width, inner = 4, 3, 5
    shapes = {
        "X": (tokens, width),
        "W_Q": (width, width),
        "W_K": (width, width),
        "W_V": (width, width),
        "W_1": (width, inner),
        "b_1": (1, inner),
        "W_2": (inner, width),
        "b_2": (1, width),
        "Φ": (tokens, width),
    }
    matrices = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    matrices |= {name: np.eye(tokens)[rng.permutation(tokens)] for name in "PR"} | {"1_T": np.ones((tokens, 1))}
    algebra = Algebra()
    sizes = {tokens: "T", width: "d", inner: "h", 1: "1"}
    letters = {name: algebra.matrix(name, *(sizes[n] for n in shape)) for name, shape in shapes.items()}
    p, r, ones = algebra.permutation("P", "T"), algebra.permutation("R", "T"), algebra.ones("T")

    def weights(get, scale, column) -> LayerWeights:
        return LayerWeights(
            query=get["W_Q"],
            key=get["W_K"],
            value=get["W_V"],
            inner=get["W_1"],
            inner_bias=get["b_1"],
            outer=get["W_2"],
            outer_bias=get["b_2"],
            scale=scale,
            ones=column,
        )

    order, order_matrix = (p @ r, matrices["P"] @ matrices["R"]) if is_permuted_twice else (p.T, matrices["P"].T)
    symbolic = layer(order @ letters["X"] + letters["Φ"], weights(letters, Scalar("c"), ones))
    numeric = layer(order_matrix @ matrices["X"] + matrices["Φ"], weights(matrices, 0.5, matrices["1_T"]))
    if is_transposed:
        symbolic, numeric = (r @ symbolic).T, (matrices["R"] @ numeric).T
    np.testing.assert_allclose(value(symbolic, matrices, {"c": 0.5}), numeric, atol=1e-10)
