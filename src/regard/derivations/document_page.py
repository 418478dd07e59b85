"""A judged document as one HTML file: the document itself, its steps marked, with a margin that sums it up."""

import html
import re
from pathlib import PurePath

from regard.derivations.judged import JudgedDocument, Mark, headline, notes, standing, tally, worst
from regard.derivations.page_prose import prose_html
from regard.derivations.page_slots import with_slots
from regard.derivations.page_summary import summary_html
from regard.derivations.step_cards import SAID, step_id
from regard.render.page import Page, icon, render_page

_CHINESE = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[A-Za-z]")


def render_document(document: JudgedDocument) -> str:
    """The file's whole text."""
    text, slots = with_slots(document)
    body = prose_html(text, document.kind, slots)
    language = _language(document.text)
    main = f'{_head(document)}<article class="document" lang="{language}">{body}</article>{_all_steps(document, body)}'
    page = Page(
        title=f"{PurePath(document.path).name} · {_outcome(document)}",
        main=main,
        margin=summary_html(document),
        styles=("document.css", "steps.css"),
        scripts=("derivations/document.js",),
    )
    return render_page(page)


def _language(text: str) -> str:
    return "zh" if 4 * len(_CHINESE.findall(text)) > len(_LETTER.findall(text)) else "en"


def _outcome(document: JudgedDocument) -> str:
    counts = tally(document.marks)
    if not document.marks:
        return "no step found"
    if counts["refuted"]:
        return f"{counts['refuted']} step{'' if counts['refuted'] == 1 else 's'} refuted"
    return "nothing refuted" + (f", {counts['undecided']} undecided" if counts["undecided"] else "")


def _head(document: JudgedDocument) -> str:
    stands = worst(document.marks)
    outcome = _outcome(document)
    return (
        f'<header class="head"><p class="problem">{html.escape(document.title)}</p>'
        f"<h1>{html.escape(PurePath(document.path).name)}</h1>"
        f'<p class="outcome {stands}">{icon(stands)}{html.escape(outcome[0].upper() + outcome[1:])}</p></header>'
    )


def _all_steps(document: JudgedDocument, body: str) -> str:
    """Every step once more as a table: for print, for search, and for steps that have no place in the prose."""
    if not document.marks:
        return ""
    placed = set(re.findall(r'id="(step-\d+)"', body))
    rows = "".join(
        _row(step_id(number), mark, is_placed=step_id(number) in placed) for number, mark in enumerate(document.marks)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("step", "verdict", "as written", "why"))
    return (
        f'<details class="all-steps"><summary>All {len(document.marks)} steps as a table</summary><div class="table">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _row(name: str, mark: Mark, *, is_placed: bool) -> str:
    verdict, stands = mark.verdict, standing(mark.verdict)
    shown = html.escape(verdict.id)
    link = f'<a href="#{name}">{shown}</a>' if is_placed else f'<span id="{name}">{shown}</span>'
    line = f'<span class="line">line {verdict.where.line}</span>' if verdict.where else ""
    written = f"<code>{html.escape(' '.join(verdict.source.split()))}</code>"
    why = html.escape("; ".join((headline(verdict), *notes(verdict))))
    if verdict.counterexample:
        why += f'<span class="counterexample">{html.escape(verdict.counterexample)}</span>'
    return (
        f'<tr data-verdict="{shown}" class="{stands}"><th scope="row">{link}{line}</th>'
        f"<td>{icon(stands)}{SAID[stands]}</td><td>{written}</td><td>{why}</td></tr>"
    )
