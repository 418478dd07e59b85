"""Ctrl-C while other processes are started."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

__all__ = ["interrupts_held_back"]


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, since ending them is their parent's work; it sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started inside, the tracker would lift the mask for those that come after it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
