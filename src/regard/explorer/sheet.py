"""A judged document inside the page: its text with every step marked, and the counts above it."""

import html
from collections.abc import Mapping

from regard.derivations.judged import STANDINGS, JudgedDocument, tally
from regard.derivations.page_prose import prose_html
from regard.derivations.page_slots import with_slots
from regard.derivations.step_cards import SAID
from regard.render.page import icon


def sheet_parts(document: JudgedDocument) -> Mapping[str, str]:
    """What goes into the last part: the title of the problem, the counts and the document."""
    text, slots = with_slots(document)
    return {
        "sheet_problem": html.escape(document.title),
        "sheet_counts": _counts(document),
        "sheet_document": f'<article class="document" lang="en">{prose_html(text, document.kind, slots)}</article>',
    }


def _counts(document: JudgedDocument) -> str:
    counts = tally(document.marks)
    rows = "".join(
        f'<li class="{name}">{icon(name)}<b>{counts[name]}</b> {SAID[name]}</li>' for name in STANDINGS if counts[name]
    )
    return f'<ul class="tally">{rows}</ul>'
