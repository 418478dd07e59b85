"""Runs: exact repetition, exact resumption, several processes, damage."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from regard.errors import InputError
from regard.training.checkpoint import latest_checkpoint, read_tensors, write_checkpoint
from regard.training.crew import solo
from regard.training.folder import RunFolder
from regard.training.launching import Layout, TrainingFailed, launch
from regard.training.trainer import Trainer
from regard.training.working import work


def quiet(message: dict) -> None:
    del message


def copied(folder: RunFolder, place: Path) -> RunFolder:
    shutil.copytree(folder.path, place)
    return RunFolder(place)


@pytest.fixture(scope="module")
def prepared(small_run):
    return small_run(steps=12, checkpoint_every=3, evaluate_every=6)


@pytest.fixture(scope="module")
def finished(prepared, tmp_path_factory):
    folder = copied(prepared, tmp_path_factory.mktemp("finished") / "run")
    work(folder, solo(), quiet)
    return folder


def test_a_run_leaves_weights_metrics_and_two_checkpoints(finished):
    kinds = [line["kind"] for line in finished.read_metrics()]
    assert kinds.count("step") == 12
    assert kinds.count("held out") == 2
    assert len(list(finished.checkpoints.iterdir())) == 2
    assert set(read_tensors(finished.weights)) == set(dict(finished.model().named_parameters()))


@pytest.mark.parametrize("recipe", ["fast", "classic"])
def test_a_run_that_stopped_ends_with_the_same_bits(recipe, small_run, tmp_path):
    folder = small_run(steps=8, recipe=recipe, checkpoint_every=3)
    other = copied(folder, tmp_path / "stopped")
    work(folder, solo(), quiet)
    plan = other.plan()
    trainer = Trainer(plan, other.lessons(), solo())
    for _ in range(5):
        trainer.advance()
    write_checkpoint(other.checkpoints, trainer.tensors(), trainer.place())
    work(other, solo(), quiet)
    assert other.weights.read_bytes() == folder.weights.read_bytes()


def test_killed_at_random_moments_it_still_ends_with_the_same_bits(prepared, finished, tmp_path):
    folder = copied(prepared, tmp_path / "killed")
    rng = random.Random(0)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard.training.working", str(folder.path)]
    for _ in range(2):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    assert folder.weights.read_bytes() == finished.weights.read_bytes()
    steps = [line["step"] for line in folder.read_metrics() if line["kind"] == "step"]
    assert steps == list(range(1, 13))


def test_two_processes_match_one(small_run, tmp_path):
    folder = small_run(steps=20, checkpoint_every=100)
    other = copied(folder, tmp_path / "two")
    work(folder, solo(), quiet)
    list(launch(other.path, Layout(processes=2, threads=1)))
    one, two = read_tensors(folder.weights), read_tensors(other.weights)
    # Adam's first steps divide by gradients that may be tiny, so rounding shows in rows that are hardly used.
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-5


def test_a_damaged_checkpoint_is_skipped_with_a_warning(finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    newest = max(folder.checkpoints.iterdir())
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(bytes(content))
    heard: list[str] = []
    found = latest_checkpoint(folder.checkpoints, heard.append)
    assert found is not None
    assert found[1]["step"] == 6
    assert "damaged" in heard[0]


def test_a_process_that_dies_is_reported(prepared, tmp_path):
    folder = copied(prepared, tmp_path / "broken")
    (folder.path / "lessons.safetensors").write_bytes(b"nonsense")
    with pytest.raises(TrainingFailed, match="lessons"):
        list(launch(folder.path, Layout(processes=1, threads=1)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("regard-run/1", "regard-run/0"), "regard-run/0"),
        (lambda text: text[:50], "damaged"),
        (lambda text: text.replace('"steps"', '"leaps"'), "damaged"),
    ],
)
def test_plans_of_other_versions_are_refused(change, words, finished, tmp_path):
    folder = copied(finished, tmp_path / "other")
    path = folder.path / "plan.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=words):
        folder.plan()


def test_folders_that_hold_no_run_or_hold_one_are_refused(finished, tmp_path):
    with pytest.raises(InputError, match="no run"):
        RunFolder(tmp_path).plan()
    with pytest.raises(InputError, match="already"):
        finished.create()
    unfinished = copied(finished, tmp_path / "unfinished")
    unfinished.weights.unlink()
    with pytest.raises(InputError, match="not finished"):
        unfinished.model()
