"""Child processes: one place that starts them, exchanges messages with them, limits them and ends them.

A child runs one function of the package in a new interpreter, or in a fork of a server that has modules preloaded.
Parent and child exchange JSON objects, one per line. Of whatever else the child prints, only the end is kept.

No child outlives its parent: Linux kills it together with the parent; elsewhere a thread of the child watches.
`process_tree` finds, measures and ends what a child has started itself.
"""

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Literal

from regard.core.process_tree import ProcessTree

GIB = 2**30
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from regard.core.processes import run_as_child; run_as_child(sys.argv[2], int(sys.argv[3]))"
)
# How often a waiting parent checks whether to stop, and a child whether its parent is still there.
_TICK = 0.2
_PR_SET_PDEATHSIG = 1
_OUTPUT_KEPT = 4000

Message = Mapping[str, Any]
Inbox = queue.SimpleQueue[tuple["Child", Message | None]]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How work in another process ended without a result: it crashed or took too long."""

    outcome: Literal["crashed", "timed out"]
    reason: str
    exit_code: int | None = None

    @classmethod
    def timed_out(cls, seconds: float) -> "Ended":
        """It exceeded its time limit."""
        return cls(outcome="timed out", reason=f"it took longer than the {seconds:g} seconds allowed")

    @classmethod
    def out_of_memory(cls, limit: int) -> "Ended":
        """It and its own children exceeded their memory limit together."""
        return cls(outcome="crashed", reason=f"it took more than the {limit / GIB:g} GiB of memory allowed")

    @classmethod
    def exited(cls, code: int, last_line: str = "") -> "Ended":
        """It ended itself or was killed; a negative code is a signal.

        >>> Ended.exited(-11, "oh no").reason
        'the process was killed by SIGSEGV; its last line: oh no'
        """
        names = {number.value: number.name for number in signal.Signals}
        killed = f"the process was killed by {names.get(-code, f'signal {-code}')}"
        how = killed if code < 0 else f"the process ended with exit code {code}"
        return cls(outcome="crashed", reason=f"{how}; its last line: {last_line}" if last_line else how, exit_code=code)


class Child:
    """A process that runs `function` ("package.module:name") with a `Channel`; leaving the block ends it.

    Args:
        function: what runs in the child; it takes a `Channel`.
        environment: variables set on top of ours.
        folder: the child's working folder, which may be anybody's: no module is imported from there, and Python's
            environment variables are ignored.
        preload: fork the child from a server that has these modules imported, where the system can.
        inbox: where messages go, for those who listen to several children at once; `(child, None)` is the end.
    """

    def __init__(
        self,
        function: str,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        preload: Sequence[str] = (),
        inbox: Inbox | None = None,
    ) -> None:
        self._inbox: Inbox = queue.SimpleQueue() if inbox is None else inbox
        self._printed = b""
        self._overrun: Ended | None = None
        self._is_killed = threading.Event()
        path = [str(Path(entry).resolve()) for entry in sys.path]
        printed, output = os.pipe()
        try:
            if preload and "forkserver" in get_all_start_methods():
                self._fork(function, path, preload, output)
            else:
                self._spawn(function, path, environment or {}, folder, output)
        finally:
            os.close(output)
        self._listener = threading.Thread(target=self._listen, args=(printed,), daemon=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._listener.start()
        self._reader.start()

    def _spawn(
        self, function: str, path: list[str], environment: Mapping[str, str], folder: Path | None, output: int
    ) -> None:
        isolation = "-P" if folder is None else "-I"
        process = subprocess.Popen(
            [sys.executable, isolation, "-c", _START, json.dumps(path), function, str(os.getpid())],
            env={**os.environ, **environment},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests, self._messages = process.stdin, process.stdout
        self._pid: int = process.pid
        self._kill: Callable[[], None] = process.kill
        self.wait: Callable[[], int] = process.wait

    def _fork(self, function: str, path: list[str], preload: Sequence[str], output: int) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(list(preload))
        requests, theirs = os.pipe()
        ours, messages = os.pipe()
        # Descriptors are passed on as connections: a fork server's child inherits nothing from us.
        with (
            Connection(requests, writable=False) as reading,
            Connection(messages, readable=False) as writing,
            Connection(os.dup(output), readable=False) as printing,
        ):
            process = context.Process(target=_run_forked, args=(function, path, reading, writing, printing))
            process.start()
        self._requests, self._messages = os.fdopen(theirs, "wb"), os.fdopen(ours, "rb")
        assert process.pid is not None
        self._pid, self._kill = process.pid, process.kill

        def wait() -> int:
            process.join()
            return process.exitcode or 0

        self.wait = wait

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def limit_memory(self, size: int) -> None:
        """From now on, ends the child when it and all that it has started take more bytes together."""
        threading.Thread(target=self._watch_memory, args=(size,), daemon=True).start()

    def send(self, message: Message) -> None:
        """Sends a message; if the child is gone, `receive` will say so."""
        with suppress(BrokenPipeError):
            self._requests.write(json.dumps(message).encode() + b"\n")
            self._requests.flush()

    def receive(self, seconds: float = float("inf"), stop: threading.Event | None = None) -> Message | Ended | None:
        """The child's next message, or how it ended, or that time ran out; None once `stop` is set."""
        deadline = time.monotonic() + seconds
        while stop is None or not stop.is_set():
            left = deadline - time.monotonic()
            if left <= 0:
                return Ended.timed_out(seconds)
            with suppress(queue.Empty):
                _, message = self._inbox.get(timeout=min(_TICK, left))
                return self.ended() if message is None or self._overrun else message
        return None

    def ended(self) -> Ended:
        """How a child that has closed its channel ended; waits for it."""
        code = self.wait()
        return self._overrun or Ended.exited(code, self.last_line())

    def last_line(self) -> str:
        """The last line that the child printed, at most 300 characters."""
        self._listener.join(timeout=_TICK)
        lines = [line.strip() for line in self._printed.decode("utf-8", "replace").splitlines()]
        return next((line[:300] for line in reversed(lines) if line), "")

    def kill(self) -> None:
        """Ends the child and whatever it has started."""
        self._is_killed.set()
        self._end()
        self.wait()
        with suppress(BrokenPipeError):
            self._requests.close()
        self._reader.join()
        self._messages.close()

    def _end(self) -> None:
        ProcessTree(self._pid).kill_descendants()
        with suppress(OSError, AttributeError):
            if os.getpgid(self._pid) == self._pid:
                os.killpg(self._pid, signal.SIGKILL)
        self._kill()

    def _watch_memory(self, limit: int) -> None:
        tree = ProcessTree(self._pid)
        if tree.outgrows(limit, self._is_killed):
            self._overrun = Ended.out_of_memory(limit)  # first, as the child may report that its own children died
            tree.kill_descendants()
            self._kill()

    def _listen(self, printed: int) -> None:
        """Keeps the end of what the child prints until nobody can print any more."""
        with suppress(OSError), os.fdopen(printed, "rb", buffering=0) as file:
            while some := file.read(2**16):
                self._printed = (self._printed + some)[-_OUTPUT_KEPT:]

    def _read(self) -> None:
        """Every line that is a JSON object goes to the inbox; None when there are no more."""
        with suppress(OSError, ValueError):
            for line in self._messages:
                with suppress(ValueError):
                    message = json.loads(line)
                    if isinstance(message, dict):
                        self._inbox.put((self, message))
        self._inbox.put((self, None))


