"""Whole answer sheets: cheating ones gain nothing, and honest ones get what a person gave them before.

The sheets and the hand grades in `sheets/` were written before the grader was read. In `honest.tsv`, `-` is a question
without an answer and `w` one that is answered in words only, which is left out here.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import KINDS, read, read_text
from regard.derivations.results import DocumentReport, PersonReason
from regard.derivations.verify import judge_document

SHEETS = Path(__file__).parent / "sheets"
SHARED = Path(__file__).parents[4] / "shared"
FOLDERS = {
    "samples": SHARED / "samples",
    "real": SHARED / "real",
    "careless": SHEETS.parents[1] / "careless_homework",
    "terse": SHEETS,
}
WORDS = {PersonReason.WORDS}


@dataclass(frozen=True, kw_only=True)
class CheatingSheet:
    name: str
    text: str
    allowed: dict[str, float]
    flagged: set[str]


def cheating_sheets() -> list[CheatingSheet]:
    sheets = []
    for part in re.split(r"^===== ", (SHEETS / "cheating.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        name, allowed, flagged = (field.strip() for field in head.split("|"))
        points = {key: float(value) for key, value in (pair.split("=") for pair in allowed.split())}
        sheets.append(CheatingSheet(name=name, text=text, allowed=points, flagged=set(flagged.split())))
    return sheets


@pytest.mark.parametrize("sheet", cheating_sheets(), ids=lambda sheet: sheet.name)
def test_a_cheating_sheet_gains_nothing_and_is_seen(sheet):
    document = read_text(sheet.text, kind=KINDS[Path(sheet.name).suffix], path=sheet.name)
    rows = judge_document(document, load_problem("cs224n-a4")).questions
    assert {row.id: row.score for row in rows if row.score > sheet.allowed.get(row.id, 0.0)} == {}
    assert sheet.flagged - {row.id for row in rows if row.reasons} == set()


# -- honest sheets -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class HonestSheet:
    """The mean difference between points and hand grades, as a share of the maximum, and whether a person must look."""

    name: str
    difference: float
    is_flagged: bool


@cache
def honest_sheets() -> list[HonestSheet]:
    header, *lines = (line.split("\t") for line in (SHEETS / "honest.tsv").read_text(encoding="utf-8").splitlines())
    paths = [(line[0], FOLDERS[line[0].split("/")[0]] / line[0].split("/")[1]) for line in lines]
    grades = [dict(zip(header[1:], line[1:], strict=True)) for line in lines]
    problem = load_problem("cs224n-a4")
    return [
        compared(name, judge_document(read(path), problem), hand)
        for (name, path), hand in zip(paths, grades, strict=True)
        if path.exists()
    ]


def compared(name: str, report: DocumentReport, hand: dict[str, str]) -> HonestSheet:
    difference = total = 0.0
    is_flagged = False
    for row in report.questions:
        grade = hand.get(row.id, "w")
        if grade == "w" or set(row.reasons) == WORDS:
            continue
        deserved = 0.0 if grade == "-" else float(grade)
        difference += abs(row.score - deserved)
        total += max(row.points, deserved)
        is_flagged = is_flagged or bool(row.reasons)
    return HonestSheet(name=name, difference=difference / max(total, 1.0), is_flagged=is_flagged)
