"""What judges documents in a process of its own: the newest text of each, with whatever was found before remembered."""

import gc
import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from regard.core.errors import InputError, did_you_mean
from regard.core.processes import Channel
from regard.derivations.cli import verify
from regard.derivations.judging.memory import FindingMemory, remembering
from regard.derivations.problems.problem import load_problem, parse_problem
from regard.derivations.reading.files import declarations_beside
from regard.derivations.results import INFERRED, DocumentReport
from regard.derivations.tasks import Assignment, DocumentTask
from regard.derivations.verify import judge_task

Request = Mapping[str, Any]

_ALLOCATIONS_PER_COLLECTION = 500_000  # within an answer; little of what judging allocates is cyclic
_ANSWERS_PER_FULL_COLLECTION = 100


class Superseded(Exception):
    """A newer text of the document has come in, so that nobody needs the verdicts on this one."""


class _Inbox:
    """The newest request for each document, in the order in which they came in."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._arrived: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._waiting: dict[str, Request] = {}
        self._is_closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for request in self._channel:
            self._arrived.put(request)
        self._arrived.put(None)

    def __iter__(self) -> Iterator[Request]:
        while True:
            self._collect(waits=not self._waiting)
            if self._is_closed:
                return
            yield self._waiting.pop(next(iter(self._waiting)))

    def has(self, key: str) -> bool:
        """True if there is another request for the same document, or nobody waits for any."""
        self._collect(waits=False)
        return key in self._waiting or self._is_closed

    def _collect(self, *, waits: bool) -> None:
        while waits or not self._arrived.empty():
            request, waits = self._arrived.get(), False
            if request is None:
                self._is_closed = True
                return
            self._waiting[request["key"]] = request


def run_worker(channel: Channel) -> None:
    """Answers requests until there are no more: the verdicts on a text, or the words of a claim."""
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_PER_COLLECTION)
    inbox = _Inbox(channel)
    current = ""

    def end_if_superseded() -> None:
        if inbox.has(current):
            raise Superseded

    with remembering(FindingMemory(before_each=end_if_superseded)):
        for number, request in enumerate(inbox, start=1):
            current = request["key"]
            try:
                answer = _claim(request) if "claim" in request else _judged(request)
            except Superseded:
                continue
            except InputError as error:
                answer = {"failure": str(error)}
            channel.send(key=current, version=request["version"], **answer)
            gc.collect(1 if number % _ANSWERS_PER_FULL_COLLECTION else 2)  # now, while nobody waits


def _claim(request: Request) -> dict[str, Any]:
    from regard.claims import all_claims

    claims, name = all_claims(), str(request["claim"])
    if name not in claims:
        raise InputError(f"There is no claim '{name}'. {did_you_mean(name, claims)}".rstrip())
    claim = claims[name]
    said = f"{claim.id}: {claim.statement} ({claim.expected})\n\n{claim.derivation}"
    return {"claim": f"{said}\n\nEvidence: regard claims --explain {claim.id}"}


def _judged(request: Request) -> dict[str, Any]:
    """The verdicts on a text under the settings of its project; files beside it count as they are stored."""
    path = None if request["path"] is None else Path(request["path"])
    assignment = _assignment("-" if path is None else str(path))
    task = DocumentTask(
        file=request["file"],
        content=request["text"].encode("utf-8", "replace"),
        assignment=assignment,
        declarations="" if path is None else declarations_beside(path),
    )
    report = judge_task(task, has_questions=False)
    return {"steps": list(_steps(report, assignment))}


def _assignment(path: str) -> Assignment:
    """How `regard verify` would judge a file without options; in an editor, nothing is graded."""
    try:
        options = verify.make_context("verify", [path]).params
    except click.ClickException as error:
        raise InputError(error.format_message()) from None
    return Assignment.for_problem(
        options["problem"], is_strict=options["is_strict"], seed=options["seed"], is_graded=False
    )


def _steps(report: DocumentReport, assignment: Assignment) -> Iterator[dict[str, Any]]:
    document = report.document
    assert document is not None
    claims = _claims_of(report, assignment)
    for verdict in report.verdicts:
        span = document.span_at(verdict.span[0])
        formula = None if span is None else asdict(document.extent(span.start, span.end))
        yield {"verdict": verdict.to_dict(), "formula": formula, "claims": claims.get(verdict.question or "", [])}


def _claims_of(report: DocumentReport, assignment: Assignment) -> dict[str, list[str]]:
    """The claims that bear on each question."""
    if report.problem in (None, INFERRED):
        return {}
    text = assignment.problem_text
    problem = load_problem(report.problem) if text is None else parse_problem(text)
    return {question.id: list(question.claims) for question in problem.questions}
