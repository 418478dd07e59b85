"""Judges a batch of documents in worker processes and writes the results as they come in.

One bad file never stops the batch: a file that cannot be read, hangs or crashes becomes a report that says so.
"""

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from regard import __version__
from regard.core.errors import InputError
from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits, run_tasks
from regard.derivations.grading.outputs import BatchOutputs, OutputPaths
from regard.derivations.reading.files import (
    KINDS,
    MAX_BYTES,
    declarations_beside,
    documents_in,
    guess_suffix,
    images_in,
    stored_bytes,
)
from regard.derivations.results import DocumentReport
from regard.derivations.tasks import ANSWERS_SUFFIX, STANDARD_INPUT, Assignment, DocumentTask

T = TypeVar("T")
Progress = Callable[[int, int], None]
# A report, and its page if one was asked for.
Judged = tuple[DocumentReport, str | None]

_MAX_SHOWN = 8
_UNSAFE = re.compile(r"[^\w.\- ]")
_MAX_NAME = 60
_NUM_SEARCHED_BYTES = 4096
_INCLUDED = re.compile(rb"\\include(?:graphics|pdf|svg)[^{}\n]{0,300}\{([^{}\n]{1,300})\}")
_ALLOCATIONS_PER_COLLECTION = 50_000


class BatchStopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a batch; the message says what is done and how to resume."""


# -- what to judge -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Submission:
    """A file to judge; `file` is its name in reports, `slug` the unique name of its results.

    `is_named` is true if its own path was given, and false if it was found in a folder. `content` is what was read from
    standard input. `images_beside` are the names of the pictures that came with it.
    """

    path: Path
    file: str
    slug: str
    is_named: bool
    content: bytes | None = None
    images_beside: tuple[str, ...] = ()

    def read(self) -> bytes:
        """The bytes to judge; raises an InputError if there are none."""
        return stored_bytes(self.path, follows_link=self.is_named) if self.content is None else self.content


def find_submissions(
    paths: Iterable[str], *, input_format: str | None = None, is_grading: bool = False
) -> tuple[Submission, ...]:
    """Every file that the paths name or contain, once each, in the order of the paths; - is standard input.

    Files with the same content are different submissions, and so are links, whatever they point to. If they are graded,
    a folder among those of other students that has no document is a submission too: nobody is missing. So is a picture
    that neither lies beside a single document nor is mentioned by one.
    """
    paths = tuple(paths)
    if input_format is not None and "-" not in paths:
        raise InputError(f"--format {input_format} is for standard input, and a file's name says its own. Omit it.")
    taken: set[str] = set()
    found: dict[str, Submission] = {}
    for text in paths:
        if text == "-":
            found.setdefault(text, _standard_input(input_format, taken))
            continue
        given = Path(text)
        is_named = not given.is_dir()
        documents = [given] if is_named else _documents_in(given, is_grading=is_grading)
        beside = _images_by_document(given, documents) if is_grading and not is_named else {}
        alone = beside.pop(None, [])
        for path in sorted([*documents, *alone]):
            inside = path.name if is_named else os.path.relpath(path, given)
            submission = Submission(
                path=path,
                file=_printable(str(path)),
                slug=_slug(inside, taken),
                is_named=is_named,
                images_beside=tuple(_printable(os.path.relpath(image, path.parent)) for image in beside.get(path, ())),
            )
            found.setdefault(os.path.normpath(Path.cwd() / path), submission)
    return tuple(found.values())


def _standard_input(input_format: str | None, taken: set[str]) -> Submission:
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    suffix = guess_suffix(content.decode("utf-8", "replace")) if input_format is None else f".{input_format}"
    return Submission(
        path=Path("-"),
        file=STANDARD_INPUT + suffix,
        slug=_slug(f"stdin{suffix}", taken),
        is_named=True,
        content=content,
    )


def _documents_in(folder: Path, *, is_grading: bool) -> list[Path]:
    try:
        found = sorted([*documents_in(folder), *_answer_files_in(folder), *_linked_folders_in(folder)])
    except OSError as error:
        raise InputError(f"{folder} can't be listed: {(error.strerror or str(error)).lower()}.") from None
    if not found:
        known = ", ".join((*KINDS, ANSWERS_SUFFIX))
        raise InputError(f"There are no documents in {folder}. Supported file types: {known}.")
    return sorted([*found, *_folders_without(found, folder)]) if is_grading else found


def _folders_without(documents: Iterable[Path], folder: Path) -> Iterator[Path]:
    """The folders beside those of the documents that have none, if most of what holds documents is a folder."""
    taken = {path.relative_to(folder).parts[0] for path in documents}
    if 2 * sum((folder / name).is_dir() for name in taken) > len(taken):
        yield from (
            path for path in folder.iterdir() if path.is_dir() and path.name[0] != "." and path.name not in taken
        )


def _images_by_document(folder: Path, documents: Sequence[Path]) -> dict[Path | None, list[Path]]:
    """The pictures of a folder by the document that they came with, None for those that are submissions of their own.

    Of several documents in a folder, the report on the one that mentions a picture names it.
    """
    images = images_in(folder)
    by_folder: dict[Path, list[Path]] = {}
    for path in documents:
        by_folder.setdefault(path.parent, []).append(path)
    mentioned = _mentioned(images, documents)
    found: dict[Path | None, list[Path]] = {}
    for image in images:
        above = [place for place in image.parents if place.is_relative_to(folder)]
        beside = next((by_folder[place] for place in above if place in by_folder), [])
        has_its_folder = any(place in documents for place in above)  # which has no document, and says so
        if len(beside) == 1 and not has_its_folder:
            found.setdefault(beside[0], []).append(image)
        elif image not in mentioned and not has_its_folder:
            found.setdefault(None, []).append(image)
    return found


def _mentioned(images: Sequence[Path], documents: Iterable[Path]) -> set[Path]:
    """The pictures whose names stand in one of the documents; LaTeX includes them without their suffix, too."""
    found: set[Path] = set()
    for path in documents if images else ():
        with suppress(InputError):
            content = stored_bytes(path, follows_link=False)
            included = {name.rpartition(b"/")[2] for name in _INCLUDED.findall(content)}
            found.update(
                image for image in images if os.fsencode(image.name) in content or os.fsencode(image.stem) in included
            )
    return found


def _answer_files_in(folder: Path) -> Iterator[Path]:
    """The TOML files that declare themselves as answers, and what only has such a name; a folder may hold others."""
    from regard.derivations.problems.answers import SCHEMA

    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place) / name
            if name.endswith(ANSWERS_SUFFIX) and not name.startswith(".") and _mentions(path, SCHEMA):
                yield path


def _linked_folders_in(folder: Path) -> Iterator[Path]:
    """The links to folders in the place of a student's own: they are not followed, and named as such."""
    return (path for path in folder.iterdir() if path.is_symlink() and path.is_dir() and not path.name.startswith("."))


