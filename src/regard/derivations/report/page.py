"""A judged document as HTML: the text with its steps marked, and its questions with what each part earned."""

import html
import re
from collections.abc import Mapping
from pathlib import PurePath

from regard.derivations.report import (
    IN_WORDS,
    PLACED,
    headline,
    images_in_words,
    ineffective_comments,
    label,
    nothing_found,
    part_in_words,
    percent,
    plural,
    reasons_in_words,
    remarks,
    state_in_words,
)
from regard.derivations.report.marks import step_id, with_slots
from regard.derivations.report.prose import prose_html
from regard.derivations.results import (
    INFERRED,
    STANDINGS,
    DocumentReport,
    GradedPart,
    QuestionRow,
    Standing,
    StepVerdict,
    count_standings,
    worst_standing,
)
from regard.render.mathml import typeset
from regard.render.page import (
    Page,
    StatusCount,
    icon,
    notebook_frame,
    render_counts,
    render_filter,
    render_legend,
    render_page,
)

_CHINESE = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[A-Za-z]")
_LEGEND: Mapping[Standing, str] = {
    "refuted": "refuted: the note has a counterexample",
    "undecided": "undecided: not understood, not checked, or doubtful",
    "ignored": "ignored: a comment in the document exempts it",
    "holds": "holds for all inputs tried",
    "proved": "proved",
    "given": "given, defined or assumed: not checked",
}
_MOST_BLANK = 3  # unanswered questions that are listed with the others
_BAR_ORDER: tuple[Standing, ...] = ("proved", "holds", "given", "ignored", "undecided", "refuted")


# -- one document ------------------------------------------------------------------------------------------------------
def render_document(report: DocumentReport) -> str:
    """The HTML of a judged document's page."""
    assert report.document is not None, "a page needs the document"
    body = prose_html(with_slots(report), report.document.kind)
    article = f'<article class="document" lang="{_language(report.document.text)}">{body}</article>'
    page = Page(
        title=f"{PurePath(report.file).name} · {_outcome(report)}",
        main=f"{_head(report)}{article}{_points(report)}{_all_steps(report, body)}",
        margin="".join((_counts(report), _questions(report), _filter(report), _legend())),
        styles=("document.css", "steps.css"),
        scripts=("derivations/document.js",),
    )
    return render_page(page)


def document_frame(report: DocumentReport) -> str:
    """The page as a notebook shows it; a document that is not there is summed up in a line."""
    if report.document is None:
        summary = report.reason or f"{report.file}: {_outcome(report)}"
        return f"<p>{html.escape(summary)}</p>"
    return notebook_frame(render_document(report), title=f"{report.file}: {_outcome(report)}")


def _language(text: str) -> str:
    return "zh" if 4 * len(_CHINESE.findall(text)) > len(_LETTER.findall(text)) else "en"


def _outcome(report: DocumentReport) -> str:
    counts = count_standings(report.verdicts)
    if not report.verdicts:
        return nothing_found(report)
    if counts["refuted"]:
        return f"{plural(counts['refuted'], 'step')} refuted"
    return "Nothing refuted" + (f", {counts['undecided']} undecided" if counts["undecided"] else "")


def _head(report: DocumentReport) -> str:
    standing = worst_standing(report.verdicts)
    left_out = filter(None, (images_in_words(report), ineffective_comments(report)))
    remark = "".join(f"<p>{html.escape(text)}</p>" for text in left_out)
    return (
        f'<header class="head"><p class="problem">{html.escape(report.problem_title)}</p>'
        f"<h1>{html.escape(PurePath(report.file).name)}</h1>"
        f'<p class="outcome {standing}">{icon(standing)}{html.escape(_outcome(report))}</p>{remark}</header>'
    )


def _points(report: DocumentReport) -> str:
    """What each part of each question earned, by which step, and how the answer was found."""
    rows = [row for row in report.questions if row.points and (row.state != "unanswered" or row.reasons)]
    if not rows:
        return ""
    numbers = {verdict.id: number for number, verdict in enumerate(report.verdicts)}
    items = "".join(f"<li>{_earned(row, numbers)}</li>" for row in rows)
    pending = f", {report.pending:g} pending" if report.pending else ""
    head = f"{report.score:g} of {plural(report.max_score, 'point')}{pending}"
    return f'<details class="all-steps"><summary>{head}</summary><ul>{items}</ul></details>'


def _earned(row: QuestionRow, numbers: Mapping[str, int]) -> str:
    parts = "; ".join(_part(part, numbers) for part in row.parts)
    why = f" A person decides: {html.escape(reasons_in_words(row.reasons))}." if row.reasons else ""
    return f"<b>{html.escape(row.id)}</b> {row.score:g} of {row.points:g}: {parts}.{why} {PLACED[row.placed]}"


