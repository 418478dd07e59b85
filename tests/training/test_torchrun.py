"""The same command under torchrun, where every process runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training.launching import ProcessLayout
from regard.training.planning import TrainRequest
from regard.training.process_group import ProcessGroup
from regard.training.run_folder import RunFolder
from regard.training.train import train_distributed
from training.conftest import SETTINGS, quiet

SMALL = ["--people=24", "--steps=4", *(f"--set={change}" for change in SETTINGS)]


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--redirects=0"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, "-m", "regard", "train", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_two_processes_train_one_run_and_a_second_one_is_refused_once(tmp_path):
    out = tmp_path / "run"
    first = torchrun(*SMALL, f"--out={out}")
    assert first.returncode == 0, first.stderr
    plan = RunFolder(out).plan()
    assert (plan.processes, plan.threads, plan.steps) == (2, 1, 4)
    # Steps this small take milliseconds, so 20 seconds between checkpoints are many; a made-up second would give 20.
    assert plan.checkpoint_every > 20
    assert first.stdout.count("held-out questions") == 1
    assert not (out / "measured.json").exists()
    assert RunFolder(out).has_usable_weights(pytest.fail)

    again = torchrun(*SMALL, f"--out={out}")
    assert again.returncode != 0
    # torchrun itself tells of a failure at length.
    ours = again.stderr.partition("torch/distributed/elastic")[0]
    assert ours.count("regard: ") == again.stderr.count("regard: ") == 1
    assert "contains a run already" in again.stderr
    assert "Traceback" not in ours
    assert "exitcode  : 2" in again.stderr.partition("Root Cause")[2]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (TrainRequest(members=2), "all processes train one model. Leave out --members"),
        (TrainRequest(layout=ProcessLayout(processes=2, threads=1)), "Leave out --processes and --threads"),
    ],
)
def test_what_torchrun_decides_cannot_be_asked_for(asked, why, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.training.train.join_process_group", ProcessGroup)
    with pytest.raises(InputError, match=why):
        train_distributed(asked, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()
