"""Records every verdict that a user can see, to prove that a change which should affect none of them does not.

    python bench/record.py before.jsonl        writes one line per verdict
    python bench/record.py --compare before.jsonl after.jsonl

Everything is recorded through the command line: the test sheets, the samples and real documents beside the project (if
they are there), all claims, twenty designs, the layers of the zoo, and the losses of a short training run. Ids, kinds,
statuses, outcomes, values and places are compared; words are not.
`--only` limits the parts; a comparison looks only at the parts that the second record has.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHEETS = ROOT / "tests" / "derivations"
SHARED = ROOT.parent / "shared"
DOCUMENTS = (".md", ".tex", ".ipynb", ".txt")
FIELDS = ("id", "kind", "layer", "question", "status", "outcome", "domain", "assumes", "value", "bound", "probability")
WORDS = ("reason", "reproduce", "command")
ONE_HEAD = ("--head", "beta*(mu_a+mu_b)")
TWO_HEADS = ("--head", "beta*mu_a", "--head", "beta*mu_b")
DESIGNS = [
    (*heads, "--n", n, *noise)
    for heads in (ONE_HEAD, TWO_HEADS)
    for n, noise in (
        ("10", ("--beta", "20", "--norm-noise", "a=0.5")),
        ("3", ("--beta", "5", "--norm-noise", "a=0.1")),
        ("100", ("--beta", "40", "--norm-noise", "a=0.5", "--norm-noise", "b=0.2")),
        ("10", ("--beta", "20")),
        ("10", ("--beta", "20", "--alpha", "0.01")),
        ("10", ("--beta", "20", "--norm-noise", "a=0.5", "--qk-norm")),
        ("10", ("--beta", "20", "--norm-noise", "a=0.5", "--given", "gamma>0")),
        ("1000", ("--beta", "30", "--norm-noise", "a=0.5", "--require", "0.9")),
        ("5", ("--beta", "8", "--alpha", "0.1", "--norm-noise", "b=0.3")),
        ("10", ("--beta", "20", "--norm-noise", "a=0.5", "--target", "v_a")),
    )
]

Row = dict[str, Any]


def main() -> int:
    """Records, or compares two records; exit code 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true", help="compare two records instead of writing one")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to record, separated by commas")
    chosen = parser.parse_args()
    if chosen.compare:
        return compare(*chosen.files)
    with chosen.files[0].open("w", encoding="utf-8") as out:
        for part in chosen.only.split(","):
            rows = sorted(json.dumps({"part": part, **row}, ensure_ascii=False) for row in PARTS[part]())
            out.writelines(f"{row}\n" for row in rows)
            print(f"{part}: {len(rows)} rows", file=sys.stderr)
    return 0


def sheets() -> Iterator[Row]:
    """The test sheets and the samples; their problem is guessed."""
    paths = [path for path in SHEETS.rglob("*") if path.suffix in DOCUMENTS]
    yield from _documents([*paths, *(SHARED / "samples").glob("*.md")])


def real() -> Iterator[Row]:
    """The real documents; homework is checked against its problem."""
    paths = [path for path in (SHARED / "real").glob("*-*") if path.suffix in DOCUMENTS]
    homework = [path for path in paths if path.name.startswith("homework")]
    yield from _documents(homework, "--problem", "cs224n-a4")
    yield from _documents([path for path in paths if path not in homework])


def claims() -> Iterator[Row]:
    """The whole catalog of claims."""
    yield from map(_kept, _verdicts("claims", "--jobs", "2"))


def designs() -> Iterator[Row]:
    """Twenty designs, with all the numbers of their reports."""
    for options in DESIGNS:
        report = _json("design", *options)
        yield {"design": " ".join(options), "report": _rounded(_without_words(report))}


def zoo() -> Iterator[Row]:
    """Every law on every public implementation that is installed."""
    yield from map(_kept, _verdicts("check", "--zoo", "--jobs", "2", "--time-limit", "120"))


def train() -> Iterator[Row]:
    """The losses of a short run on made-up people, one process with one thread, in float32."""
    options = "--steps 40 --processes 1 --threads 1 --set precision=float32".split()
    with tempfile.TemporaryDirectory() as folder:
        _run("train", *options, "--corpus", *_small_corpus(Path(folder)), "--out", f"{folder}/run")
        for line in Path(folder, "run", "metrics.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield {name: _rounded(row[name]) for name in ("step", "loss") if name in row}


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "sheets": sheets,
    "real": real,
    "claims": claims,
    "designs": designs,
    "zoo": zoo,
    "train": train,
}


def compare(before: Path, after: Path) -> int:
    """Prints the rows that only one record has, among the parts that the second one has; 1 if there are any."""
    old, new = (set(path.read_text(encoding="utf-8").splitlines()) for path in (before, after))
    parts = {json.loads(row)["part"] for row in new}
    old = {row for row in old if json.loads(row)["part"] in parts}
    for mark, rows in (("-", old - new), ("+", new - old)):
        for row in sorted(rows):
            print(mark, row)
    print(f"{len(old & new)} rows are equal, {len(old - new)} gone, {len(new - old)} new", file=sys.stderr)
    return int(old != new)


def _documents(paths: list[Path], *options: str) -> Iterator[Row]:
    """The verdicts on documents, named by their file names alone, so that folders may be renamed."""
    if not paths:
        print("no documents: skipped", file=sys.stderr)
        return
    for verdict in _verdicts("verify", *map(str, sorted(paths)), *options, "--jobs", "2"):
        where = verdict["where"]
        yield {
            "file": Path(where["file"]).name,
            "line": where["line"],
            "column": where["column"],
            **_kept(verdict),
            "source": verdict["source"],
        }


def _small_corpus(folder: Path) -> list[str]:
    """Sixty people with made-up birthplaces: the corpus and its questions."""
    places = ("Oslo", "Lima", "Cairo", "Kyoto", "Perth", "Quito")
    given = "Ada Ben Cy Dora Eve Finn Gus Hal Ida Jo".split()
    people = [f"{first} {last}" for first in given for last in "Abbot Bell Cole Dunn Egan Fry".split()]
    born = {name: places[number % 6] for number, name in enumerate(people)}
    told = [f"{name}. {name} was born in {place} and grew up by the sea." for name, place in born.items()]
    asked = [f"Where was {name} born?\t{place}" for name, place in born.items()]
    for name, lines in (("corpus.txt", told), ("questions.tsv", asked)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [str(folder / "corpus.txt"), "--questions", str(folder / "questions.tsv")]


def _verdicts(command: str, *options: str) -> list[Row]:
    return _json(command, *options)["verdicts"]


def _json(command: str, *options: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        _run(command, *options, "--json", str(out))
        return json.loads(out.read_text(encoding="utf-8"))


def _run(*arguments: str) -> None:
    """Runs the command from this checkout; exit code 1 means that something was refuted, which is fine here."""
    done = subprocess.run(
        [sys.executable, "-m", "regard", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"regard {' '.join(arguments)[:200]}: exit code {done.returncode}\n{done.stderr[-2000:]}")


def _kept(verdict: Row) -> Row:
    return {name: _rounded(verdict[name]) for name in FIELDS if verdict.get(name) is not None}


def _without_words(value: Any) -> Any:
    """A nested report without the fields that hold words."""
    if isinstance(value, dict):
        return {key: _without_words(item) for key, item in value.items() if key not in WORDS}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def _rounded(value: Any) -> Any:
    """Floats to nine digits: summation order may differ by machine, verdicts may not."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
