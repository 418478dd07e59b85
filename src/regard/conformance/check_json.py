"""Checked layers as the JSON that all commands share, with a row for each layer."""

from collections.abc import Sequence
from typing import Any

from regard.conformance.verdict import CheckReport
from regard.render.json import as_json


def check_as_json(reports: Sequence[CheckReport], *, is_ascii: bool = False) -> str:
    """The document as text: the verdicts of all layers, and `subjects`, a row for each."""
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    return as_json("check", verdicts, {"subjects": [subject_row(report) for report in reports]}, is_ascii=is_ascii)


def subject_row(report: CheckReport) -> dict[str, Any]:
    """The layer, what it declares, how deep the check could look, and how many verdicts of each outcome."""
    return {
        "layer": report.layer,
        "ok": report.ok,
        "spec": dict(report.spec),
        "grade": report.grade,
        "blind_to": list(report.blind_to),
        "inferred": None if report.inferred is None else dict(report.inferred),
        "counts": report.counts,
    }
