"""Checked layers as a page: one layer laid open, or many as a matrix of layers and laws."""

import html
from collections.abc import Iterable, Mapping, Sequence

from regard.conformance.check_matrix import OUTCOME_WORDS, TINTS, matrix, outcome_icon, slug
from regard.conformance.check_text import measured, spec_line, tally_in_words
from regard.conformance.verdict import CheckReport, LawVerdict
from regard.render.page import Page, render_page

_LEGEND: Mapping[str, str] = {
    "holds": "every comparison agrees, and a control moved",
    "refuted": "there is a counterexample",
    "expected failure": "refuted, as was said beforehand",
    "unexpected pass": "holds, though a failure was expected",
    "inconclusive": "the layer is too quiet to tell",
    "skipped": "not for this layer, or something is missing",
    "crashed": "the layer raised, or its process ended",
    "timed out": "no answer in time",
}


def render_check(reports: Sequence[CheckReport]) -> str:
    """The file's whole text."""
    is_alone = len(reports) == 1
    title = reports[0].layer if is_alone else f"{len(reports)} layers under the laws of attention"
    body = _layer(reports[0], is_alone=True) if is_alone else matrix(reports) + _details(reports)
    page = Page(
        title=f"{title} · {_outcome(reports)}",
        main=_head(title, reports) + body,
        margin=_margin(reports),
        styles=("document.css", "conformance/check.css"),
        scripts=("conformance/check.js",),
    )
    return render_page(page)


def _outcome(reports: Sequence[CheckReport]) -> str:
    failures = sum(len(report.failures) for report in reports)
    if len(reports) == 1:
        return "no law is broken" if not failures else f"{failures} of {len(reports[0].verdicts)} laws fail"
    broken = sum(not report.ok for report in reports)
    return "no law is broken" if not broken else f"{broken} of {len(reports)} layers fail a law"


def _head(title: str, reports: Sequence[CheckReport]) -> str:
    stands = "holds" if all(report.ok for report in reports) else "refuted"
    told = _outcome(reports)
    above = spec_line(reports[0]) if len(reports) == 1 else "Each in a process of its own, every law with a control"
    return (
        f'<header class="head"><p class="problem">{html.escape(above)}</p><h1>{html.escape(title)}</h1>'
        f'<p class="outcome {stands}">{outcome_icon(stands)}{html.escape(told[0].upper() + told[1:])}</p></header>'
    )


def _details(reports: Sequence[CheckReport]) -> str:
    layers = "".join(_layer(each, is_alone=False) for each in reports)
    return f'<section class="layers" aria-label="Layers">{layers}</section>'


def _layer(report: CheckReport, *, is_alone: bool) -> str:
    name = slug(report.layer)
    shown = [verdict for verdict in report.verdicts if verdict.outcome != "skipped"]
    shown.sort(key=lambda verdict: verdict.is_as_expected)
    cards = "".join(_card(report, verdict, is_open=is_alone) for verdict in shown)
    body = f"{_inferred(report)}{cards}{_skipped(report)}{_grade(report)}"
    if is_alone:
        return f'<section class="layer" id="layer-{name}">{body}</section>'
    head = f'<span class="name">{html.escape(report.layer)}</span> <span class="tally">{tally_in_words(report)}</span>'
    return (
        f'<details class="layer" id="layer-{name}"><summary>{head}</summary>'
        f'<p class="declared">{html.escape(spec_line(report))}</p>{body}</details>'
    )


def _inferred(report: CheckReport) -> str:
    told = report.inferred or {}
    lines = [*told.get("evidence", ()), *(f"not found: {line}" for line in told.get("unknown", ()))]
    rows = "".join(f"<li>{html.escape(str(line))}</li>" for line in lines)
    return f'<div class="found"><h3>Found by probing</h3><ul>{rows}</ul></div>' if rows else ""


def _card(report: CheckReport, verdict: LawVerdict, *, is_open: bool) -> str:
    outcome = verdict.outcome or verdict.status
    tint = TINTS[outcome]
    name = f"{slug(report.layer)}-{verdict.law}"
    head = (
        f'<span class="law">{html.escape(verdict.law)}</span><span class="statement">{html.escape(verdict.statement)}'
        f'</span><span class="badge {tint}">{outcome_icon(outcome)}{OUTCOME_WORDS[outcome]}</span>'
    )
    opened = " open" if is_open and not verdict.is_as_expected else ""
    return (
        f'<details class="verdict {tint}" id="{html.escape(name)}"{opened}><summary>{head}</summary>'
        f'<div class="body">{_against(verdict)}{_diagnosis(verdict)}{_facts(verdict)}{_reproduce(verdict)}</div>'
        "</details>"
    )


def _against(verdict: LawVerdict) -> str:
    if verdict.counterexample:
        return f'<p class="against"><b>Counterexample</b> {html.escape(verdict.counterexample)}</p>'
    if verdict.outcome == "holds" or not verdict.reason:
        return ""
    return f'<p class="against"><b>Why</b> {html.escape(verdict.reason)}</p>'


