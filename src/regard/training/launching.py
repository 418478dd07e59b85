"""Starts the processes of a training, receives their messages, and ends them together."""

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
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from socket import socket
from typing import IO

from regard.core.errors import InputError, RegardError
from regard.core.worker_pool import interrupts_deferred

REFUSED = 2
"""The exit code of a process that wrote, in its last line on standard error, why it can't do its work."""

UNTIL_STDIN_ENDS = "--until-stdin-ends"
"""Nothing is written to standard input: it ends with the launching program, and then the process should end too."""


class MessageKind(StrEnum):
    """What a message or a line of the metrics is about."""

    STATUS = "doing"
    WARNING = "warning"
    PLAN = "plan"
    SPEED = "speed"
    STEP = "step"
    HELD_OUT = "held out"
    TOGETHER = "together"


class TrainingFailed(RegardError):
    """A training process ended before its work was done."""


@dataclass(frozen=True, kw_only=True)
class ProcessLayout:
    """How many models are trained side by side, the processes of each, and the threads of each process."""

    processes: int
    threads: int
    members: int = 1

    def __str__(self) -> str:
        each = f"{self.processes} × {self.threads}"
        return each if self.members == 1 else f"{self.members} × {each}"

    @property
    def in_words(self) -> str:
        """The layout with an explanation of its numbers."""
        return f"{self} ({'members × ' if self.members > 1 else ''}processes × threads)"


def launch(folder: Path, layout: ProcessLayout, *more: str, members: Sequence[int] | None = None) -> Iterator[dict]:
    """The messages of the first process of each member; by default, of all members in the layout.

    When one process fails, or the caller stops iterating, all are ended.
    """
    workers: list[subprocess.Popen] = []
    threads: list[threading.Thread] = []
    messages: SimpleQueue[dict | None] = SimpleQueue()
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
                threads.append(threading.Thread(target=_forward, args=(member, worker.stdout, messages), daemon=True))
        for thread in threads:
            thread.start()
        for _ in chosen:
            while (message := messages.get()) is not None:
                yield message
        for thread in threads:
            thread.join()
        if failed:
            errors[failed[0]].seek(0)
            raise _failure(workers[failed[0]].returncode, errors[failed[0]].read().decode(errors="replace"))


def _command(folder: Path, member: int, *more: str) -> list[str]:
    options = [UNTIL_STDIN_ENDS, "--member", str(member)]
    return [sys.executable, "-m", "regard.training.worker", *options, "--", str(folder), *more]


def _forward(member: int, lines: IO[bytes], messages: "SimpleQueue[dict | None]") -> None:
    """Queues every message with its member, then None. Other output of libraries is ignored."""
    for line in lines:
        with suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and "kind" in message:
                messages.put({**message, "member": member})
    messages.put(None)


def _start(
    workers: list[subprocess.Popen], layout: ProcessLayout, errors: Sequence[IO[bytes]], commands: Sequence[list[str]]
) -> None:
    """Starts the processes of each command; they join `workers` one by one, so all are known if a later one fails."""
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


def _environment(layout: ProcessLayout, rank: int, port: int) -> dict[str, str]:
    distributed = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(layout.processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    speed = {
        "OMP_NUM_THREADS": str(layout.threads),
        "OMP_WAIT_POLICY": "active" if layout.threads > 1 else "passive",
        # Every step allocates large arrays. Keeping freed memory saves requesting and clearing it again.
        "MALLOC_MMAP_THRESHOLD_": str(2**32),
        "MALLOC_TRIM_THRESHOLD_": str(2**33),
        "MALLOC_TOP_PAD_": str(2**27),
    }
    return {**os.environ, **speed, **(distributed if layout.processes > 1 else {})}


def _free_ports(count: int) -> list[int]:
    """Different ports: each is kept open until all are found."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _watch(number: int, workers: list[subprocess.Popen], failed: list[int]) -> None:
    """Records a failed process, and kills the others, which would wait for it for ever."""
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
    """The error of the process that failed first."""
    last = next((line for line in reversed(text.strip().splitlines()) if line.strip()), "")
    if code == REFUSED and last:
        return InputError(last)
    if code == -signal.SIGKILL:
        return TrainingFailed(
            "The training was killed, probably because memory ran out. Resume it with more memory free, or make the "
            "model or the batch smaller (--set batch.rows=…)."
        )
    if code < 0:
        return TrainingFailed(f"Signal {-code} ended the training. Resume it from its last checkpoint.")
    return TrainingFailed(f"The training failed: {last or f'a process exited with code {code} and no message'}")
