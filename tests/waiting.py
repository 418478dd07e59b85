"""Waiting for what other processes do, and whether they still run."""

import time
from collections.abc import Callable
from pathlib import Path


def comes_true(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Whether the condition holds within that time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def lives(pid: int) -> bool:
    """Whether a process is there and no zombie, which only waits to be asked how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """Whether a process is gone within 20 seconds."""
    return comes_true(lambda: not lives(pid), seconds=20)
