"""Solutions step by step, the first error labelled, as in ProcessBench: right ones must come out without a refutation.

    python bench/process_bench.py gsm8k.jsonl math.jsonl

Each file is JSON, a list or one object per line, with `steps` (texts) and `label`: the place of the first wrong step,
counted from zero, −1 if the solution is right. An error is caught if the first refutation stands in the step that is
labelled, and early if it stands in a step before it. Exit code: 0 if at least 99 % of the right solutions come out
without a refutation, else 1.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

LEAST_CLEAN = 0.99


def solutions(path: Path) -> Iterator[tuple[Sequence[str], int]]:
    """The steps of every solution of a file, with the place of the first wrong one."""
    text = path.read_text(encoding="utf-8").strip()
    rows = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
    for row in rows:
        yield row["steps"], int(row["label"])


def first_refuted(steps: Sequence[str]) -> int:
    """The place of the first step with a refutation, −1 without one."""
    first_lines, line = [], 1
    for step in steps:
        first_lines.append(line)
        line += step.count("\n") + 2
    document = read_text("\n\n".join(steps), kind="markdown")
    found = judge_document(document, infer_problem(read_formulas(document))).verdicts
    refuted = [verdict.where.line for verdict in found if verdict.status == "refuted" and verdict.where is not None]
    return sum(first <= min(refuted) for first in first_lines) - 1 if refuted else -1


def main() -> int:
    """Judge every solution and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=None, help="about how many solutions of each file, evenly spread")
    options = parser.parse_args()
    counts = Counter[str]()
    for path in options.files:
        rows = list(solutions(path))
        for steps, label in rows[:: max(1, len(rows) // (options.limit or len(rows)))]:
            found = first_refuted(steps)
            if label < 0:
                counts["clean" if found < 0 else "false alarm"] += 1
            else:
                counts["caught" if found == label else "missed" if found < 0 else "early or late"] += 1
    num_right, num_wrong = counts["clean"] + counts["false alarm"], sum(counts.values())
    num_wrong -= num_right
    print(f"{num_right} right solutions: {counts['clean']} without a refutation, {counts['false alarm']} with one")
    print(
        f"{num_wrong} wrong ones: first error caught in {counts['caught']}, "
        f"another step refuted in {counts['early or late']}, nothing in {counts['missed']}"
    )
    return 0 if counts["clean"] >= LEAST_CLEAN * num_right else 1


if __name__ == "__main__":
    sys.exit(main())
