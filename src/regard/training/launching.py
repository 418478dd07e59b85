"""Starting the processes of a training, hearing from them, and ending them together."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from socket import socket
from typing import IO

from regard.core.errors import InputError, RegardError
from regard.core.worker_pool import interrupts_deferred

REFUSED = 2
"""A process ends with this code after telling, in its last line on standard error, why it cannot do its work."""

UNTIL_STDIN_ENDS = "--until-stdin-ends"
"""Nobody writes there: it ends with the program that holds its other end, and then the process should end too."""


class TrainingFailed(RegardError):
    """A training process ended before its work was done."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How many models are trained side by side, how many processes each has, and how many threads a process."""

    processes: int
    threads: int
    members: int = 1

    def __str__(self) -> str:
        each = f"{self.processes} × {self.threads}"
        return each if self.members == 1 else f"{self.members} × {each}"

    @property
    def in_words(self) -> str:
        """The layout, and what its numbers are."""
        return f"{self} ({'members × ' if self.members > 1 else ''}processes × threads)"


def launch(folder: Path, layout: Layout, *more: str, members: Sequence[int] | None = None) -> Iterator[dict]:
    """What the first process of each member tells, message by message; without `members` it is all of the layout's.

    All end when one fails, or when nobody listens any more.
    """
    workers: list[subprocess.Popen] = []
    threads: list[threading.Thread] = []
    told: SimpleQueue[dict | None] = SimpleQueue()
    failed: list[int] = []
    chosen = range(layout.members) if members is None else members
    with ExitStack() as stack:
        errors = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(len(chosen) * layout.processes)]
        stack.callback(_end, workers, threads)
        _start(workers, layout, errors, [_command(folder, member, *more) for member in chosen])
        for number, worker in enumerate(workers):
            threads.append(threading.Thread(target=_watch, args=(number, workers, failed), daemon=True))
            if worker.stdout is not None:
                member = chosen[number // layout.processes]
                threads.append(threading.Thread(target=_pass_on, args=(member, worker.stdout, told), daemon=True))
        for thread in threads:
            thread.start()
        for _ in chosen:
            while (message := told.get()) is not None:
                yield message
        for thread in threads:
            thread.join()
        if failed:
            errors[failed[0]].seek(0)
            raise _failure(workers[failed[0]].returncode, errors[failed[0]].read().decode(errors="replace"))


def _command(folder: Path, member: int, *more: str) -> list[str]:
    options = [UNTIL_STDIN_ENDS, "--member", str(member)]
    return [sys.executable, "-m", "regard.training.working", *options, "--", str(folder), *more]


def _pass_on(member: int, lines: IO[bytes], told: "SimpleQueue[dict | None]") -> None:
    """Every message, with who told it; None at the end. What libraries print there too is left out."""
    for line in lines:
        with suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and "kind" in message:
                told.put({**message, "member": member})
    told.put(None)


def _start(
    workers: list[subprocess.Popen], layout: Layout, errors: Sequence[IO[bytes]], commands: Sequence[list[str]]
) -> None:
    """A crew for each command, added to the workers one by one, so that those are known when another can't start."""
    ports = _free_ports(len(commands))
    with interrupts_deferred():
        for command, port in zip(commands, ports, strict=True):
            for rank in range(layout.processes):
                workers.append(
                    subprocess.Popen(
                        command,
                        env=_environment(layout, rank, port),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                        stderr=errors[len(workers)],
                    )
                )


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


def _free_ports(count: int) -> list[int]:
    """Different ones: each is held until all are found."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _watch(number: int, workers: list[subprocess.Popen], failed: list[int]) -> None:
    """Notes that a process failed, and ends the others, which would wait for it for ever."""
    if workers[number].wait() != 0:
        failed.append(number)
        for worker in workers:
            worker.kill()


def _end(workers: list[subprocess.Popen], threads: list[threading.Thread]) -> None:
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    for worker in workers:
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                pipe.close()


def _failure(code: int, text: str) -> RegardError:
    """What a process that failed first has to say for itself."""
    last = next((line for line in reversed(text.strip().splitlines()) if line.strip()), "")
    if code == REFUSED and last:
        return InputError(last)
    if code == -signal.SIGKILL:
        return TrainingFailed(
            "The training was killed, which systems do when memory runs out. Resume it with more memory free, or make "
            "the model or the batch smaller (--set batch.rows=…)."
        )
    if code < 0:
        return TrainingFailed(f"The training was ended by signal {-code}. What it had kept can be resumed.")
    return TrainingFailed(f"The training broke off: {last or f'a process ended with code {code} and said nothing'}")
