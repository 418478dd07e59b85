"""Ctrl-C while other processes are started: the parent ends them, and they say nothing."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker, synchronize
from multiprocessing.context import SpawnContext

from pebble import ProcessPool


def spawning_pool(max_workers: int, max_tasks: int = 0) -> ProcessPool:
    """Workers that import what they need; those that are starting when the pool is stopped say nothing."""
    return ProcessPool(max_workers=max_workers, max_tasks=max_tasks, context=_Spawning())


class _Spawning(SpawnContext):
    """Its locks last as long as itself: the pool drops them before it ends those workers that are yet to open them."""

    def __init__(self) -> None:
        super().__init__()
        self._locks: list[synchronize.RLock] = []

    def RLock(self) -> synchronize.RLock:
        self._locks.append(super().RLock())
        return self._locks[-1]


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, since ending them is their parent's work; it sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started inside, the tracker would lift the mask for those that come after it.
    resource_tracker.ensure_running()
    with _noted_for_afterwards():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _noted_for_afterwards() -> Iterator[None]:
    """A mask is one thread's own: where there are others, one of them takes the signal and the main thread hears it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)
