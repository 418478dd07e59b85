"""Processes for layers: a cold one starts from nothing, a warm one is forked from a server that has torch loaded."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import IO, Any

_START = (
    "import json, os, sys; os.environ['OMP_NUM_THREADS'] = '1'; sys.path[:] = json.loads(sys.argv[1]); "
    "from regard.conformance.isolated import main; main()"
)
_PRELOAD = "regard.conformance.warmth"


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A process on its way: what it tells, its end (an exit code, negative for a signal), and how to end it."""

    lines: IO[bytes]
    wait: Callable[[], int]
    kill: Callable[[], None]


def launch_cold(request: Mapping[str, Any], words: Path) -> Launched:
    """A new interpreter; what it says on standard error goes to the file `words`."""
    with words.open("wb") as said:
        child = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps([str(Path.cwd()), *sys.path])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True,
        )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.close()
    except BrokenPipeError:
        pass  # it has ended already, and its exit code says how
    return Launched(lines=child.stdout, wait=child.wait, kill=lambda: _kill_all(child.pid, child.kill))


def launch_warm(request: Mapping[str, Any], words: Path) -> Launched:
    """A fork of a server in which torch is imported already, where there is such a thing; else a cold start."""
    if "forkserver" not in get_all_start_methods():
        return launch_cold(request, words)
    from regard.conformance.isolated import serve

    context = get_context("forkserver")
    context.set_forkserver_preload([_PRELOAD])
    reading, writing = context.Pipe(duplex=False)
    path = [str(Path.cwd()), *sys.path]
    child = context.Process(target=serve, args=(json.dumps(request), writing, str(words), path))
    child.start()
    writing.close()
    lines = os.fdopen(os.dup(reading.fileno()), "rb")
    reading.close()

    def wait() -> int:
        child.join()
        return child.exitcode or 0

    return Launched(lines=lines, wait=wait, kill=lambda: _kill_all(child.pid, child.kill))


def _kill_all(pid: int | None, kill: Callable[[], None]) -> None:
    """Ends the process and, where it leads a session of its own, all that it has started."""
    try:
        if pid is not None and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
            return
    except (OSError, AttributeError):
        pass  # it is gone, or there are no sessions here
    kill()
