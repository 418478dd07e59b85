from dataclasses import replace

from page_checks import Page
from regard.core.verdict import Place
from regard.derivations.grading.gradescope import results, results_json
from regard.derivations.results import (
    DocumentReport,
    GradedPart,
    PersonReason,
    QuestionRow,
    Role,
    StepVerdict,
    SubmittedFile,
)

VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
PART = GradedPart(kind="step", asked="x = y", points=4.0, score=4.0, outcome="reached", step="1b/1")
ROW = QuestionRow(id="1b", title="An average", state="judged", points=4.0, score=4.0, parts=(PART,))
HOLDS = StepVerdict(
    id="1b/1",
    statement="x = y",
    status="holds",
    outcome="holds",
    reason="because",
    role=Role.ASSERTION,
    source="x = y",
    question="1b",
    where=Place(file="in/a.md", line=3, column=1),
)
REFUTED = replace(HOLDS, status="refuted", outcome="refuted", notes=("read so",), counterexample="1 is not 2")
UNDECIDED = replace(HOLDS, status="undecided", outcome="not understood")


def report(*rows: QuestionRow, verdicts=(HOLDS,)) -> DocumentReport:
    return DocumentReport(file="a.md", problem="p", verdicts=tuple(verdicts), questions=rows, seconds=1.23456)


def checked(report: DocumentReport) -> dict:
    """The results, which must be what Gradescope's specification asks."""
    document = results(report)
    assert isinstance(document["score"], float | int)
    assert isinstance(document["execution_time"], float | int)
    assert isinstance(document["output"], str)
    assert document["output_format"] in FORMATS
    assert document["visibility"] in VISIBILITIES
    assert document["tests"]
    for entry in document["tests"]:
        assert set(entry) <= {"score", "max_score", "status", "name", "number", "output", "output_format", "visibility"}
        assert entry.get("status", "passed") in ("passed", "failed")
        assert ("score" in entry) == ("max_score" in entry)
        assert isinstance(entry["name"], str)
        assert isinstance(entry["number"], str)
        assert isinstance(entry["output"], str)
        assert "\r" not in entry["output"]
        assert entry["output_format"] in FORMATS
        assert entry["visibility"] in VISIBILITIES
    return document


def test_a_doubtful_step_is_shown_and_costs_nothing():
    doubtful = replace(UNDECIDED, outcome="doubtful", reason="Looks wrong if K_a is k_a")
    document = checked(report(ROW, verdicts=[HOLDS, doubtful]))
    assert document["score"] == ROW.score
    assert [entry.get("status") for entry in document["tests"]] == ["passed", None]
    assert "no points lost" in document["tests"][1]["name"]
    assert "Looks wrong if K_a is k_a" in document["tests"][1]["output"]


def test_outcomes_and_numbers_of_points_are_in_words():
    late = replace(UNDECIDED, outcome="after_slip")
    row = replace(ROW, score=3.0, pending=1.0, reasons=(PersonReason.UNDECIDED,))
    outputs = [entry["output"] for entry in checked(report(row, verdicts=[late]))["tests"]]
    assert "A person decides on 1 point:" in outputs[0]
    assert "<b>after slip</b>" in outputs[1]


def test_a_submission_without_claims_is_not_said_to_be_understood():
    assert "understood" in checked(report(ROW))["output"]
    assert "understood" not in checked(report(ROW, verdicts=[]))["output"]


def test_an_entry_per_question():
    other = replace(ROW, id="2", score=1.5)
    document = checked(report(ROW, other, verdicts=[HOLDS, replace(REFUTED, question="2")]))
    assert document["score"] == 5.5
    assert [(entry["status"], entry["score"], entry["max_score"]) for entry in document["tests"]] == [
        ("passed", 4.0, 4.0),
        ("failed", 1.5, 4.0),
    ]
    assert "because; read so; 1 is not 2" in document["tests"][1]["output"]


