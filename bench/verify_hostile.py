"""600 submissions, 60 of them hostile, through ten SIGKILLs and files that vanish: each must get one row.

Prints the rows, the largest memory of all processes together and the processes left behind by the kills.
"""

import argparse
import csv
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from observing import marked, memory_of, survivors

from regard.core.process_tree import ProcessTree

HONEST = (
    "1.(b) An average of two\n\nTake $q = {scale}(k_a + k_b)$, so $c \\approx \\frac12(v_a + v_b)$. Draw {number}.\n"
)
NUM_FILES, NUM_KILLS, NUM_VANISHING = 600, 10, 5
LIMIT = 2**30


def main() -> None:
    """Exits with 1 if a file has no row or two, a process is left, or the memory exceeds a GiB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=NUM_FILES)
    parser.add_argument("--kills", type=int, default=NUM_KILLS)
    options = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "submissions", Path(scratch) / "out"
        hostile = write_submissions(folder, options.files, Path(scratch))
        peak, left = 0, 0
        for _ in range(options.kills):
            memory, survived = run(folder, out, seconds=rng.uniform(2.0, 10.0))
            peak, left = max(peak, memory), left + survived
        present = {number_of(str(path)) for path in listed(folder)}
        vanishing = sorted(path for path in folder.glob("s5*.md") if path.name not in hostile)[-NUM_VANISHING:]
        memory, survived = run(folder, out, vanishing=vanishing)
        peak, left = max(peak, memory), left + survived
        with (out / "class.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    counts = Counter(number_of(row["file"]) for row in rows)
    missing, repeated = present - set(counts), [name for name, count in counts.items() if count > 1]
    outcomes = Counter(row["outcome"] for row in rows)
    print(f"{len(rows)} rows for {len(present)} files, {len(hostile)} of them hostile: {dict(outcomes)}")
    print(f"missing {sorted(missing)}, repeated {repeated}, {left} processes left behind")
    print(f"largest memory of all processes together {peak / 2**20:.0f} MiB")
    sys.exit(bool(missing or repeated or left or peak > LIMIT))


def number_of(name: str) -> str:
    """The number in a file's name, which no escaping of the rest changes."""
    found = re.search(r"s\d{3}", Path(name).name)
    assert found is not None, name
    return found[0]


