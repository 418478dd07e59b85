"""The outputs of a batch: pages and Gradescope results as each report comes in, tables at the end, and a results file.

The results file has one JSON line per report. It is written only for batches with outputs; `--resume` reads it.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically
from regard.core.verdict import STATUSES
from regard.derivations.results import DocumentReport, PersonReason

_RESULTS = "regard-results.jsonl"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True)
class OutputPaths:
    """Files and folders for the outputs; None for an output that was not requested."""

    json: Path | None = None
    csv: Path | None = None
    gradescope: Path | None = None
    html: Path | None = None
    sarif: Path | None = None

    @property
    def page(self) -> Path | None:
        """The file for a single HTML page: a name that ends in .html, or an existing file."""
        if self.html is None or self.html.is_dir():
            return None
        return self.html if self.html.suffix.lower() in (".html", ".htm") or self.html.exists() else None

    @property
    def pages(self) -> Path | None:
        """The folder for HTML pages."""
        return self.html if self.page is None else None

    @property
    def results(self) -> Path | None:
        """The results file, beside the other outputs."""
        folder = self.gradescope or self.pages
        if folder is not None:
            return folder / _RESULTS
        file = self.csv or self.json or self.page or self.sarif
        return None if file is None else file.with_name(f"{file.name}.{_RESULTS}")


class BatchOutputs:
    """Writes the outputs of numbered submissions; `slugs` are the names of their results.

    Reports are kept in the results file, or in memory if there is none.
    """

    def __init__(
        self, paths: OutputPaths, slugs: Sequence[str], *, is_resumed: bool = False, line: int | None = None
    ) -> None:
        self.paths = paths
        self.slugs = slugs
        self.is_resumed = is_resumed
        self.line = line
        self._reports: dict[str, DocumentReport] | ResultsFile = {}
        self._keys: dict[int, str] = {}
        self._done: set[int] = set()
        self._questions: dict[str, None] = {}

    def __enter__(self) -> "BatchOutputs":
        """Creates the folders, and raises an InputError for an output that cannot be written."""
        paths = self.paths
        if paths.page and len(self.slugs) > 1:
            raise InputError(f"{paths.page} is one page, but there are {len(self.slugs)} documents. Name a folder.")
        if paths.results is None and self.is_resumed:
            raise InputError("--resume needs earlier results. Name an output: --gradescope, --html, --csv or --json.")
        for file in filter(None, (paths.json, paths.csv, paths.page, paths.sarif)):
            ensure_writable(file)
        for folder in filter(None, (paths.gradescope, paths.pages)):
            _create(folder)
        if paths.results is not None and self._is_resumable:
            self._reports = ResultsFile(paths.results, keeps_old=self.is_resumed)
        return self

    def __exit__(self, *exception: object) -> None:
        if isinstance(self._reports, ResultsFile):
            self._reports.close()

    def kept(self, number: int, key: str) -> DocumentReport | None:
        """The report from an earlier run, if it and its page are still valid; the key is remembered either way.

        Documents that timed out or crashed are tried again.
        """
        self._keys[number] = key
        page = self._page(number)
        if not self.is_resumed or key not in self._reports or (page and not page.exists()):
            return None
        report = self._reports[key]
        return report if report.outcome in ("judged", "unreadable") else None

    def add(self, number: int, report: DocumentReport, page: str | None = None) -> None:
        """Stores a report and writes what can be written at once."""
        if self.paths.gradescope is not None:
            from regard.derivations.grading.gradescope import results_json

            target = self.paths.gradescope / self.slugs[number] / "results.json"
            _create(target.parent)
            write_atomically(target, results_json(report))
        place = self._page(number)
        if page is not None and place is not None:
            _create(place.parent)
            write_atomically(place, page)
        key = self._keys.setdefault(number, f"submission {number}")
        if key not in self._reports or self._reports[key] != report:
            self._reports[key] = report
        self._done.add(number)
        self._questions.update(dict.fromkeys(row.id for row in report.questions))

    def finish(self) -> None:
        """Writes the tables of all submissions."""
        if self.paths.csv is not None:
            write_atomically(self.paths.csv, csv_lines(self.reports(), list(self._questions)))
        if self.paths.json is not None:
            write_atomically(self.paths.json, self.json())
        if self.paths.sarif is not None:
            from regard.derivations.report.sarif import reports_as_sarif

            write_atomically(self.paths.sarif, reports_as_sarif(report.on_line(self.line) for report in self.reports()))
        if self.paths.pages is not None:
            from regard.derivations.report.class_page import render_class

            names = (f"{self.slugs[number]}.html" for number in sorted(self._done))
            shown = (report.on_line(self.line) for report in self.reports())
            write_atomically(self.paths.pages / "index.html", render_class(zip(shown, names, strict=True)))

    def reports(self) -> Iterator[DocumentReport]:
        """Every report in the order of the submissions, read back one by one."""
        return (self._reports[self._keys[number]] for number in sorted(self._done))

    def json(self, *, is_ascii: bool = False) -> Iterator[str]:
        """The JSON of the run, piece by piece."""
        from regard.render.json import json_pieces

        verdicts = (verdict for report in self.reports() for verdict in report.on_line(self.line).verdicts)
        return json_pieces("verify", verdicts, documents=map(_document_row, self.reports()), is_ascii=is_ascii)

    def how_to_resume(self) -> str:
        """The message for someone who stopped in the middle."""
        done = f"Stopped after {len(self._done)} of {len(self.slugs)} documents."
        return f"{done} Run the same command with --resume to continue." if self._is_resumable else done

    @property
    def _is_resumable(self) -> bool:
        return self.paths.results is not None and (len(self.slugs) > 1 or self.is_resumed)

    def _page(self, number: int) -> Path | None:
        folder = self.paths.pages
        return self.paths.page if folder is None else folder / f"{self.slugs[number]}.html"


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"Cannot create the folder {folder}: {why}. Name another.") from error


def _document_row(report: DocumentReport) -> dict[str, Any]:
    """A report as the row of a document in JSON."""
    names = ("file", "outcome", "reason", "problem", "is_guessed", "understood", "score", "pending", "max_score")
    names = (*names, "needs_person", "num_ignored", "num_ineffective_comments")
    questions = [row.to_dict() for row in report.questions]
    return {**{name: getattr(report, name) for name in names}, "images": list(report.images), "questions": questions}


# -- CSV ---------------------------------------------------------------------------------------------------------------
def csv_lines(reports: Iterable[DocumentReport], questions: Sequence[str]) -> Iterator[str]:
    r"""One row per submission, four columns per question; a question that its problem does not ask stays empty.

    >>> next(csv_lines([], ["1b"])).split(",")[9:]
    ['score', 'pending', 'max_score', 'person', 'images', '1b state', '1b score', '1b pending', '1b person\r\n']
    """
    names = ("file", "outcome", "reason", "problem", *STATUSES, "understood", "score", "pending", "max_score", "person")
    names = (*names, "images")
    columns = ("state", "score", "pending", "person")
    yield _csv_line([*names, *(f"{question} {column}" for question in questions for column in columns)])
    for report in reports:
        rows = {row.id: row for row in report.questions}
        cells: list[object] = [report.file, report.outcome, report.reason, report.problem]
        cells += [report.counts[status] for status in STATUSES]
        share = None if report.understood is None else round(report.understood, 4)
        reasons = dict.fromkeys(reason for row in report.questions for reason in row.reasons)
        cells += [share, report.score, report.pending, report.max_score, "; ".join(reasons or _unjudged(report))]
        cells.append("; ".join(report.images))
        for row in (rows.get(question) for question in questions):
            cells += (
                [None] * len(columns) if row is None else [row.state, row.score, row.pending, "; ".join(row.reasons)]
            )
        yield _csv_line(cells)


def _unjudged(report: DocumentReport) -> tuple[str, ...]:
    return () if report.outcome == "judged" else (PersonReason.FILE,)


def _csv_line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow([_safe(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def _safe(cell: str) -> str:
    """Text on one line that no spreadsheet takes for a formula."""
    plain = cell.encode("utf-8", "replace").decode()
    plain = "".join(character if character.isprintable() else " " for character in plain)
    return f"'{plain}" if cell.startswith(_FORMULA_STARTS) or plain.startswith(_FORMULA_STARTS) else plain


# -- results file ------------------------------------------------------------------------------------------------------
class ResultsFile:
    """Reports on disk by the key of their task, one JSON line each; a torn or foreign line is ignored.

    A batch can stop at any time and resume later. Only the offset of each report is held in memory.
    """

    def __init__(self, path: Path, *, keeps_old: bool) -> None:
        self._offsets: dict[str, int] = {}
        try:
            self._file = path.open("a+b" if keeps_old else "w+b")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise InputError(f"Cannot write {path}: {why}. Name another folder.") from error
        self._index()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def __getitem__(self, key: str) -> DocumentReport:
        self._file.seek(self._offsets[key])
        return DocumentReport.from_dict(json.loads(self._file.readline())["report"])

    def __setitem__(self, key: str, report: DocumentReport) -> None:
        line = json.dumps({"key": key, "report": report.to_dict()}, separators=(",", ":")).encode("ascii")
        offset = self._file.seek(0, 2)
        self._file.write(line + b"\n")
        self._file.flush()
        self._offsets[key] = offset

    def _index(self) -> None:
        """Finds every complete line, and terminates a line that an interrupted run left incomplete."""
        self._file.seek(0)
        offset, line = 0, b"\n"
        for line in self._file:
            try:
                row = json.loads(line)
                DocumentReport.from_dict(row["report"])
                self._offsets[row["key"]] = offset
            except (ValueError, TypeError, KeyError, AttributeError):
                pass
            offset += len(line)
        if not line.endswith(b"\n"):
            self._file.write(b"\n")
