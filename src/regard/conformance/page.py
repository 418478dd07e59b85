"""Reports on checked layers as an HTML page: one layer with all its verdicts, or a matrix of layers and laws."""

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.conformance.report import counts_line, error_and_tolerance, spec_line
from regard.conformance.verdict import CheckReport, LawVerdict, Outcome
from regard.render.formulas import scripted
from regard.render.page import (
    Page,
    StatusCount,
    icon,
    render_command,
    render_counts,
    render_facts,
    render_filter,
    render_legend,
    render_page,
)
from regard.render.terminal import plural


@dataclass(frozen=True)
class _Look:
    """How an outcome is shown: the style sheet's classes for its color, its icon, a matrix cell, and the legend."""

    tint: str
    icon: str
    cell: str
    meaning: str


_LOOKS: Mapping[Outcome, _Look] = {
    "holds": _Look("holds", "holds", "ok", "all comparisons agree, and a positive control fired"),
    "refuted": _Look("refuted", "refuted", "no", "there is a counterexample"),
    "expected failure": _Look("known refuted", "refuted", "known", "refuted, as expected"),
    "unexpected pass": _Look("refuted", "holds", "pass", "holds, though a failure was expected"),
    "inconclusive": _Look("undecided", "undecided", "quiet", "the positive control moved too little to tell"),
    "skipped": _Look("given", "given", "–", "the law does not apply, or the layer lacks something that it needs"),
    "crashed": _Look("lost refuted", "refuted", "crash", "the layer raised an error, or its process ended"),
    "timed out": _Look("lost refuted", "undecided", "time", "no answer within the time limit"),
}


def render_check(reports: Sequence[CheckReport]) -> str:
    """The file's whole text."""
    is_single = len(reports) == 1
    title = reports[0].layer if is_single else f"{len(reports)} layers under the laws of attention"
    layers = "".join(_layer(report, is_single=is_single) for report in reports)
    body = layers if is_single else f'{_matrix(reports)}<section class="layers" aria-label="Layers">{layers}</section>'
    page = Page(
        title=f"{title} · {_summary(reports)}",
        main=_head(title, reports) + body,
        margin=_counts(reports) + ("" if is_single else _filter()) + _legend(reports),
        styles=("document.css", "cards.css", "conformance/check.css"),
        scripts=("cards.js", "conformance/check.js"),
    )
    return render_page(page)


def _summary(reports: Sequence[CheckReport]) -> str:
    if all(report.ok for report in reports):
        return "no law is broken"
    if len(reports) == 1:
        [report] = reports
        num_tried = sum(verdict.outcome != "skipped" for verdict in report.verdicts)
        return f"fails {len(report.failures)} of {plural(num_tried, 'law')}"
    return f"{sum(not report.ok for report in reports)} of {len(reports)} layers fail a law"


def _head(title: str, reports: Sequence[CheckReport]) -> str:
    outcome: Outcome = "holds" if all(report.ok for report in reports) else "refuted"
    summary = _summary(reports).capitalize()
    above = (
        spec_line(reports[0])
        if len(reports) == 1
        else "Each layer runs in its own process; a law holds only if its positive control fired"
    )
    return (
        f'<header class="head"><p class="problem">{html.escape(above)}</p><h1>{html.escape(title)}</h1>'
        f'<p class="outcome {outcome}">{icon(_LOOKS[outcome].icon)}{html.escape(summary)}</p></header>'
    )


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-") or "layer"


def _matrix(reports: Sequence[CheckReport]) -> str:
    """A table with a row per layer and a column per law that one of them was tried by.

    A cell shows details when hovered over or focused.
    """
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    tried = {verdict.law for verdict in verdicts if verdict.outcome != "skipped"}
    statements = {verdict.law: verdict.statement for verdict in verdicts if verdict.law in tried}
    num_left_out = len({verdict.law for verdict in verdicts} - tried)
    left_out = f"{plural(num_left_out, 'law')} skipped for every layer; each says why below." if num_left_out else ""
    columns = "".join(
        f'<th scope="col" title="{html.escape(statement)}"><span>{html.escape(law)}</span></th>'
        for law, statement in statements.items()
    )
    rows = "".join(_row(report, list(statements)) for report in reports)
    return (
        '<div class="matrix" role="region" aria-label="Layers and laws" tabindex="0"><table>'
        f'<thead><tr><th scope="col" class="corner">layer</th>{columns}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="left-out">{left_out}</p><p class="nothing" hidden>No layer matches.</p>'
        '<div class="tooltip" id="tooltip" role="status" hidden></div>'
    )


