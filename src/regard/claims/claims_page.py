"""Claims laid open as one page: a card for each, with its formula, verdict, figure, evidence and rivals."""

import html
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from regard.claims.claim_parts import claim_counterexample, claim_facts
from regard.claims.explanation import Explanation, RivalOutcome
from regard.core.verdict import STATUSES, ClaimVerdict, Evidence, Status, count_statuses
from regard.render.charts import draw_figure
from regard.render.formulas import equation, scripted
from regard.render.page import Page, icon, render_page
from regard.render.terminal import quantity

_LEGEND: Mapping[Status, str] = {
    "proved": "proved: by algebra or a certified enclosure, on the whole domain",
    "holds": "holds: measured or sampled, within the error given",
    "refuted": "refuted: there is a counterexample",
    "undecided": "undecided: the reason says why",
}


def render_claims(explanations: Sequence[Explanation]) -> str:
    """The file's whole text; a single claim is shown with everything unfolded."""
    verdicts = [explanation.verdict for explanation in explanations]
    is_alone = len(explanations) == 1
    sections = [(title, list(group)) for title, group in groupby(explanations, key=lambda each: each.section)]
    body = "".join(_section(place, title, group, is_alone) for place, (title, group) in enumerate(sections))
    title = verdicts[0].id if is_alone else f"{len(verdicts)} claims about attention"
    page = Page(
        title=f"{title} · {_outcome(verdicts)}",
        main=_head(title, verdicts) + body + '<p class="nothing" hidden>No claim here fits the search.</p>',
        margin=_margin(verdicts, sections),
        styles=("document.css", "charts.css", "claims/claims.css"),
        scripts=("claims/claims.js",),
    )
    return render_page(page)


def _outcome(verdicts: Sequence[ClaimVerdict]) -> str:
    astray = [verdict.id for verdict in verdicts if not verdict.is_as_expected]
    if astray:
        return f"{len(astray)} not as the catalogue expects: {', '.join(astray)}"
    return f"{verdicts[0].status}, as expected" if len(verdicts) == 1 else "every verdict as expected"


def _head(title: str, verdicts: Sequence[ClaimVerdict]) -> str:
    stands = "holds" if all(verdict.is_as_expected for verdict in verdicts) else "refuted"
    outcome = _outcome(verdicts)
    return (
        f'<header class="head"><p class="problem">Decided afresh by independent routes, seed {verdicts[0].seed}</p>'
        f"<h1>{html.escape(title)}</h1>"
        f'<p class="outcome {stands}">{icon(stands)}{html.escape(outcome[0].upper() + outcome[1:])}</p></header>'
    )


def _section(place: int, title: str, group: Sequence[Explanation], is_alone: bool) -> str:
    cards = "".join(_card(explanation, is_open=is_alone) for explanation in group)
    heading = f"<h2>{html.escape(_named(title))}</h2>" if title and not is_alone else ""
    return f'<section class="claims" id="section-{place + 1}">{heading}{cards}</section>'


def _named(section: str) -> str:
    """The section without the number that sorts it."""
    number, _, name = section.partition(" ")
    name = name if number.isdigit() and name else section
    return name[:1].upper() + name[1:]


def _card(explanation: Explanation, *, is_open: bool) -> str:
    verdict = explanation.verdict
    parts = (
        _title(verdict),
        f'<p class="statement">{scripted(verdict.statement)}</p>',
        equation(explanation.latex),
        claim_counterexample(verdict),
        "" if explanation.figure is None else draw_figure(explanation.figure),
        f'<h4>Why</h4><p class="why">{scripted(explanation.derivation)}</p>',
        claim_facts(explanation),
        _folded(f"Evidence by {_counted(verdict.evidence, 'route')}", map(_finding, verdict.evidence), is_open=is_open),
        _folded(
            f"{_counted(explanation.rivals, 'rival')}, each tried in the claim's place",
            map(_rival, explanation.rivals),
            is_open=is_open,
        ),
        _reproduce(verdict),
    )
    kind = f"{verdict.status} myth" if verdict.expected == "refuted" else verdict.status
    name = html.escape(verdict.id)
    return f'<article class="claim {kind}" id="{name}" aria-labelledby="name-{name}">{"".join(parts)}</article>'


def _title(verdict: ClaimVerdict) -> str:
    name, status = html.escape(verdict.id), verdict.status
    tags = '<span class="tag">myth</span>' if verdict.expected == "refuted" else ""
    if not verdict.is_as_expected:
        tags += f'<span class="tag alarm">the catalogue expects: {verdict.expected}</span>'
    return (
        f'<header><h3 id="name-{name}"><a href="#{name}">{name}</a></h3>{tags}'
        f'<span class="badge {status}">{icon(status)}{status}</span></header>'
    )


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _folded(summary: str, rows: Iterable[str], *, is_open: bool) -> str:
    inside = "".join(rows)
    if not inside:
        return ""
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary><ul>{inside}</ul></details>"


