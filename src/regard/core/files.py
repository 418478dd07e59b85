"""Files that are written completely or not at all."""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.core.errors import InputError


def ensure_writable(path: Path) -> None:
    """Raises an InputError if `write_atomically` could not write there."""
    with _readable_errors(path):
        target = path.resolve()
        if target.is_dir():
            raise InputError(f"Cannot write {path}: it is a directory. Name a file in it.")
        if not target.parent.is_dir():
            raise InputError(f"Cannot write {path}: the directory {path.parent} does not exist. Create it first.")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise InputError(f"Cannot write {path}: permission denied. Choose a file that you may write.")


def write_atomically(path: Path, content: str | bytes | Iterable[str], *, is_durable: bool = False) -> None:
    """Writes a temporary file next to the target and renames it; a failure leaves nothing behind.

    Text is encoded as UTF-8. A device or a pipe (/dev/null) is written to directly. `is_durable` flushes the content to
    the disk before the rename, and the rename before returning, so that a power loss leaves the old file or the new.
    """
    ensure_writable(path)
    with _readable_errors(path):
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                file.writelines(_pieces(content))
        else:
            _write_and_move(target, content, is_durable)


def write_new(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a file that must not exist yet."""
    if os.path.lexists(path):
        raise InputError(f"{path} already exists. Name a new file, or move that one away.")
    write_atomically(path, content)


def read_regular_file(path: Path, *, follows_link: bool = True, most: int | None = None) -> bytes:
    """The content of a file, at most so many bytes of it; a pipe or a device is refused, and a link if asked for.

    Raises an OSError if the file cannot be opened.
    """
    # A pipe or a device is not even opened: that may block, or do something.
    _require_regular(path.stat() if follows_link else path.lstat(), path)
    # It may have been replaced meanwhile.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= 0 if follows_link else getattr(os, "O_NOFOLLOW", 0)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        _require_regular(os.fstat(file.fileno()), path)
        return file.read(-1 if most is None else most)


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise InputError(f"{path} is a symbolic link, which is not followed. Put the file itself there.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is not a regular file. Give a file.")


def _pieces(content: str | bytes | Iterable[str]) -> Iterator[bytes]:
    whole = (content,) if isinstance(content, str | bytes) else content
    return (piece if isinstance(piece, bytes) else piece.encode("utf-8") for piece in whole)


def _write_and_move(target: Path, content: str | bytes | Iterable[str], is_durable: bool) -> None:
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as file:
            file.writelines(_pieces(content))
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
        if is_durable and hasattr(os, "O_DIRECTORY"):
            _sync_directory(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"Cannot write {path}: {why}. Name another file.") from error
    except RuntimeError as error:
        raise InputError(f"Cannot write {path}: its symbolic links form a loop. Name another file.") from error