def _mentions(path: Path, schema: str) -> bool:
    """True if a file begins with the schema, or is none that could be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return True
        with path.open("rb") as file:
            return schema.encode() in file.read(_NUM_SEARCHED_BYTES)
    except OSError:
        return False


def _printable(name: str) -> str:
    """The name as text that every output can encode; bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def _slug(inside: str, taken: set[str]) -> str:
    """A relative path that is safe on any system, with a number if it is already taken."""
    parts = [_UNSAFE.sub("_", _printable(part)).strip(". ") or "_" for part in Path(inside).parts]
    slug = "/".join(f"_{part[1:]}" if part.startswith("-") else part[:_MAX_NAME] for part in parts)
    stem, dot, suffix = slug.rpartition(".") if "." in slug else (slug, "", "")
    number = 1
    while slug.lower() in taken:
        number += 1
        slug = f"{stem}~{number}{dot}{suffix}"
    taken.add(slug.lower())
    return slug


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """The arguments of `regard verify` as they were typed."""

    paths: tuple[str, ...]
    problem: str | None = None
    json_file: str | None = None
    html: str | None = None
    sarif_file: str | None = None
    gradescope: str | None = None
    csv_file: str | None = None
    is_strict: bool = False
    jobs: int = 1
    time_limit: float = 60.0
    is_resumed: bool = False
    scheduler: str | None = None
    line: int | None = None
    seed: int = 0
    input_format: str | None = None

    def __post_init__(self) -> None:
        if self.line is not None and self.line < 1:
            raise InputError(f"There is no line {self.line}. Lines count from 1.")

    @property
    def is_grading(self) -> bool:
        """True if points are asked for: a problem is named, or an output that lists them."""
        return not self.problem is self.gradescope is self.csv_file is None


