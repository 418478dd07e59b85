"""A process for student code that can be ended at any time, together with whatever it has started."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from regard.conformance.layout_child import Task
from regard.core.errors import InputError

# Isolated from the working folder and the environment's paths, so that no file of the student's is taken for ours.
_START = (
    "import sys, json, os; sys.path[:] = json.loads(sys.argv[1]); os.environ['OMP_NUM_THREADS'] = '1'; "
    "from regard.conformance.layout_child import main; main()"
)
_GIB = 2**30
_SECONDS_TO_START = 120.0

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Seconds for one piece, import included, and GiB of memory beyond what our own code takes."""

    seconds: float = 60.0
    memory: float = 2.0

    def __post_init__(self) -> None:
        for name in ("seconds", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"A limit of {getattr(self, name):g} {name} leaves nothing. Give a positive number.")


class Worker:
    """Runs tasks one after the other in one process, and in a new one after it had to be ended."""

    def __init__(self, root: str, allowance: Allowance) -> None:
        self._root, self._allowance = root, allowance
        self._child: subprocess.Popen[bytes] | None = None
        self._events: queue.Queue[Event | None] = queue.Queue()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, task: Task) -> Iterator[Event]:
        """What the task tells; the last event is `done`, or `ended` with an outcome and a reason."""
        yield from self._started()
        if self._child is None:
            return
        self._write(asdict(task))
        until = time.monotonic() + self._allowance.seconds
        while True:
            event = self._next(until, self._allowance.seconds)
            yield event
            if event["event"] in ("done", "ended"):
                return

    def _started(self) -> Iterator[Event]:
        """Nothing if the process is there or could be started."""
        if self._child is not None:
            return
        path = [str(Path(folder).resolve()) for folder in sys.path]
        self._events = queue.Queue()
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._root,
            start_new_session=True,
        )  # fmt: skip
        assert self._child.stdout is not None
        threading.Thread(target=_listen, args=(self._child.stdout, self._events), daemon=True).start()
        self._write({"memory": int(self._allowance.memory * _GIB)})
        event = self._next(time.monotonic() + _SECONDS_TO_START, _SECONDS_TO_START)
        if event["event"] == "ended":
            yield {**event, "reason": f"before the student's code was run: {event['reason']}"}

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        # A process that is gone already says so when it is listened to.
        with suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(line).encode() + b"\n")
            self._child.stdin.flush()

    def _next(self, until: float, seconds: float) -> Event:
        try:
            event = self._events.get(timeout=max(until - time.monotonic(), 0.0))
        except queue.Empty:
            self._end()
            return _ended("timed out", f"it took longer than the {seconds:g} seconds allowed")
        return event if event is not None else _ended("crashed", self._end(patience=2.0))

    def _end(self, patience: float = 0.0) -> str:
        """Ends the process and all that it started; how it ended by itself, if it did within so many seconds."""
        child, self._child = self._child, None
        if child is None:
            return ""
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(timeout=patience)
        with suppress(OSError, AttributeError):
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return _how(code)


def _listen(pipe: IO[bytes], events: "queue.Queue[Event | None]") -> None:
    """Every line that is an event; None when there are no more."""
    with suppress(OSError, ValueError):
        for line in pipe:
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and isinstance(event.get("event"), str):
                    events.put(event)
    events.put(None)


def _ended(outcome: str, reason: str) -> Event:
    return {"event": "ended", "outcome": outcome, "reason": reason}


def _how(code: int | None) -> str:
    if code is None or code >= 0:
        return f"the process ended itself with exit code {code}"
    try:
        return f"the process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was ended by signal {-code}"
