"""A document is judged by the problem that it answers, and by no problem that merely shares letters with it."""

from pathlib import Path

import pytest

from regard.derivations.detect import guess_problem, infer_problem
from regard.derivations.reading import read, read_text
from regard.derivations.sheet import judge_document

HERE = Path(__file__).parent
SAMPLES = sorted((HERE.parents[2] / "shared" / "samples").glob("*.md"))
STYLES = [HERE / "set_1" / "average-no-headings.md", HERE / "set_1" / "zh-numbered.md", HERE / "set_3" / "gupta.tex"]

LAYER_NORM = r"""
Write $\mu = \frac1d\sum_{j=1}^d x_j$ and $\hat{x}_i = \frac{x_i - \mu}{\sigma}$. Then
$\sum_i \hat{x}_i = 0$, and $y_i = \gamma_i\hat{x}_i + \beta_i$.
"""


def judged(text: str) -> list[str]:
    document = read_text(text)
    problem = guess_problem(document)
    assert problem.name == "inferred"
    return [verdict.status for verdict in judge_document(document, problem).verdicts]


@pytest.mark.parametrize("path", [*STYLES, *SAMPLES[:1]], ids=lambda path: path.name)
def test_answers_to_the_assignment_are_recognised(path):
    assert guess_problem(read(path)).name == "cs224n-a4"


def test_layer_normalisation_is_recognised():
    assert guess_problem(read_text(LAYER_NORM)).name == "layer-norm"


def test_a_title_is_enough():
    assert guess_problem(read_text("# Copying in attention\n\n$q = \\beta k_j$\n")).name == "cs224n-a4"


def test_undeclared_symbols_are_never_refuted():
    assert judged("$(a+b)^2 = a^2 + b^2$") == ["undecided"]
    assert judged(r"The roots: $x_1 + x_2 = -\frac{b}{a}$ and $x_1 x_2 = \frac{c}{a}$.").count("refuted") == 0


def test_identities_hold_for_whatever_the_symbols_are():
    assert judged("$(a+b)(a-b) = a^2 - b^2$") == ["holds"]


def test_declared_symbols_are_judged():
    declared = r"Let $x \in \mathbb{R}^d$ and $y \in \mathbb{R}^d$. "
    assert judged(declared + r"$\|x+y\|^2 = \|x\|^2 + 2x^\top y + \|y\|^2$")[-1] == "holds"
    assert judged(declared + r"$\|x+y\|^2 = \|x\|^2 + \|y\|^2$")[-1] == "refuted"


def test_shapes_and_families_are_inferred():
    text = r"$A \in \mathbb{R}^{m \times n}$, $\sum_i w_i = s$, $v \in \mathbb{R}^3$"
    (question,) = infer_problem(read_text(text)).questions
    symbols = question.setting.symbols
    assert symbols["A"].shape == ("m", "n")
    assert symbols["v"].shape == ("3", "1")
    assert (symbols["w_i"].index, symbols["w_i"].over) == ("i", "n")
    assert question.setting.undeclared == {"s", "w_i"}


def test_a_document_without_mathematics_has_no_symbols():
    (question,) = infer_problem(read_text("Nothing here.")).questions
    assert question.setting.symbols == {}
    assert guess_problem(read_text("Nothing here.")).name == "inferred"
