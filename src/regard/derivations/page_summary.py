"""The margin of a judged document: how it went, question by question, and what the marks mean."""

import html
from collections.abc import Mapping

from regard.derivations.judged import STANDINGS, JudgedDocument, QuestionState, Standing, tally, worst
from regard.derivations.step_cards import SAID, step_id
from regard.render.page import icon

_LEGEND: Mapping[Standing, str] = {
    "refuted": "refuted: the note has a counterexample",
    "undecided": "undecided: not read, or not judged",
    "holds": "holds in every instance tried",
    "proved": "proved",
    "given": "given, defined or supposed: not judged",
}
_ORDER: tuple[Standing, ...] = ("proved", "holds", "given", "undecided", "refuted")


def summary_html(document: JudgedDocument) -> str:
    """The counts, the questions with jump links, the filter and the legend."""
    return "".join((_counts(document), _questions(document), _filter(document), _legend()))


def _counts(document: JudgedDocument) -> str:
    counts = tally(document.marks)
    number = len(document.marks)
    rows = "".join(
        f'<li class="{name}">{icon(name)}<b>{counts[name]}</b> {SAID[name]}</li>'
        for name in STANDINGS
        if counts[name] or name == "refuted"
    )
    steps = "step" if number == 1 else "steps"
    total = f"<b>{number}</b> {steps}, {int(document.understood * 100 + 1e-9)} % understood"
    bar = _bar(counts, number)
    return f'<section class="counts" aria-label="Counts"><p class="total">{total}</p>{bar}<ul>{rows}</ul></section>'


def _bar(counts: Mapping[Standing, int], number: int) -> str:
    """The shares as a thin bar, drawn with whole units so that it needs no style of its own."""
    parts, place = [], 0.0
    for name in _ORDER:
        width = 100 * counts[name] / max(number, 1)
        if width:
            parts.append(f'<rect class="{name}" x="{place:.2f}" y="0" width="{width:.2f}" height="4"></rect>')
        place += width
    return f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


def _questions(document: JudgedDocument) -> str:
    if not document.questions:
        return ""
    rows = "".join(_question(document, question) for question in document.questions)
    return f'<details class="questions" open><summary>Questions</summary><ol>{rows}</ol></details>'


def _question(document: JudgedDocument, question: QuestionState) -> str:
    numbers = [number for number, mark in enumerate(document.marks) if mark.verdict.question == question.id]
    name = f'<span class="number">{html.escape(question.id)}</span>'
    title = f'<span>{name} <span class="title">{html.escape(question.title)}</span></span>'
    if not numbers:
        look = "unanswered" if question.state == "unanswered" else "unjudged"
        return f'<li class="{look}">{title} <span class="state">{_state(question)}</span></li>'
    marks = [document.marks[number] for number in numbers]
    first = next((number for number in numbers if document.marks[number].verdict.status == "refuted"), numbers[0])
    counts = tally(marks)
    told = " ".join(
        f'<span class="{name}" title="{counts[name]} {SAID[name]}">{icon(name)}{counts[name]}'
        f'<span class="unseen"> {SAID[name]}</span></span>'
        for name in STANDINGS
        if counts[name]
    )
    return f'<li class="{worst(marks)}"><a href="#{step_id(first)}">{title}</a><span class="state">{told}</span></li>'


def _state(question: QuestionState) -> str:
    claims = (
        ""
        if question.state == "unanswered"
        else ", ".join(f"<code>{html.escape(claim)}</code>" for claim in question.claims)
    )
    return html.escape(question.state) + (f"; see {claims}" if claims else "")


def _filter(document: JudgedDocument) -> str:
    counts = tally(document.marks)
    choices = (
        ("all", "everything", True),
        ("look", "what needs a look", bool(counts["refuted"] or counts["undecided"])),
        ("refuted", "what is refuted", bool(counts["refuted"])),
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
