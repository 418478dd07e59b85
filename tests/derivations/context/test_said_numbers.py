"""Numbers and families that words declare; what more is said of them keeps refutations away."""

import pytest

from derivations.context.notes import last_status, verdicts_of

MEAN = "$\\bar{x} = \\frac{1}{n}\\sum_{i=1}^n x_i$. Then $\\sum_{i=1}^n (x_i - \\bar x)^2 = \\sum_{i=1}^n x_i^2"
SQUARE = "$\\frac{d}{dv} (x-uv)^2 = "


@pytest.mark.parametrize(("rest", "status"), [("- n\\bar x^2$.", "holds"), ("+ n\\bar x^2$.", "refuted")])
def test_a_list_of_numbers_is_a_family(rest, status):
    assert last_status(f"Let $x_1, \\dots, x_n$ be numbers and {MEAN} {rest}") == status


@pytest.mark.parametrize(("factor", "status"), [("", "holds"), ("2", "refuted")])
def test_a_list_of_vectors_is_a_family(factor, status):
    text = "Let $x_1, \\dots, x_n \\in \\mathbb{R}^d$ and $w \\in \\mathbb{R}^d$. Then $\\sum_{i=1}^n w^\\top x_i = "
    assert last_status(f"{text}{factor} w^\\top \\sum_{{i=1}}^n x_i$.") == status


@pytest.mark.parametrize("said", ["Let $u$, $v$ and $x$ be numbers.", "This is for a number $v$ and numbers $u$, $x$."])
def test_words_declare_numbers(said):
    assert last_status(f"{said} Then {SQUARE}-2u(x-uv)$.") == "holds"
    assert last_status(f"{said} Then {SQUARE}2u(x-uv)$.") == "refuted"


@pytest.mark.parametrize(
    "said",
    [
        "Nothing is said.",
        "Let $u$, $v$ and $x$ be numbers with $x \\geq uv$.",
        "Let $u$, $v$ and $x$ be nonzero numbers.",
        "$u$, $v$ and $x$ are the number of keys.",
    ],
)
def test_what_is_restricted_is_not_refuted(said):
    assert last_status(f"{said} Then {SQUARE}2u(x-uv)$.") == "undecided"


def test_a_condition_on_numbers_is_no_claim():
    text = "Let $k$ and $g$ be positive numbers. Let $\\sqrt{k} \\geq kg$. Then "
    assert last_status(f"{text} $k \\leq \\frac{{1}}{{g^2}}$.") == "undecided"


def test_then_leads_in_the_display_below_an_empty_line():
    text = "Let $B \\in \\mathbb{R}^{m \\times k}$, $C \\in \\mathbb{R}^{k \\times n}$ and $A = BC$. Then\n\n$$\n"
    assert last_status(f"{text}A_{{ij}} = 2\\sum_{{l=1}}^k B_{{il}} C_{{lj}}\n$$") == "refuted"
    assert last_status(f"{text}A_{{ij}} = \\sum_{{l=1}}^k B_{{il}} C_{{lj}}\n$$") == "holds"


@pytest.mark.parametrize(("claim", "status"), [("A x", "refuted"), ("2 A x", "holds")])
def test_adjectives_alone_say_what_a_matrix_is(claim, status):
    text = (
        "Let $x \\in \\mathbb{R}^n$, and let $A \\in \\mathbb{R}^{n \\times n}$ be symmetric and positive definite. So "
    )
    assert last_status(f"{text}$\\nabla_x (x^\\top A x) = {claim}$.") == status


def test_bars_around_a_square_matrix_are_its_determinant():
    text = "Let $A, B \\in \\mathbb{R}^{n \\times n}$. So "
    assert last_status(f"{text}$|AB| = |A||B|$.") == "holds"
    assert last_status(f"{text}$|A+B| = |A|+|B|$.") != "holds"


def test_numbers_that_are_let_be_above_zero_stay_so_in_later_paragraphs():
    for words in ("Let $a, b > 0$.", "Let $a > 0$ and $b > 0$ be given.", "We look at $ab$ with $a, b > 0$."):
        assert last_status(f"{words}\n\nThen\n$$\n\\log(ab) = \\log a + \\log b\n$$\n") == "holds"
        assert last_status(f"{words}\n\nThen\n$$\n\\log(a + b) = \\log a + \\log b\n$$\n") != "holds"
    both = "Let $a > 0$.\n\nThen\n$$\n\\sqrt{a^2} = a\n$$\n\nFor $a < 0$ we have\n$$\n\\sqrt{a^2} = a\n$$\n"
    assert last_status(both) != "holds"


def test_an_invertible_matrix_is_any_matrix():
    words = r"Let $A, B \in \mathbb R^{n\times n}$ be invertible."
    assert last_status(f"{words}\n\nThen\n$$\n(AB)^{{-1}} = B^{{-1}}A^{{-1}}\n$$\n") == "holds"
    assert verdicts_of(f"{words}\n\nThen\n$$\n(AB)^{{-1}} = A^{{-1}}B^{{-1}}\n$$\n")[-1].outcome != "depends_on_unread"
    singular = words.replace("invertible", "singular")
    assert verdicts_of(f"{singular}\n\nThen\n$$\nAB = BA\n$$\n")[-1].outcome == "depends_on_unread"
