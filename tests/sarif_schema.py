"""The part of SARIF 2.1.0 that Regard writes, as a JSON Schema without room for anything else."""

from typing import Any


def _table(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def _list(items: dict[str, Any], **limits: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **limits}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _table({"text": _TEXT})
_COUNT = {"type": "integer", "minimum": 1}
_REGION = _table({"startLine": _COUNT, "startColumn": _COUNT, "endLine": _COUNT, "endColumn": _COUNT})
_URI = {"type": "string", "format": "uri-reference", "pattern": r"^[^\s<>\\]+$"}
_PHYSICAL = _table({"artifactLocation": _table({"uri": _URI})}, {"region": _REGION})
_LOCATION = {
    **_table({}, {"physicalLocation": _PHYSICAL, "logicalLocations": _list(_table({"fullyQualifiedName": _TEXT}))}),
    "minProperties": 1,
}
_SUPPRESSION = _table({"kind": {"enum": ["inSource", "external"]}}, {"justification": _TEXT})
_RESULT = _table(
    {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _MESSAGE,
        "locations": _list(_LOCATION, minItems=1),
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    {"suppressions": _list(_SUPPRESSION)},
)
_RULE = _table({"id": _TEXT, "shortDescription": _MESSAGE, "helpUri": {"type": "string", "format": "uri"}})
_DRIVER = _table({"name": _TEXT, "version": _TEXT, "informationUri": _TEXT, "rules": _list(_RULE)})
_RUN = _table(
    {
        "tool": _table({"driver": _DRIVER}),
        "automationDetails": _table({"id": _TEXT}),
        "invocations": _list(_table({"executionSuccessful": {"type": "boolean"}})),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": _RESULT},
    }
)
SARIF_SCHEMA = _table(
    {"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}, "runs": _list(_RUN, minItems=1)}
)
