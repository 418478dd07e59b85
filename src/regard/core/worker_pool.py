"""Many tasks side by side in worker processes: one that hangs or crashes is ended and costs only its own result."""

import itertools
import math
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker, synchronize
from multiprocessing.context import SpawnContext
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from regard.core.errors import InputError
from regard.core.processes import GIB, Ended, die_with_parent, limit_resources

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class PoolLimits:
    """How many processes work, the seconds of a task, the bytes of a process, and its tasks until it is replaced."""

    jobs: int = 1
    seconds: float = 60.0
    memory: int = GIB
    tasks_per_process: int = 300

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"{self.jobs} jobs can do no work. Ask for at least one.")
        if not self.seconds > 0:
            raise InputError(f"A time limit of {self.seconds:g} seconds leaves no time. Give a positive number.")


def run_tasks(
    tasks: Iterable[Task], work: Callable[[Task], Result], limits: PoolLimits
) -> Iterator[tuple[Task, Result | Ended]]:
    """Each task with its result, in the order in which they finish; tasks are taken only as fast as they are done.

    `work` is imported by name in other processes. Closing the iterator ends whatever is still running.
    """
    waiting = iter(tasks)
    pool = ProcessPool(
        max_workers=limits.jobs,
        max_tasks=limits.tasks_per_process,
        context=Spawning(),
        initializer=_start_worker,
        initargs=(os.getpid(), limits.memory),
    )
    timeout = None if math.isinf(limits.seconds) else limits.seconds
    running: dict[Future, Task] = {}
    try:
        while True:
            with interrupts_deferred():
                for task in itertools.islice(waiting, 3 * limits.jobs - len(running)):
                    running[pool.schedule(work, args=(task,), timeout=timeout)] = task
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                yield task, _result(future, limits)
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


def _start_worker(parent: int, memory: int) -> None:
    die_with_parent(parent)
    limit_resources(memory=memory)


def _result(future: Future, limits: PoolLimits) -> Any:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, TimeoutError):
        return Ended.timed_out(limits.seconds)
    if isinstance(error, ProcessExpired):
        return Ended.exited(error.exitcode)
    return Ended(outcome="crashed", reason=f"{type(error).__name__}: {error}")


class Spawning(SpawnContext):
    """Keeps its locks alive: the pool drops them while workers that are still starting have yet to open them."""

    def __init__(self) -> None:
        super().__init__()
        self._locks: list[synchronize.RLock] = []

    def RLock(self) -> synchronize.RLock:
        """A lock that is kept."""
        self._locks.append(super().RLock())
        return self._locks[-1]


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, since their parent ends them; the parent sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started inside, the tracker would lift the mask for those that come after it.
    resource_tracker.ensure_running()
    with _kept_for_afterwards():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _kept_for_afterwards() -> Iterator[None]:
    """A mask covers one thread only: another may take the signal, and Python then calls the main thread's handler."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            signal.raise_signal(signal.SIGINT)
