"""Files in, documents out; what cannot be read is an `InputError` of one line."""

import os
import stat
from pathlib import Path

from regard.core.errors import InputError
from regard.derivations.reading.document import Document, Kind
from regard.derivations.reading.notebook import read_notebook
from regard.derivations.reading.scan import scan

KINDS: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".tex": "latex",
    ".ipynb": "notebook",
}
MAX_BYTES = 5_000_000


def read(path: str | Path) -> Document:
    """The document in a file, of the kind that its suffix says."""
    kind = _kind(Path(path))
    return read_text(decoded(stored_bytes(Path(path)), str(path)), kind=kind, path=str(path))


def read_text(text: str, *, kind: Kind = "markdown", path: str = "<text>") -> Document:
    r"""The document in a text; `path` is only what its places will say.

    >>> document = read_text("Let\r\n$x = 1$.")
    >>> str(document.place(document.spans[0].start)), document.spans[0].source
    ('<text>:2:1', 'x = 1')
    """
    text = text.removeprefix("\ufeff")
    _check(text, path)
    return read_notebook(text, path) if kind == "notebook" else scan(text, kind, path)


def documents_in(folder: str | Path) -> tuple[Path, ...]:
    """Every document in a folder and the folders below it, sorted; hidden files and folders are left out."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give a folder, or the file itself.")
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place) / name for name in files if not name.startswith(".")]
    return tuple(sorted(path for path in found if path.suffix.lower() in KINDS))


def _kind(path: Path) -> Kind:
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give a file, or list its documents with documents_in.")
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path} is of a kind that can't be read. The kinds that can: {', '.join(KINDS)}.")
    return KINDS[path.suffix.lower()]


def stored_bytes(path: Path) -> bytes:
    """What a regular file of bearable size holds."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is not a regular file. Give a file.")
        if status.st_size > MAX_BYTES:
            raise InputError(f"{path} has {status.st_size} bytes, more than the {MAX_BYTES} that are read. Split it.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Check the name.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be opened: {error}.") from None


def decoded(stored: bytes, path: str) -> str:
    """The text that UTF-8 bytes spell, without a byte-order mark."""
    if b"\0" in stored:
        raise InputError(f"{path} holds NUL bytes, so it is not text in UTF-8. Save it as UTF-8 text.")
    try:
        return stored.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
        raise InputError(f"{path} is not text in UTF-8: {reason}. Save it as UTF-8 text.") from None


def _check(text: str, path: str) -> None:
    if not text.strip():
        raise InputError(f"{path} is empty. Give a document with something in it.")
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in set(text)):
        raise InputError(f"{path} holds characters that are not text. Save it as UTF-8 text.")
    if len(text) > MAX_BYTES:
        raise InputError(f"{path} has {len(text)} characters, more than the {MAX_BYTES} that are read. Split it.")
