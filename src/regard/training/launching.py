"""Starting the processes of a training, hearing from them, and ending them together."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from regard.errors import RegardError
from regard.interrupts import interrupts_held_back

__all__ = ["Layout", "TrainingFailed", "launch"]


class TrainingFailed(RegardError):
    """A training process ended before its work was done."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How many processes, and how many threads each."""

    processes: int
    threads: int

    def __str__(self) -> str:
        return f"{self.processes} × {self.threads}"


def launch(folder: Path, layout: Layout, *more: str) -> Iterator[dict]:
    """What the first process tells, message by message; all end when it ends, or when nobody listens any more."""
    with ExitStack() as stack:
        errors = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(layout.processes)]
        with interrupts_held_back():
            workers = [
                subprocess.Popen(
                    [sys.executable, "-m", "regard.training.working", str(folder), *more],
                    env=_environment(layout, rank, port) if layout.processes > 1 else _environment(layout, 0, 0),
                    stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    stderr=errors[rank],
                )
                for port in [_free_port()]
                for rank in range(layout.processes)
            ]
        stack.callback(_end, workers)
        assert workers[0].stdout is not None
        stack.callback(workers[0].stdout.close)
        watch = threading.Thread(target=_end_together, args=(workers,), daemon=True)
        watch.start()
        for line in workers[0].stdout:
            yield json.loads(line)
        for worker, error in zip(workers, errors, strict=True):
            if worker.wait() != 0:
                _end(workers)
                error.seek(0)
                raise TrainingFailed(_why(worker.returncode, error.read().decode(errors="replace")))


def _environment(layout: Layout, rank: int, port: int) -> dict[str, str]:
    together = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(layout.processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    speed = {
        "OMP_NUM_THREADS": str(layout.threads),
        "OMP_WAIT_POLICY": "active" if layout.threads > 1 else "passive",
        # Big arrays come and go at every step: kept, their memory need not be asked for and cleared again.
        "MALLOC_MMAP_THRESHOLD_": str(2**32),
        "MALLOC_TRIM_THRESHOLD_": str(2**33),
        "MALLOC_TOP_PAD_": str(2**27),
    }
    return {**os.environ, **speed, **(together if layout.processes > 1 else {})}


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _end_together(workers: list[subprocess.Popen]) -> None:
    """Ends the first process when another fails, since it would wait for that one for ever."""
    for worker in workers[1:]:
        if worker.wait() != 0:
            _end(workers)


def _end(workers: list[subprocess.Popen]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.kill()
        worker.wait()


def _why(code: int, text: str) -> str:
    last = next((line for line in reversed(text.strip().splitlines()) if line.strip()), "it said nothing")
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"A training process {how}: {last}"
