"""Fuzzes `regard verify`: whatever a document says, it is judged or refused, within 10 s of CPU time and 1 GiB.

    python bench/verify_fuzz.py --documents 100000            documents 0 to 99,999, each made from its own number
    python bench/verify_fuzz.py --documents 1000 --start 5000 another range of the same documents
    python bench/verify_fuzz.py --shrink offenders/crash-17.md   the shortest text found that fails in the same way

Documents are sheets of the tests (and the samples and real documents beside the project, if they are there), whole or
a few paragraphs of them, mutated one to five times. Each is judged in a worker process and rendered as JSON and HTML.
Every offender is written to a folder, with its traceback.
"""

import argparse
import json
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal

from regard.core.errors import InputError
from regard.core.processes import GIB, Ended, limit_resources
from regard.core.worker_pool import PoolLimits, run_tasks
from regard.derivations.reading.files import KINDS, stored_bytes
from regard.derivations.report.page import render_document
from regard.derivations.tasks import Assignment, DocumentTask
from regard.derivations.verify import judge_task

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
FOLDERS = (*sorted((ROOT / "tests" / "derivations").glob("set_*")), SHARED / "samples", SHARED / "real")
PROBLEM = "cs224n-a4"
HEADINGS = ("1.(a) Copying", "1.(b) An average of two", "1.(b) Combining values", "1.(c)\n\nii.", "1.(d)\n\nii.")
HEADINGS += ("2.(a)\n\ni.", "2.(b)\n\nii.", "3.(g)\n\nii.", "# Notes")
CPU_SECONDS = 10.0
WALL_SECONDS = 600.0  # a backstop; the CPU time is what counts
TASKS_PER_PROCESS = 2000

_FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$|\\\[.+?\\\]|\\\(.+?\\\)", re.DOTALL)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LETTER = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")
_BRACKETS = "{}()[]$|&\\^_"
_HUGE = ("9" * 400, "1e308", "10^{10^{10}}", "-1", "0", "0.0", "1e-400", "99999999", "2^{2^{99}}", "1/0", r"\infty")
_NOISE = "\u200b\u202e\u0301\ufeff\x00\x0b\u2028\ud7ff\uffff½²₁ᵀ×÷∑√≤≈→⊤′٣Ⅷ𝟙𝑥𝛽É你的。，（）\ue000🙂\u00ad\t\r"
_SHELLS = (
    (r"\frac{1}{", "}"),
    (r"\sqrt{", "}"),
    (r"\left(", r"\right)"),
    (r"\exp(", ")"),
    (r"\text{softmax}(", ")"),
    (r"\sum_{i=1}^n ", ""),
    (r"\text{where $", "$}"),
    ("{", "}^2"),
    ("x_{", "}"),
    ("e^{", "}"),
    (r"\begin{pmatrix}", r" & 1 \\ 0 & 1\end{pmatrix}"),
    (r"\begin{cases}", r" & i = j \\ 0 & i \neq j\end{cases}"),
    (r"\|", r"\|"),
    (r"\langle ", r", q\rangle"),
    (r"\frac{\partial}{\partial x}", ""),
    (r"\mathbb{E}[", "]"),
    (r"\max_i ", ""),
    (r"\int_0^1 ", r"\,dx"),
    ("", r"^\top"),
)
_JOINTS = (" = ", " + ", " ", r" \\ ", ", ", r" \approx ", " / ", "^", r" \Rightarrow ", r" \to ")


# -- what documents are made of ----------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The originals by file type, and the formulas, tokens and commands that occur in them."""

    sheets: Sequence[tuple[str, str]]
    formulas: Sequence[str]
    tokens: Sequence[str]
    commands: Sequence[str]


@cache
def corpus() -> Corpus:
    """Every document that can be found; each token as often as it occurs."""
    paths = [path for folder in FOLDERS if folder.is_dir() for path in sorted(folder.iterdir())]
    sheets = [(path.suffix, path.read_bytes().decode("utf-8-sig")) for path in paths if path.suffix in KINDS]
    formulas = [found for _, text in sheets for found in _FORMULA.findall(text)]
    tokens = [token for formula in formulas for token in _TOKEN.findall(formula.strip("$"))]
    return Corpus(sheets=sheets, formulas=formulas, tokens=tokens, commands=sorted(set(filter(_COMMAND.match, tokens))))


