import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from regard.core.processes import Child, Ended
from waiting import ends

HERE = str(Path(__file__).parents[1])
PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")


@pytest.fixture(params=[(), ("json",)], ids=["spawned", "forked"])
def child(request, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    with Child("core.children:obey", preload=request.param) as child:
        yield child


def test_messages_go_there_and_back(child):
    child.send({"echo": [1, "β"]})
    assert child.receive(30) == {"echo": [1, "β"]}


def test_what_the_child_prints_does_not_disturb_the_messages(child):
    child.send({"print": '{"echo": "forged"}'})
    child.send({"echo": 2})
    assert child.receive(30) == {"echo": 2}


def test_a_child_that_takes_too_long_is_ended_with_all_that_it_started(child):
    child.send({"start": ["sleep", "600"]})
    grandchild = child.receive(30)["pid"]
    child.send({"sleep": 600})
    ended = child.receive(0.3)
    assert (ended.outcome, ended.reason) == ("timed out", "it took longer than the 0.3 seconds allowed")
    child.kill()
    assert ends(grandchild)


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"exit": 5}, "the process ended with exit code 5"),
        ({"signal": int(signal.SIGSEGV)}, "the process was killed by SIGSEGV"),
        ({"print": "farewell", "exit": 0}, "the process ended with exit code 0; its last line: farewell"),
    ],
)
def test_a_child_that_ends_says_how(child, order, reason):
    child.send(order)
    ended = child.receive(30)
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.reason) == ("crashed", reason)
    child.send({"echo": "nobody listens"})


def test_an_exception_is_the_last_line(child):
    child.send({"nonsense": 1})
    assert "its last line: KeyError: " in child.receive(30).reason


def test_waiting_can_be_stopped(child):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    begun = time.monotonic()
    assert child.receive(60, stop) is None
    assert time.monotonic() - begun < 10


@PROC
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("preload", ["()", "('json',)"], ids=["spawned", "forked"])
@pytest.mark.parametrize("busy", ["hold_the_gil", "stop_itself"])
def test_no_child_outlives_a_killed_parent(how, preload, busy):
    script = (
        f"import signal; signal.signal({int(how)}, signal.SIG_DFL)\n"
        * (how != signal.SIGKILL)  # nohup ignores SIGHUP
        + "import sys; from regard.core.processes import Child\n"
        f"child = Child('core.children:obey', preload={preload})\n"
        f"child.send({{'pid': 1, '{busy}': True}}); print(child.receive()['pid'], flush=True); child.receive()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(HERE).parent / "src"), HERE])}
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout as told:
        pid = int(told.readline())
    time.sleep(0.1)
    parent.send_signal(how)
    try:
        parent.wait(timeout=30)
    finally:
        parent.kill()
    assert ends(pid)
