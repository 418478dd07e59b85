"""The matrix of layers and laws."""

import html
import re
from collections.abc import Mapping, Sequence

from regard.conformance.check_text import measured
from regard.conformance.verdict import CheckReport, LawVerdict

OUTCOME_WORDS: Mapping[str, str] = {
    "holds": "holds",
    "refuted": "refuted",
    "expected failure": "expected failure",
    "unexpected pass": "unexpected pass",
    "inconclusive": "inconclusive",
    "skipped": "skipped",
    "crashed": "crashed",
    "timed out": "timed out",
}
# The classes of the shared style sheet that colour an outcome.
TINTS: Mapping[str, str] = {
    "holds": "holds",
    "refuted": "refuted",
    "expected failure": "known refuted",
    "unexpected pass": "refuted",
    "inconclusive": "undecided",
    "skipped": "given",
    "crashed": "lost refuted",
    "timed out": "lost refuted",
}
_ICONS: Mapping[str, str] = {
    "holds": "holds", "refuted": "refuted", "expected failure": "refuted", "unexpected pass": "holds",
    "inconclusive": "undecided", "skipped": "given", "crashed": "refuted", "timed out": "undecided",
}  # fmt: skip
# What a cell says in its few letters.
_CELLS: Mapping[str, str] = {
    "holds": "ok", "refuted": "no", "expected failure": "known", "unexpected pass": "pass", "inconclusive": "quiet",
    "skipped": "–", "crashed": "crash", "timed out": "time",
}  # fmt: skip


def slug(name: str) -> str:
    """A name fit for an anchor."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-") or "layer"


def outcome_icon(outcome: str) -> str:
    """The picture of an outcome; what it means must be said beside it."""
    return f'<svg class="icon" aria-hidden="true"><use href="#icon-{_ICONS[outcome]}"></use></svg>'


def matrix(reports: Sequence[CheckReport]) -> str:
    """A table with a row for each layer and a column for each law; a cell tells more when pointed at or focused."""
    laws = list(dict.fromkeys(verdict.law for report in reports for verdict in report.verdicts))
    statements = {verdict.law: verdict.statement for report in reports for verdict in report.verdicts}
    columns = "".join(
        f'<th scope="col" title="{html.escape(statements[law])}"><span>{html.escape(law)}</span></th>' for law in laws
    )
    rows = "".join(_row(report, laws) for report in reports)
    return (
        '<div class="matrix" role="region" aria-label="Layers and laws" tabindex="0"><table>'
        f'<thead><tr><th scope="col" class="corner">layer</th>{columns}</tr></thead><tbody>{rows}</tbody></table></div>'
        '<p class="nothing" hidden>No layer here fits.</p>'
        '<div class="telling" id="telling" role="status" hidden></div>'
    )


def _row(report: CheckReport, laws: Sequence[str]) -> str:
    found = {verdict.law: verdict for verdict in report.verdicts}
    cells = "".join(_cell(report, found.get(law)) for law in laws)
    kinds = " ".join([*([] if report.ok else ["failing"]), *(["knows"] if "expected failure" in report.counts else [])])
    name = html.escape(report.layer)
    link = f'<a href="#layer-{slug(report.layer)}">{name}</a>'
    return f'<tr class="{kinds}"><th scope="row">{link}<span class="grade">{report.grade}</span></th>{cells}</tr>'


def _cell(report: CheckReport, verdict: LawVerdict | None) -> str:
    if verdict is None:
        return '<td class="empty"></td>'
    outcome = verdict.outcome or verdict.status
    told = " · ".join(filter(None, (measured(verdict), verdict.counterexample or verdict.reason)))
    probably = f" · probably {verdict.diagnosis[0]}" if verdict.diagnosis and verdict.status == "refuted" else ""
    label = html.escape(f"{report.layer}, {verdict.law}: {OUTCOME_WORDS[outcome]}")
    words = html.escape(f"{told}{probably}")
    text = f'<span aria-hidden="true">{_CELLS[outcome]}</span>'
    place = slug(report.layer)
    where = f"#layer-{place}" if outcome == "skipped" else f"#{place}-{verdict.law}"
    return (
        f'<td class="{TINTS[outcome]} {slug(outcome)}"><a href="{html.escape(where)}" aria-label="{label}" '
        f'data-told="{words}" tabindex="-1">{text}</a></td>'
    )
