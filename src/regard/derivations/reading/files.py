"""Files in, documents out; what can't be read is an `InputError` of one line."""

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.core.errors import InputError
from regard.core.files import read_regular_file
from regard.derivations.reading.document import (
    Document,
    DocumentKind,
    Heading,
    Macro,
    MappedText,
    MathSpan,
    NotebookCell,
    OffsetMap,
    Unclosed,
    line_starts,
)
from regard.derivations.reading.latex import read_latex
from regard.derivations.reading.markdown import read_markdown

KINDS: dict[str, DocumentKind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".tex": "latex",
    ".ipynb": "notebook",
}
# Files that hold answers in a form that cannot be read.
UNREADABLE = {
    ".pdf": "a PDF",
    ".docx": "a Word document",
    ".doc": "a Word document",
    ".odt": "an OpenDocument text",
    ".pages": "a Pages document",
    ".rtf": "a rich-text document",
}
_IMAGES = (".png", ".jpg", ".jpeg", ".heic", ".gif", ".webp", ".bmp", ".tif", ".tiff")
MAX_BYTES = 5_000_000
MAX_LINES = 50_000
MAX_DELIMITERS = 50_000
_DELIMITERS = ("$", "`", "\\(", "\\)", "\\[", "\\]", "\\begin", "\\end", "![", "<img", "<!--", "<code", "<pre")
_DECLARATIONS = ".regard.toml"


def read(path: str | Path) -> Document:
    """The document in a file; the suffix gives its kind."""
    kind = _kind(Path(path))
    return read_text(decoded(stored_bytes(Path(path)), str(path)), kind=kind, path=str(path))


def read_text(text: str, *, kind: DocumentKind = "markdown", path: str = "<text>") -> Document:
    r"""The document in a text; `path` is only shown in its places.

    >>> document = read_text("Let\r\n$x = 1$.")
    >>> str(document.place(document.spans[0].start)), document.spans[0].source
    ('<text>:2:1', 'x = 1')
    """
    text = text.removeprefix("\ufeff")
    _check(text, path)
    if kind == "notebook":
        return _read_notebook(text, path)
    plain = normalized(text)
    document = _read_source(plain.text, kind, path)
    return document if plain.text == text else replace(document, origin=plain.origin, stored_lines=line_starts(text))


def _read_source(text: str, kind: DocumentKind, path: str) -> Document:
    _check_size(len(line_starts(text)), MAX_LINES, "lines", path)
    _check_size(sum(text.count(mark) for mark in _DELIMITERS), MAX_DELIMITERS, "delimiters", path)
    return read_latex(text, path) if kind == "latex" else read_markdown(text, path, kind)


_SPACES = str.maketrans(dict.fromkeys("\xa0\u1680\u202f\u205f" + "".join(map(chr, range(0x2000, 0x200B))), " "))
_NARROW = [chr(code) for code in range(0x21, 0x7F) if chr(code).isalnum() or chr(code) in "=+<>"]
_WIDE = str.maketrans({chr(0xFEE0 + ord(mark)): mark for mark in _NARROW})
_COMPOSED = re.compile("[^\\W\\d_][\u0300-\u036f]+|[\u200b\u2060\ufeff\xad]+")


def normalized(text: str) -> MappedText:
    """The text with plain blanks, letters composed with their accents, and full-width letters made narrow.

    >>> normalized("si\\xa0e\\u0301gal").text, normalized("e\\u0301x").origin.at(1)
    ('si égal', 2)
    """
    plain = text.translate(_SPACES).translate(_WIDE)
    pieces, place = [], 0
    for found in _COMPOSED.finditer(plain):
        composed = unicodedata.normalize("NFC", found[0]) if found[0][0].isalpha() else ""
        if len(composed) < len(found[0]):
            pieces.append((plain[place : found.start()] + composed, place))
            place = found.end()
    return MappedText.joined([*pieces, (plain[place:], place)])


_LATEX = re.compile(
    r"^[^%\n]*\\(?:documentclass|begin\{(?:document|itemize|enumerate)\}|(?:sub)*section\*?\{)", re.MULTILINE
)


def guess_suffix(text: str) -> str:
    r"""The suffix of a file that would hold this text.

    >>> guess_suffix("\\section{Notes} $a = b$"), guess_suffix("# Notes"), guess_suffix('{"cells": []}')
    ('.tex', '.md', '.ipynb')
    """
    if text.lstrip().startswith("{") and '"cells"' in text:
        return ".ipynb"
    return ".tex" if _LATEX.search(text) else ".md"


def documents_in(folder: str | Path) -> tuple[Path, ...]:
    """Every document in a folder and its subfolders, sorted, without hidden files and folders.

    Documents of a kind that cannot be read are listed unless the same name is there in a kind that can.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give a folder, or the file itself.")
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place) / name for name in files if not name.startswith(".")]
    readable = {path.with_suffix("") for path in found if path.suffix.lower() in KINDS}
    unreadable = [p for p in found if p.suffix.lower() in UNREADABLE and p.with_suffix("") not in readable]
    return tuple(sorted([*(path for path in found if path.suffix.lower() in KINDS), *unreadable]))


def images_in(folder: str | Path) -> tuple[Path, ...]:
    """Every picture in a folder and its subfolders, sorted, without hidden files and folders."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place) / name for name in files if name.lower().endswith(_IMAGES) and not name.startswith(".")]
    return tuple(sorted(found))


def _kind(path: Path) -> DocumentKind:
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give a file, or list its documents with documents_in.")
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path} is not a kind of file that can be read. Supported: {', '.join(KINDS)}.")
    return KINDS[path.suffix.lower()]


