"""Starts the processes of a training, forwards their messages, and ends them together."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from signal import SIGKILL
from socket import socket

from regard.core.errors import InputError, RegardError
from regard.core.processes import Child, Ended, Inbox
from regard.core.worker_pool import interrupts_deferred

Notify = Callable[[dict], None]

_WORKER = "regard.training.worker:run_worker"


class MessageKind(StrEnum):
    """What a message or a line of the metrics is about."""

    STATUS = "doing"
    WARNING = "warning"
    PLAN = "plan"
    SPEED = "speed"
    STEP = "step"
    HELD_OUT = "held out"
    TOGETHER = "together"
    REFUSED = "refused"
    FAILED = "failed"


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


def launch(
    folder: Path, layout: ProcessLayout, *, members: Sequence[int] | None = None, seconds: float | None = None
) -> Generator[dict, None, None]:
    """The messages of the first process of each member; by default, of all members in the layout.

    With `seconds`, the processes only measure their steps for about that long.
    When one process fails, or the caller stops iterating, all are ended.
    """
    inbox: Inbox = SimpleQueue()
    member_of: dict[Child, int] = {}
    chosen = range(layout.members) if members is None else members
    with ExitStack() as stack:
        with interrupts_deferred():
            for member, port in zip(chosen, _free_ports(len(chosen)), strict=True):
                for rank in range(layout.processes):
                    environment = _environment(layout, rank, port)
                    child = stack.enter_context(Child(_WORKER, environment=environment, inbox=inbox))
                    member_of[child] = member
        for child, member in member_of.items():
            child.send({"folder": str(folder), "member": member, "seconds": seconds})
        running = set(member_of)
        while running:
            child, message = inbox.get()
            if message is None:
                _require_success(child.ended())
                running.remove(child)
            elif message["kind"] == MessageKind.REFUSED:
                raise InputError(message["text"])
            elif message["kind"] == MessageKind.FAILED:
                raise TrainingFailed(f"The training failed: {message['text']}")
            else:
                yield {**message, "member": member_of[child]}


def _environment(layout: ProcessLayout, rank: int, port: int) -> Mapping[str, str]:
    speed = {
        "OMP_NUM_THREADS": str(layout.threads),
        "OMP_WAIT_POLICY": "active" if layout.threads > 1 else "passive",
        # Every step allocates large arrays. Keeping freed memory saves requesting and clearing it again.
        "MALLOC_MMAP_THRESHOLD_": str(2**32),
        "MALLOC_TRIM_THRESHOLD_": str(2**33),
        "MALLOC_TOP_PAD_": str(2**27),
    }
    if layout.processes == 1:
        return speed
    return speed | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(layout.processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def _free_ports(count: int) -> list[int]:
    """Different ports: each is kept open until all are found."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _require_success(ended: Ended) -> None:
    """Raises an error for a process that ended without saying why."""
    if ended.exit_code == -SIGKILL:
        raise TrainingFailed(
            "The training was killed, probably because memory ran out. Free some memory and resume it, or make the "
            "model or the batch smaller (--set batch.rows=…)."
        )
    if ended.exit_code != 0:
        raise TrainingFailed(f"The training failed: {ended.reason}. Resume it from its last checkpoint.")
