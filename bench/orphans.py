"""Whether a signal to `regard verify`, `check` or `train` leaves a process behind, at random moments."""

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from observing import marked, survivors

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)
ANSWER = "1.(b) An average of two\n\nTake $q = k_a + k_b$, so $c \\approx \\frac12(v_a + v_b)$ for draw {number}.\n"
# By then each command has all its processes, on a busy machine too.
LATEST = {"verify": 4.0, "check": 4.0, "train": 12.0}
# A layer that hangs while it holds the interpreter, has a child that left its session, and ignores what it can.
LAYER = """
import ctypes, os, signal, subprocess
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
def layer(x):
    ctypes.CDLL(None).prctl(1, 0)
    subprocess.Popen(["sleep", "90"], start_new_session=True)
    if len(x) > 1:
        ctypes.PyDLL(None).sleep(60)
    return x
"""


def main() -> None:
    """Prints how many processes were left behind per command and signal; exits with 1 if there were any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--only", choices=["verify", "check", "train"])
    options = parser.parse_args()
    rng = random.Random(0)
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in commands(Path(scratch)).items():
            for number in SIGNALS if options.only in (None, name) else ():
                left = sum(orphans(command, number, rng.uniform(0.3, LATEST[name])) for _ in range(options.tries))
                total += left
                print(f"{name} {number.name}: {options.tries} tries, {left} processes left behind", flush=True)
    sys.exit(bool(total))


def commands(folder: Path) -> dict[str, list[str]]:
    """A batch, a hostile layer and a training that all last longer than the signal takes to come."""
    documents = folder / "documents"
    documents.mkdir()
    for number in range(200):
        (documents / f"{number}.md").write_text(ANSWER.format(number=number), encoding="utf-8")
    (folder / "layer.py").write_text(LAYER, encoding="utf-8")
    regard = [sys.executable, "-m", "regard"]
    return {
        "verify": [*regard, "verify", str(documents), "--problem", "cs224n-a4", "--jobs", "2"],
        "check": [*regard, "check", f"{folder / 'layer.py'}:layer", "--time-limit", "30"],
        "train": [*regard, "train", "--people", "100", "--steps", "100000", "--out", str(folder / "run")],
    }


def orphans(command: list[str], number: signal.Signals, seconds: float) -> int:
    """How many processes are left after a signal that comes after some seconds; they are ended then."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory() as work:
        target = [*command[:-1], str(Path(work) / "run")] if "train" in command else command
        running = subprocess.Popen(target, env=marked(mark), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        running.send_signal(number)
        try:
            running.wait(timeout=20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        left = survivors(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return len(left)


if __name__ == "__main__":
    main()