def test_each_part_says_what_it_earned_by_which_step():
    output = checked(report(ROW))["tests"][0]["output"]
    assert "reached, 4 of 4 points (a.md:3)" in output
    assert "<math>" in output
    assert "Nothing was assigned to this question." in output


def test_a_step_in_a_notebook_is_named_by_its_cell():
    place = Place(file="in/a.ipynb", line=40, column=9, cell=3, cell_line=2)
    [test] = checked(report(ROW, verdicts=[replace(REFUTED, where=place)]))["tests"]
    assert "a.ipynb cell 3, line 2" in test["output"]


def test_an_unanswered_question_says_so():
    document = checked(report(replace(ROW, state="unanswered", score=0.0), verdicts=[]))
    assert document["tests"][0]["output"] == "<p>unanswered</p>"


def test_undecided_steps_are_informational_and_without_score():
    scored, informational = checked(report(ROW, verdicts=[HOLDS, UNDECIDED]))["tests"]
    assert scored["score"] == 4.0
    assert not {"score", "max_score", "status"} & set(informational)
    assert "a.md:3" in informational["output"]


def test_an_answer_left_to_a_person_keeps_its_points_and_says_why():
    words = replace(ROW, state="prose, not judged", score=0.0, pending=4.0, reasons=(PersonReason.WORDS,))
    document = checked(report(words, replace(ROW, id="2", score=2.0), verdicts=[UNDECIDED]))
    first = document["tests"][0]
    assert (first["score"], first["max_score"]) == (0.0, 4.0)
    assert "needs a person" in first["name"]
    assert "A person decides on 4 points: part of the answer is in words." in first["output"]
    assert document["extra_data"]["max_score"] == 8.0
    assert (document["extra_data"]["pending"], document["extra_data"]["reasons"]) == (4.0, ["words"])
    assert "A person decides on 4 more." in document["output"]


def test_a_question_without_points_still_fails_if_a_step_is_refuted():
    row = replace(ROW, points=0.0, score=0.0)
    assert results(report(row, verdicts=[REFUTED]))["tests"][0]["status"] == "failed"
    assert results(report(row, verdicts=[HOLDS]))["tests"][0]["status"] == "passed"


def test_a_submission_that_could_not_be_judged_says_so():
    document = checked(DocumentReport.failed("a.md", "timed out", "it took too long."))
    assert document["score"] == 0
    assert "timed out" in document["output"]
    assert document["tests"][0]["status"] == "failed"


def test_every_file_of_a_submission_is_named():
    files = (
        SubmittedFile(name="in/a.md", outcome="judged", num_steps=3),
        SubmittedFile(name="in/b.pdf", outcome="unreadable", reason="b.pdf is a PDF."),
        SubmittedFile(name="in/<b>.png", outcome="ignored"),
    )
    output = checked(replace(report(ROW), files=files))["output"]
    assert "<b>a.md</b>: 3 steps read" in output
    assert "<b>b.pdf</b>: unreadable. b.pdf is a PDF." in output
    assert "<b>&lt;b&gt;.png</b>: not a document, not read" in output


def test_hostile_text_is_escaped_closed_and_finite():
    hostile = replace(
        REFUTED,
        reason="a\r\nb\x1b[31m\x00" + "x" * 50_000,
        source=r"x = \text{<script>alert(1)</script>} \href{javascript:alert(1)}{y}",
        notes=("<img src=x onerror=alert(1)>",),
        where=Place(file="in/<svg onload=alert(1)>.md", line=1, column=1),
    )
    rows = [replace(ROW, id=str(number), title="<i>", score=1.0) for number in range(3)]
    verdicts = [replace(hostile, question=row.id) for row in rows for _ in range(60)]
    document = checked(report(*rows, verdicts=verdicts))
    for entry in document["tests"]:
        page = Page(entry["output"])
        assert not {tag for tag, _ in page.elements} & {"script", "img", "svg", "a", "style"}
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
        assert "\x1b" not in entry["output"]
    assert len(results_json(report(*rows, verdicts=verdicts))) < 200_000
