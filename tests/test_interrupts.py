import os
import signal
import subprocess
import sys

import pytest

from regard.interrupts import interrupts_held_back


def test_an_interrupt_is_kept_for_afterwards():
    reached = []

    def start_something():
        with interrupts_held_back():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        start_something()
    assert reached == [True]


def test_processes_started_inside_see_none():
    with interrupts_held_back():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child.send_signal(signal.SIGINT)
    child.communicate(b"\n", timeout=60)
    assert child.returncode == 0
