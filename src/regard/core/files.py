"""Files that are written completely or not at all."""

import os
import secrets
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
