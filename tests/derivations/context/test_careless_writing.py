"""Habits of careless authors, each with a slip beside it that must still be caught."""

import pytest

from derivations.passages import DESIGN, PROBLEM, judged, last
from regard.derivations.reading.files import read_text
from regard.derivations.results import StepVerdict
from regard.derivations.verify import judge_document, verify


def verdicts(text: str) -> list[StepVerdict]:
    return list(judge_document(read_text(text), PROBLEM).verdicts)


def statuses(text: str) -> list[str]:
    return [verdict.status for verdict in verdicts(text)]


def test_what_follows_from_a_false_supposition_is_not_refuted():
    passage = r"No. Suppose $\Phi_{t_1} = \Phi_{t_2}$. For the first frequency this says $\sin t_1 = \sin t_2$."
    assert all(verdict.status != "refuted" for verdict in judged("2b.ii", passage))
    assert last("2b.ii", passage, r"In any case $\sin(-t_1) = \sin t_1$.").status == "refuted"


def test_a_proportion_is_an_equation_between_ratios():
    assert last("1b", DESIGN, r"$\alpha_a : \alpha_b = 1 : 1$").status == "holds"
    assert last("1b", DESIGN, r"$\alpha_a : \alpha_b = 2 : 1$").status == "refuted"


@pytest.mark.parametrize("words", ["in 42 % of the samples", "sometimes", "in manchen Fällen ist oft", "às vezes"])
def test_what_is_so_now_and_then_is_no_claim(words: str):
    assert last("1c.ii", rf"With $\beta = 20$, {words} $c \approx v_a$.").status != "refuted"


def test_a_condition_that_words_state_in_portuguese():
    passage = r"Se $\gamma = 1$ temos $c \approx \frac{1}{2}(v_a+v_b)$, se $\gamma$ é um pouco maior $c \approx v_a$."
    assert last("1c.ii", passage).status != "refuted"
    assert last("1c.ii", r"Se $\gamma > 1$ temos $c \approx v_b$.").status == "refuted"


@pytest.mark.parametrize("words", ["ignoring $\\gamma < 0$", "except for $\\gamma < 0$"])
def test_what_is_left_aside_is_no_condition(words: str):
    assert last("1d.ii", rf"So ({words}) $\alpha_{{1a}} \approx 1$.").status != "refuted"
    assert last("1d.ii", r"If $\gamma < 0$ then $\alpha_{1a} \approx 1$.").status == "refuted"


def test_a_condition_on_the_distance_of_the_random_length_from_its_mean():
    noise = r"其中 $\epsilon \sim \mathcal N(0, \frac12)$。"
    assert last("1c.ii", noise, r"$\epsilon > 0$ 时 $c \approx v_a$").status == "holds"
    assert last("1c.ii", noise, r"$\epsilon > 0$ 时 $c \approx v_b$").status == "refuted"


def test_heads_in_the_other_order_are_no_slip_and_excuse_none():
    heads = "1.(d) i. $q_1 = \\beta\\mu_b$ and $q_2 = \\beta\\mu_a$.\n\nii. "
    assert statuses(heads + r"$c_1 \approx v_b$")[-1] == "holds"
    assert statuses(heads + r"$c_1 \approx v_a$")[-1] == "refuted"


def test_rows_of_a_table_answer_the_parts_that_their_first_cells_name():
    rows = "| question | answer |\n|---|---|\n| 1a ii | {} |\n| 1b | $q = t(k_a+k_b)$ |\n"
    found = verdicts(rows.format(r"$c \approx v_j$"))
    assert [(v.question, v.status) for v in found] == [("1a", "holds"), ("1b", "holds")]
    assert statuses(rows.format("because").replace("t(k", "(k"))[-1] == "refuted"


def test_without_any_heading_a_claim_is_refuted_only_if_it_is_false_for_every_question():
    text = r"The other weights vanish, so $c \rightarrow v_j$. Next we take $q = \beta(k_a + k_b)$"
    assert statuses(f"{text}.")[0] == "holds"
    assert statuses(rf"{text} and get $\alpha_a = \frac{{e^\beta}}{{2e^\beta + n}}$.")[-1] == "refuted"


def test_a_letter_without_a_number_may_belong_to_any_question():
    found = verdicts("## (b) Combining values\n\n**i.** $M = AA^\\top$, so $M^2 = AA^\\top AA^\\top = AA^\\top$.")
    assert {(v.question, v.status) for v in found} == {("1b.subspace", "holds")}


def test_a_letter_is_no_alias_of_a_number_that_shares_its_family_s_name():
    own = r"$w = \sigma(\beta(\gamma - 1))$"
    assert last("1c.ii", own, r"$\alpha_a \approx w$").status == "holds"
    assert last("1c.ii", own, r"$\alpha_b \approx w$").status != "holds"


def test_attention_weights_in_a_matrix_without_an_introduction():
    assert last("2a.i", r"$H = AV$").status == "holds"
    assert last("2a.i", r"$H = A^\top V$").status == "refuted"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (r"$\log_2 8 = 3$ and $\log_{10} 0.001 = -3$", "holds"),
        (r"the entropy is $-\frac12\log\frac12 - \frac12\log\frac12 = 1$ bit", "holds"),
        (r"$\log_2 8 = 4$", "refuted"),
        (r"$7\cdot 10^9 \cdot 8 = 56$ GB", "undecided"),
        (r"$7\cdot 8 = 57$.", "refuted"),
        (r"$6 6 5 \cdot 3 = 2$", "undecided"),
        (r"$\det(2A) = 2\det A$", "undecided"),
        (r"$B \in \mathbb{R}^{d \times r}$, $A \in \mathbb{R}^{r \times d}$. At first $B = 0$, so $BA = 0$.", "holds"),
    ],
)
def test_numbers_units_logarithms_and_initial_values_in_notes(text: str, status: str):
    assert verify(f"# Notes\n\n{text}\n").verdicts[-1].status == status


def test_the_same_few_words_again_and_again_are_no_foreign_language():
    text = "1.(b) An average of two\n\n" + "\n\n".join(["I tried $q = k_a + k_b$."] * 40)
    assert set(statuses(text)) == {"refuted"}


def test_nothing_is_refuted_in_a_language_that_is_not_read():
    words = "Bu soruda sorgu için büyük bir ölçek seçiyoruz ve sonuç her zaman iki değerin ortalaması olur çünkü " * 2
    text = "1.(b) An average of two\n\n{} $q = k_a + k_b$\n"
    assert [v.outcome for v in verdicts(text.format(words))] == ["doubtful"]
    assert statuses(text.format("For this question we choose the query that is the sum of the two, so let it be")) == [
        "refuted"
    ]