def _finding(item: Evidence) -> str:
    number = quantity(item.value, item.bound, digits=12)
    note = " (of a smaller case)" if item.is_of_smaller_case else ""
    parts = [*item.detail.split("; "), f"value {number}{note}" if number else ""]
    return _row(item.status, item.route, *parts)


def _rival(rival: RivalOutcome) -> str:
    found = rival.verdict
    ending = "" if found.status == rival.becomes else f" — but it must come out {rival.becomes}"
    return _row(found.status, rival.statement + ending, found.counterexample or found.reason or "")


def _row(status: Status, title: str, *details: str) -> str:
    told = "".join(f"<p>{scripted(detail)}</p>" for detail in details if detail)
    return (
        f'<li class="{status}">{icon(status)}<div><b>{scripted(title)}</b> '
        f'<span class="status">{status}</span>{told}</div></li>'
    )


def _reproduce(verdict: ClaimVerdict) -> str:
    command = html.escape(verdict.reproduce or "")
    return f'<p class="reproduce"><code>{command}</code><button type="button" class="copy" hidden>Copy</button></p>'


def _margin(verdicts: Sequence[ClaimVerdict], sections: Sequence[tuple[str, Sequence[Explanation]]]) -> str:
    if len(verdicts) == 1:
        return _legend()
    return "".join((_counts(verdicts), _filter(verdicts), _contents(sections), _legend()))


def _counts(verdicts: Sequence[ClaimVerdict]) -> str:
    counts = count_statuses(verdicts)
    rows = "".join(
        f'<li class="{name}">{icon(name)}<b>{counts[name]}</b> {name}</li>' for name in STATUSES if counts[name]
    )
    myths = sum(verdict.expected == "refuted" for verdict in verdicts)
    total = f"<b>{len(verdicts)}</b> claims" + (f", {_counted(range(myths), 'myth')} among them" if myths else "")
    return (
        f'<section class="counts" aria-label="Counts"><p class="total">{total}</p>{_bar(counts, len(verdicts))}'
        f"<ul>{rows}</ul></section>"
    )


def _bar(counts: Mapping[str, int], number: int) -> str:
    parts, place = [], 0.0
    for name in STATUSES:
        width = 100 * counts[name] / number
        if width:
            parts.append(f'<rect class="{name}" x="{place:.2f}" y="0" width="{width:.2f}" height="4"></rect>')
        place += width
    return f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


def _filter(verdicts: Sequence[ClaimVerdict]) -> str:
    counts = count_statuses(verdicts)
    myths = any(verdict.expected == "refuted" for verdict in verdicts)
    choices = [
        ("all", "everything", True),
        *((name, f"what is {name}" if name != "holds" else "what holds", counts[name] > 0) for name in STATUSES),
        ("myth", "myths", myths),
    ]
    rows = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{" checked" if name == "all" else ""}'
        f"{'' if is_useful else ' disabled'}> {text}</label>"
        for name, text, is_useful in choices
    )
    search = '<input type="search" id="search" aria-label="Search the claims" placeholder="Search, press /">'
    return f'<p class="search">{search}</p><fieldset class="filter"><legend>Show</legend>{rows}</fieldset>'


def _contents(sections: Sequence[tuple[str, Sequence[Explanation]]]) -> str:
    rows = "".join(
        f'<li><a href="#section-{place + 1}">{html.escape(_named(title))}</a><ul>{"".join(map(_link, group))}</ul></li>'
        for place, (title, group) in enumerate(sections)
    )
    return f'<details class="contents" open><summary>Claims</summary><ol>{rows}</ol></details>'


def _link(explanation: Explanation) -> str:
    verdict = explanation.verdict
    name = html.escape(verdict.id)
    return (
        f'<li class="{verdict.status}"><a href="#{name}">{icon(verdict.status)}<span>{name}</span>'
        f'<span class="unseen"> {verdict.status}</span></a></li>'
    )


def _legend() -> str:
    rows = "".join(f'<li class="{name}">{icon(name)} {text}</li>' for name, text in _LEGEND.items())
    keys = '<p class="keys"><kbd>/</kbd> searches, <kbd>Esc</kbd> clears the search</p>'
    return f'<details class="legend"><summary>What the marks mean</summary><ul>{rows}</ul>{keys}</details>'