# -- judging -----------------------------------------------------------------------------------------------------------
class DocumentBatch:
    """The documents of one request and a summary of their reports; a context manager that opens the outputs.

    `shown` has the reports on up to eight documents together with their text. `counts` and `guessed_problems` sum up
    all reports, or only their steps on the requested line.
    """

    def __init__(self, request: BatchRequest) -> None:
        self.request = request
        self.submissions = find_submissions(
            request.paths, input_format=request.input_format, is_grading=request.is_grading
        )
        self.shown: dict[int, DocumentReport] = {}
        self.counts: Counter[str] = Counter()
        self.num_unjudged = 0
        self.guessed_problems: set[str] = set()
        self._assignment = Assignment.for_problem(
            request.problem, is_strict=request.is_strict, seed=request.seed, is_graded=request.is_grading
        )
        self._limits = PoolLimits(jobs=min(request.jobs, max(len(self.submissions), 1)), seconds=request.time_limit)
        paths = OutputPaths(
            json=_path(None if request.json_file == "-" else request.json_file),
            csv=_path(request.csv_file),
            gradescope=_path(request.gradescope),
            html=_path(request.html),
            sarif=_path(request.sarif_file),
        )
        slugs = [submission.slug for submission in self.submissions]
        self.outputs = BatchOutputs(paths, slugs, is_resumed=request.is_resumed, line=request.line)

    def __enter__(self) -> "DocumentBatch":
        self.outputs.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.outputs.__exit__(*exception)

    def run(self, *, work: Callable[[DocumentTask], Judged] | None = None, progress: Progress | None = None) -> None:
        """Judges every submission and writes the outputs.

        A single file that was named and cannot be read is an InputError; in a batch it is a report like any other.
        """
        total = len(self.submissions)
        progress = progress or (lambda _, __: None)
        progress(0, total)
        try:
            for done, (number, report, page) in enumerate(self._results(work or self._default_work()), start=1):
                if total == 1 and self.submissions[0].is_named and report.outcome == "unreadable":
                    raise InputError(report.reason or "")
                self._add(number, report, page)
                progress(done, total)
            self.outputs.finish()
        except KeyboardInterrupt:
            raise BatchStopped(self.outputs.how_to_resume()) from None

    def reports(self) -> Iterator[DocumentReport]:
        """Every report in the order of the submissions, limited to the requested line."""
        return (report.on_line(self.request.line) for report in self.outputs.reports())

    def _default_work(self) -> Callable[[DocumentTask], Judged]:
        request = self.request
        is_shown = len(self.submissions) <= _MAX_SHOWN and not request.is_resumed and request.json_file != "-"
        return partial(judge_in_worker, keeps_document=is_shown, has_page=request.html is not None)

    def _add(self, number: int, report: DocumentReport, page: str | None) -> None:
        if report.document is not None:
            self.shown[number] = report
        self.outputs.add(number, replace(report, document=None), page)
        self.counts.update(report.on_line(self.request.line).counts)
        self.num_unjudged += report.outcome != "judged"
        if report.is_guessed and report.problem:
            self.guessed_problems.add(report.problem)

    def _results(self, work: Callable[[DocumentTask], Judged]) -> Iterator[tuple[int, DocumentReport, str | None]]:
        """The number, report and page of every submission as they come in."""
        without_work: list[tuple[int, DocumentReport, None]] = []

        def tasks() -> Iterator[DocumentTask]:
            for number, submission in enumerate(self.submissions):
                try:
                    content = submission.read()
                except InputError as error:
                    failed = DocumentReport.failed(submission.file, "unreadable", _printable(str(error)))
                    without_work.append((number, failed, None))
                    continue
                task = DocumentTask(
                    file=submission.file,
                    content=content,
                    assignment=self._assignment,
                    number=number,
                    declarations=declarations_beside(submission.path),
                    images_beside=submission.images_beside,
                )
                kept = self.outputs.kept(number, task.key(__version__))
                if kept is None:
                    yield task
                else:
                    without_work.append((number, kept, None))

        for task, result in self._run_tasks(tasks(), work):
            yield from _drained(without_work)
            if isinstance(result, Ended):
                report = DocumentReport.failed(task.file, result.outcome, f"{task.file}: {result.reason}")
                yield task.number, report, None
            else:
                yield task.number, *result
        yield from _drained(without_work)

    def _run_tasks(
        self, tasks: Iterator[DocumentTask], work: Callable[[DocumentTask], Judged]
    ) -> Iterator[tuple[DocumentTask, Judged | Ended]]:
        if self.request.scheduler is None:
            return run_tasks(tasks, work, self._limits)
        from regard.core.dask_cluster import run_on_cluster

        return run_on_cluster(tasks, work, self._limits, self.request.scheduler)


def judge_in_worker(task: DocumentTask, *, keeps_document: bool = False, has_page: bool = False) -> Judged:
    """Runs in a worker process, which alone imports the judge; a file that cannot be read is a report that says so."""
    from regard.derivations.verify import judge_task

    # Little here is cyclic, so it is enough to look for cycles now and then.
    gc.set_threshold(_ALLOCATIONS_PER_COLLECTION)
    try:
        report = judge_task(task)
    except InputError as error:
        return DocumentReport.failed(task.file, "unreadable", str(error)), None
    page = None
    if has_page:
        from regard.derivations.report.page import render_document

        page = render_document(report)
    return report if keeps_document else replace(report, document=None), page


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _drained(items: list[T]) -> Iterator[T]:
    while items:
        yield items.pop(0)
