"""Gradients that are named by the symbol that they are taken by."""

import pytest

from derivations.context.notes import last_status

CONVENTIONS = {
    "d": ("$\\mathrm{d}X \\equiv \\partial L/\\partial X$", "\\mathrm{{d}}{}"),
    "bar": ("$\\bar X_{ij} = \\frac{\\partial L}{\\partial X_{ij}}$", "\\bar {}"),
    "below": ("$G_Y = \\partial L/\\partial Y$", "G_{{{}}}"),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_the_gradients_of_a_product_are_recognised(name):
    said, form = CONVENTIONS[name]
    text = f"{said}, and $Y = XW$. So $"
    assert last_status(f"{text}{form.format('W')} = X^\\top {form.format('Y')}$.") == "holds"
    assert last_status(f"{text}{form.format('W')} = {form.format('Y')} X^\\top$.") != "holds"


def test_the_gradient_of_a_softmax():
    text = "Let $\\mathrm{d}X \\equiv \\partial L/\\partial X$. Let $a=\\mathrm{softmax}(s)$. So $\\mathrm{d}s_j = "
    assert last_status(text + "a_j(\\mathrm{d}a_j-\\sum_ia_i\\mathrm{d}a_i)$.") == "holds"


def test_a_nabla_without_a_variable():
    assert last_status("$\\ell=x^\\top Ax$, $\\nabla\\ell=(A+A^\\top)x$.") == "holds"
    assert last_status("$\\ell=x^\\top Ax$, $\\nabla\\ell=Ax$.") != "holds"
