"""Judged documents as SARIF: one result per step that needs attention; those that comments exempt are suppressed."""

from collections.abc import Iterable, Iterator, Mapping

from regard.derivations.report import headline, remarks
from regard.derivations.results import DocumentReport, StepKind, StepVerdict
from regard.render.sarif import SarifFinding, SarifRule, SarifSuppression, as_sarif

_PAGE = "docs/verify.md"
_UNJUDGED = SarifRule(id="document", description="A document that could not be judged.", page=_PAGE)
_RULES: Mapping[StepKind, str] = {
    "step": "A step of a derivation.",
    "design": "A choice that must reach the goal of its question.",
    "choice": "An answer of yes or no.",
    "definition": "A definition or declaration.",
    "given": "What the problem gives.",
    "supposition": "A supposition, or what depends on one.",
}


def reports_as_sarif(reports: Iterable[DocumentReport]) -> str:
    """The SARIF log of some documents."""
    rules = [SarifRule(id=kind, description=text, page=_PAGE) for kind, text in _RULES.items()]
    return as_sarif("verify", [*rules, _UNJUDGED], (finding for report in reports for finding in _findings(report)))


def _findings(report: DocumentReport) -> Iterator[SarifFinding]:
    for verdict in report.verdicts:
        if report.outcome != "judged":
            message = f"{report.outcome}: {report.reason}"
            yield SarifFinding(
                rule=_UNJUDGED.id, level="error", message=message, statement=report.outcome, file=report.file
            )
        elif verdict.status in ("refuted", "undecided"):
            yield _finding(report, verdict)


def _finding(report: DocumentReport, verdict: StepVerdict) -> SarifFinding:
    shown = f"Counterexample: {verdict.counterexample}" if verdict.counterexample else None
    notes = (f"Note: {remark}" for remark in remarks(verdict))
    level = "error" if verdict.status == "refuted" else "warning" if verdict.is_doubtful else "note"
    return SarifFinding(
        rule=verdict.kind,
        level=level,
        message=". ".join(filter(None, (headline(verdict), shown, *notes))),
        statement=verdict.statement,
        file=report.file,
        extent=verdict.extent,
        suppression=SarifSuppression(kind="inSource", justification=headline(verdict)) if verdict.is_ignored else None,
    )
