"""Checked layers as JUnit XML, which continuous integration reads: a suite for each layer, a case for each law."""

from collections.abc import Iterable
from xml.etree import ElementTree

from regard.conformance.verdict import CheckReport, LawVerdict
from regard.render.page import printable


def as_junit(reports: Iterable[CheckReport]) -> str:
    """The file's text. Expected failures, skipped and inconclusive laws are skipped cases with their reasons."""
    root = ElementTree.Element("testsuites", name="regard check")
    for report in reports:
        _add_suite(root, report)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: ElementTree.Element, report: CheckReport) -> None:
    kinds = [_kind(verdict) for verdict in report.verdicts]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=printable(report.layer),
        tests=str(len(kinds)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="grade", value=report.grade)
    for spot in report.blind_to:
        ElementTree.SubElement(properties, "property", name="blind_to", value=spot)
    for verdict, kind in zip(report.verdicts, kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=printable(report.layer), name=verdict.law)
        if kind is not None:
            told = printable(f"{verdict.outcome}: {verdict.counterexample or verdict.reason or ''}")
            ElementTree.SubElement(case, kind, message=told).text = printable(_details(verdict))


def _kind(verdict: LawVerdict) -> str | None:
    if verdict.outcome in ("crashed", "timed out"):
        return "error"
    if not verdict.is_as_expected:
        return "failure"
    return None if verdict.outcome == "holds" else "skipped"


def _details(verdict: LawVerdict) -> str:
    parts = [verdict.statement, verdict.reason, verdict.counterexample]
    parts += [f"probably {name}" for name in verdict.diagnosis] if not verdict.is_as_expected else []
    return "\n".join(filter(None, [*parts, verdict.reproduce]))
