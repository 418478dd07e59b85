"""What a command does to the machine: its time, the memory of all its processes together, and what it leaves behind."""

import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.process_tree import ProcessTree

_MARK = "REGARD_BENCH_MARK"
_EVERY = 0.01
_GRACE = 2.0


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Seconds, bytes of memory that the command's processes took at the worst moment, survivors, and what it said.

    The memory of the command itself, which nobody limits, is not counted.
    """

    seconds: float
    memory: int
    left_behind: tuple[int, ...]
    exit_code: int | None
    errors: str


def observed(command: Sequence[str], *, folder: Path, timeout: float) -> Observation:
    """Runs a command to its end."""
    mark = secrets.token_hex(8)
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, env=marked(mark), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(running, peak), daemon=True)
        watcher.start()
        try:
            _, errors = running.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            running.kill()
            _, errors = running.communicate()
    seconds = time.monotonic() - begun
    watcher.join()
    left = survivors(mark)
    for pid in left:
        os.kill(pid, 9)
    return Observation(
        seconds=seconds, memory=peak[0], left_behind=left, exit_code=running.returncode, errors=errors[-4000:]
    )


def marked(mark: str) -> dict[str, str]:
    """An environment by which all processes of a command can be found, wherever they went."""
    source = str(Path(__file__).parents[1] / "src")
    return {**os.environ, _MARK: mark, "PYTHONPATH": source}


def survivors(mark: str, grace: float = _GRACE) -> tuple[int, ...]:
    """The processes with a mark that are still running after some seconds of grace."""
    deadline = time.monotonic() + grace
    while (found := _marked_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _marked_processes(mark: str) -> tuple[int, ...]:
    sought = f"{_MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and sought in Path("/proc", name, "environ").read_bytes():
                state = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0]
                found += [int(name)] if state not in "ZX" else []
        except OSError:
            continue
    return tuple(found)


def _watch(running: "subprocess.Popen[str]", peak: list[int]) -> None:
    tree = ProcessTree(running.pid)
    while running.poll() is None:
        peak[0] = max(peak[0], sum(map(memory_of, tree.pids()[1:])))
        time.sleep(_EVERY)


def memory_of(pid: int) -> int:
    """Bytes of anonymous and shared memory, pages of several processes in equal parts."""
    try:
        lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


if sys.platform != "linux":
    raise SystemExit("This bench reads /proc and needs Linux.")
