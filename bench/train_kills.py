"""A training run killed at twenty random moments ends with the same weights as one that was never interrupted.

`python bench/train_kills.py --members 2` tries a run with two members: the command is killed, and the processes that it
started must end with it.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from regard.training.data.biographies import Biographies
from regard.training.launching import ProcessLayout
from regard.training.planning import DataSource, RunLength, TrainRequest
from regard.training.run_folder import RunFolder
from regard.training.train import resume, train

SMALL = ("model.width=48", "model.num_heads=3", "model.hidden=96", "model.ngram_rows=4096", "batch.rows=8")
STEPS, KILLS = 900, 20


def main() -> None:
    """Prints the step of every kill, and whether the final weights are bit-identical."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    options = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = RunFolder(Path(scratch) / "whole"), RunFolder(Path(scratch) / "killed")
        request = TrainRequest(
            changes=(*SMALL, f"precision={options.precision}"),
            source=DataSource(biographies=Biographies(people=100)),
            length=RunLength(steps=STEPS),
            layout=ProcessLayout(processes=1, threads=1),
            members=options.members,
        )
        train(request, whole.path, ignore)
        made = ("model.safetensors", "checkpoints", "metrics.jsonl", "member-*")
        shutil.copytree(whole.path, killed.path, ignore=shutil.ignore_patterns(*made))
        killed.write_plan(replace(killed.plan(), checkpoint_every=7))
        for number in range(KILLS):
            print(f"kill {number + 1}: at step {kill_after(killed, rng.uniform(0.0, 2.0))}", flush=True)
        resume(killed.path, ignore)
        pairs = zip(whole.members(), killed.members(), strict=True)
        same = all(one.weights.read_bytes() == other.weights.read_bytes() for one, other in pairs)
    print("bit-identical" if same else "THE WEIGHTS DIFFER")
    sys.exit(not same)


def kill_after(folder: RunFolder, seconds: float) -> str:
    """Resumes the run, kills it some seconds after its first step, and returns the last step of every member."""
    before = folder.metrics.stat().st_mtime_ns if folder.metrics.exists() else 0
    command = [sys.executable, "-m", "regard", "train", "resume", str(folder.path)]
    training = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not folder.metrics.exists() or folder.metrics.stat().st_mtime_ns == before:
        assert training.poll() is None, "the run ended before the last kill: give it more steps"
        time.sleep(0.01)
    time.sleep(seconds)
    assert training.poll() is None, "the run ended before this kill: give it more steps"
    training.kill()
    training.wait()
    last = [max((line.get("step", 0) for line in each.read_metrics()), default=0) for each in folder.members()]
    return ", ".join(map(str, last))


def ignore(message: dict) -> None:
    """Ignores messages."""
    del message


if __name__ == "__main__":
    main()
