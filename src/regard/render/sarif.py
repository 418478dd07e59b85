"""Findings as SARIF 2.1.0, the format in which code hosts and editors take the results of checkers."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal
from urllib.parse import quote

from regard import __version__
from regard.core.verdict import Extent

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_HOME = "https://github.com/regard-attention/regard"
_FINGERPRINT = "regardStatement/v1"


@dataclass(frozen=True, kw_only=True)
class SarifRule:
    """What a group of findings has in common: a kind of step, or a law; `page` of the documentation explains it."""

    id: str
    description: str
    page: str


@dataclass(frozen=True, kw_only=True)
class SarifFinding:
    """One statement that needs attention, or would but for a `suppression`: where it is made, and in whose words.

    `statement` identifies the finding from run to run, wherever its lines move. `component` is the name of what it is
    about where that is no file.
    """

    rule: str
    level: Literal["error", "warning", "note"]
    message: str
    statement: str
    file: str | None = None
    extent: Extent | None = None
    component: str | None = None
    suppression: "SarifSuppression | None" = None


@dataclass(frozen=True, kw_only=True)
class SarifSuppression:
    """Why a finding needs no attention: a comment in the source says so, or somebody elsewhere."""

    kind: Literal["inSource", "external"]
    justification: str


def as_sarif(command: str, rules: Sequence[SarifRule], findings: Iterable[SarifFinding]) -> str:
    """The log of one run as text; only rules that have a finding are listed."""
    found = list(findings)
    used = [rule for rule in rules if any(finding.rule == rule.id for finding in found)]
    places = {rule.id: place for place, rule in enumerate(used)}
    driver = {
        "name": "Regard",
        "version": __version__,
        "informationUri": _HOME,
        "rules": [
            {"id": rule.id, "shortDescription": {"text": rule.description}, "helpUri": f"{_HOME}/blob/main/{rule.page}"}
            for rule in used
        ],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"regard/{command}/"},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(found, places)),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _results(findings: Iterable[SarifFinding], places: dict[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        identity = (finding.rule, finding.file or finding.component or "", finding.statement)
        seen[identity] += 1
        suppression = finding.suppression
        row = {
            "ruleId": finding.rule,
            "ruleIndex": places[finding.rule],
            "level": finding.level,
            "message": {"text": finding.message},
            "locations": [_location(finding)],
            "partialFingerprints": {_FINGERPRINT: _hash(finding.rule, finding.statement, str(seen[identity]))},
        }
        if suppression is not None:
            why = {"justification": suppression.justification} if suppression.justification else {}
            row["suppressions"] = [{"kind": suppression.kind, **why}]
        yield row


def _location(finding: SarifFinding) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if finding.file is not None:
        region = {} if finding.extent is None else {"region": _region(finding.extent)}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(finding.file)}, **region}
    if finding.component is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.component}]
    return location


def _region(extent: Extent) -> dict[str, int]:
    return {
        "startLine": extent.line,
        "startColumn": extent.column,
        "endLine": extent.end_line,
        "endColumn": extent.end_column,
    }


def _uri(file: str) -> str:
    """A path as a URI: relative to where the command runs, or a file: URI if it is absolute."""
    return Path(file).as_uri() if PurePath(file).is_absolute() else quote(PurePath(file).as_posix())


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
