"""How long after an edit the language server shows its diagnostics, on documents of about 300 lines.

    python bench/editor_latency.py --edits 20

A real client opens each document and types: words, a formula, a definition, half a second after it has seen the
diagnostics of the edit before. For each edit, the clock runs from the notification to the diagnostics, so the pause
that the server waits for is part of it. The CPU time is that of the server and its worker: on a busy machine, the clock
says more about others than about the server.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from language_client import Editor, running_editor  # noqa: E402
from regard.derivations.verify import example_answers  # noqa: E402
from regard.editor.server import PAUSE  # noqa: E402

LINES = 300
TARGET = 0.3
_THOUGHT = 0.5  # seconds between diagnostics and the next edit
_TICKS = os.sysconf("SC_CLK_TCK")


def documents() -> Iterator[tuple[str, str]]:
    """Homework and notes of 300 lines, by the name of their file."""
    sheets = [
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "derivations" / "set_5").glob("*.md"))
    ]
    yield "homework.md", _cut("\n\n".join([example_answers(), *sheets]))
    notes = sorted((ROOT / "tests" / "derivations" / "careless_notes").glob("*.md"))
    yield "notes.md", _cut("\n\n".join(path.read_text(encoding="utf-8") for path in notes))


def _cut(text: str) -> str:
    lines = text.splitlines()[:LINES]
    return "\n".join(lines) + "\n"


def edited(text: str, number: int) -> str:
    """The text after another edit, somewhere in its second half: words, a false formula, a definition."""
    lines = text.splitlines()
    place = next(k for k in range(len(lines) // 2 + 3 * number % 60, len(lines)) if not lines[k].strip())
    new = ("So it goes on.", f"So ${number} + 1 = {number}$.", f"Let $\\zeta_{{{number}}} = {number}$.")[number % 3]
    return "\n".join([*lines[:place], "", new, "", *lines[place:]]) + "\n"


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process and its children."""
    total = 0.0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(status.parent.name) == pid or int(fields[1]) == pid:
            total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


async def measure(editor: Editor, folder: Path, name: str, text: str, edits: int) -> bool:
    """Prints a line for a document; true if the CPU time of an edit and the pause are within the target."""
    uri = (folder / name).as_uri()
    start = time.perf_counter()
    editor.open(uri, text)
    await editor.diagnostics(uri)
    opening = time.perf_counter() - start
    clock, cpu = [], []
    for number in range(edits):
        await asyncio.sleep(_THOUGHT)
        used, start = cpu_seconds(editor.pid), time.perf_counter()
        text = edited(text, number)
        editor.change(uri, number + 2, text)
        await editor.diagnostics(uri, number + 2)
        clock.append(time.perf_counter() - start)
        cpu.append(cpu_seconds(editor.pid) - used)
    typical, worst = statistics.median(cpu) + PAUSE, max(cpu) + PAUSE
    print(
        f"{name:12} {text.count(chr(10)):4} lines  opened {opening:5.2f} s   after an edit: "
        f"clock {statistics.median(clock) * 1000:4.0f} ms (at most {max(clock) * 1000:4.0f}), "
        f"pause and CPU {typical * 1000:4.0f} ms (at most {worst * 1000:4.0f}; target {TARGET * 1000:.0f})"
    )
    return typical <= TARGET


async def run(edits: int) -> bool:
    """True if every document is within the target."""
    is_fast = True
    with tempfile.TemporaryDirectory() as folder:
        async with running_editor(Path(folder)) as editor:
            for name, text in documents():
                is_fast &= await measure(editor, Path(folder), name, text, edits)
    return is_fast


def main() -> int:
    """Exit code 1 if diagnostics take longer than wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=20)
    return 0 if asyncio.run(run(parser.parse_args().edits)) else 1


if __name__ == "__main__":
    sys.exit(main())