class Channel:
    """The child's side: messages from the parent by iteration, messages to it by `send`.

    What the child's code prints on standard output goes to standard error, so that it can't disturb the messages, and
    it finds nothing on standard input.
    """

    def __init__(self, requests: IO[str], messages: IO[str]) -> None:
        self._requests, self._messages = requests, messages

    @classmethod
    def over_standard_streams(cls) -> "Channel":
        """Takes standard input and output for itself."""
        requests, messages = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(requests, messages)

    @property
    def descriptor(self) -> int:
        """The descriptor that messages from the parent come from, which ends with the parent."""
        return self._requests.fileno()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._requests)

    def send(self, **message: Any) -> None:
        """Sends a message to the parent."""
        self._messages.write(json.dumps(message) + "\n")
        self._messages.flush()


def run_as_child(function: str, parent: int) -> None:
    """The start of a child in a new interpreter."""
    die_with_parent(parent)
    _named(function)(Channel.over_standard_streams())


def _run_forked(function: str, path: list[str], requests: Connection, messages: Connection, output: Connection) -> None:
    """The start of a child forked from the server, which ends with the parent, and the child with it.

    The server lives as long as somebody holds its "alive" pipe: the parent should, and the child shouldn't.
    """
    from multiprocessing import forkserver

    die_with_parent(os.getppid())
    os.close(forkserver._forkserver._forkserver_alive_fd)  # pyright: ignore[reportAttributeAccessIssue]
    os.setsid()
    sys.path[:] = path
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    reading = os.fdopen(os.dup(requests.fileno()), encoding="utf-8")
    _named(function)(Channel(reading, os.fdopen(os.dup(messages.fileno()), "w", encoding="utf-8")))


def _named(function: str) -> Callable[[Channel], None]:
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)


def die_with_parent(parent: int) -> None:
    """Ends this process as soon as its parent is gone, even while it hangs in code that never returns."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch_parent, args=(parent, threading.Event()), daemon=True).start()
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)


@contextmanager
def watching_parent() -> Iterator[None]:
    """Ends this process if its parent ends during the block."""
    is_over = threading.Event()
    thread = threading.Thread(target=_watch_parent, args=(os.getppid(), is_over), daemon=True)
    thread.start()
    yield
    is_over.set()
    thread.join()


def _watch_parent(parent: int, is_over: threading.Event) -> None:
    while os.getppid() == parent:
        if is_over.wait(_TICK):
            return
    os._exit(1)


def limit_resources(*, memory: int, file_size: int | None = None) -> None:
    """Limits this process to `memory` bytes of data beyond what it has now, and to no larger files; it leaves no core.

    Data is what it can write and shares with nobody: libraries reserve much more address space than they use.
    Without effect where the system sets no such limits.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    except (ImportError, OSError):
        return
    limits = {resource.RLIMIT_DATA: pages * resource.getpagesize() + memory, resource.RLIMIT_CORE: 0}
    if file_size is not None:
        limits |= {resource.RLIMIT_FSIZE: file_size}
    for kind, wanted in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (limit, limit))
