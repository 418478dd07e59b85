"""Every kind of expression against plain numpy, in floats and in balls; means and variances against closed forms."""

import math

import numpy as np
import pytest

from derivations.judging.small import array, evaluator, expression, found, in_balls, scope, value
from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.derivations.judging.evaluator import Convention, OutOfRange
from regard.derivations.judging.scope import UnknownSymbol
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.judging.values import IllShaped
from regard.derivations.notation.syntax import Ones
from regard.derivations.notation.tokens import NotUnderstood


def softmax(z: np.ndarray, axis: int) -> np.ndarray:
    weights = np.exp(z)
    return weights / weights.sum(axis=axis, keepdims=True)


def transposed(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, 1, 2)


u, w, A, P, X, x, y = (array(name) for name in ("u", "w", "A", "P", "X", "x", "y"))
n, d = X.shape[1:]
keys = np.stack([array(rf"k_{place}") for place in range(1, n + 1)], axis=1)[..., 0]

EXPECTED = {
    "x + y - 2": x + y - 2,
    "x y": x * y,
    r"\frac{x}{y}": x / y,
    "x/2": x / 2,
    "x^2": x**2,
    "x^{-1}": 1 / x,
    "x^y": x**y,
    "A^2": A @ A,
    "A^{-1}": np.linalg.inv(A),
    r"A (A^\top A)^0": A,
    "A^{20}": np.linalg.matrix_power(A, 20),
    "A^d": np.linalg.matrix_power(A, d),
    "A^{-2}": np.linalg.inv(A @ A),
    "(2I)^{-3} u": u / 8,
    "e^u": np.exp(u),
    r"\prod_{i=1}^n x": x**n,
    r"\prod_i (1 + k_i^\top u)": np.prod(1 + keys @ u, axis=1)[:, None],
    r"\sum_{i=1}^{1000000000} x": 1e9 * x,
    r"A^\top u": transposed(A) @ u,
    r"u^\top w": transposed(u) @ w,
    r"u \cdot w": transposed(u) @ w,
    r"u \cdot 2 w": 2 * transposed(u) @ w,
    r"\langle u, w \rangle": transposed(u) @ w,
    r"u w^\top": u @ transposed(w),
    "X A": X @ A,
    "(A + I) u": A @ u + u,
    "A - 2 I": A - 2 * np.eye(d),
    r"\mathbf 1": np.ones((1, n, 1)),
    r"\mathbf 1 u^\top": np.ones((1, n, 1)) @ transposed(u),
    r"\exp(x)": np.exp(x),
    "e^x": np.exp(x),
    r"\log x": np.log(x),
    r"\sqrt{x}": np.sqrt(x),
    r"\sin(y)": np.sin(y),
    r"\cos(y)": np.cos(y),
    r"\tanh(y)": np.tanh(y),
    r"\text{ReLU}(u)": np.maximum(u, 0),
    r"\text{softmax}(u)": softmax(u, axis=1),
    r"\text{softmax}(X)": softmax(X, axis=2),
    r"\sigma(y)": 1 / (1 + np.exp(-y)),
    r"\max(x, y)": np.maximum(x, y),
    r"\min(x, y)": np.minimum(x, y),
    r"\|u\|": np.linalg.norm(u, axis=(1, 2), keepdims=True),
    "|y|": np.abs(y),
    r"\det(A)": np.linalg.det(A)[:, None, None],
    r"\operatorname{tr}(A)": np.trace(A, axis1=1, axis2=2)[:, None, None],
    r"\begin{pmatrix} x & y \\ 0 & 1 \end{pmatrix}": np.block([[x, y], [0 * x, 0 * x + 1]]),
    "A_{1,2}": A[:, :1, 1:2],
    "A_{21}": A[:, 1:2, :1],
    "A_2": A[:, 1:2],
    "u_2": u[:, 1:2],
    r"\text{softmax}(u)_1": softmax(u, axis=1)[:, :1],
    "f(x)": x**2 + 1,
    r"\tau": 2 * x,
    "n": np.full((1, 1, 1), float(n)),
    r"\pi": np.full((1, 1, 1), np.pi),
    "k_a": keys[:, 0, :, None],
    "k_b": keys[:, 1, :, None],
    r"\sum_{i=1}^n k_i": keys.sum(axis=1)[..., None],
    r"\sum_i k_i": keys.sum(axis=1)[..., None],
    r"\sum_{i \neq a} k_i": keys[:, 1:].sum(axis=1)[..., None],
    r"\sum_{i=2}^n k_i": keys[:, 1:].sum(axis=1)[..., None],
    r"\sum_{others} k_i": keys[:, 2:].sum(axis=1)[..., None],
    r"k_1 + \dots + k_n": keys.sum(axis=1)[..., None],
    r"X_{perm}": P @ X,
    r"\frac{\partial x^3}{\partial x}": 3 * x**2,
}


