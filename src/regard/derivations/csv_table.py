"""A class as CSV: one row a submission, two columns a question."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from regard.core.verdict import STATUSES
from regard.derivations.gradebook import Grade

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def header(questions: Sequence[str]) -> str:
    r"""The line of column names.

    >>> header(["1b"])
    'file,outcome,reason,problem,proved,holds,refuted,undecided,understood,score,max_score,1b state,1b score\r\n'
    """
    names = ("file", "outcome", "reason", "problem", *STATUSES, "understood", "score", "max_score")
    return _line([*names, *(f"{question} {what}" for question in questions for what in ("state", "score"))])


def row(grade: Grade, questions: Sequence[str]) -> str:
    """The line of one submission; a question that its problem does not ask stays empty."""
    by_id = {question.id: question for question in grade.questions}
    cells: list[object] = [grade.file, grade.outcome, grade.reason, grade.problem]
    cells += [grade.counts[status] for status in STATUSES]
    cells += [round(grade.understood, 4), grade.score, grade.max_score]
    for name in questions:
        question = by_id.get(name)
        cells += [None, None] if question is None else [question.state, question.score]
    return _line(cells)


def rows(grades: Iterable[Grade], questions: Sequence[str]) -> Iterator[str]:
    """The whole table, line by line."""
    yield header(questions)
    yield from (row(grade, questions) for grade in grades)


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow([_safe(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def _safe(cell: str) -> str:
    """Text that no spreadsheet takes for a formula, on one line."""
    plain = cell.encode("utf-8", "replace").decode()
    plain = "".join(sign if sign.isprintable() else " " for sign in plain)
    return f"'{plain}" if cell.startswith(_FORMULA) or plain.startswith(_FORMULA) else plain
