"""The score of the documents in `careless_homework` and `careless_notes`: `python -m derivations.careless NAME [STEP]`.

Their authors are simulated. `careless_homework` answers the homework, `careless_notes` has no problem. Only false steps
and those that may go either way are labelled, in `labels.tsv`: every other refutation is a false alarm. The judge has
been mended on all of them since; docs/figures-real.md says what it did at first sight.
"""

import json
import re
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read
from regard.derivations.results import StepVerdict
from regard.derivations.verify import judge_document

HERE = Path(__file__).parent
NEARBY = 3  # lines between a label and its step


@dataclass(frozen=True, kw_only=True)
class Score:
    num_right: int
    false_alarms: tuple[str, ...]
    num_false: int
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Label:
    line: int
    fragment: str
    is_false: bool

    def fits(self, verdict: StepVerdict) -> bool:
        source = squeezed(verdict.source)
        is_near = verdict.where is not None and abs(verdict.where.line - self.line) <= NEARBY
        return is_near and (self.fragment in source or source in self.fragment)


def squeezed(text: str) -> str:
    return re.sub(r"\s+|&|\\[,;!]", "", text)


def labels_of(folder: Path) -> dict[str, list[Label]]:
    found: dict[str, list[Label]] = defaultdict(list)
    for row in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, line, fragment, label, _ = row.split("\t")
        found[name].append(Label(int(line), squeezed(fragment), label == "false"))
    return found


def score(name: str, step: int = 1) -> Score:
    """The score of every document, or of one in `step`."""
    folder = HERE / name
    labels = labels_of(folder)
    num_right, num_false, alarms, missed = 0, 0, [], []
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".md", ".tex", ".ipynb", ".txt"))[::step]:
        document = read(path)
        problem = load_problem("cs224n-a4") if name == "careless_homework" else infer_problem(read_formulas(document))
        refuted = [v for v in judge_document(document, problem).verdicts if v.status == "refuted"]
        hits = [verdict for verdict in refuted if any(label.fits(verdict) for label in labels[path.name])]
        num_right += len(hits)
        alarms += [f"{path.name} {verdict.source}" for verdict in refuted if verdict not in hits]
        wanted = [label for label in labels[path.name] if label.is_false]
        num_false += len(wanted)
        missed += [f"{path.name}:{item.line} {item.fragment}" for item in wanted if not any(map(item.fits, refuted))]
    return Score(num_right=num_right, false_alarms=tuple(alarms), num_false=num_false, missed=tuple(missed))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(score(sys.argv[1], *map(int, sys.argv[2:])))))
