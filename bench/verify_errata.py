"""Formulas that authors corrected themselves: the right one must not be refuted, the wrong one should be noticed.

    python bench/verify_errata.py --list

Each row of verify_errata.jsonl has a formula before and after its correction, what it is about in our own words, and
the address of the commit or issue. The rows were collected and labelled before the judge saw them. A formula is judged
without a problem, in a document of its context and itself. Exit code: 0 if no right formula is refuted, else 1.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

ERRATA = Path(__file__).with_suffix(".jsonl")


def outcome(row: Mapping[str, str], which: str) -> str:
    """What the judge says of a formula: refuted, doubtful, holds or undecided; the worst of its steps counts."""
    text = f"{row['context']} Then\n\n$$\n{row[which]}\n$$\n"
    document = read_text(text)
    line = text[: text.index("$$\n")].count("\n") + 1
    found = judge_document(document, infer_problem(read_formulas(document))).verdicts
    steps = [verdict for verdict in found if verdict.where is not None and verdict.where.line > line]
    if any(step.status == "refuted" for step in steps):
        return "refuted"
    if any(step.outcome == "doubtful" for step in steps):
        return "doubtful"
    claims = [step for step in steps if step.role.is_claim]
    return "holds" if claims and all(step.status in ("holds", "proved") for step in claims) else "undecided"


def main() -> int:
    """Judge every row and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print what is said of each row")
    options = parser.parse_args()
    rows = [json.loads(line) for line in ERRATA.read_text(encoding="utf-8").splitlines()]
    counts = {"right": Counter[str](), "wrong": Counter[str]()}
    for row in rows:
        said = {which: outcome(row, which) for which in counts}
        for which, result in said.items():
            counts[which][result] += 1
        if options.list:
            print(f"right {said['right']:9}  wrong {said['wrong']:9}  {row['wrong'][:90]}")
    print(f"{len(rows)} corrected formulas")
    for which, results in counts.items():
        print(f"{which}: " + ", ".join(f"{number} {result}" for result, number in results.most_common()))
    return 1 if counts["right"]["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
