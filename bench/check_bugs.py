"""How many injected bugs the laws catch, at spec grade and as a black box, and how often they name the right family.

The bugs in `bench/bugs` are single edits of correct layers, written by someone who had not read the laws.
"""

import argparse
import fnmatch
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from bugs.bug import FAMILIES, Bug
from bugs.building import LAYERS, build
from bugs.catalog import all_bugs
from bugs.fresh import fresh_bugs
from bugs.sizes import size_bugs

from regard.conformance.verdict import Diagnosis

FIGURES = Path(__file__).parents[1] / "docs" / "figures-check.md"
GRADES = ("spec", "black-box")
SETS = {"catalog": all_bugs, "fresh": fresh_bugs, "sizes": size_bugs}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the laws said about one layer at one grade; `diagnosis` is the first one."""

    bug: str
    grade: str
    failures: tuple[str, ...]
    diagnosis: Diagnosis | None
    seconds: float

    @property
    def family(self) -> str | None:
        """The family that the diagnosis names."""
        return None if self.diagnosis is None else self.diagnosis.family


def main() -> None:
    """Prints the figures as Markdown, and writes them to the documentation if every bug was tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SETS, default="catalog", help="which bugs")
    parser.add_argument("--only", default="*", help="only bugs whose names match this pattern")
    parser.add_argument("--subset", type=int, help="only this many of them, evenly spread")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    bugs = subset(matching(SETS[chosen.set](), chosen.only), chosen.subset)
    if not bugs:
        parser.error(f"no bug of the set '{chosen.set}' matches '{chosen.only}'; leave out --only, or write some first")
    start = time.perf_counter()
    trials = run(bugs, chosen.jobs)
    text = figures(bugs, trials, time.perf_counter() - start)
    print(text)
    is_whole = chosen.set == "catalog" and len(bugs) == len(all_bugs())
    target = chosen.write or (FIGURES if is_whole else None)
    if target:
        target.write_text(text + kept_of(target), encoding="utf-8")


def kept_of(target: Path) -> str:
    """The end of the file, which another measurement wrote."""
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    return "".join(before.partition("\n## Speed")[1:])


def matching(bugs: Sequence[Bug], pattern: str) -> list[Bug]:
    """The bugs whose names match a shell pattern."""
    return [bug for bug in bugs if fnmatch.fnmatch(bug.id, pattern)]


