"""Points are for reaching the goal: small answers to small questions, and what each of their parts earns."""

from dataclasses import replace

import pytest

from regard.derivations.problems.problem import load_problem, parse_problem
from regard.derivations.reading.document import DocumentKind
from regard.derivations.reading.files import read_text
from regard.derivations.results import DocumentReport, PersonReason, Placed, QuestionRow
from regard.derivations.scoring import merge_reports
from regard.derivations.verify import judge_document, verify

PROBLEM = r"""
schema = "regard-problem/1"
name = "projections"
title = "Projections"

[settings.vector.sizes]
d = { at_least = 2 }

[settings.vector.symbols]
x = { shape = "d" }
y = { shape = "d" }
u = { is = '\frac{x}{\|x\|}' }
P = { shape = "d×d" }
Q = { is = 'I - u u^\top' }

[[questions]]
id = "1a"
title = "A projection"
setting = "vector"
points = 2
SLIP
[questions.design]
symbols = ["P"]
goal = 'P y = u (u^\top y)'
solutions = [{ P = 'u u^\top' }]

[[questions]]
id = "1b"
title = "What is left"
setting = "vector"
points = 4
show = ['Q^2 = Q', 'Q x = 0']
SHOWN

[[questions]]
id = "1c"
title = "Invertible"
setting = "vector"
points = 1
[questions.choice]
answer = "no"
yes = ["yes"]
no = ["no"]

[[questions]]
id = "1d"
title = "The length"
setting = "vector"
points = 3
REQUIRED

[[questions]]
id = "1e"
title = "In your own words"
setting = "vector"
points = 1
"""
REQUIRED = r"""
[[questions.required]]
any_of = ['\|u\| = 1', 'u^\top u = 1']
bare = 1
[[questions.required]]
any_of = ['\|Q y\| \leq \|y\|']
bare = 0.5
weight = 2
"""


def graded(text: str, *, slip: str = "", required: str = REQUIRED) -> dict[str, QuestionRow]:
    source = PROBLEM.replace("SLIP", slip).replace("SHOWN", slip).replace("REQUIRED", required)
    problem = parse_problem(source)
    return {row.id: row for row in judge_document(read_text(text), problem).questions}


def answer(question: str, text: str, **changes: str) -> QuestionRow:
    return graded(f"# {question[0]}.({question[1]})\n\n{text}\n", **changes)[question]


# -- what is to be shown -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "score"),
    [
        (r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = I - uu^\top = Q$", 2.0),
        (r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = Q$ and $Qx = x - u(u^\top x) = x - u\|x\| = 0$", 4.0),
        (r"$Q^2 = Q$ and $Qx = 0$", 0.0),
        (r"$Q^2 = Q^2 + 0 = 1 \cdot Q = Q$", 0.0),
        (r"$Q^2 = Q + y y^\top - y y^\top = Q$", 0.0),
        (r"$Q^2 = (I - uu^\top)^2 = Q$", 0.0),
        (r"$1 = 1$, $x + x = 2x$", 0.0),
        (r"$Q x = x$ and $Q^2 = I - 2uu^\top + uu^\top uu^\top = I - uu^\top = Q$", 0.0),
        (r"Suppose $Q^2 = Q$. Then $Q^2 = Q$.", 0.0),
        (r"$Q^2 = (I - \frac{x}{\|x\|} u^\top)^2 = Q$", 0.0),
        (r"My classmate claims that $Q^2 = I - 2uu^\top + uu^\top uu^\top = I - uu^\top = Q$.", 0.0),
    ],
)
def test_only_what_is_derived_earns_points(text, score):
    row = answer("1b", text)
    assert (row.score, row.points) == (score, 4.0)


ROUND_A_SLIP = r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = I - 2uu^\top = I - uu^\top = Q$"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (ROUND_A_SLIP, 1.5),
        (ROUND_A_SLIP.replace("= Q$", r"= I + uu^\top = Q$"), 1.5),  # two slips
        (rf"{ROUND_A_SLIP} and $Qx = x - u(u^\top x) = x - u\|x\| = 0$", 3.5),  # one slip costs one part
        (rf"$Qx = x - u(u^\top x) = x + u\|x\| = x - u\|x\| = 0$ and {ROUND_A_SLIP}", 3.0),
        (r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = I - 2uu^\top$", 0.0),  # not reached
        (r"$Q^2 = I - 2uu^\top = Q$", 0.0),  # nothing right stands between
        (r"$Q^2 = I - 2uu^\top = I - 3uu^\top = Q$", 0.0),
    ],
)
def test_a_derivation_goes_on_behind_a_slip_which_costs_what_the_problem_says(text, score):
    assert answer("1b", text, slip="slip = 0.25").score == score