def declarations_beside(path: Path) -> str:
    """The text of the file that declares a document's symbols, notes.regard.toml beside notes.md; empty without one."""
    beside = path.with_name(f"{path.stem}{_DECLARATIONS}")
    return decoded(stored_bytes(beside), str(beside)) if beside.is_file() else ""


def stored_bytes(path: Path, *, follows_link: bool = True) -> bytes:
    """The bytes of a regular file that isn't too large; a link is refused unless it is to be followed."""
    if path.suffix.lower() in UNREADABLE:
        raise InputError(f"{path} is {UNREADABLE[path.suffix.lower()]}. Submit the LaTeX, Markdown or notebook source.")
    if path.suffix.lower() in _IMAGES:
        raise InputError(f"{path} is an image. Submit the LaTeX, Markdown or notebook source.")
    if path.is_dir() and not path.is_symlink():
        what = "only images" if images_in(path) else "no document"
        raise InputError(f"{path} has {what}. Submit the LaTeX, Markdown or notebook source.")
    try:
        _check_size(path.lstat().st_size, MAX_BYTES, "bytes", str(path))
        content = read_regular_file(path, follows_link=follows_link, most=MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Check the name.") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be opened: {error}.") from None
    _check_size(len(content), MAX_BYTES, "bytes", str(path))
    return content


def decoded(stored: bytes, path: str) -> str:
    """The text that UTF-8 bytes spell, without a byte-order mark."""
    if stored.startswith(b"%PDF-"):
        raise InputError(f"{path} is a PDF. Submit the LaTeX, Markdown or notebook source.")
    if b"\0" in stored:
        raise InputError(f"{path} contains NUL bytes, so it is not UTF-8 text. Save it as UTF-8 text.")
    try:
        return stored.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: byte {error.start} is invalid. Save it as UTF-8 text."
        raise InputError(message) from None


def _check(text: str, path: str) -> None:
    if not text.strip():
        raise InputError(f"{path} is empty. Give a document with something in it.")
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in set(text)):
        raise InputError(f"{path} contains characters that are not text. Save it as UTF-8 text.")
    _check_size(len(text), MAX_BYTES, "characters", path)


def _check_size(number: int, limit: int, things: str, path: str) -> None:
    if number > limit:
        raise InputError(f"{path} has {number} {things}; the limit is {limit}. Split it.")


# -- notebooks ---------------------------------------------------------------------------------------------------------
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_CHARACTER = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_LISTS = ("spans", "images", "headings", "quotes", "code", "comments", "unclosed", "macros")
_ITEM = 0
_GAP = "\n\n"


def _read_notebook(stored: str, path: str) -> Document:
    """The Markdown cells of a Jupyter notebook as one document; places are lines and columns of the stored file."""
    try:
        notebook = json.loads(stored)
    except (ValueError, RecursionError):
        message = f"{path} is not a Jupyter notebook: it is not valid JSON. Save it from Jupyter again."
        raise InputError(message) from None
    if not isinstance(notebook, dict) or not ({"cells", "worksheets"} & notebook.keys()):
        raise InputError(f"{path} is not a Jupyter notebook: it has no cells. Save it from Jupyter again.")
    numbered = [(number, _cell(strings)) for number, strings in _markdown_cells(stored)]
    cells = {number: cell for number, cell in numbered if cell.text.strip()}
    if not cells:
        raise InputError(f"{path} has no text in Markdown cells, and only those are read. Put the answers in one.")
    return _joined(cells, path, line_starts(stored))


def _markdown_cells(stored: str) -> Iterator[tuple[int, list[re.Match[str]]]]:
    """The number of each Markdown cell among all cells, and the strings of its source, as tokens of the valid JSON."""
    number, kind, source = 1, "", list[re.Match[str]]()
    for path, token in _strings(stored):
        inside = path[1:] if path[0] == "cells" else path[3:] if path[:3] == ["worksheets", _ITEM, "cells"] else []
        if token is None:
            if kind == "markdown":
                yield number, source
            number, kind, source = number + 1, "", []
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


def _cell(strings: list[re.Match[str]]) -> MappedText:
    """The text of JSON strings one after another; half a surrogate pair becomes the replacement character."""
    stored = MappedText.joined(
        (_NOT_TEXT.sub("\ufffd", json.loads(f'"{found[0]}"')), string.start() + found.start())
        for string in strings
        for found in _CHARACTER.finditer(string[0], 1, len(string[0]) - 1)
    )
    plain = normalized(stored.text)
    return replace(plain, origin=plain.origin.onto(stored.origin))


def _joined(cells: dict[int, MappedText], path: str, stored_lines: tuple[int, ...]) -> Document:
    offsets = [0]
    for cell in cells.values():
        offsets.append(offsets[-1] + len(cell.text) + len(_GAP))
    pairs = list(zip(cells.values(), offsets, strict=False))
    parts = [_shifted(_read_source(cell.text, "notebook", path), start) for cell, start in pairs]
    return Document(
        path=path,
        kind="notebook",
        text=_GAP.join(cell.text for cell in cells.values()),
        **dict[str, Any]((name, tuple(item for part in parts for item in getattr(part, name))) for name in _LISTS),
        front_matter=parts[0].front_matter,
        origin=OffsetMap(
            starts=tuple(offset + start for cell, offset in pairs for start in cell.origin.starts),
            targets=tuple(target for cell in cells.values() for target in cell.origin.targets),
        ),
        stored_lines=stored_lines,
        cells=tuple(NotebookCell(number=number, start=start) for number, start in zip(cells, offsets, strict=False)),
    )


def _shifted(document: Document, by: int) -> Document:
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
