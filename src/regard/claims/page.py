"""Claims as one HTML page: a card for each, with its formula, verdict, figure, evidence and near misses."""

import html
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from regard.claims.claim import ClaimVerdict
from regard.claims.deciding import Explanation
from regard.core.verdict import STATUSES, Evidence, Status, count_statuses
from regard.render.charts import draw_figure
from regard.render.formulas import equation, scripted
from regard.render.page import (
    Page,
    StatusCount,
    icon,
    notebook_frame,
    render_command,
    render_counts,
    render_facts,
    render_filter,
    render_legend,
    render_page,
    render_table,
)
from regard.render.terminal import plural, quantity

_LEGEND: Mapping[Status, str] = {
    "proved": "proved: by algebra or a certified enclosure, on the whole domain",
    "holds": "holds: measured or sampled, within the error given",
    "refuted": "refuted: there is a counterexample",
    "undecided": "undecided: the reason says why",
}


def render_claims(explanations: Sequence[Explanation]) -> str:
    """The page's whole text; a single claim is shown with all details open, several with all folded."""
    verdicts = [explanation.verdict for explanation in explanations]
    is_alone = len(explanations) == 1
    sections = [(title, list(group)) for title, group in groupby(explanations, key=lambda each: each.claim.section)]
    body = "".join(_section(place, title, group, is_alone) for place, (title, group) in enumerate(sections))
    title = verdicts[0].id if is_alone else f"{len(verdicts)} claims about attention"
    page = Page(
        title=f"{title} · {_outcome(verdicts)}",
        main=_head(title, verdicts) + body + '<p class="nothing" hidden>No claim matches the search.</p>',
        margin=_legend() if is_alone else _counts(verdicts) + _filter(verdicts) + _contents(sections) + _legend(),
        styles=("document.css", "cards.css", "charts.css", "claims/claims.css"),
        scripts=("cards.js", "claims/claims.js"),
    )
    return render_page(page)


def verdicts_frame(verdicts: Sequence[ClaimVerdict]) -> str:
    """Verdicts as a notebook shows them: a table, with the counterexample or the value of each."""
    rows = [
        (v.id, v.status, v.statement, v.counterexample or quantity(v.value, v.bound) or v.reason or "")
        for v in verdicts
    ]
    title = plural(len(verdicts), "claim")
    table = render_table(rows, ("claim", "verdict", "statement", "evidence"))
    page = Page(title=title, main=f"<h1>{title}</h1>{table}", margin=_counts(verdicts), styles=("document.css",))
    return notebook_frame(render_page(page), title=title, height=min(600, 240 + 90 * len(verdicts)))


def section_name(section: str) -> str:
    """The section without the number that sorts it.

    >>> section_name("7 softmax")
    'Softmax'
    """
    return section.partition(" ")[2].capitalize()


def title_tags(verdict: ClaimVerdict) -> str:
    """What the title of a claim's card shows beside its id: tags and the verdict."""
    tags = '<span class="tag">misconception</span>' if verdict.expected == "refuted" else ""
    if not verdict.is_as_expected:
        tags += f'<span class="tag alarm">the catalog expects: {verdict.expected}</span>'
    return f'{tags}<span class="badge {verdict.status}">{icon(verdict.status)}{verdict.status}</span>'


def counterexample(verdict: ClaimVerdict) -> str:
    """The counterexample to a claim, if there is one."""
    if not verdict.counterexample:
        return ""
    return f'<p class="against"><b>Counterexample</b> {scripted(verdict.counterexample)}</p>'


def facts(explanation: Explanation) -> str:
    """Where a claim holds, the values at which it was decided, the result and its source."""
    named = {**explanation.facts, "source": explanation.claim.source}
    return render_facts({name.capitalize(): fact for name, fact in named.items()})


def evidence_list(evidence: Sequence[Evidence], *, is_open: bool) -> str:
    """What each method found, in a list that can be folded."""
    return _folded(f"Evidence by {plural(len(evidence), 'method')}", map(_finding, evidence), is_open=is_open)


def _outcome(verdicts: Sequence[ClaimVerdict]) -> str:
    unexpected = [verdict.id for verdict in verdicts if not verdict.is_as_expected]
    if unexpected:
        return f"{plural(len(unexpected), 'unexpected verdict')}: {', '.join(unexpected)}"
    return f"{verdicts[0].status}, as expected" if len(verdicts) == 1 else "every verdict as expected"


def _head(title: str, verdicts: Sequence[ClaimVerdict]) -> str:
    status = "holds" if all(verdict.is_as_expected for verdict in verdicts) else "refuted"
    outcome = _outcome(verdicts)
    return (
        f'<header class="head"><p class="problem">Decided from scratch by independent methods, seed {verdicts[0].seed}'
        f"</p><h1>{html.escape(title)}</h1>"
        f'<p class="outcome {status}">{icon(status)}{html.escape(outcome[0].upper() + outcome[1:])}</p></header>'
    )


