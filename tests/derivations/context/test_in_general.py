"""What holds for every value of a symbol holds whatever the document has said of it before."""

import pytest

from derivations.context.notes import last_status, verdicts_of


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        (
            "Take $z=(1,2,3)$ and $p = \\text{softmax}(z)$.",
            "$\\frac{\\partial p_i}{\\partial z_j} = p_i(\\delta_{ij} - p_j)$",
        ),
        ("Take $x=2$.", "$\\frac{d}{dx} x^2 = 2x$"),
        ("For $n=1000$ that is a lot.", "$\\sum_{t=1}^n t = n(n+1)/2$"),
        ("$A=\\begin{pmatrix}1&2\\\\0&3\\end{pmatrix}$.", "$\\frac{\\partial}{\\partial A}\\mathrm{tr}(AB)=B^\\top$"),
        (
            "$U\\in\\mathbb{R}^{m\\times r}$, $V\\in\\mathbb{R}^{n\\times r}$, "
            "$W\\in\\mathbb{R}^{m\\times n}$. Let $m=n$.",
            "$\\det(W+UV^\\top)=\\det(I_r+V^\\top W^{-1}U)\\det(W)$",
        ),
    ],
)
def test_an_identity_holds_after_particular_values(said, claim):
    assert last_status(f"{said} Then {claim}.") == "holds"


def test_what_is_false_in_general_does_not_hold():
    assert (
        last_status(
            "Take $z=(1,2,3)$ and $p = \\text{softmax}(z)$. Then $\\frac{\\partial p_i}{\\partial z_j} = p_i p_j$."
        )
        != "holds"
    )
    assert (
        last_status("With $A=B=I_2$ this is $4$.\n\nBut $\\operatorname{tr}(ABC)=\\operatorname{tr}(ACB)$.") != "holds"
    )


def test_a_definition_that_a_special_case_replaced_counts_again():
    text = "Take $h = W_0 x + CAx$ and $g = \\partial L/\\partial h$. At first $C=0$, so $h=W_0x$."
    assert last_status(f"{text} Then $\\frac{{\\partial L}}{{\\partial C}} = g (Ax)^\\top$.") == "holds"
    assert last_status(f"{text} Then $\\frac{{\\partial L}}{{\\partial C}} = x (Ag)^\\top$.") != "holds"


def test_sizes_are_related_by_convention():
    text = "$Q\\in\\mathbb{R}^{n\\times d_k}$, $X \\in \\mathbb{R}^{n\\times d}$. $d_k = d/h$. So "
    assert last_status(text + "$3 \\times h \\times d \\times d_k = 3d^2$.") == "holds"
    assert last_status(text + "$3 \\times h \\times d \\times d_k = 4d^2$.") != "holds"


def test_products_of_plain_matrices_say_what_their_factors_are():
    text = "$$QK^\\top = \\begin{bmatrix}1&0\\\\0&1\\end{bmatrix}\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix} = "
    good, bad = (verdicts_of(f"{text}\\begin{{bmatrix}}1&2\\\\3&{last}\\end{{bmatrix}}$$") for last in (4, 5))
    assert [verdict.role for verdict in good] == ["supposition", "assertion"]
    assert good[-1].status == "holds"
    assert bad[-1].status != "holds"


def test_words_for_a_side_define_what_they_name():
    found = verdicts_of("The cache needs $= 2 \\cdot L \\cdot d$ numbers.")
    assert [verdict.role for verdict in found] == ["definition"]
    assert found[0].status == "undecided"