def _part(part: GradedPart, numbers: Mapping[str, int]) -> str:
    asked = html.escape(part.asked) if part.kind in ("choice", "words") else typeset(part.asked, is_display=False)
    number = numbers.get(part.step or "")
    link = "" if number is None else f' (<a href="#{step_id(number)}">{html.escape(part.step or "")}</a>)'
    return f"{asked} {html.escape(part_in_words(part))}{link}"


def _all_steps(report: DocumentReport, body: str) -> str:
    """Every step once more as a table: for print, for search, and for steps that have no place in the prose."""
    if not report.verdicts:
        return ""
    placed = set(re.findall(r'id="(step-\d+)"', body))
    rows = "".join(
        _table_row(step_id(number), verdict, is_placed=step_id(number) in placed)
        for number, verdict in enumerate(report.verdicts)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("step", "verdict", "as written", "why"))
    number = plural(len(report.verdicts), "step")
    return (
        f'<details class="all-steps"><summary>{number} as a table</summary><div class="table">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _table_row(name: str, verdict: StepVerdict, *, is_placed: bool) -> str:
    standing, shown = verdict.standing, html.escape(verdict.id)
    link = f'<a href="#{name}">{shown}</a>' if is_placed else f'<span id="{name}">{shown}</span>'
    line = f'<span class="line">{verdict.where.in_words}</span>' if verdict.where else ""
    written = f"<code>{html.escape(' '.join(verdict.source.split()))}</code>"
    why = html.escape("; ".join((headline(verdict), *remarks(verdict))))
    if verdict.counterexample:
        why += f'<span class="counterexample">{html.escape(verdict.counterexample)}</span>'
    return (
        f'<tr data-verdict="{shown}" class="{standing}"><th scope="row">{link}{line}</th>'
        f"<td>{icon(standing)}{label(verdict)}</td><td>{written}</td><td>{why}</td></tr>"
    )


# -- its margin --------------------------------------------------------------------------------------------------------
def _counts(report: DocumentReport) -> str:
    numbers = count_standings(report.verdicts)
    counts = {name: StatusCount(tint=name, icon=name, name=IN_WORDS[name], number=numbers[name]) for name in STANDINGS}
    shown = [each for name, each in counts.items() if each.number or name == "refuted"]
    number = len(report.verdicts)
    share = "" if report.understood is None else f", {percent(report.understood)} understood"
    total = f"<b>{number}</b> {'step' if number == 1 else 'steps'}{share}" if number else nothing_found(report)
    return render_counts(total, shown, (counts[name] for name in _BAR_ORDER))


def _questions(report: DocumentReport) -> str:
    if not report.questions or report.problem == INFERRED:  # which has one question, the whole document
        return ""
    blank = [row for row in report.questions if row.state == "unanswered" and not row.reasons]
    blank = blank if len(blank) > _MOST_BLANK else []
    rows = "".join(_question(report, row) for row in report.questions if row not in blank)
    if blank:
        rest = "".join(_question(report, row) for row in blank)
        rows += f'<li class="rest"><details><summary>{len(blank)} unanswered</summary><ol>{rest}</ol></details></li>'
    return f'<details class="questions" open><summary>Questions</summary><ol>{rows}</ol></details>'


def _question(report: DocumentReport, row: QuestionRow) -> str:
    steps = {number: verdict for number, verdict in enumerate(report.verdicts) if verdict.question == row.id}
    name = f'<span class="number">{html.escape(row.id)}</span>'
    title = f'<span>{name} <span class="title">{html.escape(row.title)}</span></span>'
    if not steps:
        look = "unanswered" if row.state == "unanswered" else "unjudged"
        return f'<li class="{look}">{title} <span class="state">{_state(row)}</span></li>'
    first = next((number for number, verdict in steps.items() if verdict.status == "refuted"), min(steps))
    counts = count_standings(steps.values())
    shown = " ".join(
        f'<span class="{name}" title="{counts[name]} {IN_WORDS[name]}">{icon(name)}{counts[name]}'
        f'<span class="unseen"> {IN_WORDS[name]}</span></span>'
        for name in STANDINGS
        if counts[name]
    )
    standing = worst_standing(steps.values())
    return f'<li class="{standing}"><a href="#{step_id(first)}">{title}</a><span class="state">{shown}</span></li>'


def _state(row: QuestionRow) -> str:
    claims = ", ".join(f"<code>{html.escape(claim)}</code>" for claim in row.claims if row.state != "unanswered")
    return html.escape(state_in_words(row)) + (f"; see {claims}" if claims else "")


def _filter(report: DocumentReport) -> str:
    counts = count_standings(report.verdicts)
    choices = (
        ("all", "everything", True),
        ("look", "refuted and undecided", bool(counts["refuted"] or counts["undecided"])),
        ("refuted", "refuted only", bool(counts["refuted"])),
    )
    return render_filter(choices)


def _legend() -> str:
    keys = "<kbd>n</kbd> <kbd>p</kbd> next and previous refuted step, <kbd>Esc</kbd> closes a note"
    return render_legend(((name, name, text) for name, text in _LEGEND.items()), keys=keys)
