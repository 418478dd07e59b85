"""Means over random vectors and matrices whose entries are independent, and over vectors with a normal law."""

import pytest

from derivations.context.notes import last_status, verdicts_of

ENTRIES = r"Let $a, b \in \mathbb{R}^d$ be independent with i.i.d. standard normal entries. Then "
MATRIX = (
    r"Let $G \in \mathbb{R}^{n\times d}$ have i.i.d. standard normal entries and $M \in \mathbb{R}^{d\times d}$. Then "
)
NAMED = r"The entries of $B \in \mathbb{R}^{r\times k}$ are i.i.d. $\mathcal N(0, 1/r)$. Then "
VECTOR = r"Let $u \in \mathbb{R}^d$ and $g \sim \mathcal N(0, I_d)$. Then "
GENERAL = r"For $Z \sim \mathcal N(m, \Sigma)$ we have "


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        (ENTRIES, r"\mathbb{E}[(a^\top b)^2] = d"),
        (ENTRIES, r"\operatorname{Var}(a^\top b/\sqrt d) = 1"),
        (ENTRIES, r"\mathbb{E}[(a^\top b)^4] = 3d^2 + 6d"),
        (ENTRIES, r"\mathbb{E}[(a^\top b)^2 \mid a] = \|a\|^2"),
        (MATRIX, r"\mathbb{E}[GG^\top] = d I_n"),
        (MATRIX, r"\mathbb{E}[GMG^\top] = \operatorname{tr}(M) I_n"),
        (NAMED, r"\mathbb{E}[B^\top B] = I_k"),
        (VECTOR, r"\mathbb{E}[e^{g^\top u}] = e^{\|u\|^2/2}"),
        (GENERAL, r"\mathbb{E}[Z^\top C Z] = \operatorname{tr}(C\Sigma) + m^\top C m"),
    ],
)
def test_what_is_true_of_them_holds(said, claim):
    assert last_status(f"{said}${claim}$.") == "holds"


@pytest.mark.parametrize("claim", [r"\mathbb{E}\|a\|^4 = d^2 + d", r"\mathbb{E}\|a - b\|^2 = d"])
def test_what_is_false_of_independent_entries_is_refuted(claim):
    assert last_status(f"{ENTRIES}${claim}$.") == "refuted"


def test_what_rests_on_a_reading_of_their_law_stays_open():
    assert last_status(f"{NAMED}$\\mathbb{{E}}[B^\\top B] = r I_k$.") == "undecided"
    assert last_status(f"{GENERAL}$\\mathbb{{E}}[Z^\\top Z] = \\operatorname{{tr}}(\\Sigma)$.") == "undecided"


def test_what_is_no_polynomial_stays_open():
    assert last_status(f"{ENTRIES}$\\mathbb{{E}}\\|a\\| = \\sqrt d$.") == "undecided"


def test_products_of_more_numbers_than_vary_at_once_stay_open():
    text = r"Let $a, b, c, e \in \mathbb{R}^d$ be independent with i.i.d. standard normal entries. Then "
    assert last_status(text + r"$\mathbb{E}[(a^\top b)(b^\top c)(c^\top e)(e^\top a)] = 0$.") != "holds"


def test_a_law_of_vectors_declares_their_shape():
    verdicts = verdicts_of(VECTOR + r"$\operatorname{Var}(g^\top u) = \|u\|$.")
    assert verdicts[-1].status != "holds"
    assert verdicts_of(VECTOR + r"$\operatorname{Var}(g^\top u) = \|u\|^2$.")[-1].status == "holds"
