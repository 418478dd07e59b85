"""The results.json of a submission for Gradescope.

The format is https://gradescope-autograders.readthedocs.io/en/latest/specs/. An entry without a score and without a
status is informational. Outputs are HTML in which everything that a submission says is escaped or typeset as MathML.
"""

import html
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from regard.derivations.report import PLACED, images_in_words, part_in_words, plural, reasons_in_words
from regard.derivations.results import DocumentReport, GradedPart, QuestionRow, StepVerdict, SubmittedFile
from regard.render.mathml import typeset
from regard.render.page import printable

_MAX_OUTPUT = 20_000
_MAX_STEPS = 40
_MAX_SOURCE = 600


def results_json(report: DocumentReport) -> str:
    """The text of results.json."""
    return json.dumps(results(report), indent=1, allow_nan=False) + "\n"


def results(report: DocumentReport) -> dict[str, Any]:
    """The results as Gradescope's specification asks."""
    return {
        "score": report.score,
        "execution_time": round(report.seconds, 2),
        "output": _limited([f"<p>{html.escape(_summary(report))}</p>", *map(_file, report.files)]),
        "output_format": "html",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": list(_entries(report)) or [_failure(report)],
        "extra_data": {
            "max_score": report.max_score,
            "pending": report.pending,
            "needs_person": report.needs_person,
            "reasons": sorted({reason for row in report.questions for reason in row.reasons}),
            "problem": report.problem,
            "outcome": report.outcome,
        },
    }


def _summary(report: DocumentReport) -> str:
    if report.outcome != "judged":
        return f"The submission could not be judged ({report.outcome}): {report.reason} A person must grade it."
    counts = ", ".join(f"{number} {status}" for status, number in report.counts.items() if number) or "none"
    rest = f" A person decides on {report.pending:g} more." if report.needs_person else ""
    share = "" if report.understood is None else f"; {report.understood:.0%} understood"
    images = f" {found}" if (found := images_in_words(report)) else ""
    return f"{report.score:g} of {report.max_score:g} points are certain.{rest} Steps: {counts}{share}.{images}"


def _file(file: SubmittedFile) -> str:
    said = {"judged": f"{plural(file.num_steps, 'step')} read", "ignored": "not a document, not read"}
    what = said.get(file.outcome, f"{file.outcome}. {file.reason}")
    return f"<p><b>{html.escape(PurePath(file.name).name)}</b>: {html.escape(what)}</p>"


def _entries(report: DocumentReport) -> Iterator[dict[str, Any]]:
    for row in report.questions:
        verdicts = report.verdicts_on(row.id)
        is_passed = row.score >= row.points and not any(verdict.status == "refuted" for verdict in verdicts)
        score = {"score": row.score, "max_score": row.points, "status": "passed" if is_passed else "failed"}
        remark = "needs a person" if row.reasons else ""
        yield {**score, **_entry(row, [*_why(row, verdicts), *_steps(verdicts, "refuted")], remark=remark)}
        if undecided := _steps(verdicts, "undecided"):
            yield _entry(row, undecided, remark="undecided, no points lost")


def _why(row: QuestionRow, verdicts: Sequence[StepVerdict]) -> Iterator[str]:
    """What earned what, why a person must look, and how the answer was found."""
    if row.state == "unanswered" and not row.reasons:
        yield "<p>unanswered</p>"
        return
    by_id = {verdict.id: verdict for verdict in verdicts}
    yield f"<ul>{''.join(f'<li>{_part(part, by_id)}</li>' for part in row.parts)}</ul>"
    if row.reasons:
        pending = plural(round(row.pending, 2), "point")
        yield f"<p>A person decides on {pending}: {html.escape(reasons_in_words(row.reasons))}.</p>"
    yield f"<p>{PLACED[row.placed]}</p>"


def _part(part: GradedPart, by_id: dict[str, StepVerdict]) -> str:
    asked = html.escape(part.asked) if part.kind in ("choice", "words") else _formula(part.asked)
    verdict = by_id.get(part.step or "")
    where = f" ({_place(verdict)})" if verdict is not None else ""
    return f"{asked}: {html.escape(part_in_words(part))}{where}"


def _steps(verdicts: Sequence[StepVerdict], status: str) -> list[str]:
    found = [verdict for verdict in verdicts if verdict.status == status]
    shown = [_step(verdict) for verdict in found[:_MAX_STEPS]]
    more = [f"<li>and {len(found) - _MAX_STEPS} more</li>"] if len(found) > _MAX_STEPS else []
    return [f"<ul>{''.join([*shown, *more])}</ul>"] if shown else []


def _step(verdict: StepVerdict) -> str:
    details = "; ".join(filter(None, (verdict.reason, *verdict.notes, verdict.counterexample)))
    source = _formula(verdict.source) if verdict.kind != "choice" else html.escape(verdict.statement)
    outcome = html.escape((verdict.outcome or verdict.status).replace("_", " "))
    return f"<li>{_place(verdict)} {source} <b>{outcome}</b> {_text(details)}</li>"


def _place(verdict: StepVerdict) -> str:
    if verdict.where is None:
        return ""
    separator = ":" if verdict.where.cell is None else " "
    place = str(verdict.where.line) if verdict.where.cell is None else verdict.where.in_words
    return html.escape(f"{PurePath(verdict.where.file).name}{separator}{place}")


def _formula(latex: str) -> str:
    return typeset(latex, is_display=False) if len(latex) <= _MAX_SOURCE else f"<code>{_text(latex)}</code>"


def _entry(row: QuestionRow, pieces: Sequence[str], *, remark: str = "") -> dict[str, Any]:
    return {
        "name": f"{row.title} ({remark})" if remark else row.title,
        "number": row.id,
        "output": _limited(pieces),
        "output_format": "html",
        "visibility": "visible",
    }


def _failure(report: DocumentReport) -> dict[str, Any]:
    return {
        "name": "The document",
        "number": "0",
        "status": "failed",
        "output": f"<p>{_text(report.reason or report.outcome)}</p>",
        "output_format": "html",
        "visibility": "visible",
    }


def _text(text: str) -> str:
    """Escaped text of limited length."""
    return html.escape(text if len(text) <= _MAX_SOURCE else f"{text[:_MAX_SOURCE]} …")


def _limited(pieces: Sequence[str]) -> str:
    """As many pieces as fit, whole ones only, so that every element is closed."""
    kept, length = [], 0
    for piece in (printable(piece.replace("\r\n", "\n").replace("\r", "\n")) for piece in pieces):
        length += len(piece)
        if length > _MAX_OUTPUT:
            return "".join([*kept, "<p>…</p>"])
        kept.append(piece)
    return "".join(kept)
