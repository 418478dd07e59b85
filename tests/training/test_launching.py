"""Processes of a training: what they refuse, who is blamed, when they end, and that there is one training a folder."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training.launching import ProcessLayout, TrainingFailed, launch
from regard.training.planning import RunLength, TrainRequest
from regard.training.run_folder import MEASURED
from regard.training.train import resume, train
from training.conftest import SETTINGS, copied, quiet
from waiting import comes_true, lives


def test_what_a_process_refuses_is_told_as_it_is(prepared, tmp_path):
    folder = copied(prepared, tmp_path / "broken")
    (folder.path / "lessons.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"^\S*/lessons.safetensors is damaged: .*Train again.$"):
        list(launch(folder.path, ProcessLayout(processes=1, threads=1)))


def test_what_the_system_refuses_a_process_is_told_in_a_line(prepared, tmp_path):
    folder = copied(prepared, tmp_path / "refused")
    folder.checkpoints.write_text("no folder")
    with pytest.raises(InputError, match=r"^Cannot continue: file exists \(\S+/checkpoints\)\.$"):
        list(launch(folder.path, ProcessLayout(processes=1, threads=1)))


def test_the_process_that_failed_first_is_blamed(tmp_path, monkeypatch):
    """The second of three processes refuses; the others wait, are ended, and would tell something else."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setattr("regard.training.launching._WORKER", "training.stand_ins:second_fails")
    begun = time.monotonic()
    with pytest.raises(TrainingFailed, match=r"failed: .*The second is to blame"):
        list(launch(tmp_path, ProcessLayout(processes=3, threads=1)))
    assert time.monotonic() - begun < 30


def test_a_folder_is_for_one_training_at_a_time(finished, tmp_path):
    folder = copied(finished, tmp_path / "held")
    folder.weights.unlink()
    holder = [sys.executable, "-c", "import sys, pathlib, time; from regard.training.run_folder import lock_folder\n"]
    holder[-1] += "with lock_folder(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    process = subprocess.Popen([*holder, str(folder.path)], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(InputError, match="Another training is working in"):
        resume(folder.path, quiet)
    with pytest.raises(InputError, match="Another training is working in"):
        train(TrainRequest(length=RunLength(steps=1), changes=SETTINGS), folder.path, quiet)
    process.kill()
    process.communicate()
    with folder.lock(), pytest.raises(InputError, match="Another training"), folder.lock():
        pass
    with folder.lock():
        pass


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found in /proc")
def test_processes_end_with_the_one_that_launched_them(small_run):
    folder = small_run(steps=100_000)
    folder.write_plan(folder.plan(), MEASURED)
    # Steps are measured in silence, so that no process notices by telling somebody who is gone.
    script = (
        "import sys, pathlib; from regard.training.launching import ProcessLayout, launch\n"
        "list(launch(pathlib.Path(sys.argv[1]), ProcessLayout(processes=2, threads=1), seconds=1000))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    launcher = subprocess.Popen([sys.executable, "-c", script, str(folder.path)], env=environment)
    assert comes_true(lambda: len(_children(launcher.pid)) == 2, seconds=60)
    workers = _children(launcher.pid)
    launcher.kill()
    launcher.wait()
    assert comes_true(lambda: not any(map(lives, workers)), seconds=60)


def _children(pid: int) -> list[int]:
    """The training processes that a process has started."""
    found = [word for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]
    return [int(word) for word in found if b"regard.training.worker" in Path(f"/proc/{word}/cmdline").read_bytes()]
