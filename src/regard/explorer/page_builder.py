"""The interactive page: its claims decided, its answer sheet judged, and everything put into one HTML file."""

import base64
import gzip
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from regard import __version__
from regard.claims import all_claims
from regard.claims.deciding import Explanation, decide_claims, explanation_of
from regard.claims.page import counterexample, evidence_list, facts, section_name, title_tags
from regard.core.files import write_atomically
from regard.derivations.report import IN_WORDS
from regard.derivations.report.marks import with_slots
from regard.derivations.report.prose import prose_html
from regard.derivations.results import STANDINGS, DocumentReport, count_standings
from regard.derivations.tasks import Assignment, DocumentTask
from regard.derivations.verify import example_answers, judge_task
from regard.explorer.assets import bundle, fill, page_file, with_formulas
from regard.render.charts import draw_figure
from regard.render.formulas import equation, scripted
from regard.render.page import asset, content_policy, icon, notebook_frame

_PARTS = ("reading", "copy", "swing", "shuffle", "positions", "verdicts", "sheet")
_STYLES = ("shell.css", "document.css", "steps.css", "charts.css", "claims/claims.css")
_OWN_STYLES = ("page.css", "controls.css", "parts.css", "reading.css")
_SHEET, _PROBLEM = "answers.md", "cs224n-a4"
_CLAIM_ID = re.compile("`([a-z0-9]+(?:-[a-z0-9]+)+)`")


@dataclass(frozen=True, kw_only=True)
class ExplorerPage:
    """One self-contained HTML page; a notebook shows it in a frame.

    Args:
        html: the text of the page.
        height: the height of the frame in pixels.
    """

    html: str = field(repr=False)
    height: int = 860

    def write(self, path: Path) -> None:
        """Writes the page to a file."""
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        return notebook_frame(self.html, title="Explore attention", height=self.height, has_scripts=True)


def explore(
    *, claims: str | None = None, seed: int = 0, jobs: int = 1, report: Callable[[int, int], None] | None = None
) -> ExplorerPage:
    """The interactive page, with its claims decided and its answer sheet judged now; a notebook displays it.

    Args:
        claims: a pattern that selects claims; all by default.
        seed: the seed of every random draw behind the verdicts.
        jobs: the number of claims to decide in parallel.
        report: called as `report(done, total)` as verdicts come in.
    """
    verdicts = decide_claims(claims, seed=seed, jobs=jobs, report=report)
    catalog = all_claims()
    explanations = [explanation_of(catalog[verdict.id], verdict, {}) for verdict in verdicts]
    assignment = Assignment.for_problem(_PROBLEM, seed=seed)
    task = DocumentTask(file=_SHEET, content=example_answers().encode("utf-8"), assignment=assignment)
    return build_page(explanations, judge_task(task))


def build_page(explanations: Sequence[Explanation], sheet: DocumentReport) -> ExplorerPage:
    """The page with these claims as its verdicts and this report on its judged derivation."""
    style = "\n".join([*(asset(name) for name in _STYLES), *(page_file(name).strip() for name in _OWN_STYLES)])
    script = "\n".join([f"{{{asset('shell.js')}}}", bundle("main.js", page_file)])
    inside = _sheet_parts(sheet)
    return ExplorerPage(
        html=fill(
            page_file("index.html"),
            {
                "policy": html.escape(content_policy(style, script)),
                "version": __version__,
                "style": style,
                "icons": asset("icons.svg"),
                "parts": "\n".join(fill(with_formulas(page_file(f"parts/{name}.html")), inside) for name in _PARTS),
                "model": _packed(resources.files("regard.explorer").joinpath("model.safetensors").read_bytes()),
                "claims": _packed(_claims_json(explanations)),
                "script": script,
            },
        )
    )


def _packed(content: bytes) -> str:
    """The content, compressed; equal content always gives the same text."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode("ascii")


def _claims_json(explanations: Sequence[Explanation]) -> bytes:
    entries = [_claim_entry(each) for each in explanations]
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _claim_entry(explanation: Explanation) -> Mapping[str, object]:
    """A claim for the list of verdicts, with its card as HTML."""
    verdict = explanation.verdict
    return {
        "id": verdict.id,
        "section": section_name(explanation.claim.section),
        "status": verdict.status,
        "isMisconception": verdict.expected == "refuted",
        "statement": verdict.statement,
        "card": _claim_card(explanation),
    }


def _claim_card(explanation: Explanation) -> str:
    verdict, state = explanation.verdict, explanation.claim.demonstration
    why = _CLAIM_ID.sub(r'<a href="#verdicts?claim=\1">\1</a>', scripted(explanation.claim.derivation))
    parts = (
        f'<header><h2 id="claim-title" tabindex="-1">{html.escape(verdict.id)}</h2>{title_tags(verdict)}</header>',
        f'<p class="statement">{scripted(verdict.statement)}</p>',
        counterexample(verdict),
        draw_figure(explanation.figure),
        f'<p class="demonstration"><a href="#{html.escape(state)}">See it live and change it</a></p>' if state else "",
        equation(explanation.claim.latex),
        f'<h3>Why</h3><p class="why">{why}</p>',
        evidence_list(verdict.evidence, is_open=False),
        facts(explanation),
        f'<p class="reproduce"><code>{html.escape(verdict.reproduce or "")}</code></p>',
    )
    return f'<article class="claim {verdict.status}">{"".join(parts)}</article>'


def _sheet_parts(report: DocumentReport) -> Mapping[str, str]:
    """The judged derivation: the title of its problem, the counts, and the document with every step marked."""
    assert report.document is not None, "the page shows the document"
    counts = count_standings(report.verdicts)
    rows = "".join(
        f'<li class="{name}">{icon(name)}<b>{counts[name]}</b> {IN_WORDS[name]}</li>'
        for name in STANDINGS
        if counts[name]
    )
    body = prose_html(with_slots(report), report.document.kind)
    return {
        "sheet_problem": html.escape(report.problem_title),
        "sheet_counts": f'<ul class="tally">{rows}</ul>',
        "sheet_document": f'<article class="document" lang="en">{body}</article>',
    }
