import json
from dataclasses import replace

from regard.core.verdict import Place
from regard.derivations.grading.gradescope import results, results_json
from regard.derivations.results import DocumentReport, QuestionRow, Role, StepVerdict

VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
ROW = QuestionRow(id="1b", title="An average", state="judged", points=4.0, score=4.0)
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
    assert document["tests"][1]["output"] == (
        "0 of 1 decided steps hold\na.md:3: x = y [refuted] because; read so; 1 is not 2"
    )


def test_a_refuted_design_says_what_depends_on_it():
    design = replace(REFUTED, role=Role.DESIGN)
    document = checked(report(replace(ROW, score=2.0), verdicts=[design, HOLDS]))
    assert "the design is refuted: 2 of 4 points depend on it" in document["tests"][0]["output"]


def test_an_unanswered_question_says_so():
    document = checked(report(replace(ROW, state="unanswered", score=0.0), verdicts=[]))
    assert document["tests"][0]["output"] == "unanswered"


def test_undecided_steps_are_informational_and_without_score():
    scored, informational = checked(report(ROW, verdicts=[HOLDS, UNDECIDED]))["tests"]
    assert scored["score"] == 4.0
    assert not {"score", "max_score", "status"} & set(informational)
    assert "a.md:3" in informational["output"]


def test_an_answer_left_to_a_person_has_no_score_and_its_points_are_not_counted():
    words = replace(ROW, state="prose, not judged", score=None)
    document = checked(report(words, replace(ROW, id="2", score=2.0), verdicts=[UNDECIDED]))
    assert "score" not in document["tests"][0]
    assert document["tests"][0]["output"].startswith("an answer in words: left to a person\na.md:3")
    assert document["extra_data"]["max_score"] == 4.0
    assert "4 more points are left to a person" in document["output"]


def test_a_question_without_points_still_fails_if_a_step_is_refuted():
    row = replace(ROW, points=0.0, score=0.0)
    assert results(report(row, verdicts=[REFUTED]))["tests"][0]["status"] == "failed"
    assert results(report(row, verdicts=[HOLDS]))["tests"][0]["status"] == "passed"


def test_a_submission_that_could_not_be_judged_says_so():
    document = checked(DocumentReport.failed("a.md", "timed out", "it took too long."))
    assert document["score"] == 0
    assert "timed out" in document["output"]
    assert document["tests"][0]["status"] == "failed"


def test_hostile_text_is_plain_and_finite():
    hostile = replace(REFUTED, reason="a\r\nb\x1b[31m\x00" + "x" * 50_000)
    text = results_json(report(replace(ROW, score=1.0), verdicts=[hostile]))
    assert "\x1b" not in json.loads(text)["tests"][0]["output"]
    assert len(text) < 40_000
