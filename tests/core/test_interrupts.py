import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context

import pytest
from pebble import ProcessPool

from regard.core.interrupts import interrupts_held_back, spawning_pool


@pytest.fixture(params=["alone", "with another thread"])
def company(request):
    """A second thread takes signals that the first one has masked."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait)] if request.param != "alone" else []
    for thread in threads:
        thread.start()
    yield
    done.set()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("company")
def test_an_interrupt_is_kept_for_afterwards():
    reached = []

    def start_something():
        with interrupts_held_back():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
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


@pytest.mark.parametrize(
    ("make_pool", "is_quiet"),
    [(lambda: spawning_pool(1), True), (lambda: ProcessPool(max_workers=1, context=get_context("spawn")), False)],
    ids=["ours", "pebble's own"],
)
def test_workers_that_are_stopped_while_they_start_say_nothing(make_pool, is_quiet, monkeypatch, capfd):
    def late(process):
        process.join(timeout=60)

    monkeypatch.setattr("pebble.pool.process.CONSTS.sleep_unit", 0.001)
    monkeypatch.setattr("pebble.pool.process.stop_process", late)
    pool = make_pool()
    pool.schedule(os.getpid)
    pool.stop()
    pool.join()
    said = capfd.readouterr().err
    assert ("Traceback" not in said) == is_quiet, said
