"""Where the results of a batch go, and the keeper who files each as it comes in."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically
from regard.derivations import csv_table as csv
from regard.derivations.class_list import DocumentRow
from regard.derivations.gradescope import as_results_json
from regard.derivations.grading import grade
from regard.derivations.ledger import Ledger
from regard.derivations.reports import DocumentReport, only_line
from regard.derivations.submissions import Submission
from regard.render.json import json_pieces

_LEDGER = "regard-results.jsonl"


@dataclass(frozen=True, kw_only=True)
class Destinations:
    """Files and folders for the results; None where nobody asked for them."""

    json: Path | None = None
    csv: Path | None = None
    gradescope: Path | None = None
    html: Path | None = None

    @property
    def page(self) -> Path | None:
        """The one file that the HTML goes to: named like a page, or there already and no folder."""
        if self.html is None or self.html.is_dir():
            return None
        return self.html if self.html.suffix.lower() in (".html", ".htm") or self.html.exists() else None

    @property
    def pages(self) -> Path | None:
        """The folder that the HTML goes to."""
        return self.html if self.page is None else None

    def ledger(self) -> Path | None:
        """The file beside the outputs in which reports are kept between runs."""
        folder = self.gradescope or self.pages
        if folder is not None:
            return folder / _LEDGER
        file = self.csv or self.json or self.page
        return None if file is None else file.with_name(f"{file.name}.{_LEDGER}")


class Keeper:
    """Files reports by the number of their submission; holds only one line of each in memory.

    Pages and Gradescope's results are written as they come in, the tables when all is done.
    """

    def __init__(
        self,
        destinations: Destinations,
        submissions: Sequence[Submission],
        *,
        is_resumed: bool = False,
        line: int | None = None,
    ) -> None:
        self.destinations = destinations
        self.submissions = submissions
        self.is_resumed = is_resumed
        self.line = line
        self._rows: dict[int, DocumentRow] = {}
        self._keys: dict[int, str] = {}
        self._old: set[int] = set()
        self._questions: dict[str, None] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Keeper":
        """Makes the folders, and refuses before the work starts what could not be written after it."""
        places = self.destinations
        if places.page and len(self.submissions) > 1:
            raise InputError(
                f"{places.page} is one page, and there are {len(self.submissions)} documents. Name a folder."
            )
        for file in filter(None, (places.json, places.csv, places.page)):
            ensure_writable(file)
        for folder in filter(None, (places.gradescope, places.pages)):
            _make(folder)
        self._ledger = self._stack.enter_context(self._open_ledger())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def rows(self) -> list[DocumentRow]:
        """A row for each submission filed so far, in order."""
        return [self._rows[number] for number in sorted(self._rows)]

    def kept(self, number: int, key: str) -> DocumentReport | None:
        """The report from an earlier run, if it and its page are still good; the key is remembered either way.

        What timed out or crashed is tried again.
        """
        self._keys[number] = key
        page = self._page(number)
        if not self.is_resumed or key not in self._ledger or (page and not page.exists()):
            return None
        report = self._ledger[key]
        if report.outcome not in ("judged", "unreadable"):
            return None
        self._old.add(number)
        return report

    def file(self, number: int, report: DocumentReport, page: str | None = None) -> None:
        """Takes a report in and writes what can be written at once."""
        key = self._keys.setdefault(number, f"submission {number}")
        marks = grade(report)
        results, place = self.destinations.gradescope, self._page(number)
        if results is not None:
            target = results / self.submissions[number].slug / "results.json"
            _make(target.parent)
            write_atomically(target, as_results_json(marks))
        if page is not None and place is not None:
            _make(place.parent)
            write_atomically(place, page)
        if number not in self._old:
            self._ledger.add(key, report)
        self._questions.update(dict.fromkeys(question.id for question in report.questions))
        self._rows[number] = _row(only_line(report, self.line) if self.line else report, marks.score, marks.max_score)

    def finish(self) -> None:
        """Writes the tables of all submissions."""
        if self.destinations.csv is not None:
            grades = (grade(report) for report in self.reports())
            write_atomically(self.destinations.csv, csv.rows(grades, list(self._questions)))
        if self.destinations.json is not None:
            write_atomically(self.destinations.json, self.json())
        if self.destinations.pages is not None:
            from regard.derivations.class_page import render_class

            pages = [(self._rows[number], f"{self.submissions[number].slug}.html") for number in sorted(self._rows)]
            write_atomically(self.destinations.pages / "index.html", render_class(pages))

    def reports(self) -> Iterator[DocumentReport]:
        """Every report, in the order of the submissions, read back one by one."""
        return (self._ledger[self._keys[number]] for number in sorted(self._rows))

    def json(self, *, is_ascii: bool = False) -> Iterator[str]:
        """The JSON of the run, piece by piece."""
        shown = (only_line(report, self.line) if self.line else report for report in self.reports())
        verdicts = (verdict for report in shown for verdict in report.verdicts)
        return json_pieces("verify", verdicts, documents=map(_document, self.reports()), is_ascii=is_ascii)

    def how_to_go_on(self) -> str:
        """What to say to someone who stopped in the middle."""
        done = f"Stopped after {len(self._rows)} of {len(self.submissions)} documents."
        return f"{done} The same command with --resume goes on from there." if self._is_lasting else done

    @property
    def _is_lasting(self) -> bool:
        return self.destinations.ledger() is not None and (len(self.submissions) > 1 or self.is_resumed)

    def _open_ledger(self) -> Ledger:
        path = self.destinations.ledger()
        if path is None and self.is_resumed:
            raise InputError(
                "--resume needs results to go on from. Name an output: --gradescope, --html, --csv or --json."
            )
        if path is None or not self._is_lasting:
            path = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="regard-"))) / _LEDGER
        return Ledger(path, keeps_old=self.is_resumed)

    def _page(self, number: int) -> Path | None:
        folder = self.destinations.pages
        return self.destinations.page if folder is None else folder / f"{self.submissions[number].slug}.html"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the folder {folder}: {(error.strerror or str(error)).lower()}. Name another."
        ) from error


def _row(report: DocumentReport, score: float, max_score: float) -> DocumentRow:
    return DocumentRow(
        file=report.file,
        outcome=report.outcome,
        reason=report.reason,
        problem=report.problem,
        is_guessed=report.is_guessed,
        counts=report.counts,
        understood=report.understood,
        score=score,
        max_score=max_score,
    )


def _document(report: DocumentReport) -> dict[str, Any]:
    """A report as the row of a document in JSON."""
    marks = grade(report)
    claims = {row.id: list(row.claims) for row in report.questions}
    return {
        "file": report.file,
        "outcome": report.outcome,
        "reason": report.reason,
        "problem": report.problem,
        "is_guessed": report.is_guessed,
        "understood": report.understood,
        "score": marks.score,
        "max_score": marks.max_score,
        "questions": [
            {
                "id": q.id,
                "title": q.title,
                "state": q.state,
                "points": q.points,
                "score": q.score,
                "claims": claims[q.id],
            }
            for q in marks.questions
        ],
    }