@dataclass(frozen=True, kw_only=True)
class FuzzedDocument:
    """A text to judge, the type of its file, and whether a problem is named."""

    text: str
    suffix: str
    is_problem_named: bool

    @property
    def task(self) -> DocumentTask:
        """The document as `regard verify` is given it."""
        content = self.text.encode("utf-8", "surrogatepass")
        return DocumentTask(
            file=f"fuzzed{self.suffix}", content=content, assignment=_assignment(is_named=self.is_problem_named)
        )


@cache
def _assignment(*, is_named: bool) -> Assignment:
    return Assignment.for_problem(PROBLEM if is_named else None)


def fuzzed(seed: int, number: int) -> FuzzedDocument:
    """The document with this number; the same for the same seed and originals."""
    rng = random.Random(f"{seed}:{number}")
    suffix, text = rng.choice(corpus().sheets)
    if suffix != ".ipynb" and rng.random() < 0.95:
        text = _excerpt(rng, text)
    for _ in range(rng.randint(1, 5)):
        text = rng.choice(MUTATIONS)(rng, text)
    return FuzzedDocument(text=text, suffix=suffix, is_problem_named=rng.random() < 0.6)


def _excerpt(rng: random.Random, text: str) -> str:
    """A few paragraphs in a row, half of the time under the heading of a question."""
    paragraphs = re.split(r"\n\s*\n", text)
    start = rng.randrange(len(paragraphs))
    kept = paragraphs[start : start + rng.choice((1, 2, 2, 3, 6))]
    return "\n\n".join([rng.choice(HEADINGS), *kept] if rng.random() < 0.5 else kept)


# -- mutations ---------------------------------------------------------------------------------------------------------
Mutation = Callable[[random.Random, str], str]


def _stretch(rng: random.Random, text: str, longest: int) -> tuple[int, int]:
    start = rng.randrange(len(text) + 1)
    return start, min(len(text), start + rng.randint(1, longest))


