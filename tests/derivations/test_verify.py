"""A whole document: every relation sign a verdict, every question a row, and nothing that crashes the judge."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.core.errors import InputError
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import DocumentReport, PersonReason, Role
from regard.derivations.verify import judge_document, verify

WRONG = "1.(b) An average of two\n\nTake $q = k_a + k_b$.\n"
RIGHT = "1.(b) An average of two\n\nTake $q = \\beta(k_a + k_b)$, so $c \\approx \\frac12(v_a + v_b)$.\n"
PROBLEM = load_problem("cs224n-a4")
STATES = {"judged", "prose, not judged", "image, not read", "unanswered"}


def judged(text: str) -> DocumentReport:
    return judge_document(read_text(text), PROBLEM)


# -- files and texts -------------------------------------------------------------------------------------
def test_a_text_a_path_and_a_string_that_is_a_path_are_all_judged(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(WRONG, encoding="utf-8")
    for source in (WRONG, path, str(path)):
        report = regard.verify(source, "cs224n-a4")
        assert [verdict.status for verdict in report.verdicts] == ["refuted"]
        assert not report.is_as_expected
        assert not report.is_guessed
    assert verify(RIGHT, "cs224n-a4").is_as_expected


def test_a_problem_is_guessed_from_two_headings_and_never_from_letters():
    guessed = verify(f"1.(a) Copying in attention\n\nA large score.\n\n{WRONG}")
    assert (guessed.problem, guessed.is_guessed) == ("cs224n-a4", True)
    assert [verdict.status for verdict in guessed.verdicts] == ["refuted"]
    inferred = verify("# Notes\n\nTake $q = k_a + k_b$, so $\\alpha_a = k_a^\\top q$.\n")
    assert (inferred.problem, inferred.is_guessed) == ("inferred", True)
    assert inferred.is_as_expected


def test_a_report_is_frozen_and_json_ready():
    report = verify(WRONG, "cs224n-a4")
    with pytest.raises(AttributeError):
        report.file = "x"
    assert regard.DocumentReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_another_seed_changes_draws_but_not_verdicts():
    one, other = verify(WRONG, "cs224n-a4"), verify(WRONG, "cs224n-a4", seed=5)
    assert (one.verdicts[0].seed, other.verdicts[0].seed) == (0, 5)
    assert other.verdicts[0].status == "refuted"
    assert "--seed 5" in other.verdicts[0].reproduce
    with pytest.raises(InputError, match="negative"):
        verify(WRONG, seed=-1)


@pytest.mark.parametrize("source", ["missing.md", "", "   ", "a\0b", "x\udcffy"])
def test_what_cannot_be_read_is_an_input_error(source):
    with pytest.raises(InputError):
        verify(source)


def test_a_pdf_is_named_as_such(tmp_path):
    path = tmp_path / "s.pdf"
    path.write_bytes(b"%PDF-1.7\0binary")
    with pytest.raises(InputError, match=r"s\.pdf is a PDF\. Submit the LaTeX, Markdown or notebook source\."):
        verify(path)


# -- documents ---------------------------------------------------------------------------------------------------------
def test_every_question_has_a_row_in_the_problems_order():
    found = judged("Nothing here.\n")
    assert [row.id for row in found.questions] == [question.id for question in PROBLEM.questions]
    assert {row.state for row in found.questions} == {"unanswered"}
    assert found.verdicts == ()
    assert found.understood is None


def test_rows_say_what_there_is():
    text = "1.(a) Copying\n\nThe query lies along the key.\n\n1.(b)\n\n![mine](b.png)\n\n1.(c)\n\ni.\n\n$q = \\mu_a$\n"
    states = {row.id: row.state for row in judged(text).questions}
    assert states["1a"] == "prose, not judged"
    assert states["1b"] == "image, not read"
    assert states["1c.i"] == "judged"
    assert states["1c.ii"] == "unanswered"


def test_the_question_restated_is_given_and_not_judged():
    text = "**1.(b)** Show that $k_a^\\top k_b = 1$.\n\nMy answer: take $q = \\beta(k_a + k_b)$.\n"
    kinds = [(verdict.kind, verdict.status) for verdict in judged(text).verdicts]
    assert ("design", "holds") in kinds
    assert ("step", "refuted") not in kinds


def test_verdicts_are_numbered_in_reading_order():
    found = judged("1.(b)\n\n$q = \\beta(k_a + k_b)$, $k_a^\\top q = \\beta$\n\n1.(a)\n\n$\\alpha_j \\approx 1$\n")
    assert [verdict.id for verdict in found.verdicts] == ["1b/1", "1b/2", "1a/1"]
    assert [verdict.span for verdict in found.verdicts] == sorted(verdict.span for verdict in found.verdicts)


def test_a_verdict_points_to_its_sign_and_its_stretch():
    text = "1.(b)\n\n$k_a^\\top k_b = 0$\n"
    (verdict,) = judged(text).verdicts
    assert text[slice(*verdict.span)] == "k_a^\\top k_b = 0"
    assert verdict.where is not None
    assert text.splitlines()[verdict.where.line - 1][verdict.where.column - 1] == "="


def test_macros_are_put_in_and_places_stay_those_of_the_text():
    text = "$\\newcommand{\\ka}{k_a}$\n\n1.(b)\n\n$\\ka^\\top k_b = 0$ and $\\ka^\\top k_b = 1$\n"
    verdicts = judged(text).verdicts
    assert [verdict.status for verdict in verdicts] == ["holds", "refuted"]
    assert text[slice(*verdicts[0].span)] == "\\ka^\\top k_b = 0"


def test_a_formula_whose_macros_run_away_is_undecided():
    text = "$\\newcommand{\\a}{\\a\\a}$\n\n1.(b)\n\n$\\a = 1$, but $k_a^\\top k_b = 0$\n"
    first, second = judged(text).verdicts
    assert (first.status, first.outcome) == ("undecided", "not understood")
    assert second.status == "holds"


@pytest.mark.parametrize("opening", ["$$", "$", "\\[", "\\("])
def test_a_formula_that_nothing_closes_is_left_open_and_not_left_out(opening):
    text = f"1.(b)\n\nTake $q = \\beta(k_a + k_b)$.\n\n{opening}c \\approx v_a + v_b\n\nThat is all.\n"
    found = judged(text)
    last = found.verdicts[-1]
    assert (last.status, last.outcome, last.question) == ("undecided", "not understood", "1b")
    assert opening in (last.reason or "")
    assert text[slice(*last.span)] == f"{opening}c \\approx v_a + v_b"
    assert found.understood < 1


def test_prices_and_dollars_without_a_relation_are_no_steps():
    assert judged("1.(b)\n\nA lunch for $5 and a lone $ sign, ```\n\n").verdicts == ()


def test_a_table_row_goes_on_from_its_first_cell():
    rows = (
        "1.(b)\n\nTake $q = \\beta(k_a + k_b)$.\n\n| weight | limit |\n|---|---|\n| $\\alpha_a$ | $\\to \\frac12$ |\n"
    )
    assert judged(rows).verdicts[-1].status == "holds"
    assert judged(rows.replace("\\frac12", "\\frac13")).verdicts[-1].status == "refuted"


def test_a_formula_that_fits_no_question_stands_elsewhere():
    (verdict,) = judged("# Notes\n\n$\\heartsuit_7 = \\spadesuit$\n").verdicts
    assert (verdict.question, verdict.role) == (None, Role.DEFINITION)


# -- fuzz --------------------------------------------------------------------------------------------------------------
WORDS = r"""
k_a k_b k_i k_j v_a v_b q c \alpha_a \alpha_i \beta \mu_a \gamma X X_p P Q K H W_1 b_1 \mathbf{1} I n d 0 1 2
z \bar{z} e^{i\theta} = = = \approx \to \gg \ll \le \neq \in \sim \Rightarrow \perp + - / \cdot , ;
( ) [ ] \{ \} | \| ^\top ^{-1} ^2 _i _{12} ' & \\ \frac{1}{2} \frac{ }{ { } \sqrt{ \exp( \text{softmax}(
\sum_i \sum_{j=1}^n \sum_{i\neq j} \sum_{others} \dots \infty \partial \mathbb{E}[ \operatorname{Var}(
\begin{cases} \end{cases} \begin{pmatrix} \end{pmatrix} \operatorname{Re}( \log \cos \max(
""".split()
PROSE = (
    "1.(a) ",
    "1.(b)\n\n",
    "## 2\n\n### a\n\n",
    "#### i\n\n",
    "3.(g)\n\nii.\n\n",
    "If ",
    "Suppose ",
    "| ",
    "> ",
    "- ",
    "No. ",
    "是",
    "\n\n",
    ". ",
)
formulas = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join).map("${}$".format)
documents = st.lists(st.one_of(formulas, st.sampled_from(PROSE)), max_size=10).map(" ".join)


@given(documents, st.booleans())
@settings(max_examples=120)
def test_no_document_crashes_the_judge(text, is_strict):
    found = judge_document(read_text(f"Answers\n\n{text}\n"), PROBLEM, is_strict=is_strict)
    assert {row.state for row in found.questions} <= STATES
    assert found.understood is None or 0 <= found.understood <= 1
    for verdict in found.verdicts:
        start, end = verdict.span
        assert 0 <= start < end <= len(found.document.text)
        assert verdict.status != "refuted" or verdict.counterexample


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=200))
@settings(max_examples=80)
def test_no_text_crashes_the_judge(text):
    assert len(judged(f"Answers\n\n{text}\n").questions) == len(PROBLEM.questions)


def test_the_fuzz_reaches_every_status():
    """Paired with the fuzz: words of the same kind do give steps that hold, are refuted and stay open."""
    text = "1.(b)\n\n$ k_a ^\\top k_b = 0 $ . $ k_a ^\\top k_b = 1 $ . $ k_a = \\frac{ $\n"
    assert {verdict.status for verdict in judged(text).verdicts} == {"holds", "refuted", "undecided"}


# -- comments that exempt steps --------------------------------------------------------------------------
GUESSED = "1.(a) Copying in attention\n\nA large score.\n\n1.(b) An average of two\n\n"
EXEMPT = "Take $q = k_a + k_b$. <!-- regard: ignore the scale comes later -->\n\nThen $k_a^\\top q = 1$.\n"


def test_a_comment_exempts_a_step_which_is_counted_and_says_what_was_found():
    plain, report = verify(GUESSED + EXEMPT.replace("ignore", "say")), verify(GUESSED + EXEMPT)
    assert [verdict.status for verdict in plain.verdicts] == ["refuted", "holds"]
    assert [verdict.standing for verdict in report.verdicts] == ["ignored", "holds"]
    [ignored, _] = report.verdicts
    assert (ignored.status, ignored.outcome, ignored.counterexample) == ("undecided", "ignored", None)
    assert ignored.reason == "Ignored by a comment: the scale comes later"
    assert ignored.notes[0].startswith("Without the comment: refuted.")
    assert (report.num_ignored, report.num_ineffective_comments) == (1, 0)
    assert report.is_as_expected
    assert report.counts == {"proved": 0, "holds": 1, "refuted": 0, "undecided": 0}
    assert (report.score, report.pending) == (plain.score, plain.pending)
    assert DocumentReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_a_comment_changes_nothing_about_a_step_that_holds():
    right = "1.(a) Copying in attention\n\nA large score.\n\n" + RIGHT.strip()
    assert verify(f"{right} <!-- regard: ignore -->\n").verdicts == verify(right).verdicts


def test_a_comment_has_no_effect_when_grading_and_is_flagged():
    report = verify(GUESSED + EXEMPT, "cs224n-a4")
    assert [verdict.status for verdict in report.verdicts] == ["refuted", "holds"]
    assert (report.num_ignored, report.num_ineffective_comments) == (0, 1)
    flagged = {row.id: row.reasons for row in report.questions if PersonReason.IGNORED in row.reasons}
    assert set(flagged) == {"1b"}
    assert report.needs_person


@pytest.mark.parametrize(
    "text",
    [
        r"Let $x \in \mathbb{R}$. We have $(x + 10^{20}) - 10^{20} = x$.",
        r"Let $h > 0$. We have $\frac{(1 + 10^{-12} h) - 1}{10^{-12}} = h$.",
        r"Let $x$ be a real number. Then $y = (x + 10^{20}) - 10^{20}$, and $y = x$. So $y^2 = x^2$.",
        r"We have $(2^{64} + 1) - 2^{64} \approx 1$.",
    ],
)
def test_what_fails_in_floats_alone_holds(text):
    verdict = verify(text).verdicts[-1]
    assert verdict.status == "holds"
    assert "2 %" not in verdict.reason


def test_read_strictly_what_fails_in_floats_alone_holds():
    step = r"$\frac{1 + 10^{-12} k_a^\top q - 1}{10^{-12}} = \beta$"
    text = rf"1.(b) With $q = \beta (k_a + k_b)$ we get {step}."
    assert verify(text, "cs224n-a4", is_strict=True).verdicts[-1].status == "holds"


def test_an_error_in_the_search_for_a_correction_leaves_its_step_open(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    step = r"$\alpha_a = \frac{e^{\beta}}{2e^{\beta} + n - 1}$"
    text = rf"1.(b) With $q = \beta(k_a + k_b)$ we get $k_a^\top q = \beta$ and $k_b^\top q = \beta$, so {step}."
    assert verify(text, "cs224n-a4").verdicts[-1].status == "refuted"
    monkeypatch.setattr("regard.derivations.judging.corrections.correction", broken)
    assert verify(text, "cs224n-a4").verdicts[-1].status == "undecided"