def listed(folder: Path) -> list[Path]:
    """What is to have a row: all that is not a folder, and the links to folders in a student's place."""
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def run(folder: Path, out: Path, seconds: float | None = None, vanishing: list[Path] | None = None) -> tuple[int, int]:
    """Runs the batch to its end, or kills it after some seconds: its largest memory, and the processes left."""
    out.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "regard", "verify", str(folder), "--problem", "cs224n-a4", "--jobs", "2"]
    command += ["--csv", str(out / "class.csv"), "--html", str(out / "pages"), "--time-limit", "10", "--resume"]
    mark, peak = secrets.token_hex(8), 0
    running = subprocess.Popen(command, env=marked(mark), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tree, begun = ProcessTree(running.pid), time.monotonic()
    if vanishing:
        threading.Thread(target=vanish, args=(vanishing, out / "pages" / "regard-results.jsonl"), daemon=True).start()
    while running.poll() is None:
        peak = max(peak, sum(map(memory_of, tree.pids())))
        if seconds is not None and time.monotonic() - begun > seconds:
            running.send_signal(signal.SIGKILL)
        time.sleep(0.02)
    left = survivors(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return peak, len(left)


def vanish(paths: list[Path], results: Path) -> None:
    """Deletes files once the batch has listed them, and judges others."""
    before = results.stat().st_size if results.exists() else 0
    while not results.exists() or results.stat().st_size == before:
        time.sleep(0.05)
    for path in paths:
        path.unlink()


def write_submissions(folder: Path, num_files: int, scratch: Path) -> set[str]:
    """Writes the files, and returns the names of the hostile ones."""
    folder.mkdir()
    secret = scratch / "secret.md"
    secret.write_text("nobody's business", encoding="utf-8")
    hostile = set()
    for number in range(num_files):
        path = folder / f"s{number:03}.md"
        if number % 10 == 7:
            make = ATTACKS[number // 10 % len(ATTACKS)]
            path = make(path, secret) or path
            hostile.add(path.name)
        else:
            text = HONEST.format(scale="\\beta" if number % 2 else "", number=number)
            path.write_text(text, encoding="utf-8")
    return hostile


def text(content: str, suffix: str = ".md") -> Callable[[Path, Path], Path]:
    """A file with this content."""

    def make(path: Path, _: Path) -> Path:
        path = path.with_suffix(suffix)
        path.write_text(content, encoding="utf-8")
        return path

    return make


def formula(content: str) -> Callable[[Path, Path], Path]:
    """An answer with one formula."""
    return text(f"1.(b) An average of two\n\n${content}$\n")


def data(content: bytes) -> Callable[[Path, Path], None]:
    """A file with these bytes."""

    def make(path: Path, _: Path) -> None:
        path.write_bytes(content)

    return make


def huge(path: Path, _: Path) -> None:
    """A sparse file of 4 GiB."""
    with path.open("wb") as file:
        file.truncate(2**32)


def linked(target: str) -> Callable[[Path, Path], None]:
    """A link to another file; {secret} and {other} are put in."""

    def make(path: Path, secret: Path) -> None:
        path.symlink_to(target.format(secret=secret, other=path.with_name("s001.md")))

    return make


def renamed(name: str) -> Callable[[Path, Path], Path]:
    """An honest answer under a hostile name."""

    def make(path: Path, _: Path) -> Path:
        path = path.with_name(name.format(stem=path.stem))
        path.write_text(HONEST.format(scale="", number=0), encoding="utf-8")
        return path

    return make


NOTEBOOK = json.dumps({"cells": [{"cell_type": "markdown", "source": "$1 = 1$ " * 20_000, "metadata": {}}]})
ATTACKS: list[Callable[[Path, Path], Path | None]] = [
    linked("{other}"),
    linked("{secret}"),
    linked("/etc/passwd"),
    linked("/dev/zero"),
    linked("/proc/self/mem"),
    linked("s007.md"),
    linked("."),
    linked("nowhere"),
    lambda path, _: os.mkfifo(path),
    lambda path, _: os.mkfifo(path.with_suffix(".toml")) or path.with_suffix(".toml"),
    huge,
    data(b""),
    data(b"\0" * 4096),
    data(b"\xff\xfe" + "1.(b) $x = 1$".encode("utf-16-le")),
    data("1.(b) café $x = 1$".encode("latin-1")),
    data(b"%PDF-1.7\n" + os.urandom(4096)),
    data(b"PK\x03\x04" + os.urandom(4096)),
    data(b"\xed\xa0\x80 $x = 1$"),
    text("[" * 200_000, ".ipynb"),
    text('{"cells": ' + "[" * 100_000, ".ipynb"),
    text(NOTEBOOK, ".ipynb"),
    text('schema = "regard-answers/1"\nx = ' + "[" * 50_000, ".toml"),
    text("$" * 50_001),
    text("$x$ " * 24_000),
    text("\n" * 50_001),
    text("1.(b) " + "{" * 20_000),
    text("> " * 20_000 + "$x = 1$"),
    text("*_" * 50_000),
    text("\\begin{align}" * 5_000, ".tex"),
    text("\\newcommand{\\a}{\\a\\a}\\a $\\a$", ".tex"),
    text("\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{\\a} $\\a = 1$", ".tex"),
    text("<script>alert(1)</script> $x = 1$"),
    text("1.(b)\u00a0An\u00a0average $q\u00a0=\u00a0k_a$"),
    text("1.(b) \u202e $q = k_a$ \u202c"),
    formula("2^{2^{2^{2^{2^{2}}}}} = 1"),
    formula("100000! = 1"),
    formula("10^{10^{10}} \\cdot 0 = 0"),
    formula("\\sum_{i=1}^{10^{12}} i = 3"),
    formula("\\prod_{i=1}^{99999999} (1 + i) = 3"),
    formula("{" * 3000 + "x" + "}" * 3000 + " = 1"),
    formula("\\frac{1}{" * 400 + "x" + "}" * 400 + " = 1"),
    formula("((((((((((x^2)^2)^2)^2)^2)^2)^2)^2)^2)^2 = (x+1)^{1024}"),
    formula(" + ".join(f"x_{{{n}}}" for n in range(4000)) + " = 0"),
    formula(" = ".join(["x"] * 3000)),
    formula("(a+b+c+d+e+f)^{60} = 1"),
    formula("\\begin{pmatrix}" + " \\\\ ".join(" & ".join(["1"] * 90) for _ in range(90)) + "\\end{pmatrix} = 0"),
    formula("\\det(" + "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}" * 60 + ") = 0"),
    formula("\\int_0^1 " * 40 + "x dx = 1"),
    formula("x = \\sqrt{" * 500 + "x" + "}" * 500),
    formula("e^{" * 300 + "x" + "}" * 300 + " = 1"),
    formula("1" * 100_000 + " = 1"),
    formula("0." + "1" * 50_000 + " < 1"),
    renamed("-rf {stem}.md"),
    renamed("{stem}\n.md"),
    renamed("{stem}\x1b[31m.md"),
    renamed("=cmd|{stem}.md"),
    renamed("{stem}'\";$(x).md"),
    renamed("{stem}\u202e.md"),
    renamed("{stem}" + "名" * 70 + ".md"),
    renamed("{stem}<img src=x onerror=alert(1)>.md"),
]


if __name__ == "__main__":
    main()
