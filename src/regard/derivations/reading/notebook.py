"""Jupyter notebooks: the Markdown cells, with a way back from each character to the line of the stored file."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from regard.core.errors import InputError
from regard.derivations.reading.document import Document, Heading, MathSpan, Unclosed
from regard.derivations.reading.macros import Macro
from regard.derivations.reading.ranges import OffsetMap, line_starts
from regard.derivations.reading.scan import scan

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_CHARACTER = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_LISTS = ("spans", "images", "headings", "quotes", "code", "comments", "unclosed", "macros")
_ITEM = 0
_GAP = "\n\n"


@dataclass(frozen=True, kw_only=True)
class _Written:
    """Text with the offsets of the file that its pieces come from."""

    text: str
    starts: tuple[int, ...]
    targets: tuple[int, ...]


def read_notebook(stored: str, path: str) -> Document:
    """The Markdown cells of a notebook as one document; places are lines and columns of the stored file."""
    try:
        notebook = json.loads(stored)
    except (ValueError, RecursionError):
        raise InputError(
            f"{path} is not a Jupyter notebook: its content is not JSON. Save it from Jupyter again."
        ) from None
    if not isinstance(notebook, dict) or not ({"cells", "worksheets"} & notebook.keys()):
        raise InputError(f"{path} is not a Jupyter notebook: it has no cells. Save it from Jupyter again.")
    cells = [_joined(strings) for strings in _markdown_cells(stored)]
    cells = [cell for cell in cells if cell.text.strip()]
    if not cells:
        raise InputError(f"{path} has no text in Markdown cells, and only those are read. Put the answers in one.")
    return _document(cells, path, line_starts(stored))


def _markdown_cells(stored: str) -> Iterator[list[re.Match[str]]]:
    """The strings of each Markdown cell's source, in order; the tokens are those of valid JSON."""
    kind, source = "", list[re.Match[str]]()
    for path, token in _strings(stored):
        inside = path[1:] if path[0] == "cells" else path[3:] if path[:3] == ["worksheets", _ITEM, "cells"] else []
        if token is None:
            if kind == "markdown":
                yield source
            kind, source = "", []
        elif inside == [_ITEM, "cell_type"]:
            kind = json.loads(token[0])
        elif inside in ([_ITEM, "source"], [_ITEM, "source", _ITEM]):
            source.append(token)


def _strings(stored: str) -> Iterator[tuple[list[str | int | None], re.Match[str] | None]]:
    """Every string that is a value, with the keys that lead to it; None where a cell ends."""
    path: list[str | int | None] = []
    for token in _TOKEN.finditer(stored):
        mark = token[0]
        if mark in "{[":
            path.append(None if mark == "{" else _ITEM)
        elif mark in "}]":
            path.pop()
            if mark == "}" and path in (["cells", _ITEM], ["worksheets", _ITEM, "cells", _ITEM]):
                yield path, None
        elif mark == "," and path[-1] != _ITEM:
            path[-1] = None
        elif mark[0] == '"' and path[-1] is None:
            path[-1] = json.loads(mark)
        elif mark[0] == '"':
            yield path, token


def _joined(strings: list[re.Match[str]]) -> _Written:
    """The text of JSON strings one after another; a lone half of a surrogate pair becomes the replacement mark."""
    texts: list[str] = []
    starts: list[int] = []
    targets: list[int] = []
    length = 0
    for string in strings:
        for found in _CHARACTER.finditer(string[0], 1, len(string[0]) - 1):
            text = _NOT_TEXT.sub("\ufffd", json.loads(f'"{found[0]}"'))
            starts.append(length)
            targets.append(string.start() + found.start())
            texts.append(text)
            length += len(text)
    return _Written(text="".join(texts), starts=tuple(starts), targets=tuple(targets))


def _document(cells: list[_Written], path: str, stored_lines: tuple[int, ...]) -> Document:
    offsets = [0]
    for cell in cells:
        offsets.append(offsets[-1] + len(cell.text) + len(_GAP))
    parts = [_shifted(scan(cell.text, "notebook", path), start) for cell, start in zip(cells, offsets, strict=False)]
    starts = [start + offset for cell, offset in zip(cells, offsets, strict=False) for start in cell.starts]
    return Document(
        path=path,
        kind="notebook",
        text=_GAP.join(cell.text for cell in cells),
        **{name: tuple(item for part in parts for item in getattr(part, name)) for name in _LISTS},
        front_matter=parts[0].front_matter,
        origin=OffsetMap(starts=tuple(starts), targets=tuple(target for cell in cells for target in cell.targets)),
        stored_lines=stored_lines,
    )


def _shifted(document: Document, by: int) -> Document:
    """The same document with every offset raised by a number."""
    moved = {name: tuple(_moved(item, by) for item in getattr(document, name)) for name in _LISTS}
    front = document.front_matter
    return replace(document, **moved, front_matter=_moved(front, by) if front else None)


def _moved(item: Any, by: int) -> Any:
    if isinstance(item, Macro):
        return item
    if isinstance(item, Unclosed):
        return replace(item, offset=item.offset + by)
    changes: dict[str, Any] = {"start": item.start + by, "end": item.end + by}
    if isinstance(item, MathSpan):
        changes["origin"] = replace(item.origin, targets=tuple(target + by for target in item.origin.targets))
    if isinstance(item, Heading):
        changes["title_start"] = item.title_start + by
    return replace(item, **changes)