def test_a_slip_in_a_derivation_costs_all_of_it_if_the_problem_says_nothing():
    assert answer("1b", ROUND_A_SLIP).score == 0.0


def test_an_unreadable_expression_costs_nothing_if_the_chain_leads_past_it():
    text = r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = I - \heartsuit = I - uu^\top = Q$"
    part = answer("1b", text).parts[0]
    assert (part.score, part.outcome) == (2.0, "reached")


def test_what_a_doubtful_step_may_cost_is_left_to_a_person():
    text = r"$Qx = x$ and $Q^2 = I - 2uu^\top + uu^\top uu^\top = I - uu^\top = Q$"
    row = answer("1b", text, slip="slip = 0.25")
    assert (row.score, row.pending, row.reasons) == (1.5, 2.5, (PersonReason.UNDECIDED,))


@pytest.mark.parametrize(
    "text",
    [
        r"$c \approx \gamma v_a + (1 - \gamma)v_b$",
        r"$\alpha_a \approx \frac{\gamma}{1 + \gamma}$",
        r"$c \approx \gamma\mu_a$",  # reaches nothing that is asked for, but says what c is
    ],
)
def test_what_is_doubtful_is_never_taken_for_wrong(text):
    report = judge_document(read_text(f"# 1.(c)\n\nii. {text}\n"), load_problem("cs224n-a4"))
    [verdict] = report.verdicts
    row = next(row for row in report.questions if row.id == "1c.ii")
    assert verdict.is_doubtful
    assert (row.score, row.pending, row.reasons) == (0.0, 2.0, (PersonReason.UNDECIDED,))
    assert row.parts[0].step == verdict.id


def test_what_the_problem_asks_for_may_be_true_with_a_probability():
    fraction = r"\frac{e^{\gamma\beta}v_a + e^{\beta}v_b}{e^{\gamma\beta} + e^{\beta}}"
    known = "1c i. $q = 50\\mu_a + 50\\mu_b$\n\n1c ii. "
    for text, score in {rf"$c \approx {fraction}$": 2.0, rf"$c \approx 2{fraction}$": 0.0}.items():
        report = judge_document(read_text(known + text), load_problem("cs224n-a4"))
        assert next(row.score for row in report.questions if row.id == "1c.ii") == score


def test_each_part_says_what_it_earned_and_by_which_step():
    row = answer("1b", r"$Q^2 = I - 2uu^\top + uu^\top uu^\top = I - uu^\top = Q$ and $Qx = 0$")
    assert [(part.asked, part.outcome, part.score, part.step) for part in row.parts] == [
        ("Q^2 = Q", "reached", 2.0, "1b/3"),
        ("Q x = 0", "only stated", 0.0, "1b/4"),
    ]
    assert row.placed is Placed.BY_HEADING


# -- designs and choices -----------------------------------------------------------------------------------------------
def test_a_design_earns_by_meeting_its_goal():
    assert answer("1a", r"$P = uu^\top$").score == 2.0
    assert answer("1a", r"$P = u$").score == 0.0
    assert not answer("1a", r"$P = u$").reasons


def test_a_slip_beside_a_reached_goal_costs_what_the_problem_says():
    text = r"$P = uu^\top$, since $u^\top u = 2$."
    assert answer("1a", text).score == 2.0
    assert answer("1a", text, slip="slip = 0.25").score == 1.5


def test_two_designs_of_which_one_fails_are_no_answer():
    row = answer("1a", r"$P = uu^\top$. Or $P = 2uu^\top$.")
    assert (row.score, row.pending, row.reasons) == (0.0, 2.0, (PersonReason.SEVERAL,))


@pytest.mark.parametrize(
    ("text", "score"),
    [("No.", 1.0), ("Yes.", 0.0), ("Clearly no, as $Qx = 0$.", 1.0), ("No, yes would be wrong.", 1.0)],
)
def test_a_choice_earns_by_one_clear_answer(text, score):
    assert answer("1c", text).score == score


@pytest.mark.parametrize(
    "text", ["No. Yes.", "Yes and no.", "No, yes.", "No, never. On second thoughts it is.\n\nYes."]
)
def test_two_choices_are_no_answer(text):
    row = answer("1c", text)
    assert (row.score, row.pending, row.reasons) == (0.0, 1.0, (PersonReason.SEVERAL,))


# -- required steps ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "score"),
    [
        (r"$\|u\| = 1$", 1.0),
        (r"$u^\top u = 1$", 1.0),
        (r"$\|u\| = 1$ and $\|Qy\| \leq \|y\|$", 2.0),
        (r"$\|u\| = 2$", 0.0),
    ],
)
def test_weights_alternatives_and_the_share_of_what_is_only_stated(text, score):
    assert answer("1d", text).score == score


