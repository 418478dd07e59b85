"""Every shipped problem has a right sheet that earns all points, and slips in it that cost some."""

import json
from pathlib import Path

import pytest

from regard.derivations.context.questions import guess_problem
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import DocumentReport
from regard.derivations.verify import judge_document

SHEETS = Path(__file__).parent / "sheets"
NAMES = sorted(path.stem for path in SHEETS.glob("*.md"))
SLIPS = [json.loads(line) for line in (SHEETS / "slips.jsonl").read_text(encoding="utf-8").splitlines()]


def sheet(name: str) -> str:
    return (SHEETS / f"{name}.md").read_text(encoding="utf-8")


def report(name: str, text: str) -> DocumentReport:
    return judge_document(read_text(text), load_problem(name))


def points(found: DocumentReport) -> float:
    return sum(question.score for question in found.questions)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_sheet_earns_every_point(name):
    found = report(name, sheet(name))
    assert [verdict.statement for verdict in found.verdicts if verdict.status != "holds"] == []
    assert points(found) == sum(question.points for question in load_problem(name).questions)


@pytest.mark.parametrize("slip", SLIPS, ids=[f"{slip['problem']}: {slip['wrong']}" for slip in SLIPS])
def test_a_slip_is_seen_where_it_stands_and_costs_points(slip):
    text = sheet(slip["problem"])
    assert text.count(slip["right"]) == 1
    found = report(slip["problem"], text.replace(slip["right"], slip["wrong"]))
    line = text[: text.index(slip["right"])].count("\n") + 1
    seen = {verdict.where.line for verdict in found.verdicts if verdict.where and verdict.outcome in _SEEN}
    assert line in seen
    assert points(found) < sum(question.points for question in load_problem(slip["problem"]).questions)


_SEEN = ("refuted", "doubtful", "wrong choice")


@pytest.mark.parametrize("name", NAMES)
def test_the_headings_of_a_sheet_name_its_problem(name):
    found = guess_problem(read_text(sheet(name)))
    assert found is not None
    assert found.name == name


def test_every_slip_belongs_to_a_sheet_and_every_sheet_has_one():
    assert {slip["problem"] for slip in SLIPS} == set(NAMES)
