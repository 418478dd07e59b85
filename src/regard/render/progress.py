"""Progress of work that takes longer than a second."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

Report = Callable[[int, int], None]


class _Count(MofNCompleteColumn):
    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


class _Elapsed(ProgressColumn):
    """The time since the task began, which goes on when a part of the work is finished."""

    def render(self, task: Task) -> Text:
        return Text(f"{clock_time(task.elapsed or 0.0)} elapsed", style="progress.elapsed")


class _Remaining(ProgressColumn):
    """The time left: the task's field `left` in seconds if it has one, otherwise by the speed of late."""

    def render(self, task: Task) -> Text:
        left: float | None = task.fields.get("left", task.time_remaining)
        if task.total is None or left is None:
            return Text()
        return Text(f"about {clock_time(left)} left", style="progress.remaining")


def clock_time(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any.

    >>> clock_time(65.4), clock_time(3725)
    ('1:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def progress_bar(console: Console, *more: ProgressColumn) -> Progress:
    """A bar that vanishes at the end, with `more` columns after the count; invisible if the console is no terminal."""
    # In a narrow terminal, only the bar gets shorter.
    count, *times = (kind(table_column=Column(no_wrap=True)) for kind in (_Count, _Elapsed, _Remaining))
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), count, *more, *times)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def progress(console: Console, activity: str, *, patience: float = 1.0, pause: float = 60.0) -> Iterator[Report]:
    """Yields `report(done, total)`.

    On a terminal a bar appears after `patience` seconds. Elsewhere a line is printed at most every `pause` seconds.
    """
    if not console.is_terminal:
        yield _lines(console, activity, pause)
        return
    bar = progress_bar(console)
    task = bar.add_task(activity, total=None)
    timer = Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _lines(console: Console, activity: str, pause: float) -> Report:
    started = printed = monotonic()
    resumed_at: int | None = None

    def report(done: int, total: int) -> None:
        nonlocal printed, resumed_at
        # Work that an earlier run finished took no time in this one.
        resumed_at = done if resumed_at is None else resumed_at
        now = monotonic()
        if now - printed >= pause and resumed_at < done < total:
            printed = now
            left = (now - started) * (total - done) / (done - resumed_at)
            minutes = f"{(now - started) / 60:.0f} min, about {left / 60:.0f} min left"
            console.print(f"{activity}: {done} of {total} after {minutes}", highlight=False)

    return report