def _replaced(rng: random.Random, text: str, pattern: re.Pattern[str], new: Callable[[str], str]) -> str:
    """The text with one match of the pattern replaced."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    chosen = rng.choice(found)
    return text[: chosen.start()] + new(chosen[0]) + text[chosen.end() :]


def delete(rng: random.Random, text: str) -> str:
    """Some characters are gone."""
    start, end = _stretch(rng, text, 12)
    return text[:start] + text[end:]


def double(rng: random.Random, text: str) -> str:
    """A stretch is written several times."""
    start, end = _stretch(rng, text, 40)
    return text[:end] + text[start:end] * rng.choice((1, 1, 1, 3, 30, 300)) + text[end:]


def unbalance(rng: random.Random, text: str) -> str:
    """A bracket, dollar or backslash too many, or one too few."""
    if rng.random() < 0.5:
        return _replaced(rng, text, re.compile(f"[{re.escape(_BRACKETS)}]"), lambda _: "")
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(_BRACKETS) * rng.choice((1, 1, 2, 50)) + text[place:]


def swap_command(rng: random.Random, text: str) -> str:
    r"""Another command in the place of one: \frac for \sum."""
    return _replaced(rng, text, _COMMAND, lambda _: rng.choice(corpus().commands))


def swap_letter(rng: random.Random, text: str) -> str:
    """Another token in the place of a letter."""
    return _replaced(rng, text, _LETTER, lambda _: rng.choice(corpus().tokens))


def shuffle_lines(rng: random.Random, text: str) -> str:
    """The lines in another order."""
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def nest(rng: random.Random, text: str) -> str:
    """A formula inside fractions, roots, sums, matrices and other formulas."""

    def nested(formula: str) -> str:
        inner, depth = formula.strip("$"), rng.choice((1, 2, 3, 8, 40))
        shells = [rng.choice(_SHELLS)] * depth if rng.random() < 0.3 else rng.choices(_SHELLS, k=depth)
        for before, after in shells:
            inner = f"{before}{inner}{after}"
        return f"${inner}$"

    return _replaced(rng, text, _FORMULA, nested)


def splice(rng: random.Random, text: str) -> str:
    """The beginning of this document, then the end of another."""
    _, other = rng.choice(corpus().sheets)
    return text[: rng.randrange(len(text) + 1)] + _excerpt(rng, other)[rng.randrange(40) :]


def enlarge_number(rng: random.Random, text: str) -> str:
    """A number that is too large, too small or impossible."""
    return _replaced(rng, text, _NUMBER, lambda _: rng.choice(_HUGE))


def add_noise(rng: random.Random, text: str) -> str:
    """Characters that keyboards do not have."""
    for _ in range(rng.choice((1, 3, 20))):
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(_NOISE) + text[place:]
    return text


def recombine(rng: random.Random, text: str) -> str:
    """A formula made of tokens drawn from all documents."""
    made = " ".join(rng.choices(corpus().tokens, k=rng.choice((3, 6, 12, 40, 200))))
    return _replaced(rng, text, _FORMULA, lambda _: f"$${made}$$")


def exchange(rng: random.Random, text: str) -> str:
    """A formula from elsewhere in the place of one."""
    return _replaced(rng, text, _FORMULA, lambda _: rng.choice(corpus().formulas))


def chain(rng: random.Random, text: str) -> str:
    """Formulas from everywhere, or the same one many times, joined to one."""
    length = rng.choice((2, 3, 10, 60))
    parts = [rng.choice(corpus().formulas)] * length if rng.random() < 0.5 else rng.choices(corpus().formulas, k=length)
    joined = rng.choice(_JOINTS).join(part.strip("$\\[]()") for part in parts)
    return _replaced(rng, text, _FORMULA, lambda formula: f"$${formula.strip('$')}{rng.choice(_JOINTS)}{joined}$$")


MUTATIONS: tuple[Mutation, ...] = (
    delete,
    double,
    unbalance,
    swap_command,
    swap_letter,
    shuffle_lines,
    nest,
    splice,
    enlarge_number,
    add_noise,
    recombine,
    exchange,
    chain,
)


# -- judging one document ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Offence:
    """What went wrong with a document; two with the same `signature` are likely the same fault."""

    kind: Literal["crash", "slow", "memory", "killed"]
    signature: str
    details: str


class OverTime(BaseException):
    """Raised where the CPU time runs out; no Exception, so that no handler swallows it."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raises OverTime in the block once it has used so many seconds of CPU time."""

    def stop(*_: object) -> None:
        raise OverTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def offence(document: FuzzedDocument, seconds: float = CPU_SECONDS) -> Offence | None:
    """Judges and renders a document; what goes wrong, if anything does."""
    try:
        with cpu_limit(seconds), suppress(InputError):
            report = judge_task(document.task)
            json.dumps(report.to_dict())
            render_document(report)
    except OverTime as error:
        return Offence(kind="slow", signature=f"slow in {_place(error.__traceback__)}", details=traceback.format_exc())
    except Exception as error:  # noqa: BLE001 - any exception is what is looked for
        kind = "memory" if isinstance(error, MemoryError) else "crash"
        signature = f"{type(error).__name__} in {_place(error.__traceback__)}"
        return Offence(kind=kind, signature=signature, details=traceback.format_exc())
    return None