def test_pending_points_earn_what_the_problem_says():
    words = "Because the vector has been divided by its own length before, nothing else can come out."
    assert (answer("1d", words).score, answer("1d", words).pending) == (0.0, 3.0)
    row = answer("1d", words, required=f"pending = 0.5\n{REQUIRED}")
    assert (row.score, row.pending) == (1.5, 1.5)


# -- the maximum and the reasons ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["Suppose $Qx = 1$.", "Nothing.", r"$\frac{$", "![mine](b.png)"])
def test_the_maximum_never_falls(text):
    rows = graded(f"# 1.(b)\n\n{text}\n")
    assert DocumentReport(file="a.md", questions=tuple(rows.values())).max_score == 11.0


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        ("1e", "It takes away what points along x.", PersonReason.WORDS),
        ("1e", "Short: $Qx = 0$.", PersonReason.WORDS),
        ("1b", "![mine](b.png)", PersonReason.IMAGE),
        ("1b", r"$Q^2 = \unknown(Q$", PersonReason.UNREAD),
        ("1a", r"~~$P = uu^\top$~~", PersonReason.HIDDEN),
        ("1a", r"<i style='color:white'>$P = uu^\top$</i>", PersonReason.HIDDEN),
        ("1a", r"`P = 2`, so $P = uu^\top$", PersonReason.HIDDEN),
        ("1a", r"$\phantom{x}$ $P = uu^\top$", PersonReason.HIDDEN),
        ("1b", "Let $x = 0$. Then $Qx = Q0 = 0$.", PersonReason.REDEFINED),
        ("1a", r"If we had $P = uu^\top$, it would work.", PersonReason.TRIED),
    ],
)
def test_a_person_must_look(question, text, reason):
    row = answer(question, text)
    assert reason in row.reasons
    assert (row.score, row.pending) == (0.0, row.points)


def test_an_unanswered_question_gives_none_of_its_points_and_needs_nobody():
    row = answer("1b", "?")
    assert (row.state, row.score, row.pending, row.points, row.reasons) == ("unanswered", 0.0, 0.0, 4.0, ())


def test_an_optional_question_left_out_is_worth_nothing():
    rows = {
        row.id: row for row in judge_document(read_text("# 1.(b)\n\n$q = k_a$"), load_problem("cs224n-a4")).questions
    }
    assert (rows["3g.i"].points, rows["1b.subspace"].points) == (0.0, 0.0)


def test_an_answer_to_one_part_is_no_answer_in_words_to_another():
    problem = load_problem("cs224n-a4")
    rows = judge_document(read_text("# 2.(a)\n\ni. $Q_{perm} = PQ$"), problem).questions
    assert {row.id for row in rows if row.state != "unanswered"} == {"2a.i"}


ANSWERS = r"""schema = "regard-answers/1"
problem = "cs224n-a4"
["1a"]
answer = '1 = 1'
["1b"]
design.q = '\beta(k_a + k_b)'
["2a.i"]
answer = 'Z_{perm} = PZ'
"""


def test_a_file_of_answers_is_graded_by_the_same_rules(tmp_path):
    path = tmp_path / "answers.toml"
    path.write_text(ANSWERS, encoding="utf-8")
    report = verify(path)
    assert {row.id: row.score for row in report.questions if row.score} == {"1b": 4.0}
    assert report.max_score == 22.0


def test_a_row_comes_back_from_json_as_it_went_in():
    row = answer("1b", r"$Q^2 = Q$ and so on, as everybody knows who has ever seen a projection in his life")
    assert QuestionRow.from_dict(row.to_dict()) == row


# -- images ------------------------------------------------------------------------------------------------------------
def flagged_for_images(text: str, *, beside: tuple[str, ...] = (), kind: DocumentKind = "markdown") -> dict[str, float]:
    """The pending points of each question that may be answered in an image."""
    document = replace(read_text(text, kind=kind), images_beside=beside)
    rows = judge_document(document, load_problem("cs224n-a4")).questions
    assert all(row.score == 0.0 for row in rows)
    return {row.id: row.pending for row in rows if PersonReason.IMAGE in row.reasons}


@pytest.mark.parametrize("image", ["![](a.png)", "![[a.png]]", "![x][a]", '<img src="a.png">', "[my scan](a.pdf)"])
def test_an_image_under_a_heading_may_be_its_answer(image):
    assert flagged_for_images(f"# 1.(b)\n\n{image}\n\n# 2.(a)\n\nNothing.") == {"1b": 4.0}


