import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context

import pytest
from pebble import ProcessPool

from core.hostile_tasks import own_process, twice
from regard.core.errors import InputError
from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits, Spawning, interrupts_deferred, run_tasks


def test_a_task_that_hangs_or_crashes_costs_nobody_else_anything():
    found = dict(run_tasks(range(10, 20), twice, PoolLimits(jobs=2, seconds=2.0)))
    assert {task: result for task, result in found.items() if not isinstance(result, Ended)} == {
        number: 2 * number for number in range(10, 20) if number not in (13, 14)
    }
    assert (found[13].outcome, found[13].reason) == ("crashed", "the process ended with exit code 3")
    assert (found[14].outcome, found[14].reason) == ("timed out", "it took longer than the 2 seconds allowed")


def test_work_is_done_elsewhere_and_processes_are_replaced():
    found = [result for _, result in run_tasks(range(6), own_process, PoolLimits(jobs=1, tasks_per_process=2))]
    assert os.getpid() not in found
    assert len(set(found)) == 3


def test_tasks_are_taken_only_as_fast_as_they_are_worked_on():
    taken = []
    tasks = (taken.append(number) or number for number in range(1000))
    results = run_tasks(tasks, own_process, PoolLimits(jobs=1))
    next(results)
    assert len(taken) < 20
    results.close()


def test_no_tasks_give_no_results():
    assert list(run_tasks([], twice, PoolLimits())) == []


@pytest.mark.parametrize("limits", [{"jobs": 0}, {"seconds": 0.0}, {"seconds": float("nan")}])
def test_limits_that_leave_nothing_are_refused(limits):
    with pytest.raises(InputError):
        PoolLimits(**limits)


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
        with interrupts_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        start_something()
    assert reached == [True]


def test_processes_started_inside_see_none():
    with interrupts_deferred():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child.send_signal(signal.SIGINT)
    child.communicate(b"\n", timeout=60)
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("make_context", "is_quiet"),
    [(Spawning, True), (lambda: get_context("spawn"), False)],
    ids=["ours", "pebble's own"],
)
def test_workers_that_are_stopped_while_they_start_say_nothing(make_context, is_quiet, monkeypatch, capfd):
    def late(process):
        process.join(timeout=60)

    monkeypatch.setattr("pebble.pool.process.CONSTS.sleep_unit", 0.001)
    monkeypatch.setattr("pebble.pool.process.stop_process", late)
    pool = ProcessPool(max_workers=1, context=make_context())
    pool.schedule(os.getpid)
    pool.stop()
    pool.join()
    said = capfd.readouterr().err
    assert ("Traceback" not in said) == is_quiet, said
