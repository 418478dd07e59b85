"""A run killed at twenty random moments ends with the weights of one that was left alone."""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from regard.data.biographies import Biographies
from regard.training.folder import RunFolder
from regard.training.launching import Layout, launch
from regard.verbs.train import Request, train

SMALL = ("model.width=48", "model.num_heads=3", "model.hidden=96", "model.ngram_rows=4096", "batch.rows=8")
LAYOUT = Layout(processes=1, threads=1)


def main() -> None:
    """Prints what every kill cost, and whether the bits agree."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch) / "whole", Path(scratch) / "killed"
        request = Request(changes=SMALL, biographies=Biographies(people=100), steps=400, layout=LAYOUT)
        train(request, whole, lambda _: None)
        made = ("model.safetensors", "checkpoints", "metrics.jsonl")
        shutil.copytree(whole, killed, ignore=shutil.ignore_patterns(*made))
        folder = RunFolder(killed)
        folder.write_plan(replace(folder.plan(), checkpoint_every=7))
        for number in range(20):
            print(f"kill {number + 1}: at step {_killed_after(killed, rng.uniform(0.5, 3.0))}", flush=True)
        list(launch(killed, LAYOUT))
        same = (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    print("bit-identical" if same else "THE WEIGHTS DIFFER")
    sys.exit(not same)


def _killed_after(folder: Path, seconds: float) -> int:
    """Starts the run, kills it some seconds after its first message, and gives the last step it told."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "regard.training.working", str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    worker.stdout.readline()
    time.sleep(seconds)
    worker.kill()
    told = [line for line in worker.communicate()[0].splitlines() if '"step"' in line and line.endswith("}")]
    return int(told[-1].partition('"step": ')[2].split(",")[0]) if told else 0


if __name__ == "__main__":
    main()
