"""Verdicts as JSON, in the schema that all commands share (regard-1.schema.json beside this file)."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from regard.core.verdict import STATUSES, Verdict, count_statuses

SCHEMA = "regard/1"


def document(command: str, verdicts: Iterable[Verdict], more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The document for one run: the command, its verdicts, the count of each status, and what the command adds.

    >>> document("claims", [])["counts"]
    {'proved': 0, 'holds': 0, 'refuted': 0, 'undecided': 0}
    """
    verdicts = tuple(verdicts)
    rows = [_finite(verdict.to_dict()) for verdict in verdicts]
    counts = dict(count_statuses(verdicts))
    return {"schema": SCHEMA, "command": command, "verdicts": rows, "counts": counts, **_finite(dict(more or {}))}


def as_json(
    command: str, verdicts: Iterable[Verdict], more: Mapping[str, Any] | None = None, *, is_ascii: bool = False
) -> str:
    """The document as text; `is_ascii` escapes non-ASCII characters, for outputs without UTF-8."""
    return json.dumps(document(command, verdicts, more), indent=2, ensure_ascii=is_ascii, allow_nan=False) + "\n"


def json_pieces(
    command: str, verdicts: Iterable[Verdict], *, documents: Iterable[dict[str, Any]], is_ascii: bool = False
) -> Iterator[str]:
    """The document as text, piece by piece, for more verdicts than fit in memory; `documents` is read last.

    >>> json.loads("".join(json_pieces("verify", [], documents=[])))["documents"]
    []
    """
    tally: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        for verdict in verdicts:
            tally[verdict.status] += 1
            yield verdict.to_dict()

    def written(row: Any) -> str:
        return json.dumps(_finite(row), ensure_ascii=is_ascii, allow_nan=False)

    yield f'{{\n"schema": "{SCHEMA}",\n"command": "{command}",\n"verdicts": '
    yield from _listed(map(written, rows()))
    yield f',\n"counts": {written({status: tally[status] for status in STATUSES})},\n"documents": '
    yield from _listed(map(written, documents))
    yield "\n}\n"


def _listed(rows: Iterable[str]) -> Iterator[str]:
    link = "[\n"
    for row in rows:
        yield link + row
        link = ",\n"
    yield "[]" if link == "[\n" else "\n]"


def schema() -> dict[str, Any]:
    """The JSON Schema of every document."""
    return json.loads(resources.files("regard.render").joinpath("regard-1.schema.json").read_text(encoding="utf-8"))


def _finite(value: Any) -> Any:
    """The same value, with null for each number that JSON cannot write (NaN, ±∞)."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
