import json

from regard.derivations.gradebook import Grade, QuestionGrade
from regard.derivations.gradescope import as_results_json, results

COUNTS = {"proved": 0, "holds": 3, "refuted": 1, "undecided": 1}
VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}


def grade(*questions: QuestionGrade, outcome="judged", reason=None) -> Grade:
    return Grade(
        file="a.md", outcome=outcome, reason=reason, problem="p", counts=COUNTS, understood=0.9, questions=questions,
        seconds=1.23456,
    )  # fmt: skip


def question(score, **more) -> QuestionGrade:
    return QuestionGrade(
        **{"id": "1b", "title": "An average", "state": "judged", "points": 4.0, "score": score, **more}
    )


def check(document: dict) -> None:
    """What Gradescope's specification asks."""
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


def test_an_entry_for_each_question():
    document = results(grade(question(4.0), question(1.5, id="2", num_refuted=1, reasons=("line 3: x",))))
    check(document)
    assert document["score"] == 5.5
    assert [(entry["status"], entry["score"], entry["max_score"]) for entry in document["tests"]] == [
        ("passed", 4.0, 4.0),
        ("failed", 1.5, 4.0),
    ]
    assert document["tests"][1]["output"] == "line 3: x"


def test_undecided_is_informational_and_without_score():
    document = results(grade(question(4.0, undecided=("line 9: y",))))
    check(document)
    scored, told = document["tests"]
    assert scored["score"] == 4.0
    assert not {"score", "max_score", "status"} & set(told)
    assert "line 9" in told["output"]


def test_what_is_left_to_a_person_has_no_score_and_its_points_are_not_counted():
    document = results(grade(question(None, reasons=("an answer in words",)), question(2.0, id="2")))
    check(document)
    assert "score" not in document["tests"][0]
    assert document["extra_data"]["max_score"] == 4.0
    assert "4 more points are left to a person" in document["output"]


def test_a_question_without_points_still_fails_if_a_step_is_refuted():
    assert results(grade(question(0.0, points=0.0, num_refuted=1)))["tests"][0]["status"] == "failed"
    assert results(grade(question(0.0, points=0.0)))["tests"][0]["status"] == "passed"


def test_a_submission_that_could_not_be_judged_says_so():
    document = results(grade(outcome="timed out", reason="it took too long."))
    check(document)
    assert document["score"] == 0
    assert "timed out" in document["output"]
    assert document["tests"][0]["status"] == "failed"


def test_hostile_text_is_plain_and_finite():
    text = as_results_json(grade(question(1.0, reasons=("a\r\nb\x1b[31m\x00" + "x" * 50_000,))))
    document = json.loads(text)
    check(document)
    assert "\x1b" not in document["tests"][0]["output"]
    assert len(text) < 40_000