def _place(trace: TracebackType | None) -> str:
    """The function of Regard in which the error arose."""
    frames = [frame for frame in traceback.extract_tb(trace) if f"{Path('/regard/')}" in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "no function of Regard"


@dataclass(frozen=True)
class Numbered:
    """The seed and number of a document, which a worker makes itself."""

    seed: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Examined:
    """How long a document took, in seconds of CPU time, and what went wrong with it."""

    seconds: float
    offence: Offence | None


def examine(item: Numbered) -> Examined:
    """What a worker does: the document with this number, judged within 1 GiB."""
    _limit_memory()
    document = fuzzed(item.seed, item.number)
    start = time.process_time()
    found = offence(document)
    return Examined(seconds=time.process_time() - start, offence=found)


@cache
def _limit_memory() -> None:
    limit_resources(memory=GIB)


# -- judging many ------------------------------------------------------------------------------------------------------
def run(numbers: range, seed: int, jobs: int, folder: Path) -> Counter[str]:
    """Judges the documents; returns how often each signature was found."""
    folder.mkdir(parents=True, exist_ok=True)
    limits = PoolLimits(jobs=jobs, seconds=WALL_SECONDS, tasks_per_process=TASKS_PER_PROCESS)
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    start, done, slowest = time.perf_counter(), 0, (0.0, numbers.start)
    try:
        for item, result in run_tasks((Numbered(seed, number) for number in numbers), examine, limits):
            done += 1
            examined = _killed(result) if isinstance(result, Ended) else result
            slowest = max(slowest, (examined.seconds, item.number))
            if examined.offence is not None:
                found[examined.offence.signature] += 1
                kinds[examined.offence.kind] += 1
                _write(folder, item, examined.offence)
            if done % 500 == 0 or done == len(numbers):
                rate = done / (time.perf_counter() - start)
                faults = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "no offender"
                print(
                    f"{done:,} of {len(numbers):,} documents, {rate:.1f} per second: {faults}; "
                    f"the slowest, {slowest[1]}, took {slowest[0]:.1f} s",
                    flush=True,
                )
    except KeyboardInterrupt:
        print(f"Stopped. Resume with --start {max(numbers.start, numbers.start + done - 3 * jobs)}.")
    return found


def _killed(ended: Ended) -> Examined:
    is_slow = ended.outcome == "timed out"
    found = Offence(kind="slow" if is_slow else "killed", signature=ended.reason, details=ended.reason)
    return Examined(seconds=WALL_SECONDS if is_slow else 0.0, offence=found)


def _write(folder: Path, item: Numbered, fault: Offence) -> None:
    document = fuzzed(item.seed, item.number)
    path = folder / f"{fault.kind}-{item.number}{document.suffix}"
    path.write_bytes(document.task.content)
    named = PROBLEM if document.is_problem_named else "none"
    header = f"problem: {named}\nseed {item.seed}, document {item.number}\n{fault.signature}\n\n"
    path.with_name(path.name + ".traceback").write_text(header + fault.details, encoding="utf-8")


# -- shrinking ---------------------------------------------------------------------------------------------------------
def shrunk(document: FuzzedDocument, seconds: float) -> tuple[FuzzedDocument, Offence | None]:
    """The document without everything that it can do without and still fail in the same place."""
    original = offence(document, seconds)
    if original is None:
        return document, None

    def is_same(text: str) -> bool:
        other = offence(replace(document, text=text), seconds)
        return other is not None and (other.kind == "slow" or other.signature == original.signature)

    text, size = document.text, max(1, len(document.text) // 2)
    while size:
        shorter = _without_stretches(text, size, is_same)
        size = size if shorter != text and size == 1 else size // 2
        text = shorter
    return replace(document, text=text), original


def _without_stretches(text: str, size: int, is_same: Callable[[str], bool]) -> str:
    place = 0
    while place < len(text):
        candidate = text[:place] + text[place + size :]
        if is_same(candidate):
            text = candidate
        else:
            place += size
    return text


def shrink_file(path: Path, seconds: float) -> int:
    """Prints the shortest text found that offends as the file does."""
    _limit_memory()
    note = path.with_name(path.name + ".traceback")
    is_named = not note.exists() or note.read_text(encoding="utf-8").startswith(f"problem: {PROBLEM}")
    text = stored_bytes(path).decode("utf-8", "surrogatepass")
    document = FuzzedDocument(text=text, suffix=path.suffix, is_problem_named=is_named)
    smallest, fault = shrunk(document, seconds)
    if fault is None:
        print(f"{path} is judged within {seconds:g} s without an error.")
        return 0
    print(
        f"{fault.signature} ({'with' if is_named else 'without'} --problem {PROBLEM}), {len(smallest.text)} characters:"
    )
    print(ascii(smallest.text))
    return 1


def main() -> int:
    """Exit code 1 if there was an offender."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="number of the first document")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("fuzz-offenders"), help="folder for offenders")
    parser.add_argument("--shrink", type=Path, metavar="FILE", help="shrink an offender instead")
    parser.add_argument("--seconds", type=float, default=CPU_SECONDS, help="CPU time that is too long, for --shrink")
    chosen = parser.parse_args()
    if chosen.shrink:
        return shrink_file(chosen.shrink, chosen.seconds)
    found = run(range(chosen.start, chosen.start + chosen.documents), chosen.seed, chosen.jobs, chosen.out)
    for signature, number in found.most_common():
        print(f"{number:>6}  {signature}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
