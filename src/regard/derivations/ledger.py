"""Reports kept on disk as they come in, one JSON line each, so that a batch can stop at any time and go on later."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from regard.core.errors import InputError
from regard.derivations.reports import DocumentReport


class Ledger:
    """An append-only file of reports by their task's key; a torn or foreign line is as good as none.

    Only the place of each report is held in memory.
    """

    def __init__(self, path: Path, *, keeps_old: bool) -> None:
        self.path = path
        self._places: dict[str, int] = {}
        try:
            self._file = path.open("a+b" if keeps_old else "w+b")
        except OSError as error:
            raise InputError(
                f"Cannot write {path}: {(error.strerror or str(error)).lower()}. Name another folder."
            ) from error
        self._index()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> DocumentReport:
        self._file.seek(self._places[key])
        return DocumentReport.from_dict(json.loads(self._file.readline())["report"])

    def add(self, key: str, report: DocumentReport) -> None:
        """Appends a report; the line is on its way to the disk when this returns."""
        line = json.dumps({"key": key, "report": report.to_dict()}, separators=(",", ":")).encode("ascii")
        self._file.seek(0, 2)
        place = self._file.tell()
        self._file.write(line + b"\n")
        self._file.flush()
        self._places[key] = place

    def _index(self) -> None:
        """Finds every whole line; what a broken run left at the end is closed off with a line break."""
        self._file.seek(0)
        for place, line in self._lines():
            try:
                row = json.loads(line)
                DocumentReport.from_dict(row["report"])
                self._places[row["key"]] = place
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
        size = self._file.seek(0, 2)
        if size:
            self._file.seek(size - 1)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        place = 0
        for line in self._file:
            yield place, line
            place += len(line)
