"""A grade as Gradescope's results.json.

The format is that of https://gradescope-autograders.readthedocs.io/en/latest/specs/. An entry without a score, and
without a status, is informational. Outputs are plain text, so nothing in a submission is rendered as markup.
"""

import json
from collections.abc import Iterator
from typing import Any

from regard.derivations.gradebook import Grade, QuestionGrade

_LONGEST = 20_000


def as_results_json(grade: Grade) -> str:
    """The results as text."""
    return json.dumps(results(grade), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def results(grade: Grade) -> dict[str, Any]:
    """The results of one submission: the score and an entry for every question."""
    return {
        "score": grade.score,
        "execution_time": round(grade.seconds, 3),
        "output": _summary(grade),
        "output_format": "text",
        "test_output_format": "text",
        "visibility": "visible",
        "tests": list(_entries(grade)) or [_failure(grade)],
        "extra_data": {"max_score": grade.max_score, "problem": grade.problem, "outcome": grade.outcome},
    }


def _summary(grade: Grade) -> str:
    if grade.outcome != "judged":
        return _shown(f"The submission could not be judged ({grade.outcome}): {grade.reason} A person must look at it.")
    tally = ", ".join(f"{number} {status}" for status, number in grade.counts.items() if number) or "no steps"
    left = sum(question.points for question in grade.questions if question.score is None)
    rest = f" {left:g} more points are left to a person." if left else ""
    return f"{grade.score:g} of {grade.max_score:g} points. Steps: {tally}; {grade.understood:.0%} understood.{rest}"


def _entries(grade: Grade) -> Iterator[dict[str, Any]]:
    for question in grade.questions:
        yield _entry(question)
        if question.undecided and question.score is not None:
            yield _informational(question, "undecided, no points lost", question.undecided)


def _entry(question: QuestionGrade) -> dict[str, Any]:
    if question.score is None:
        return _informational(question, "left to a person", (*question.reasons, *question.undecided))
    return {
        "score": question.score,
        "max_score": question.points,
        "status": "passed" if question.score >= question.points and not question.num_refuted else "failed",
        **_informational(question, "", question.reasons),
    }


def _informational(question: QuestionGrade, note: str, lines: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": f"{question.title} ({note})" if note else question.title,
        "number": question.id,
        "output": _shown("\n".join(lines)),
        "output_format": "text",
        "visibility": "visible",
    }


def _failure(grade: Grade) -> dict[str, Any]:
    return {
        "name": "The document",
        "number": "0",
        "status": "failed",
        "output": _shown(grade.reason or grade.outcome),
        "output_format": "text",
        "visibility": "visible",
    }


def _shown(text: str) -> str:
    """Text with Unix line ends, no control signs, and an end."""
    plain = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text.replace("\r\n", "\n"))
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST] + " …"
