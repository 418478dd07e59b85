"""Decided claims as the page shows them: a line for the list, and a card that opens on the claim's figure."""

import html
import re
from collections.abc import Mapping, Sequence

from regard.claims.claim_parts import claim_counterexample, claim_facts
from regard.claims.explanation import Explanation
from regard.core.verdict import ClaimVerdict, Evidence
from regard.explorer.figures import figure_for
from regard.explorer.live import live_state
from regard.render.charts import draw_figure
from regard.render.formulas import equation, scripted
from regard.render.page import icon

_NAME = re.compile("`([a-z0-9]+(?:-[a-z0-9]+)+)`")


def claim_entries(explanations: Sequence[Explanation]) -> list[Mapping[str, object]]:
    """What the list needs of each claim, and its card as HTML."""
    return [
        {
            "id": each.verdict.id,
            "section": _named(each.section),
            "status": each.verdict.status,
            "isMyth": each.verdict.expected == "refuted",
            "statement": each.verdict.statement,
            "card": _card(each),
        }
        for each in explanations
    ]


def _named(section: str) -> str:
    """The section without the number that sorts it."""
    number, _, name = section.partition(" ")
    name = name if number.isdigit() and name else section
    return name[:1].upper() + name[1:]


def _card(explanation: Explanation) -> str:
    verdict = explanation.verdict
    parts = (
        _title(verdict),
        f'<p class="statement">{scripted(verdict.statement)}</p>',
        claim_counterexample(verdict),
        _figure(explanation),
        _live(verdict.id),
        equation(explanation.latex),
        f'<h3>Why</h3><p class="why">{_linked(scripted(explanation.derivation))}</p>',
        _evidence(verdict.evidence),
        claim_facts(explanation),
        f'<p class="reproduce"><code>{html.escape(verdict.reproduce or "")}</code></p>',
    )
    return f'<article class="claim {verdict.status}">{"".join(parts)}</article>'


def _title(verdict: ClaimVerdict) -> str:
    myth = '<span class="tag">myth</span>' if verdict.expected == "refuted" else ""
    alarm = "" if verdict.is_as_expected else f'<span class="tag alarm">expected: {verdict.expected}</span>'
    return (
        f'<header><h2 id="claim-title" tabindex="-1">{html.escape(verdict.id)}</h2>{myth}{alarm}'
        f'<span class="badge {verdict.status}">{icon(verdict.status)}{verdict.status}</span></header>'
    )


def _figure(explanation: Explanation) -> str:
    figure = explanation.figure or figure_for(explanation.verdict.id, explanation.settings)
    return "" if figure is None else draw_figure(figure)


def _live(name: str) -> str:
    state = live_state(name)
    if state is None:
        return ""
    return f'<p class="touch"><a href="#{html.escape(state)}">See it live, and change it</a></p>'


def _linked(text: str) -> str:
    """The text with the names of claims in it as links."""
    return _NAME.sub(r'<a href="#verdicts?claim=\1">\1</a>', text)


def _evidence(evidence: Sequence[Evidence]) -> str:
    rows = "".join(
        f'<li class="{item.status}">{icon(item.status)}<div><b>{scripted(item.route)}</b> '
        f'<span class="status">{item.status}</span><p>{scripted(item.detail)}</p></div></li>'
        for item in evidence
    )
    return f"<details open><summary>Evidence by {len(evidence)} routes</summary><ul>{rows}</ul></details>"
