"""The page of a class: what needs a person, a matrix of students and questions, and the most common wrong steps."""

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from regard.derivations.report import headline, images_in_words, part_in_words, plural, reasons_in_words
from regard.derivations.report.marks import step_id
from regard.derivations.results import DocumentReport, QuestionRow, StepVerdict
from regard.render.formulas import scripted
from regard.render.mathml import typeset
from regard.render.page import Page, render_page

_MOST_WRONG = 25
_MOST_LINKS = 8
_MAX_SOURCE = 400
_LEGEND = (("full", "full points"), ("some", "some"), ("none", "none"), ("person", "needs a person"))


@dataclass(kw_only=True)
class _WrongStep:
    """A step that several students got wrong in the same way, and where it stands on the pages of those who did."""

    verdict: StepVerdict
    pages: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Student:
    """A row of the matrix: the reports themselves are too many to keep."""

    page: str
    name: str
    file: str
    outcome: str
    reason: str
    score: float
    pending: float
    max_score: float
    needs_person: bool
    images: str
    rows: Mapping[str, QuestionRow]

    @property
    def link(self) -> str:
        if self.outcome != "judged":
            return f'<span title="{html.escape(self.file)}">{html.escape(self.name)}</span>'
        return (
            f'<a href="{html.escape(quote(self.page))}" title="{html.escape(self.file)}">{html.escape(self.name)}</a>'
        )


def render_class(reports: Iterable[tuple[DocumentReport, str]]) -> str:
    """The page of a class; each report comes with the path of its own page, relative to this one."""
    students: list[_Student] = []
    wrong: dict[tuple[str | None, str], _WrongStep] = {}
    for report, page in reports:
        students.append(_student(report, page))
        for number, verdict in enumerate(report.verdicts):
            if verdict.status == "refuted":
                key = verdict.question, "".join(verdict.source.split())
                wrong.setdefault(key, _WrongStep(verdict=verdict)).pages.setdefault(page, step_id(number))
    students = _named_by_folder(students)
    title = plural(len(students), "document")
    main = f'<header class="head"><h1>{title}</h1></header>'
    main += f"{_people(students)}{_matrix(students)}{_wrong_steps(list(wrong.values()), students)}"
    return render_page(
        Page(
            title=title,
            main=main,
            margin=_margin(students),
            styles=("derivations/class.css",),
            scripts=("derivations/class.js",),
        )
    )


def _student(report: DocumentReport, page: str) -> _Student:
    return _Student(
        page=page,
        name=page.removesuffix(".html"),
        file=report.file,
        outcome=report.outcome,
        reason=report.reason or "",
        score=report.score,
        pending=report.pending,
        max_score=report.max_score,
        needs_person=report.needs_person,
        images=images_in_words(report),
        rows={row.id: row for row in report.questions},
    )


def _named_by_folder(students: Sequence[_Student]) -> list[_Student]:
    """A student whose folder holds one document goes by the folder's name."""
    folders = [student.name.rpartition("/")[0] for student in students]
    num_documents = Counter(folders)
    return [
        replace(student, name=folder) if folder and num_documents[folder] == 1 else student
        for student, folder in zip(students, folders, strict=True)
    ]


def _margin(students: Sequence[_Student]) -> str:
    judged = [student for student in students if student.outcome == "judged"]
    mean = sum(student.score for student in judged) / max(len(judged), 1)
    lines = (
        f"{len(judged)} judged",
        f"{len(students) - len(judged)} could not be judged",
        f"{sum(student.needs_person for student in students)} need a person",
        f"{mean:.1f} certain points on average",
    )
    legend = "".join(f'<li><span class="cell {look}"></span> {text}</li>' for look, text in _LEGEND)
    return f'<ul class="key">{"".join(f"<li>{line}</li>" for line in lines)}</ul><ul class="key">{legend}</ul>'


# -- what needs a person -----------------------------------------------------------------------------------------------
def _people(students: Sequence[_Student]) -> str:
    """The documents that a person must look at: first those that could not be judged, then by pending points."""
    found = [student for student in students if student.needs_person]
    if not found:
        return ""
    found.sort(key=lambda student: (student.outcome == "judged", -student.pending))
    rows = "".join(map(_person, found))
    return f'<details class="people" open><summary>Needs a person ({len(found)})</summary><ul>{rows}</ul></details>'


def _person(student: _Student) -> str:
    if student.outcome != "judged":
        return f"<li>{student.link}: {html.escape(f'{student.outcome}: {student.reason}')}</li>"
    by_reasons: dict[str, list[str]] = {}
    for row in student.rows.values():
        if row.reasons:
            by_reasons.setdefault(reasons_in_words(row.reasons), []).append(row.id)
    why = "; ".join(f"{', '.join(ids)}: {reason}" for reason, ids in by_reasons.items())
    said = html.escape(" ".join(filter(None, (f"{why}.", student.images))))
    return f"<li>{student.link}, {plural(student.pending, 'point')} pending. {said}</li>"


