"""What a worker process does: it makes one page after another, and alone imports the judge."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from regard.claims.deciding import explain_claims
from regard.claims.page import render_claims
from regard.core.processes import GIB, Channel, Message, limit_resources
from regard.derivations.grading.batch import judge_in_worker
from regard.derivations.judging.memory import FindingMemory, remembering
from regard.derivations.report import counts_in_words, headline, label, nothing_found
from regard.derivations.report.marks import step_id
from regard.derivations.results import DocumentReport
from regard.derivations.tasks import Assignment, DocumentTask
from regard.explorer import explore


def make_pages(channel: Channel) -> None:
    """Answers each request with a page and what the app shows beside it."""
    limit_resources(memory=GIB)
    with remembering(FindingMemory()):
        for request in channel:
            channel.send(**_MAKERS[request["make"]](request))


def document_request(task: DocumentTask) -> Message:
    """The message that asks for the page of a document."""
    content = base64.b64encode(task.content).decode("ascii")
    return {"make": "document", "file": task.file, "content": content, "problem": task.assignment.problem_name}


def _judged_document(request: Message) -> dict[str, Any]:
    task = DocumentTask(
        file=request["file"],
        content=base64.b64decode(request["content"]),
        assignment=Assignment.for_problem(request["problem"]),
    )
    report, page = judge_in_worker(task, keeps_document=True, has_page=True)
    return {
        "page": page,
        "reason": report.reason,
        "problem": report.problem_title,
        "summary": counts_in_words(report.verdicts) or nothing_found(report),
        "steps": _steps(report) if page else [],
    }


def _steps(report: DocumentReport) -> list[dict[str, Any]]:
    """Where each step stands, what became of it, and its anchor in the page."""
    return [
        {
            "anchor": step_id(number),
            "where": verdict.to_dict()["where"],
            "standing": verdict.standing,
            "label": label(verdict),
            "text": headline(verdict),
        }
        for number, verdict in enumerate(report.verdicts)
    ]


_MAKERS: Mapping[str, Callable[[Message], dict[str, Any]]] = {
    "document": _judged_document,
    "claims": lambda _: {"page": render_claims(explain_claims())},
    "explorer": lambda _: {"page": explore().html},
}
