"""The speed and memory of checking a class: 600 documents like those that students hand in.

The documents are copies of the first test set (and of the samples, if available), each with a different last line. As
a lower bound, the same documents are also only read: their formulas are found and the relation signs counted.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.core.worker_pool import PoolLimits, run_tasks
from regard.derivations.grading.batch import BatchRequest, DocumentBatch
from regard.derivations.notation.signs import relation_signs
from regard.derivations.reading.files import KINDS, read

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "tests" / "derivations" / "set_1", ROOT.parent / "shared" / "samples")
MILESTONES = (100, 300, 600)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Resident memory in MB after this many documents."""

    done: int
    own: float
    largest_worker: float


def main() -> None:
    """Prints the figures as Markdown, and writes them to a file with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as scratch:
        folder = Path(scratch) / "submissions"
        originals = copies(folder, chosen.files)
        text = figures(folder, Path(scratch) / "out", originals, chosen.jobs)
    print(text)
    if chosen.write:
        chosen.write.write_text(text, encoding="utf-8")


def copies(folder: Path, number: int) -> int:
    """Fills a folder with copies and returns the number of different originals."""
    originals = [
        path for source in SOURCES if source.is_dir() for path in sorted(source.iterdir()) if path.suffix in KINDS
    ]
    folder.mkdir(parents=True)
    for index in range(number):
        original = originals[index % len(originals)]
        target = folder / f"{index:04}-{original.name}"
        shutil.copy(original, target)
        if original.suffix != ".ipynb":
            with target.open("a", encoding="utf-8") as file:
                file.write(f"\n\nSubmission {index}.\n")
    return len(originals)


def figures(folder: Path, out: Path, originals: int, jobs: int) -> str:
    """The tables."""
    number = len(list(folder.iterdir()))
    reading, reading_cpu = timed(
        lambda: sum(1 for _ in run_tasks(sorted(folder.iterdir()), count_signs, PoolLimits(jobs=jobs)))
    )
    memory: list[Memory] = []
    judging, judging_cpu = timed(lambda: judge(folder, out, jobs, memory))
    lines = [
        f"# Checking a class: {number} documents on {jobs} processes",
        "",
        f"Copies of {originals} documents from the first test set and the samples. Written by `bench/verify.py`.",
        "",
        "| | seconds | documents per second | CPU per document | target |",
        "|---|---|---|---|---|",
        f"| reading only: formulas found, relation signs counted | {reading:.1f} | {number / reading:.1f} "
        f"| {1000 * reading_cpu / number:.0f} ms | |",
        f"| `regard verify --gradescope --csv`: every step checked | {judging:.1f} | {number / judging:.1f} "
        f"| {1000 * judging_cpu / number:.0f} ms | ≥ 20 per second, so ≤ {1000 * jobs // 20} ms |",
        "",
        "CPU time includes all processes and their startup, and does not depend on the load of the machine.",
        "",
        "| documents checked | memory of the main process, MB | memory of the largest worker, MB |",
        "|---|---|---|",
        *(f"| {item.done} | {item.own:.0f} | {item.largest_worker:.0f} |" for item in memory),
    ]
    return "\n".join(lines) + "\n"


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Elapsed seconds and CPU seconds of the work."""
    start, cpu = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - start, cpu_seconds() - cpu


def cpu_seconds() -> float:
    """The CPU time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def count_signs(path: Path) -> int:
    """What any checker must do first."""
    return sum(len(relation_signs(span.source)) for span in read(path).spans)


def judge(folder: Path, out: Path, jobs: int, memory: list[Memory]) -> None:
    """Runs a batch as an instructor would; records the memory at the milestones."""
    request = BatchRequest(
        paths=(str(folder),), problem="cs224n-a4", gradescope=str(out), csv_file=f"{out}.csv", jobs=jobs
    )

    def progress(done: int, _: int) -> None:
        if done in MILESTONES:
            memory.append(Memory(done=done, own=resident("self"), largest_worker=largest_child()))

    with DocumentBatch(request) as batch:
        batch.run(progress=progress)


def resident(process: str) -> float:
    """The resident memory of a process in MB on Linux; NaN elsewhere."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def largest_child() -> float:
    """The resident memory of the largest child process."""
    try:
        children = [
            child for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()
        ]
    except OSError:
        return float("nan")
    return max(map(resident, children), default=float("nan"))


if __name__ == "__main__":
    sys.exit(main())
