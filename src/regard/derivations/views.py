"""A sheet as the reports see it."""

from regard.derivations.judged import FormulaSpan, JudgedDocument, Mark, QuestionState
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.sheet import Sheet


def view_of(sheet: Sheet, *, line: int | None = None) -> JudgedDocument:
    """The document with its formulas and marks; with a line, only the marks on that line."""
    document = sheet.document
    steps = [step for step in sheet.steps if line is None or (step.verdict.where and step.verdict.where.line == line)]
    return JudgedDocument(
        path=document.path,
        # What was put together from another file has that file's lines only in its verdicts, like a notebook.
        kind="notebook" if document.stored_lines else document.kind,
        text=document.text,
        problem=sheet.problem.name,
        title=sheet.problem.title,
        formulas=tuple(_formula(span) for span in document.spans),
        marks=tuple(Mark(verdict=step.verdict, start=step.start, end=step.end) for step in steps),
        questions=tuple(
            QuestionState(id=row.id, title=row.title, state=row.state, points=row.points, claims=row.claims)
            for row in sheet.questions
        ),
        hidden=_hidden(document),
        understood=sheet.understood,
        is_part=line is not None,
    )


def _formula(span: MathSpan) -> FormulaSpan:
    return FormulaSpan(
        start=span.start,
        end=span.end,
        source=span.source,
        is_display=span.is_display,
        offsets=tuple(span.raw_offset(place) for place in range(len(span.source))),
    )


def _hidden(document: Document) -> tuple[tuple[int, int], ...]:
    ranges = [*document.comments, *([document.front_matter] if document.front_matter else [])]
    return tuple(sorted((item.start, item.end) for item in ranges))
