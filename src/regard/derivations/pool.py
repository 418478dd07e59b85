"""Many tasks side by side in processes that can be ended: one that hangs or crashes costs nobody else anything."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from pebble import ProcessExpired

from regard.core.errors import InputError
from regard.core.interrupts import interrupts_held_back, spawning_pool
from regard.derivations.reports import Outcome

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many processes work, how many seconds a task may take, and after how many tasks a process is replaced."""

    jobs: int = 1
    seconds: float = 60.0
    tasks_a_process: int = 300

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"{self.jobs} jobs can do no work. Ask for at least one.")
        if not self.seconds > 0:
            raise InputError(f"A time limit of {self.seconds:g} seconds leaves no time. Give a positive number.")


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Why a task gave no result."""

    outcome: Outcome
    reason: str


def run_tasks(
    tasks: Iterable[Task], work: Callable[[Task], Result], limits: Limits
) -> Iterator[tuple[Task, Result | Lost]]:
    """Each task with its result as they come in; tasks are taken only as fast as they are worked on.

    `work` is imported by name in other processes. Whoever stops asking for results ends all that is under way.
    """
    waiting = iter(tasks)
    pool = spawning_pool(limits.jobs, limits.tasks_a_process)
    under_way: dict[Future, Task] = {}
    try:
        while True:
            with interrupts_held_back():
                for task in itertools.islice(waiting, 3 * limits.jobs - len(under_way)):
                    under_way[pool.schedule(work, args=(task,), timeout=limits.seconds)] = task
            if not under_way:
                break
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                task = under_way.pop(future)
                yield task, _result(future, limits)
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


def _result(future: Future, limits: Limits) -> Any:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, TimeoutError):
        return Lost(outcome="timed out", reason=f"it took longer than the {limits.seconds:g} seconds allowed.")
    if isinstance(error, ProcessExpired):
        return Lost(outcome="crashed", reason=f"the process that judged it ended with code {error.exitcode}.")
    return Lost(outcome="crashed", reason=f"{type(error).__name__}: {error}")