def subset(bugs: Sequence[Bug], number: int | None) -> list[Bug]:
    """This many of the bugs, evenly spread."""
    if number is None or number >= len(bugs):
        return list(bugs)
    return [bugs[index * len(bugs) // number] for index in range(number)]


def run(bugs: Iterable[Bug], jobs: int) -> list[Trial]:
    """All layers at all grades: the correct ones, then the buggy ones."""
    orders = [(name, grade) for name in (*LAYERS, *(bug.id for bug in bugs)) for grade in GRADES]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(judge, orders, chunksize=4))


def judge(order: tuple[str, str]) -> Trial:
    """Checks one layer against all laws."""
    import torch

    from regard.conformance.judging import check_subject

    torch.set_num_threads(1)
    name, grade = order
    known = (bug for bugs in SETS.values() for bug in bugs())
    subject = build(name) if name in LAYERS else next(bug for bug in known if bug.id == name).build()
    start = time.process_time()
    report = check_subject(subject if grade == "spec" else subject.as_black_box())
    diagnosis = next((verdict.diagnosis[0] for verdict in report.failures if verdict.diagnosis), None)
    return Trial(
        bug=name,
        grade=grade,
        failures=tuple(f"{verdict.law} {verdict.outcome}" for verdict in report.failures),
        diagnosis=diagnosis,
        seconds=time.process_time() - start,
    )


def figures(bugs: Sequence[Bug], trials: Sequence[Trial], seconds: float) -> str:
    """The tables and the lists of what went wrong; times per layer are CPU times, since machines are shared."""
    found = {(trial.bug, trial.grade): trial for trial in trials}
    real, same = [bug for bug in bugs if not bug.is_equivalent], [bug for bug in bugs if bug.is_equivalent]
    slowest = max(trial.seconds for trial in trials)
    mean = sum(trial.seconds for trial in trials) / len(trials)
    usual = sum(found[name, "spec"].seconds for name in LAYERS) / len(LAYERS)
    lines = [
        f"# Injected bugs: {len(real)} in {len(LAYERS)} layers",
        "",
        f"Each bug is one edit; {len(same)} more edits change nothing. Measured by `bench/check_bugs.py` in "
        f"{seconds:.0f} s. Checking one layer against all laws takes {mean:.1f} s of CPU time on average, "
        f"{slowest:.1f} s at most, and {usual:.1f} s for a correct layer.",
        "",
        "| | spec | black-box |",
        "|---|---|---|",
        row("caught, of all bugs", [caught(real, found, grade) for grade in GRADES]),
        row("target", ["≥ 99 %", "≥ 76 %"]),
        row("first diagnosis names the family, of those caught", [named(real, found, grade) for grade in GRADES]),
        row("target", ["≥ 80 %", "≥ 80 %"]),
        row("caught only by a crash", [crashes(real, found, grade) for grade in GRADES]),
        row("false alarms on correct layers", [alarms(LAYERS, found, grade) for grade in GRADES]),
        row(
            "false alarms on edits that change nothing",
            [alarms([b.id for b in same], found, grade) for grade in GRADES],
        ),
        "",
        "| family | bugs | caught, spec | caught, black-box | family named, spec |",
        "|---|---|---|---|---|",
        *(by_family(family, real, found) for family in sorted(FAMILIES)),
        *listed(bugs, found),
    ]
    return "\n".join(lines) + "\n"


Found = dict[tuple[str, str], Trial]


def row(name: str, cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {name} | {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    """A part of a whole, as numbers and in percent."""
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "–"


def caught(bugs: Sequence[Bug], found: Found, grade: str) -> str:
    """How many bugs broke a law."""
    return share(sum(bool(found[bug.id, grade].failures) for bug in bugs), len(bugs))


def named(bugs: Sequence[Bug], found: Found, grade: str) -> str:
    """How many of those caught had their family named first."""
    hit = [bug for bug in bugs if found[bug.id, grade].failures]
    return share(sum(bug.is_of(found[bug.id, grade].family) for bug in hit), len(hit))


def crashes(bugs: Sequence[Bug], found: Found, grade: str) -> str:
    """How many were caught only because something crashed."""
    failures = [found[bug.id, grade].failures for bug in bugs]
    return str(sum(bool(each) and all(text.endswith("crashed") for text in each) for each in failures))


def alarms(names: Iterable[str], found: Found, grade: str) -> str:
    """How many correct layers broke a law."""
    return str(sum(bool(found[name, grade].failures) for name in names))


def by_family(family: str, bugs: Sequence[Bug], found: Found) -> str:
    """The row of one family."""
    members = [bug for bug in bugs if bug.family == family]
    shares = [caught(members, found, grade) for grade in GRADES]
    return row(family, [str(len(members)), *shares, named(members, found, "spec")])


def listed(bugs: Sequence[Bug], found: Found) -> list[str]:
    """Bugs not caught, false alarms and wrong families, one per line."""
    lines = []
    for grade in GRADES:
        lines += ["", f"## Not caught at {grade} grade", ""]
        lines += [
            f"- `{bug.id}` ({bug.family}): {bug.what}"
            + (f". Equivalent: {bug.is_equivalent}" * bool(bug.is_equivalent))
            + (f". Allowed: {bug.is_lawful}" * bool(bug.is_lawful))
            for bug in bugs
            if not found[bug.id, grade].failures
        ]
    lines += ["", "## False alarms", ""]
    faultless = {*LAYERS, *(bug.id for bug in bugs if bug.is_equivalent)}
    lines += [
        f"- {name}, {grade}: {', '.join(trial.failures)}"
        for (name, grade), trial in found.items()
        if name in faultless and trial.failures
    ]
    lines += ["", "## Caught at spec grade, but in another family", ""]
    lines += [
        f"- `{bug.id}` ({bug.family}): {found[bug.id, 'spec'].diagnosis or 'no diagnosis'}"
        for bug in bugs
        if found[bug.id, "spec"].failures and not bug.is_equivalent and not bug.is_of(found[bug.id, "spec"].family)
    ]
    return lines


if __name__ == "__main__":
    main()
