"""Sums to infinity, means under laws of which nothing is said, both signs, sums over two indices."""

import pytest

from derivations.context.notes import last_status


@pytest.mark.parametrize(
    "claim",
    [
        "\\sum_{n=1}^\\infty\\frac n{2^n}=2",
        "\\sum_{n=1}^\\infty\\frac1{n^2}=\\frac{\\pi^2}{6}",
        "\\sum_{n=0}^\\infty\\frac{(-1)^n}{2n+1}=\\frac\\pi4",
        "\\sum_{n=0}^\\infty \\frac{x^n}{n!} = e^x",
    ],
)
def test_usual_series_have_their_sums(claim):
    assert last_status(f"So ${claim}$.") == "holds"


def test_a_wrong_sum_is_refuted_and_a_divergent_one_is_open():
    assert last_status("So $\\sum_{n=2}^{\\infty}\\frac1{3^n}=\\frac{1/9}{1-1/3}=\\frac13$.") == "refuted"
    assert last_status("So $\\sum_{n=1}^\\infty \\frac1n = 5$.") == "undecided"


@pytest.mark.parametrize(
    "claim",
    [
        "Var(X+Y)=Var(X)+Var(Y)+2Cov(X,Y)",
        "\\operatorname{Var}(aX+b)=a^2\\operatorname{Var}(X)",
        "Cov(X,Y)=E[XY]-E[X]E[Y]",
    ],
)
def test_what_holds_for_every_law_holds(claim):
    assert last_status(f"So ${claim}$.") == "holds"


@pytest.mark.parametrize("claim", ["Var(X+Y)=Var(X)+Var(Y)", "E[XY]=E[X]E[Y]", "Var(aX+b)=a\\operatorname{Var}(X)"])
def test_what_fails_for_some_law_is_open(claim):
    assert last_status(f"So ${claim}$.") == "undecided"


def test_both_signs_must_agree():
    assert last_status("So $\\frac{3\\pm\\sqrt{9+40}}{4}=\\frac{3\\pm7}{4}$.") == "holds"
    assert last_status("So $\\frac{3\\pm\\sqrt{9+40}}{4}=\\frac{3\\pm6}{4}$.") != "holds"


def test_sums_over_two_indices_and_listed_rows():
    assert last_status("So $\\|A\\|_F^2 = \\sum_{ij} A_{ij}^2$.") == "holds"
    assert last_status("So $\\|A\\|_F^2 = \\sum_{i,j} A_{ij}$.") != "holds"
    left = "\\begin{bmatrix} h_1 \\\\ \\vdots \\\\ h_n \\end{bmatrix} W"
    right = "\\begin{bmatrix} h_1 W \\\\ \\vdots \\\\ h_n W \\end{bmatrix}"
    assert last_status(f"Row vectors $h_i$. So ${left} = {right}$.") == "holds"


def test_a_softmax_of_one_score_is_over_its_index():
    assert last_status("$\\alpha_i = \\mathrm{softmax}(s_i)$. So $\\sum_i \\alpha_i = 1$.") == "holds"
