"""What is open is left open: assumptions not made, letters not declared, designs that were rejected."""

import pytest

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document


def statuses(text: str, problem: str | None = "cs224n-a4") -> list[str]:
    document = read_text(text)
    judged = judge_document(document, load_problem(problem) if problem else infer_problem(read_formulas(document)))
    return [verdict.status for verdict in judged.verdicts if verdict.kind in ("step", "design", "supposition")]


def test_a_step_that_needs_orthonormal_keys_is_open_where_the_question_does_not_say_so():
    assert statuses("1.(a) Copying in attention\n\n$k_i^\\top q = 0$ for $i \\neq j$.")[0] == "undecided"
    assert statuses("1.(a) Copying in attention\n\n$k_j^\\top q = 2\\beta$.") == ["refuted"]


@pytest.mark.parametrize("false", ["(AB)^\\top = A^\\top B^\\top", "AB = BA", "x x^\\top = x^\\top x"])
def test_letters_that_may_be_matrices_are_not_confirmed_as_numbers(false):
    assert statuses(f"# Notes\n\nSo ${false}$.", None) == ["undecided"]


def test_plain_numbers_are_still_confirmed():
    assert statuses("# Notes\n\nSo $(a+b)(a-b) = a^2 - b^2$.", None) == ["holds"]


def test_an_event_is_no_condition_for_its_neighbours():
    heading = "1.(c) Drawbacks of single-headed attention\n\nii. "
    text = heading + "$\\mathrm{Var}(\\gamma) = 2$, $P(\\gamma > 0) \\approx 0.92$."
    assert statuses(text)[:2] == ["refuted", "holds"]
    assert statuses(heading + "$\\mathrm{Var}(\\gamma) = 2$, $\\mathbf{1}[\\gamma > 0] \\leq 1$.")[0] == "refuted"


def test_a_rejected_design_is_not_the_students_own():
    good = "1.(b) An average of two\n\nChoose $q = \\beta(k_a+k_b)$."
    assert statuses(good + " It is tempting to take $q = k_a + k_b$, but this fails.") == ["holds", "undecided"]
    assert statuses(good + " Or take $q = k_a + k_b$.") == ["holds", "refuted"]


def test_a_letter_for_coefficients_is_not_taken_for_a_size():
    heading = "1.(b) Subspace extraction\n\n"
    assert statuses(heading + "$AA^\\top(v_a + v_b) = AA^\\top(Ac + Bd)$") == ["holds"]
    assert statuses(heading + "$AA^\\top(v_a + v_b) = AA^\\top(Bd - Ac)$") == ["refuted"]


def test_a_variant_of_a_question_needs_no_heading_of_its_own():
    text = "1b. Take $q = \\beta(k_a + k_b)$.\n\nFor the matrix, $M = AA^\\top$, so $Ms = v_a$."
    assert statuses(text) == ["holds", "holds", "holds"]
    assert statuses(text.replace("AA^\\top", "A^\\top"))[1] == "refuted"


def test_the_normal_distribution_function_is_read():
    heading = "1.(d) Benefits of multi-headed attention\n\nii. "
    assert statuses(heading + "$P(\\gamma < 0) = \\Phi(-\\sqrt 2) \\approx 0.079$")[:3].count("holds") >= 2
    assert "refuted" in statuses(heading + "$P(\\gamma < 0) = \\Phi(-2)$")


def test_values_of_probabilities_are_numbers_and_named_as_written():
    document = read_text("# Notes\n\n$p(\\lambda \\mid y) p(y) = p(y) p(\\lambda \\mid y)$")
    judged = judge_document(document, infer_problem(read_formulas(document)))
    [note] = [str(note) for verdict in judged.verdicts for note in verdict.notes]
    assert note.endswith("p(y), p(λ|y) as a number")
