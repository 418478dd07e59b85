import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from regard.core.process_tree import ProcessTree, confine, guard_descendants
from waiting import ends, lives

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process trees are found in /proc")

DETACHED = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "60"], start_new_session=True, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
"""
TAKES_MEMORY = """
import os, time
if os.fork() == 0:
    kept = bytearray(b"x") * 300 * 2**20
kept = bytearray(b"x") * 300 * 2**20
time.sleep(60)
"""


def in_a_fork(work):
    """Runs work in a fork and returns the text that it sends."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        found = told.read()
    os.waitpid(pid, 0)
    return found


def test_orphans_that_left_their_session_end_with_the_guard():
    parent, ours = os.pipe()

    def work():
        with guard_descendants(parent):
            return int(subprocess.run([sys.executable, "-c", DETACHED], stdout=subprocess.PIPE, check=True).stdout)

    pid = int(in_a_fork(work))
    os.close(parent)
    os.close(ours)
    assert ends(pid)


def test_the_guard_ends_all_when_its_parent_is_gone():
    parent, ours = os.pipe()
    reading, writing = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(ours)
        with guard_descendants(parent):
            started = subprocess.Popen(["sleep", "60"], start_new_session=True)
            os.write(writing, str(started.pid).encode())
            time.sleep(60)
        os._exit(0)
    pid = int(os.read(reading, 100))
    assert lives(pid)
    os.close(ours)
    os.waitpid(guard, 0)
    assert ends(pid)
    for descriptor in (parent, reading, writing):
        os.close(descriptor)


def test_memory_is_that_of_all_together():
    process = subprocess.Popen([sys.executable, "-c", TAKES_MEMORY])
    begun = time.monotonic()
    tree = ProcessTree(process.pid)
    assert tree.outgrows(450 * 2**20, threading.Event())
    assert time.monotonic() - begun < 30
    tree.kill_descendants()
    process.kill()
    process.wait()


def test_waiting_for_memory_ends_when_it_is_over():
    is_over = threading.Event()
    is_over.set()
    assert not ProcessTree(os.getpid()).outgrows(1, is_over)


def refused(work):
    try:
        work()
    except OSError as error:
        return type(error).__name__
    return "allowed"


def test_a_confined_process_reaches_no_other(tmp_path):
    other = subprocess.Popen(["sleep", "60"])
    own, elsewhere = tmp_path / "own", tmp_path / "elsewhere"
    own.mkdir()

    def work():
        confine(writable=[str(own), os.devnull])
        return [
            refused(lambda: os.kill(other.pid, signal.SIGTERM)),
            refused(lambda: open(f"/proc/{os.getppid()}/mem", "r+b")),  # noqa: PTH123
            refused(lambda: elsewhere.write_text("x")),
            refused(lambda: (own / "x").write_text("x")),
            refused(lambda: open(os.devnull, "w").write("x")),  # noqa: PTH123
            refused(lambda: subprocess.run(["true"], check=True)),
        ]

    found = in_a_fork(work)
    is_alive = other.poll() is None
    other.kill()
    other.wait()
    if not landlock_version() >= 6:
        pytest.skip("this kernel cannot confine signals: Landlock is too old")
    assert is_alive
    assert found == str(["PermissionError"] * 3 + ["allowed"] * 3)


def landlock_version() -> int:
    import ctypes

    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
