"""A few passages under the heading of a question, judged."""

from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import StepVerdict
from regard.derivations.verify import judge_document

PROBLEM = load_problem("cs224n-a4")
HEADINGS = {
    "1a": "1.(a) Copying",
    "1b": "1.(b) An average of two",
    "1b.subspace": "1.(b) Combining values",
    "1c.i": "1.(c) Drawbacks of single-headed attention\n\ni.",
    "1c.ii": "1.(c) Drawbacks of single-headed attention\n\nii.",
    "1d.i": "1.(d) Benefits of multi-headed attention\n\ni.",
    "1d.ii": "1.(d) Benefits of multi-headed attention\n\nii.",
    "2a.i": "2.(a)\n\ni.",
    "2b.i": "2.(b)\n\ni.",
    "2b.ii": "2.(b)\n\nii.",
    "3g.ii": "3.(g)\n\nii.",
}
DESIGN = r"Take $q = \beta(k_a + k_b)$ with a large β."


def judged(question: str, *passages: str, is_strict: bool = False) -> list[StepVerdict]:
    text = "\n\n".join((HEADINGS[question], *passages)) + "\n"
    verdicts = judge_document(read_text(text), PROBLEM, is_strict=is_strict).verdicts
    assert {verdict.question for verdict in verdicts} == {question}
    return [verdict for verdict in verdicts if verdict.kind != "choice"]


def last(question: str, *passages: str) -> StepVerdict:
    return judged(question, *passages)[-1]


def outcomes(*verdicts: StepVerdict) -> list[tuple[str, str]]:
    return [(verdict.kind, verdict.outcome or "") for verdict in verdicts]
