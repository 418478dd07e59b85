"""Progress for those who wait longer than a second."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Report = Callable[[int, int], None]


@contextmanager
def progress(console: Console, doing: str, *, patience: float = 1.0, pause: float = 60.0) -> Iterator[Report]:
    """Yields `report(done, total)`.

    A bar appears after `patience` seconds, and where no terminal is, a line after each `pause`.
    """
    if not console.is_terminal:
        yield _lines(console, doing, pause)
        return
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
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _lines(console: Console, doing: str, pause: float) -> Report:
    begun = told = monotonic()
    found: int | None = None

    def report(done: int, total: int) -> None:
        nonlocal told, found
        # What an earlier call has done took no time in this one.
        found = done if found is None else found
        now = monotonic()
        if now - told >= pause and found < done < total:
            told = now
            left = (now - begun) * (total - done) / (done - found)
            minutes = f"{(now - begun) / 60:.0f} min, about {left / 60:.0f} min left"
            console.print(f"{doing}: {done} of {total} after {minutes}", highlight=False)

    return report