# -- the matrix --------------------------------------------------------------------------------------------------------
def _matrix(students: Sequence[_Student]) -> str:
    titles = {row.id: row.title for student in students for row in student.rows.values()}
    answered = {row.id for student in students for row in student.rows.values() if not _is_blank(row)}
    questions = [question for question in titles if question in answered]
    names = {"document": "", "certain": "", "pending": "", **{question: titles[question] for question in questions}}
    heads = "".join(
        f'<th scope="col" title="{html.escape(title)}"><button type="button" class="sort">{html.escape(name)}</button>'
        "</th>"
        for name, title in names.items()
    )
    body = "".join(_matrix_row(student, questions) for student in students)
    means = "".join(_mean(question, students) for question in questions)
    foot = f'<tr><th scope="row">average</th><td></td><td></td>{means}</tr>'
    left = [html.escape(question) for question in titles if question not in answered]
    note = f'<p class="why">Nobody answered {", ".join(left)}.</p>' if left else ""
    shown = (("all", "all"), ("person", "those that need a person"), ("wrong", "those that lost points"))
    choices = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{" checked" if name == "all" else ""}> {text}</label>'
        for name, text in shown
    )
    find = '<label>Find <input type="search" class="find" placeholder="a name"></label>'
    return (
        f'<fieldset class="filter"><legend>Show</legend>{choices}{find}</fieldset>'
        f'<div class="table"><table class="matrix"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody>'
        f"<tfoot>{foot}</tfoot></table></div>{note}"
    )


def _matrix_row(student: _Student, questions: Sequence[str]) -> str:
    lost = student.max_score - student.score - student.pending > 0
    looks = " ".join(name for name, has in (("person", student.needs_person), ("wrong", lost)) if has)
    head = f'<tr class="{looks}"><th scope="row">{student.link}</th>'
    if student.outcome != "judged":
        return (
            f'{head}<td colspan="{len(questions) + 2}">{html.escape(f"{student.outcome}: {student.reason}")}</td></tr>'
        )
    cells = "".join(_cell(student.rows.get(question)) for question in questions)
    total = f'<td data-value="{student.score:g}">{student.score:g} of {student.max_score:g}</td>'
    return f'{head}{total}<td data-value="{student.pending:g}">{student.pending:g}</td>{cells}</tr>'


def _mean(question: str, students: Sequence[_Student]) -> str:
    """The mean of the certain points, over those who could earn any."""
    rows = [student.rows[question] for student in students if question in student.rows]
    scores = [row.score for row in rows if row.points]
    return f"<td>{sum(scores) / len(scores):.2g}</td>" if scores else "<td>–</td>"


def _is_blank(row: QuestionRow) -> bool:
    return row.state == "unanswered" and not row.reasons


def _cell(row: QuestionRow | None) -> str:
    if row is None or _is_blank(row):
        text = '<span class="unseen">unanswered</span>–'
        return f'<td class="cell blank" data-value="-1">{text}</td>'
    if row.reasons:
        look, text = "person", f"{row.score:g}+{row.pending:g}?"
    else:
        look = "full" if row.score >= row.points else "some" if row.score else "none"
        text = f"{row.score:g}"
    why = [part_in_words(part) for part in row.parts]
    tip = "; ".join([*why, *([reasons_in_words(row.reasons)] if row.reasons else [])])
    return f'<td class="cell {look}" data-value="{row.score:g}" title="{html.escape(tip)}">{text}</td>'


# -- wrong steps -------------------------------------------------------------------------------------------------------
def _wrong_steps(steps: Sequence[_WrongStep], students: Sequence[_Student]) -> str:
    commonest = sorted(steps, key=lambda step: -len(step.pages))[:_MOST_WRONG]
    if not commonest:
        return ""
    names = {student.page: student.name for student in students}
    rows = "".join(_wrong_step(step, names) for step in commonest)
    return f'<h2>Most common wrong steps</h2><ol class="wrong-steps">{rows}</ol>'


def _wrong_step(step: _WrongStep, names: Mapping[str, str]) -> str:
    verdict, source = step.verdict, step.verdict.source
    is_formula = verdict.kind != "choice" and len(source) <= _MAX_SOURCE
    shown = typeset(source, is_display=False) if is_formula else html.escape(verdict.statement[:_MAX_SOURCE])
    who = ", ".join(
        f'<a href="{html.escape(quote(page))}#{anchor}">{html.escape(names[page])}</a>'
        for page, anchor in list(step.pages.items())[:_MOST_LINKS]
    )
    more = f" and {len(step.pages) - _MOST_LINKS} more" if len(step.pages) > _MOST_LINKS else ""
    question = f"{html.escape(verdict.question)} " if verdict.question else ""
    return (
        f'<li><b>{plural(len(step.pages), "document")}</b> {question}<span class="formula">{shown}</span> '
        f'<span class="why">{scripted(headline(verdict))}. {who}{more}</span></li>'
    )
