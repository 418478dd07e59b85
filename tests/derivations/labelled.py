"""Labelled documents beside what the judge says of them: one row for every labelled step."""

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from regard.derivations.results import DocumentReport, StepVerdict

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
JUDGE = """
import pickle, sys
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read
from regard.derivations.verify import judge_document

problem = load_problem("cs224n-a4")
pickle.dump([judge_document(read(path), problem) for path in sys.argv[1:]], sys.stdout.buffer)
"""
MUST_HOLD = ("true", "approximate")
MUST_NOT_BE_REFUTED = (*MUST_HOLD, "unjudged")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A labelled step and the verdict on it, None if the judge has not seen it."""

    document: str
    label: dict
    verdict: StepVerdict | None

    @property
    def truth(self) -> str:
        return self.label["truth"]

    @property
    def status(self) -> str:
        return "absent" if self.verdict is None else self.verdict.status

    @property
    def is_false_alarm(self) -> bool:
        return self.truth in MUST_NOT_BE_REFUTED and self.status == "refuted"

    @property
    def is_missed(self) -> bool:
        return self.truth == "false" and self.status != "refuted"

    def __str__(self) -> str:
        written = f"{self.label['left']} {self.label['sign']} {self.label['right']}"
        why = "" if self.verdict is None else f": {self.verdict.reason} ({self.verdict.counterexample})"
        return f"{self.document}:{self.label['line']} {written} is {self.truth}, judged {self.status}{why}"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A whole folder of labelled documents, judged."""

    sheets: tuple[DocumentReport, ...]
    rows: tuple[Row, ...]

    @property
    def understood(self) -> float:
        """The share of all steps that could be read."""
        verdicts = [verdict for sheet in self.sheets for verdict in sheet.verdicts]
        return 1 - sum(verdict.outcome == "not understood" for verdict in verdicts) / len(verdicts)

    def count(self, truths: tuple[str, ...], status: str) -> int:
        return sum(row.truth in truths and row.status == status for row in self.rows)


def sheets_of(paths: Sequence[Path]) -> tuple[DocumentReport, ...]:
    """The documents judged under the shipped problem.

    By a process of its own: the checks of shapes that tests switch on take longer than the judge.
    """
    command = [sys.executable, "-c", JUDGE, *map(str, paths)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return tuple(pickle.loads(done.stdout))


@cache
def judged(folder: str) -> Judged:
    """Every document of a set, with its labels."""
    labels = labels_of(folder)
    sheets = sheets_of([HERE / folder / name for name in labels])
    rows = tuple(
        Row(document=name, label=label, verdict=verdict)
        for name, sheet in zip(labels, sheets, strict=True)
        for label, verdict in paired(labels[name], sheet.verdicts)
    )
    return Judged(sheets=sheets, rows=rows)


def labels_of(folder: str) -> dict[str, list[dict]]:
    """The labels of a set by document, in reading order."""
    by_document: dict[str, list[dict]] = {}
    for line in (HERE / folder / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        by_document.setdefault(label.pop("document"), []).append(label)
    return by_document


def text_of(folder: str, name: str) -> str:
    """The document as people read it."""
    return (HERE / folder / name).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


def paired(labels: list[dict], verdicts: tuple[StepVerdict, ...]) -> list[tuple[dict, StepVerdict | None]]:
    """Every label with its verdict: choices with choices, steps with steps, in reading order."""
    pairs: list[tuple[dict, StepVerdict | None]] = []
    for is_choice in (False, True):
        asked = [label for label in labels if (label["kind"] == "choice") == is_choice]
        given = [verdict for verdict in verdicts if (verdict.kind == "choice") == is_choice]
        pairs += zip(asked, given, strict=True) if len(asked) == len(given) else _matched(asked, given)
    return pairs


def _matched(labels: list[dict], verdicts: list[StepVerdict]) -> list[tuple[dict, StepVerdict | None]]:
    """Where the judge sees more or fewer steps than are labelled: the next one on the line with the same right side."""
    pairs, place = [], 0
    for label in labels:
        found = next((k for k in range(place, len(verdicts)) if _is_about(verdicts[k], label)), None)
        pairs.append((label, None if found is None else verdicts[found]))
        place = place if found is None else found + 1
    return pairs


def _is_about(verdict: StepVerdict, label: dict) -> bool:
    assert verdict.where is not None
    is_there = verdict.where.line == label["line"]
    return is_there and _squeezed(verdict.source or "").endswith(_squeezed(label["right"]))


def _squeezed(source: str) -> str:
    return re.sub(r"[\s&]+", "", source)