@pytest.mark.parametrize("source", EXPECTED)
def test_floats_agree_with_numpy(source):
    np.testing.assert_allclose(*np.broadcast_arrays(array(source), EXPECTED[source]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("source", EXPECTED)
def test_balls_agree_with_numpy(source):
    np.testing.assert_allclose(*np.broadcast_arrays(in_balls(source), EXPECTED[source]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("source", ["x + y - 2", "A^2", r"\sum_i k_i", r"\text{softmax}(X)"])
def test_the_comparison_can_fail(source):
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(*np.broadcast_arrays(array(source), EXPECTED[source] + 1e-6), rtol=1e-9, atol=1e-12)


z, theta = (array(name, scope("2")) for name in ("z", r"\theta"))
IN_THE_PLANE = {
    r"z e^{i\theta}": z * np.exp(1j * theta),
    r"\overline{z}": np.conjugate(z),
    r"\operatorname{Re}(z)": z.real,
    r"\operatorname{Im}(z)": z.imag,
    "|z|": np.abs(z),
}


@pytest.mark.parametrize("source", IN_THE_PLANE)
def test_complex_numbers_agree_with_numpy(source):
    np.testing.assert_allclose(array(source, scope("2")), IN_THE_PLANE[source], rtol=1e-12)
    np.testing.assert_allclose(in_balls(source, scope("2")), IN_THE_PLANE[source], rtol=1e-12)


@pytest.mark.parametrize("source", ["u + x", "u w", "A X", "X^2", "X^{-1}"])
def test_ill_shaped_expressions_are_refused(source):
    with pytest.raises(IllShaped):
        value(source)


@pytest.mark.parametrize(
    "source",
    [
        *(r"\infty + 1", r"\dots + x", r"\det(X)", r"\frac{\partial x}{\partial 2}"),
        *(r"\frac{x}{u}", "x^u", r"\text{softmax}(x)", r"\exp(I)", "u^{1.5}", "u^2", "A^{1/2}", r"(u u^\top)^{-1}"),
    ],
)
def test_what_has_no_value_is_not_understood(source):
    with pytest.raises(NotUnderstood):
        value(source)


@pytest.mark.parametrize(
    "source",
    [
        r"\sum_{i=1}^{1000000000} i",
        r"\sum_{i \neq a}^{1000000000} 1",
        r"\prod_{i=1}^{1000000} (1 + i)",
        r"\sum_{i=1}^{9000}\sum_{j=1}^{9000} (i + j)",
    ],
)
def test_what_takes_too_long_is_refused(source):
    with pytest.raises(NotUnderstood, match="too long"):
        value(source)


def test_a_symbol_with_too_many_entries_is_refused():
    inside = scope().with_meaning(SymbolMeaning(name="W", shape=("4096", "4096")))
    with pytest.raises(NotUnderstood, match="too many entries"):
        value("W", inside)


def test_unknown_symbols_and_members_out_of_range_are_told_apart():
    for source in (r"\eta + 1", "x_1", "x_{1,2}"):
        with pytest.raises(UnknownSymbol):
            value(source)
    for source in ("k_{n+1}", "u_{12}", "A_{19}", "A_{1,12}"):
        with pytest.raises(OutOfRange):
            value(source)


def test_definitions_that_go_round_are_not_understood():
    inside = scope().with_meaning(SymbolMeaning(name="y", formula=expression("2 h")))
    inside = inside.with_meaning(SymbolMeaning(name="h", formula=expression("3 y")))
    # The checks that tests put on every signature may use up the stack first; the judge catches either.
    with pytest.raises((NotUnderstood, RecursionError)):
        value("y", inside)


def test_a_member_may_have_a_formula_of_its_own():
    inside = scope().with_meaning(SymbolMeaning(name="k_a", formula=expression("2 u")))
    np.testing.assert_allclose(array("k_a", inside), 2 * u)
    np.testing.assert_allclose(array("k_1", inside), 2 * u)
    np.testing.assert_allclose(array("k_b", inside), keys[:, 1, :, None])


def test_values_are_put_in_for_the_arguments_of_a_function_only_there():
    np.testing.assert_allclose(array("f(2) + y"), 5 + y)


def test_conventions_say_how_shorthand_is_meant():
    plain = evaluator()
    ones = evaluator()
    ones.convention = Convention(is_one_a_vector=True)
    product = expression(r"1 \cdot u^\top")
    assert plain(product).shape == (1, d)
    assert ones(product).shape == (n, d)
    assert plain(Ones()).shape == (n, 1)
    but_a = evaluator()
    but_a.convention = Convention(excluded=("a",))
    others = expression(r"\sum_{others} k_i")
    np.testing.assert_allclose(but_a(others).array, keys[:, 1:].sum(axis=1)[..., None])


def test_indices_count_from_one_or_from_zero():
    from_zero = evaluator()
    from_zero.convention = Convention(first_index=0)
    number = expression("i")
    assert evaluator().at(i=0)(number).array.item() == 1
    assert from_zero.at(i=0)(number).array.item() == 0


def test_readings_leave_notes():
    noted = evaluator()
    noted(expression("X_p"))
    assert [str(note) for note in noted.notes] == ["'X_p' is read as 'X_perm'"]
    plain = evaluator()
    plain(expression("X"))
    assert not plain.notes


# -- means, variances and probabilities --------------------------------------------------------------------------------
x, u = array("x"), array("u")
squared_length = np.sum(u * u, axis=(1, 2), keepdims=True)

CLOSED = {
    r"\mathbb{E}[\gamma]": 1.0,
    r"\operatorname{Var}(\gamma)": 0.5,
    r"\operatorname{Var}(x\gamma + 3)": 0.5 * x**2,
    r"\mathbb{E}[x\gamma + 3]": x + 3,
    r"\operatorname{Var}(u^\top \rho)": 2 * squared_length,
    r"\operatorname{Var}(\gamma + u^\top \rho)": 0.5 + 2 * squared_length,
    r"\mathbb{E}[u^\top \rho]": 0 * x,
}


@pytest.mark.parametrize("source", CLOSED)
def test_moments_are_exact(source):
    for computed in (array(source), in_balls(source)):
        np.testing.assert_allclose(*np.broadcast_arrays(computed, CLOSED[source]), atol=1e-12)


@pytest.mark.parametrize(
    ("condition", "share"), [(r"\gamma > 0", math.sqrt(2)), (r"\gamma < 1", 0.0), (r"\gamma \geq 2", -math.sqrt(2))]
)
def test_probabilities_are_normal_shares(condition, share):
    computed = array(rf"\Pr({condition})")
    np.testing.assert_allclose(computed, float(normal_cdf(share)), atol=1e-12)


@pytest.mark.parametrize(
    "source", [r"\operatorname{Var}(\|\rho\|^2)", r"\mathbb{E}[e^{\gamma + u^\top\rho}]", r"\operatorname{Var}(\rho)"]
)
def test_what_is_not_linear_or_no_number_is_not_understood(source):
    with pytest.raises(NotUnderstood):
        value(source)


def test_a_wrong_variance_is_refuted():
    assert found(r"\operatorname{Var}(2\gamma) = 2").is_true
    assert found(r"\operatorname{Var}(2\gamma) = 1").is_false


@pytest.mark.parametrize("source", [r"\lfloor \log(-1 - x^2) \rfloor", r"(-1 - 0 x)!", r"\sinh(10^9 + x^2)"])
def test_functions_are_undefined_where_they_have_no_value(source):
    with np.errstate(all="ignore"):
        assert not np.isfinite(evaluator()(expression(source)).array).any()