def test_so_may_a_picture_in_latex():
    text = "\\section*{1. (b)}\n\\includegraphics[width=3cm]{scan}\n\\includepdf{more.pdf}\n"
    assert flagged_for_images(text, kind="latex") == {"1b": 4.0}
    assert flagged_for_images(text.replace("\\incl", "% \\incl"), kind="latex") == {}


def test_an_image_does_not_put_right_what_is_refuted_but_may_have_the_derivation_of_what_is_stated():
    assert flagged_for_images("# 1.(b)\n\n$q = k_a$\n\n![](a.png)") == {}
    assert flagged_for_images("# 2.(a)\n\n$Z_{perm} = PZ$\n\n![](a.png)")["2a.i"] == 4.0
    assert flagged_for_images("# 2.(a)\n\n$Z_{perm} = PZ$\n\n[a paper](https://example.org/a.pdf)") == {}


def test_an_image_beside_what_is_reached_asks_for_nobody():
    text = "# 1.(b)\n\n$q = \\beta(k_a + k_b)$ with $\\beta$ large.\n\n![](a.png)"
    rows = judge_document(read_text(text), load_problem("cs224n-a4")).questions
    assert {row.id: row.score for row in rows if row.score} == {"1b": 4.0}
    assert not any(row.reasons for row in rows)


def test_an_image_that_nothing_places_may_answer_every_question():
    everything = {row.id for row in judge_document(read_text("x"), load_problem("cs224n-a4")).questions}
    asked = {question.id for question in load_problem("cs224n-a4").questions if not question.is_optional}
    assert set(flagged_for_images("My answers:\n\n![](scan.jpg)")) == asked < everything
    assert set(flagged_for_images("See the photo.", beside=("photo.jpg",))) == asked
    assert set(flagged_for_images("# 1.(b)\n\n![](photo.jpg)", beside=("photo.jpg",))) == {"1b"}


def test_images_are_named_with_their_places():
    document = replace(
        read_text("# 1.(b)\n\n![](a.png) ![](data:image/png;base64,AA)"), images_beside=("b.heic", "a.png")
    )
    report = judge_document(document, load_problem("cs224n-a4"))
    assert report.images == ("a.png (line 3)", "an image (line 3)", "b.heic")
    assert DocumentReport.from_dict(report.to_dict()).images == report.images


def test_what_may_be_in_an_image_stays_so_beside_another_file():
    with_image, without = judged("a.md", "![](a.png)"), judged("b.md", "Nothing here.")
    for both in ([with_image, without], [without, with_image]):
        whole = merge_reports([replace(report, images=("a.png (line 1)",)) for report in both], file="all")
        assert whole.images == tuple(f"a.png (line 1) of {report.file}" for report in both)
        rows = whole.questions
        assert all(row.reasons == (PersonReason.IMAGE,) for row in rows)


# -- submissions of several files --------------------------------------------------------------------------------------
def judged(file: str, text: str) -> DocumentReport:
    rows = tuple(graded(text).values())
    return DocumentReport(file=file, problem="p", questions=rows, seconds=1.0)


def test_files_of_one_submission_are_graded_together():
    first, second = judged("a.md", "# 1.(a)\n\n$P = uu^\\top$"), judged("b.md", "# 1.(c)\n\nNo.")
    whole = merge_reports([first, second], file="all", ignored=["photo.heic"])
    assert (whole.score, whole.max_score, whole.seconds) == (3.0, 11.0, 2.0)
    assert [(file.name, file.outcome) for file in whole.files] == [
        ("a.md", "judged"),
        ("b.md", "judged"),
        ("photo.heic", "ignored"),
    ]
    assert not whole.needs_person


def test_two_files_that_answer_differently_need_a_person():
    whole = merge_reports([judged("a.md", "# 1.(c)\n\nNo."), judged("b.md", "# 1.(c)\n\nYes.")], file="all")
    row = next(row for row in whole.questions if row.id == "1c")
    assert (row.score, row.pending, row.reasons) == (0.0, 1.0, (PersonReason.SEVERAL,))


def test_an_unreadable_file_beside_a_readable_one_is_no_silent_zero():
    failed = DocumentReport.failed("answers.md", "unreadable", "not UTF-8")
    whole = merge_reports([failed, judged("README.md", "# Submission\n\nSee answers.md")], file="all")
    assert (whole.score, whole.pending, whole.needs_person) == (0.0, 11.0, True)
    assert all(PersonReason.FILE in row.reasons for row in whole.questions)
    assert ("answers.md", "unreadable") in [(file.name, file.outcome) for file in whole.files]


def test_a_submission_without_a_readable_file_stays_unreadable():
    whole = merge_reports([DocumentReport.failed("c", "unreadable", "why")], file="all")
    assert (whole.outcome, whole.file, whole.score, whole.needs_person) == ("unreadable", "all", 0.0, True)