def _diagnosis(verdict: LawVerdict) -> str:
    if not verdict.diagnosis or verdict.status != "refuted":
        return ""
    rows = "".join(f"<li>{html.escape(name)}</li>" for name in verdict.diagnosis)
    return f"<h4>Probably</h4><ol>{rows}</ol>"


def _facts(verdict: LawVerdict) -> str:
    control = None if verdict.control is None else f"the output moves by {verdict.control:.3g} where it may"
    facts = {
        "Error": measured(verdict),
        "Control": control,
        "Reason": verdict.reason if verdict.outcome in ("holds", "expected failure") else None,
        "Seed": None if verdict.seed is None else str(verdict.seed),
    }
    rows = "".join(f"<div><dt>{name}</dt><dd>{html.escape(fact)}</dd></div>" for name, fact in facts.items() if fact)
    return f'<dl class="facts">{rows}</dl>'


def _reproduce(verdict: LawVerdict) -> str:
    command = verdict.reproduce and verdict.status == "refuted" and (
        f'<p class="reproduce"><code>{html.escape(verdict.reproduce)}</code>'
        '<button type="button" class="copy" hidden>Copy</button></p>'
    )  # fmt: skip
    test = verdict.reproduction and (
        '<details class="test"><summary>A test that shows it without Regard</summary>'
        '<button type="button" class="copy" hidden>Copy</button>'
        f'<pre tabindex="0">{html.escape(verdict.reproduction)}</pre></details>'
    )
    return f"{command or ''}{test or ''}"


def _skipped(report: CheckReport) -> str:
    groups: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.outcome == "skipped":
            groups.setdefault(verdict.reason or "no reason", []).append(verdict.law)
    rows = "".join(
        f"<li><b>{html.escape(', '.join(laws))}</b> {html.escape(reason)}</li>" for reason, laws in groups.items()
    )
    if not rows:
        return ""
    number = sum(map(len, groups.values()))
    return f'<details class="skipped" open><summary>{number} skipped</summary><ul>{rows}</ul></details>'


def _grade(report: CheckReport) -> str:
    if report.grade == "spec":
        told = "<p>The outputs were compared with a float64 oracle built from the spec and the weights.</p>"
    else:
        rows = "".join(f"<li>{html.escape(spot)}</li>" for spot in report.blind_to)
        told = f"<p>Bugs that this grade cannot see:</p><ul>{rows}</ul>"
    return f'<div class="grade"><h3>Grade: {report.grade}</h3>{told}</div>'


def _margin(reports: Sequence[CheckReport]) -> str:
    return _counts(reports) + (_choices() if len(reports) > 1 else "") + _legend(reports)


def _outcomes(reports: Iterable[CheckReport]) -> dict[str, int]:
    tally = dict.fromkeys(_LEGEND, 0)
    for report in reports:
        for outcome, number in report.counts.items():
            tally[outcome] += number
    return tally


def _counts(reports: Sequence[CheckReport]) -> str:
    tally = _outcomes(reports)
    number = sum(tally.values()) or 1
    rows = "".join(
        f'<li class="{TINTS[name]}">{outcome_icon(name)}<b>{count}</b> {OUTCOME_WORDS[name]}</li>'
        for name, count in tally.items() if count
    )  # fmt: skip
    parts, place = [], 0.0
    for name, count in tally.items():
        width = 100 * count / number
        if width:
            parts.append(f'<rect class="{TINTS[name]}" x="{place:.2f}" y="0" width="{width:.2f}" height="4"></rect>')
        place += width
    bar = f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'
    total = f"<b>{number}</b> verdicts" + (f" on <b>{len(reports)}</b> layers" if len(reports) > 1 else "")
    return f'<section class="counts" aria-label="Counts"><p class="total">{total}</p>{bar}<ul>{rows}</ul></section>'


def _choices() -> str:
    choices = {"all": "every layer", "failing": "those that fail a law", "known": "those with known failures"}
    rows = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{" checked" if name == "all" else ""}> {text}</label>'
        for name, text in choices.items()
    )
    search = '<input type="search" id="search" aria-label="Search the layers" placeholder="Search, press /">'
    return f'<p class="search">{search}</p><fieldset class="filter"><legend>Show</legend>{rows}</fieldset>'


def _legend(reports: Sequence[CheckReport]) -> str:
    tally = _outcomes(reports)
    rows = "".join(
        f'<li class="{TINTS[name]}">{outcome_icon(name)}<span><b>{OUTCOME_WORDS[name]}</b>: {text}</span></li>'
        for name, text in _LEGEND.items() if tally[name]
    )  # fmt: skip
    keys = "" if len(reports) == 1 else (
        '<p class="keys"><kbd>/</kbd> searches, arrow keys walk through the matrix, <kbd>Enter</kbd> opens a cell</p>'
    )  # fmt: skip
    return f'<details class="legend" open><summary>What the marks mean</summary><ul>{rows}</ul>{keys}</details>'
