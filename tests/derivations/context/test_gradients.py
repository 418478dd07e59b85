"""Gradients of functions that nothing defines, second gradients, primes, and layouts that no shape tells apart."""

import pytest

from derivations.context.notes import last_status, verdicts_of

STEP = r"Let $y = x - \frac1L \nabla g(x)$. Then "
SQUARES = r"Let $J(w) = \|Xw - b\|^2 + \lambda\|w\|^2$ with $X \in \mathbb{R}^{n\times d}$. Then "
CURVE = r"For $f(x) = x^4 - 3x^2$ we have "
SIGMOID = r"Let $\sigma(t) = 1/(1+e^{-t})$. Then "


@pytest.mark.parametrize(
    ("said", "claim", "is_true"),
    [
        (STEP, r"\langle \nabla g(x), y - x\rangle = -\frac1L \|\nabla g(x)\|^2", True),
        (STEP, r"\langle \nabla g(x), y - x\rangle = \frac1L \|\nabla g(x)\|^2", False),
        (SQUARES, r"\nabla^2 J(w) = 2(X^\top X + \lambda I_d)", True),
        (SQUARES, r"\nabla_w^2 J(w) = X^\top X + \lambda I_d", False),
        (CURVE, r"f''(x) = 12x^2 - 6", True),
        (CURVE, r"f'(2) = 20", True),
        (CURVE, r"f'(2) = 21", False),
        (SIGMOID, r"\sigma''(t) = \sigma(t)(1-\sigma(t))(1-2\sigma(t))", True),
        (SIGMOID, r"\sigma''(t) = \sigma(t)(1-\sigma(t))(1+2\sigma(t))", False),
        ("The sigmoid has ", r"\sigma'(0) = \frac14", True),
    ],
)
def test_derivatives(said, claim, is_true):
    assert (last_status(f"{said}${claim}$.") == "holds") == is_true


def test_a_transposed_gradient_by_a_square_matrix_is_open():
    text = r"Let $A \in \mathbb{R}^{n\times n}$. Then "
    assert last_status(text + r"$\frac{\partial}{\partial A}\log\det A = A^{-\top}$.") == "holds"
    assert last_status(text + r"$\frac{\partial}{\partial A}\log\det A = A^{-1}$.") == "undecided"


def test_the_gradient_of_a_defined_loss_is_judged():
    text = r"Let $p_i = \sigma(w^\top x_i)$ and $\ell(w) = -\sum_{i=1}^n \log p_i$, where $x_i \in \mathbb{R}^d$. Then "
    assert verdicts_of(text + r"$\nabla\ell(w) = \sum_{i=1}^n (p_i - 1)x_i$.")[-1].status == "holds"
    assert verdicts_of(text + r"$\nabla\ell(w) = \sum_{i=1}^n (1 - p_i)x_i$.")[-1].status != "holds"


@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        (r"\mathrm{lse}(a, -a) = \log(2\cosh a)", True),
        (r"\mathrm{lse}(1000, 1000) = 1000 + \log 2", True),
        (r"\mathrm{lse}(0, a) = \log(1 + a)", False),
    ],
)
def test_a_function_of_a_vector_is_applied_to_entries(claim, is_true):
    text = r"For $z \in \mathbb{R}^n$ let $\mathrm{lse}(z) = \log\sum_{i=1}^n e^{z_i}$. Then "
    assert (last_status(f"{text}${claim}$.") == "holds") == is_true


def test_norms_of_matrices_are_told_apart():
    text = r"Let $A \in \mathbb{R}^{n\times m}$. Then "
    assert last_status(text + r"$\|A\|_2 \le \|A\|_F$.") == "holds"
    assert last_status(text + r"$\|A\|_F \le \|A\|_*$.") == "holds"
    assert last_status(text + r"$\|A\|_2 = \|A\|_F$.") != "holds"


def test_a_mean_in_angle_brackets_is_a_symbol():
    text = r"Let $p = \mathrm{softmax}(z)$, $\langle z\rangle = \sum_i p_i z_i$. Then "
    assert last_status(text + r"$\sum_i p_i (z_i - \langle z\rangle) = 0$.") == "holds"
    assert last_status(text + r"$\sum_i p_i (z_i + \langle z\rangle) = 0$.") != "holds"
