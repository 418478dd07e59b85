import csv
import io

import pytest

from regard.derivations.csv_table import rows
from regard.derivations.gradebook import Grade, QuestionGrade

COUNTS = {"proved": 0, "holds": 3, "refuted": 1, "undecided": 1}


def grade(file="a.md", **more) -> Grade:
    asked = QuestionGrade(id="1b", title="t", state="judged", points=4.0, score=2.5)
    usual = {"outcome": "judged", "reason": None, "problem": "p", "counts": COUNTS, "understood": 0.9}
    return Grade(**{"file": file, **usual, "questions": (asked,), "seconds": 1.0, **more})


def read(grades, questions):
    return list(csv.DictReader(io.StringIO("".join(rows(grades, questions)), newline="")))


def test_a_row_for_each_submission_and_two_columns_for_each_question():
    [row] = read([grade()], ["1b", "2"])
    assert (row["file"], row["holds"], row["refuted"], row["understood"]) == ("a.md", "3", "1", "0.9")
    assert (row["score"], row["max_score"]) == ("2.5", "4.0")
    assert (row["1b state"], row["1b score"], row["2 state"], row["2 score"]) == ("judged", "2.5", "", "")


@pytest.mark.parametrize("name", ["=1+1.md", "+x.md", "-x.md", "@x.md", "\t=x.md", "\r=x.md", "=cmd|' /C calc'!A0.md"])
def test_no_cell_is_a_formula(name):
    [row] = read([grade(name)], [])
    assert row["file"].startswith("'")


def test_names_with_quotes_commas_and_breaks_stay_in_their_cell():
    names = ['a",b.md', "a\nb.md", "名字.md", "a\udcffb.md"]
    found = [row["file"] for row in read(map(grade, names), [])]
    assert found[0] == names[0]
    assert found[1] == "a b.md"
    assert found[2] == names[2]
    assert found[3] == "a?b.md"


def test_a_reason_is_told_for_what_could_not_be_judged():
    [row] = read([grade(outcome="unreadable", reason="it is empty.", questions=())], ["1b"])
    assert (row["outcome"], row["reason"], row["1b state"]) == ("unreadable", "it is empty.", "")
