"""A lock on a folder, so that only one program works in it at a time."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.core.errors import InputError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Locks a folder, which is created if it is missing; a second program that tries is refused.

    The system releases the lock when the program ends, however it ends, so there is nothing to clean up.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"Cannot work in {folder}: {error.strerror or error}. Name another folder.") from None
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        raise InputError(
            f"Another training is working in {folder}. Wait until it ends, or name another folder."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
