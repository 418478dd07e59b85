"""The results.json of a submission for Gradescope.

The format is https://gradescope-autograders.readthedocs.io/en/latest/specs/. An entry without a score and without a
status is informational. Outputs are plain text, so nothing in a submission is rendered as markup.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from regard.derivations.results import DocumentReport, QuestionRow, QuestionState, StepVerdict
from regard.derivations.scoring import MAIN_KINDS, scored_steps, weight_of_main

_MAX_OUTPUT = 20_000
_LEFT_TO_A_PERSON: dict[QuestionState, str] = {
    "prose, not judged": "an answer in words: left to a person",
    "image, not read": "an answer in an image: left to a person",
    "judged": "no step could be decided: left to a person",
}


def results_json(report: DocumentReport) -> str:
    """The results of one submission as text."""
    return json.dumps(results(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def results(report: DocumentReport) -> dict[str, Any]:
    """The results of one submission: the score and an entry for every question."""
    return {
        "score": report.score,
        "execution_time": round(report.seconds, 3),
        "output": _summary(report),
        "output_format": "text",
        "test_output_format": "text",
        "visibility": "visible",
        "tests": list(_entries(report)) or [_failure(report)],
        "extra_data": {"max_score": report.max_score, "problem": report.problem, "outcome": report.outcome},
    }


def _summary(report: DocumentReport) -> str:
    if report.outcome != "judged":
        return _plain(f"The submission could not be judged ({report.outcome}): {report.reason} A person must grade it.")
    counts = ", ".join(f"{number} {status}" for status, number in report.counts.items() if number) or "none"
    left = sum(row.points for row in report.questions if row.score is None)
    rest = f" {left:g} more points are left to a person." if left else ""
    score = f"{report.score:g} of {report.max_score:g} points."
    share = "" if report.understood is None else f"; {report.understood:.0%} understood"
    return f"{score} Steps: {counts}{share}.{rest}"


def _entries(report: DocumentReport) -> Iterator[dict[str, Any]]:
    for row in report.questions:
        verdicts = report.verdicts_on(row.id)
        undecided = [_step_line(verdict) for verdict in verdicts if verdict.status == "undecided"]
        reasons = _reasons(row, scored_steps(verdicts))
        if row.score is None:
            yield _entry(row, [*reasons, *undecided], remark="left to a person")
            continue
        is_passed = row.score >= row.points and not any(verdict.status == "refuted" for verdict in verdicts)
        status = "passed" if is_passed else "failed"
        yield {"score": row.score, "max_score": row.points, "status": status, **_entry(row, reasons)}
        if undecided:
            yield _entry(row, undecided, remark="undecided, no points lost")


def _reasons(row: QuestionRow, scored: Sequence[StepVerdict]) -> list[str]:
    """Why the question has its score."""
    if row.state == "unanswered":
        return ["unanswered"]
    if not scored:
        return [_LEFT_TO_A_PERSON[row.state]]
    refuted = [verdict for verdict in scored if verdict.status == "refuted"]
    reasons = [f"{len(scored) - len(refuted)} of {len(scored)} decided steps hold"]
    main = next((verdict for verdict in refuted if verdict.kind in MAIN_KINDS), None)
    if main is not None:
        lost = weight_of_main(scored) * row.points
        reasons.append(f"the {main.kind} is refuted: {lost:g} of {row.points:g} points depend on it")
    return [*reasons, *map(_step_line, refuted)]


def _step_line(verdict: StepVerdict) -> str:
    where = f"{PurePath(verdict.where.file).name}:{verdict.where.line}: " if verdict.where else ""
    details = "; ".join(filter(None, (verdict.reason, *verdict.notes, verdict.counterexample)))
    return f"{where}{verdict.statement} [{verdict.outcome}] {details}"


def _entry(row: QuestionRow, lines: Sequence[str], *, remark: str = "") -> dict[str, Any]:
    return {
        "name": f"{row.title} ({remark})" if remark else row.title,
        "number": row.id,
        "output": _plain("\n".join(lines)),
        "output_format": "text",
        "visibility": "visible",
    }


def _failure(report: DocumentReport) -> dict[str, Any]:
    return {
        "name": "The document",
        "number": "0",
        "status": "failed",
        "output": _plain(report.reason or report.outcome),
        "output_format": "text",
        "visibility": "visible",
    }


def _plain(text: str) -> str:
    """Text of limited length with Unix line ends and no control characters."""
    lines = text.replace("\r\n", "\n")
    plain = "".join(character if character.isprintable() or character == "\n" else " " for character in lines)
    return plain if len(plain) <= _MAX_OUTPUT else plain[:_MAX_OUTPUT] + " …"
