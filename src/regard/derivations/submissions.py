"""The files that paths on a command line stand for, and the names that their results go by."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.derivations.problems.answers import SCHEMA
from regard.derivations.reading.files import KINDS, documents_in
from regard.derivations.tasks import ANSWERS

_UNSAFE = re.compile(r"[^\w.\- ]")
_LONGEST = 60
_FIRST_LINES = 4096


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A file to be judged; `file` is how reports call it, `slug` the name of its results, unlike any other's.

    `is_named` says that its own path was given, and not that of a folder around it.
    """

    path: Path
    file: str
    slug: str
    is_named: bool


def find_submissions(paths: Iterable[str]) -> tuple[Submission, ...]:
    """Every file that the paths name or hold, once each, in the order of the paths."""
    taken: dict[str, int] = {}
    found: dict[str, Submission] = {}
    for text in paths:
        folder = Path(text)
        members = _members(folder) if folder.is_dir() else None
        for path in (folder,) if members is None else members:
            inside = path.name if members is None else os.path.relpath(path, folder)
            submission = Submission(
                path=path, file=_printable(str(path)), slug=_slug(inside, taken), is_named=members is None
            )
            found.setdefault(os.path.realpath(path), submission)
    return tuple(found.values())


def _members(folder: Path) -> list[Path]:
    try:
        found = sorted([*documents_in(folder), *_files_of_answers(folder)])
    except OSError as error:
        raise InputError(f"{folder} can't be listed: {(error.strerror or str(error)).lower()}.") from None
    if not found:
        known = ", ".join((*KINDS, ANSWERS))
        raise InputError(f"There are no documents in {folder}. The kinds that are read: {known}.")
    return found


def _files_of_answers(folder: Path) -> Iterator[Path]:
    """The TOML files that say they are answers; a folder may hold others."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place) / name
            if name.endswith(ANSWERS) and not name.startswith(".") and _is_answers(path):
                yield path


def _is_answers(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return SCHEMA.encode() in file.read(_FIRST_LINES)
    except OSError:
        return False


def _printable(name: str) -> str:
    """The name as text that every output can write; bytes that are no UTF-8 are spelled out."""
    return name.encode("utf-8", "backslashreplace").decode()


def _slug(inside: str, taken: dict[str, int]) -> str:
    """A relative path that is safe on any system; a second of the same name is numbered."""
    parts = [_UNSAFE.sub("_", _printable(part)).strip(". ") or "_" for part in Path(inside).parts]
    slug = "/".join(f"_{part[1:]}" if part.startswith("-") else part[:_LONGEST] for part in parts)
    number = taken[slug.lower()] = taken.get(slug.lower(), 0) + 1
    if number == 1:
        return slug
    stem, dot, suffix = slug.rpartition(".")
    return _slug_with_number(stem if dot else slug, f"{dot}{suffix}" if dot else "", number, taken)


def _slug_with_number(stem: str, suffix: str, number: int, taken: dict[str, int]) -> str:
    while f"{stem}~{number}{suffix}".lower() in taken:
        number += 1
    taken[f"{stem}~{number}{suffix}".lower()] = 1
    return f"{stem}~{number}{suffix}"