def _row(report: CheckReport, laws: Sequence[str]) -> str:
    verdicts = {verdict.law: verdict for verdict in report.verdicts}
    cells = "".join(_cell(report, verdicts[law]) if law in verdicts else '<td class="empty"></td>' for law in laws)
    kinds = {"failing": not report.ok, "known-failures": "expected failure" in report.counts}
    classes = " ".join(kind for kind, applies in kinds.items() if applies)
    link = f'<a href="#layer-{_slug(report.layer)}">{html.escape(report.layer)}</a>'
    return f'<tr class="{classes}"><th scope="row">{link}<span class="grade">{report.grade}</span></th>{cells}</tr>'


def _cell(report: CheckReport, verdict: LawVerdict) -> str:
    look = _LOOKS[verdict.outcome]
    details = [error_and_tolerance(verdict), verdict.counterexample or verdict.reason]
    details += [f"probably {verdict.diagnosis[0]}"] if verdict.diagnosis and verdict.status == "refuted" else []
    label = f"{report.layer}, {verdict.law}: {verdict.outcome}"
    slug = _slug(report.layer)
    link = f"#layer-{slug}" if verdict.outcome == "skipped" else f"#{slug}-{verdict.law}"
    return (
        f'<td class="{look.tint} {_slug(verdict.outcome)}"><a href="{html.escape(link)}" '
        f'aria-label="{html.escape(label)}" data-details="{html.escape(" · ".join(filter(None, details)))}" '
        f'tabindex="-1"><span aria-hidden="true">{look.cell}</span></a></td>'
    )


def _layer(report: CheckReport, *, is_single: bool) -> str:
    slug = _slug(report.layer)
    # Failures in the order of the terminal: those that say most about their cause come first.
    others = [verdict for verdict in report.verdicts if verdict.is_as_expected and verdict.outcome != "skipped"]
    cards = "".join(_cause(report, group, is_open=is_single) for group in report.causes)
    cards += "".join(_card(report, verdict, is_open=False) for verdict in others)
    found = _list([f"{each}" if each.kind == "found" else f"{each.kind}: {each}" for each in report.findings])
    found = f'<div class="found"><h2>Found on the layer</h2>{found}</div>' if found else ""
    body = f"{found}{cards}{_skipped(report)}{_grade(report)}"
    if is_single:
        return f'<section class="layer" id="layer-{slug}">{body}</section>'
    head = f'<span class="name">{html.escape(report.layer)}</span> <span class="tally">{counts_line(report)}</span>'
    return (
        f'<details class="layer" id="layer-{slug}"><summary>{head}</summary>'
        f'<p class="declared">{html.escape(spec_line(report))}</p>{body}</details>'
    )


def _list(lines: Sequence[object], tag: str = "ul") -> str:
    rows = "".join(f"<li>{html.escape(str(line))}</li>" for line in lines)
    return f"<{tag}>{rows}</{tag}>" if rows else ""


def _cause(report: CheckReport, group: Sequence[LawVerdict], *, is_open: bool) -> str:
    """One failure, and those that have the same cause, closed."""
    first, *others = group
    more = "".join(_card(report, verdict, is_open=False) for verdict in others)
    rest = f'<div class="consequences"><h2>For the same cause</h2>{more}</div>' if more else ""
    return _card(report, first, is_open=is_open) + rest


def _card(report: CheckReport, verdict: LawVerdict, *, is_open: bool) -> str:
    look = _LOOKS[verdict.outcome]
    head = (
        f'<span class="law">{html.escape(verdict.law)}</span><span class="statement">{scripted(verdict.statement)}'
        f'</span><span class="badge {look.tint}">{icon(look.icon)}{verdict.outcome}</span>'
    )
    opened = " open" if is_open and not verdict.is_as_expected else ""
    anchor = html.escape(f"{_slug(report.layer)}-{verdict.law}")
    return (
        f'<details class="verdict {look.tint}" id="{anchor}"{opened}><summary>{head}</summary>'
        f'<div class="body">{_evidence(verdict)}{_facts(verdict)}{_reproduction(verdict)}</div></details>'
    )


