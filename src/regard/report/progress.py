"""Progress for those who wait longer than a second."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["progress"]

Report = Callable[[int, int], None]


@contextmanager
def progress(console: Console, doing: str, *, patience: float = 1.0) -> Iterator[Report]:
    """Yields `report(done, total)`; a bar appears after `patience` seconds, and only on a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(doing, total=None)
    timer = Timer(patience, bar.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
            bar.stop()
