"""Whole answer sheets: cheating ones gain nothing, and honest ones get what a person gave them before.

The sheets and the hand grades in `sheets/` were written before the grader was read, but for nine cheating ones.
In `honest.tsv` and `slips.tsv`, whose sheets have slips in nearly every derivation, `-` is a question without an answer
and `w` one that is answered in words only, which is left out here.
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
    "slips": SHEETS,
}


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A sheet with the points per question that it may earn, if it cheats, or else that a person gave it."""

    name: str
    text: str
    points: dict[str, float]
    flagged: set[str]

    def judged(self) -> DocumentReport:
        document = read_text(self.text, kind=KINDS[Path(self.name).suffix], path=self.name)
        return judge_document(document, load_problem("cs224n-a4"))


def sheets_in(file: str) -> list[Sheet]:
    sheets = []
    for part in re.split(r"^===== ", (SHEETS / file).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        name, given, flagged = (field.strip() for field in head.split("|"))
        points = {key: float(value) for key, value in (pair.split("=") for pair in given.split())}
        sheets.append(Sheet(name=name, text=text, points=points, flagged=set(flagged.split())))
    return sheets


@pytest.mark.parametrize("sheet", sheets_in("cheating.txt"), ids=lambda sheet: sheet.name)
def test_a_cheating_sheet_gains_nothing_and_is_seen(sheet):
    rows = sheet.judged().questions
    assert {row.id: row.score for row in rows if row.score > sheet.points.get(row.id, 0.0)} == {}
    assert sheet.flagged - {row.id for row in rows if row.reasons} == set()


# -- honest sheets -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class HonestSheet:
    """Shares of the maximum: how far the certain points are from the hand grades, and how far if a person gives those.

    An answer in words, or with words where a step was asked for, is left out.
    """

    name: str
    difference: float
    lost: float
    is_flagged: bool


@cache
def honest_sheets(table: str = "honest.tsv") -> tuple[HonestSheet, ...]:
    header, *lines = (line.split("\t") for line in (SHEETS / table).read_text(encoding="utf-8").splitlines())
    problem, found = load_problem("cs224n-a4"), []
    for name, *grades in lines:
        folder, file = name.split("/")
        path = FOLDERS[folder] / file
        if path.exists():
            hand = dict(zip(header[1:], grades, strict=True))
            found.append(compared(name, judge_document(read(path), problem), hand))
    return tuple(found)


@cache
def terse_sheets() -> tuple[HonestSheet, ...]:
    questions = [question.id for question in load_problem("cs224n-a4").questions if question.required_steps]
    questions += [question.id for question in load_problem("cs224n-a4").questions if question.design or question.choice]
    return tuple(
        compared(
            sheet.name,
            sheet.judged(),
            {**dict.fromkeys(questions, "-"), **{k: f"{v}" for k, v in sheet.points.items()}},
        )
        for sheet in sheets_in("terse.txt")
    )


def compared(name: str, report: DocumentReport, hand: dict[str, str]) -> HonestSheet:
    difference = lost = total = 0.0
    is_flagged = False
    for row in report.questions:
        grade = hand.get(row.id, "w")
        if grade == "w" or PersonReason.WORDS in row.reasons:
            continue
        deserved = 0.0 if grade == "-" else float(grade)
        difference += abs(row.score - deserved)
        lost += max(0.0, row.score - deserved, deserved - row.score - row.pending)
        total += max(row.points, deserved)
        is_flagged = is_flagged or bool(row.reasons)
    total = max(total, 1.0)
    return HonestSheet(name=name, difference=difference / total, lost=lost / total, is_flagged=is_flagged)


def test_honest_sheets_get_what_a_person_gave_them():
    sheets = honest_sheets()
    assert len(sheets) >= 20
    assert sum(sheet.lost for sheet in sheets) / len(sheets) <= 0.03
    assert sum(sheet.difference for sheet in sheets) / len(sheets) <= 0.045


def test_terse_sheets_get_what_a_person_gave_them():
    sheets = terse_sheets()
    assert len(sheets) == 10
    assert sum(sheet.difference for sheet in sheets) / len(sheets) <= 0.02


def test_at_most_one_honest_sheet_in_ten_needs_a_person():
    sheets = [*honest_sheets(), *terse_sheets(), *honest_sheets("slips.tsv")]
    assert sum(sheet.is_flagged for sheet in sheets) / len(sheets) <= 0.1


def test_sheets_with_slips_that_no_rule_was_made_for_get_what_a_person_gave_them():
    sheets = honest_sheets("slips.tsv")[1::2]
    assert len(sheets) == 8
    assert sum(sheet.difference for sheet in sheets) / len(sheets) <= 0.05
    assert sum(sheet.is_flagged for sheet in sheets) <= 1
