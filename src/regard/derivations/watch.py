"""Doing something again whenever a file changes, without a system's help: names, times and sizes are looked at."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

Stamp = tuple[tuple[str, int, int], ...]


def changes(
    files: Callable[[], list[Path]], *, interval: float = 0.3, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Yields at once, and then after each change to the files, or to which they are, once it has settled."""
    seen: Stamp | None = None
    while True:
        stamp = _stamp(files())
        if stamp != seen:
            sleep(interval if seen is not None else 0.0)
            settled = _stamp(files())
            if seen is not None and settled != stamp:
                continue
            seen = settled
            yield
        else:
            sleep(interval)


def _stamp(files: list[Path]) -> Stamp:
    """What changes when a file is saved; a file that is being replaced counts as empty."""
    stamps = []
    for path in files:
        try:
            status = path.stat()
            stamps.append((str(path), status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append((str(path), 0, 0))
    return tuple(sorted(stamps))