def _section(place: int, title: str, group: Sequence[Explanation], is_alone: bool) -> str:
    cards = "".join(_card(explanation, is_open=is_alone) for explanation in group)
    heading = f"<h2>{html.escape(section_name(title))}</h2>" if title else ""
    return f'<section class="claims" id="section-{place + 1}">{heading}{cards}</section>'


def _card(explanation: Explanation, *, is_open: bool) -> str:
    verdict = explanation.verdict
    name, near_misses = html.escape(verdict.id), explanation.near_misses
    tested = f"{len(near_misses)} near miss{'' if len(near_misses) == 1 else 'es'}, each tested in the claim's place"
    inside = (
        equation(explanation.claim.latex),
        draw_figure(explanation.figure),
        f'<h4>Why</h4><p class="why">{scripted(explanation.claim.derivation)}</p>',
        facts(explanation),
        evidence_list(verdict.evidence, is_open=is_open),
        _folded(tested, map(_near_miss, near_misses), is_open=is_open),
        render_command(verdict.reproduce or ""),
    )
    parts = (
        f'<header><h3 id="name-{name}"><a href="#{name}">{name}</a></h3>{title_tags(verdict)}</header>',
        f'<p class="statement">{scripted(verdict.statement)}</p>',
        counterexample(verdict),
        f'<details class="argument"{" open" if is_open else ""}><summary>Why, and the evidence</summary>',
        *inside,
        "</details>",
    )
    kind = f"{verdict.status} misconception" if verdict.expected == "refuted" else verdict.status
    return f'<article class="claim {kind}" id="{name}" aria-labelledby="name-{name}">{"".join(parts)}</article>'


def _folded(summary: str, rows: Iterable[str], *, is_open: bool) -> str:
    inside = "".join(rows)
    if not inside:
        return ""
    is_shown = " open" if is_open else ""
    return f'<details class="evidence"{is_shown}><summary>{summary}</summary><ul>{inside}</ul></details>'


def _finding(item: Evidence) -> str:
    number = quantity(item.value, item.bound, digits=12)
    note = " (of a smaller case)" if item.is_of_smaller_case else ""
    return _row(item.status, item.method, *item.detail.split("; "), f"value {number}{note}" if number else "")


def _near_miss(found: ClaimVerdict) -> str:
    ending = "" if found.is_as_expected else f", but it should be {found.expected}"
    return _row(found.status, found.statement + ending, found.counterexample or found.reason or "")


def _row(status: Status, title: str, *details: str) -> str:
    shown = "".join(f"<p>{scripted(detail)}</p>" for detail in details if detail)
    return (
        f'<li class="{status}">{icon(status)}<div><b>{scripted(title)}</b> '
        f'<span class="status">{status}</span>{shown}</div></li>'
    )


def _counts(verdicts: Sequence[ClaimVerdict]) -> str:
    numbers = count_statuses(verdicts)
    counts = [StatusCount(tint=name, icon=name, name=name, number=numbers[name]) for name in STATUSES if numbers[name]]
    misconceptions = [verdict for verdict in verdicts if verdict.expected == "refuted"]
    among = f", {plural(len(misconceptions), 'misconception')} among them" if misconceptions else ""
    noun = "claim" if len(verdicts) == 1 else "claims"
    return render_counts(f"<b>{len(verdicts)}</b> {noun}{among}", counts, counts)


def _filter(verdicts: Sequence[ClaimVerdict]) -> str:
    counts = count_statuses(verdicts)
    choices = [
        ("all", "all claims", True),
        *((name, name, counts[name] > 0) for name in STATUSES),
        ("misconception", "misconceptions", any(verdict.expected == "refuted" for verdict in verdicts)),
    ]
    return render_filter(choices, search="Search the claims")


def _contents(sections: Sequence[tuple[str, Sequence[Explanation]]]) -> str:
    rows = "".join(
        f'<li><a href="#section-{place + 1}">{html.escape(section_name(title))}</a>'
        f"<ul>{''.join(_link(explanation.verdict) for explanation in group)}</ul></li>"
        for place, (title, group) in enumerate(sections)
    )
    return f'<details class="contents" open><summary>Claims</summary><ol>{rows}</ol></details>'


def _link(verdict: ClaimVerdict) -> str:
    name = html.escape(verdict.id)
    return (
        f'<li class="{verdict.status}"><a href="#{name}">{icon(verdict.status)}<span>{name}</span>'
        f'<span class="unseen"> {verdict.status}</span></a></li>'
    )


def _legend() -> str:
    keys = "<kbd>/</kbd> to search, <kbd>Esc</kbd> to clear the search"
    return render_legend(((name, name, text) for name, text in _LEGEND.items()), keys=keys)
