"""Judged documents as HTML: one page per document with its steps marked, and one page for a whole class."""

import html
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from urllib.parse import quote

from regard.derivations.report import IN_WORDS, headline, label, nothing_found, percent, plural, remarks
from regard.derivations.report.marks import step_id, with_slots
from regard.derivations.report.prose import prose_html
from regard.derivations.results import (
    STANDINGS,
    DocumentReport,
    QuestionRow,
    Standing,
    StepVerdict,
    count_standings,
    worst_standing,
)
from regard.render.page import Page, icon, render_page

_CHINESE = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[A-Za-z]")
_LEGEND: Mapping[Standing, str] = {
    "refuted": "refuted: the note has a counterexample",
    "undecided": "undecided: not understood, not checked, or doubtful",
    "holds": "holds for all inputs tried",
    "proved": "proved",
    "given": "given, defined or assumed: not checked",
}
_BAR_ORDER: tuple[Standing, ...] = ("proved", "holds", "given", "undecided", "refuted")
_CLASS_COLUMNS = ("document", "refuted", "undecided", "hold", "understood", "points")


# -- one document ------------------------------------------------------------------------------------------------------
def render_document(report: DocumentReport) -> str:
    """The HTML of a judged document's page."""
    assert report.document is not None, "a page needs the document"
    body = prose_html(with_slots(report), report.document.kind)
    article = f'<article class="document" lang="{_language(report.document.text)}">{body}</article>'
    page = Page(
        title=f"{PurePath(report.file).name} · {_outcome(report)}",
        main=f"{_head(report)}{article}{_all_steps(report, body)}",
        margin="".join((_counts(report), _questions(report), _filter(report), _legend())),
        styles=("document.css", "steps.css"),
        scripts=("derivations/document.js",),
    )
    return render_page(page)


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
    return (
        f'<header class="head"><p class="problem">{html.escape(report.problem_title)}</p>'
        f"<h1>{html.escape(PurePath(report.file).name)}</h1>"
        f'<p class="outcome {standing}">{icon(standing)}{html.escape(_outcome(report))}</p></header>'
    )


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
    return (
        f'<details class="all-steps"><summary>All {len(report.verdicts)} steps as a table</summary><div class="table">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _table_row(name: str, verdict: StepVerdict, *, is_placed: bool) -> str:
    standing, shown = verdict.standing, html.escape(verdict.id)
    link = f'<a href="#{name}">{shown}</a>' if is_placed else f'<span id="{name}">{shown}</span>'
    line = f'<span class="line">line {verdict.where.line}</span>' if verdict.where else ""
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
    counts = count_standings(report.verdicts)
    rows = "".join(
        f'<li class="{name}">{icon(name)}<b>{counts[name]}</b> {IN_WORDS[name]}</li>'
        for name in STANDINGS
        if counts[name] or name == "refuted"
    )
    number = len(report.verdicts)
    share = "" if report.understood is None else f", {percent(report.understood)} understood"
    total = f"<b>{number}</b> {'step' if number == 1 else 'steps'}{share}" if number else nothing_found(report)
    bar = _bar(counts, number)
    return f'<section class="counts" aria-label="Counts"><p class="total">{total}</p>{bar}<ul>{rows}</ul></section>'


def _bar(counts: Mapping[Standing, int], number: int) -> str:
    """The shares as a thin bar, in attributes alone: the page's policy allows no inline styles."""
    parts, place = [], 0.0
    for name in _BAR_ORDER:
        width = 100 * counts[name] / max(number, 1)
        if width:
            parts.append(f'<rect class="{name}" x="{place:.2f}" y="0" width="{width:.2f}" height="4"></rect>')
        place += width
    return f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


def _questions(report: DocumentReport) -> str:
    if not report.questions:
        return ""
    rows = "".join(_question(report, row) for row in report.questions)
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
    return html.escape(row.state) + (f"; see {claims}" if claims else "")


def _filter(report: DocumentReport) -> str:
    counts = count_standings(report.verdicts)
    choices = (
        ("all", "everything", True),
        ("look", "refuted and undecided", bool(counts["refuted"] or counts["undecided"])),
        ("refuted", "refuted only", bool(counts["refuted"])),
    )
    rows = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{" checked" if name == "all" else ""}'
        f"{'' if is_useful else ' disabled'}> {text}</label>"
        for name, text, is_useful in choices
    )
    return f'<fieldset class="filter"><legend>Show</legend>{rows}</fieldset>'


def _legend() -> str:
    rows = "".join(f'<li class="{name}">{icon(name)} {text}</li>' for name, text in _LEGEND.items())
    keys = '<p class="keys"><kbd>n</kbd> <kbd>p</kbd> next and previous refuted step, <kbd>Esc</kbd> closes a note</p>'
    return f'<details class="legend"><summary>What the marks mean</summary><ul>{rows}</ul>{keys}</details>'


# -- a class -----------------------------------------------------------------------------------------------------------
def render_class(reports: Iterable[tuple[DocumentReport, str]]) -> str:
    """The page of a class; each report comes with the path of its own page, relative to this one."""
    rows, refuted = [], []
    for report, page in reports:
        rows.append(_class_row(report, page))
        if report.outcome == "judged":
            refuted.append(report.counts["refuted"])
    head = "".join(f'<th scope="col">{column}</th>' for column in _CLASS_COLUMNS)
    table = f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    title = plural(len(rows), "document")
    lines = (
        f"{len(refuted)} judged",
        f"{len(rows) - len(refuted)} could not be judged",
        f"{sum(number > 0 for number in refuted)} with refuted steps",
        f"{plural(sum(refuted), 'step')} refuted",
    )
    margin = "".join(f"<p>{line}</p>" for line in lines)
    return render_page(Page(title=title, main=f"<h1>{title}</h1>{table}", margin=margin))


def _class_row(report: DocumentReport, page: str) -> str:
    name = html.escape(page.removesuffix(".html"))
    if report.outcome != "judged":
        reason = html.escape(f"{report.outcome}: {report.reason}")
        return f'<tr><th scope="row">{name}</th><td colspan="{len(_CLASS_COLUMNS) - 1}">{reason}</td></tr>'
    counts = report.counts
    points = f"{report.score:g} of {report.max_score:g}"
    hold = counts["holds"] + counts["proved"]
    cells = (counts["refuted"], counts["undecided"], hold, percent(report.understood), points)
    link = f'<a href="{html.escape(quote(page))}" title="{html.escape(report.file)}">{name}</a>'
    return f'<tr><th scope="row">{link}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