def _evidence(verdict: LawVerdict) -> str:
    label, text = ("Counterexample", verdict.counterexample) if verdict.counterexample else ("Why", verdict.reason)
    is_shown = bool(text) and (verdict.outcome != "holds" or bool(verdict.counterexample))
    against = f'<p class="against"><b>{label}</b> {html.escape(text or "")}</p>' if is_shown else ""
    bugs = _list(verdict.diagnosis, "ol") if verdict.status == "refuted" else ""
    return against + (f"<h2>Probably</h2>{bugs}" if bugs else "")


def _facts(verdict: LawVerdict) -> str:
    moved = "" if verdict.control is None else f"a permitted input change moves the output by {verdict.control:.3g}"
    return render_facts(
        {
            "Error": error_and_tolerance(verdict),
            "Sanity check": moved,
            "Reason": verdict.reason if verdict.outcome in ("holds", "expected failure") else None,
            "Seed": None if verdict.seed is None else str(verdict.seed),
        }
    )


def _reproduction(verdict: LawVerdict) -> str:
    parts = []
    if verdict.reproduce and verdict.status == "refuted":
        parts.append(render_command(verdict.reproduce))
    if verdict.reproduction:
        parts.append(
            '<details class="test"><summary>A pytest file that reproduces it</summary>'
            '<button type="button" class="copy" hidden>Copy</button>'
            f'<pre tabindex="0">{html.escape(verdict.reproduction)}</pre></details>'
        )
    return "".join(parts)


def _skipped(report: CheckReport) -> str:
    skipped = report.skipped
    if not skipped:
        return ""
    rows = "".join(
        f"<li><b>{html.escape(', '.join(laws))}</b> {html.escape(reason)}</li>" for reason, laws in skipped.items()
    )
    number = sum(map(len, skipped.values()))
    return f'<details class="skipped" open><summary>{number} skipped</summary><ul>{rows}</ul></details>'


def _grade(report: CheckReport) -> str:
    if report.grade == "spec":
        text = "<p>The outputs were compared with a float64 oracle built from the spec and the weights.</p>"
    else:
        text = f"<p>It cannot detect these bugs:</p>{_list(report.blind_to)}"
    return f'<div class="grade"><h2>Grade: {report.grade}</h2>{text}</div>'


def _outcomes(reports: Sequence[CheckReport]) -> dict[Outcome, int]:
    """The outcomes that occur, in the order of the legend."""
    counts = Counter(verdict.outcome for report in reports for verdict in report.verdicts)
    return {outcome: counts[outcome] for outcome in _LOOKS if counts[outcome]}


def _counts(reports: Sequence[CheckReport]) -> str:
    counts = [
        StatusCount(tint=_LOOKS[outcome].tint, icon=_LOOKS[outcome].icon, name=outcome, number=number)
        for outcome, number in _outcomes(reports).items()
    ]
    total = f"<b>{sum(each.number for each in counts)}</b> verdicts"
    total += f" on <b>{len(reports)}</b> layers" if len(reports) > 1 else ""
    return render_counts(total, counts, counts)


def _filter() -> str:
    choices = {"all": "all layers", "failing": "failing layers", "known": "layers with known failures"}
    return render_filter(((name, text, True) for name, text in choices.items()), search="Search the layers")


def _legend(reports: Sequence[CheckReport]) -> str:
    looks = {outcome: _LOOKS[outcome] for outcome in _outcomes(reports)}
    rows = ((look.tint, look.icon, f"<b>{outcome}</b>: {look.meaning}") for outcome, look in looks.items())
    keys = "<kbd>/</kbd> searches, the arrow keys move through the matrix, <kbd>Enter</kbd> opens a cell"
    return render_legend(rows, keys=keys if len(reports) > 1 else "", is_open=True)
