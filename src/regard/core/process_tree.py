"""What a process has started: found, measured and ended as a whole, and kept from reaching anything else.

Code that is not ours may start processes that leave its session and ignore the end of their parent. A process that
`guard_descendants` stays their ancestor, so that they are still found below it.
All of this needs Linux and is without effect elsewhere.
"""

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
# The system calls of Landlock have the same numbers on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _BENEATH_PATH = 1, 1
# Abstract sockets and signals of other processes, since version 6.
_SCOPES, _SCOPES_SINCE = 0b11, 6
# Writing, making and removing files and folders; moving them between folders since version 2, truncating since 3.
_CHANGING, _MOVING, _TRUNCATING = 0b1111111110010, 1 << 13, 1 << 14
_ON_FILES = 0b10 | _TRUNCATING
_PATIENCE = 5.0
# Seconds between two measurements of memory.
_MEASURE_EVERY = 0.02
# The part of its memory at which a tree is ended, since it takes more until that has happened.
_ENOUGH = 0.97
# Capabilities by which root signals and debugs others' processes, mounts what it likes, and raises its own limits.
_POWERS = 1 << 5 | 1 << 19 | 1 << 21 | 1 << 24
_CAPABILITY_VERSION = 0x20080522


class ProcessTree:
    """A process and its descendants."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._others: set[str] = set()

    def pids(self) -> list[int]:
        """Those that are running, the root first if it is; what was seen outside the tree is not looked at again."""
        if sys.platform != "linux":
            return []
        names = {name for name in os.listdir(_PROC) if name.isdigit()}
        self._others &= names
        parents = {int(name): _running_child_of(name) for name in names - self._others}
        found = [self.root] if parents.get(self.root) else []
        known = {self.root}
        while more := [pid for pid, parent in parents.items() if parent in known and pid not in known]:
            known.update(more)
            found += more
        self._others |= {name for name in names if int(name) not in known}
        return found

    def memory(self, enough: int) -> int:
        """Bytes of memory of all of them, without the files that they map; shared pages count once above `enough`."""
        pids = self.pids()
        total = sum(_kibibytes(pid, "status", ("RssAnon:", "RssShmem:")) or 0 for pid in pids) * 1024
        if total <= enough:
            return total
        return sum(_shared_fairly(pid) for pid in pids) * 1024

    def kill_descendants(self) -> None:
        """Kills all but the root, and what they start meanwhile."""
        deadline = time.monotonic() + _PATIENCE
        while (found := [pid for pid in self.pids() if pid != self.root]) and time.monotonic() < deadline:
            for pid in found:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    def outgrows(self, limit: int, is_over: threading.Event) -> bool:
        """Waits until they take more memory than the limit; False if it is over first.

        The closer they are to the limit, the more often they are measured.
        """
        wait = _MEASURE_EVERY
        while not is_over.wait(wait):
            taken = self.memory(enough := int(_ENOUGH * limit))
            if taken > enough:
                return True
            wait = _MEASURE_EVERY if taken < limit / 2 else _MEASURE_EVERY / 4
        return False


def memory_in_use() -> int:
    """Bytes of memory of this process, without the files that it maps."""
    return (_kibibytes(os.getpid(), "status", ("RssAnon:", "RssShmem:")) or 0) * 1024


def _running_child_of(name: str) -> int | None:
    """The parent of a process; None if it has ended."""
    try:
        state, parent = (_PROC / name / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(parent)


def _shared_fairly(pid: int) -> int:
    exact = _kibibytes(pid, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))
    return exact or _kibibytes(pid, "status", ("RssAnon:", "RssShmem:")) or 0


def _kibibytes(pid: int, file: str, fields: tuple[str, ...]) -> int | None:
    try:
        lines = (_PROC / str(pid) / file).read_text(errors="replace").splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields))


@contextmanager
def guard_descendants(parent: int) -> Iterator[None]:
    """Ends all that this process has started when the block ends, or when nobody holds the parent's end of a pipe.

    Until then orphans among them stay its descendants. For processes that run no code but ours.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # Its memory and descriptors are not for its descendants.
        libc.prctl(_PR_SET_DUMPABLE, 0)
        # The thread below ends the others first.
        libc.prctl(_PR_SET_PDEATHSIG, 0)
        threading.Thread(target=_end_with_pipe, args=(parent,), daemon=True).start()
    try:
        yield
    finally:
        ProcessTree(os.getpid()).kill_descendants()


def _end_with_pipe(parent: int) -> None:
    poll = select.poll()
    poll.register(parent, 0)
    poll.poll()
    ProcessTree(os.getpid()).kill_descendants()
    os._exit(1)


def confine(*, writable: Sequence[str] | None = None) -> None:
    """Keeps this process, and all that it starts, from the processes that exist already: no signals, no debugging.

    It cannot raise its limits again. With `writable`, it can write nothing but files in or at these places.
    As far as the kernel has Landlock, and the capabilities of root are its own to give up.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _give_up_powers(libc)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    rights = 0
    if writable is not None:
        rights = _CHANGING | (_MOVING if version >= 2 else 0) | (_TRUNCATING if version >= 3 else 0)
    if version < 1 or not (scopes or rights):
        return
    asked = (ctypes.c_uint64 * 3)(rights, 0, scopes)
    size = 24 if scopes else 8
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(asked), ctypes.c_size_t(size), 0)
    for place in writable or ():
        _allow(libc, ruleset, rights, place)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _give_up_powers(libc: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) == 0:
        # Effective, permitted and inheritable.
        sets[:3] = [each & ~_POWERS for each in sets[:3]]
        libc.capset(header, sets)


def _allow(libc: ctypes.CDLL, ruleset: int, rights: int, place: str) -> None:
    """Allows all changes below a folder, or to write a file."""
    descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    rights &= _ON_FILES if not Path(place).is_dir() else rights
    rule = (ctypes.c_uint8 * 12).from_buffer_copy(
        rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
    )
    libc.syscall(_ADD_RULE, ruleset, _BENEATH_PATH, ctypes.byref(rule), 0)
    os.close(descriptor)
