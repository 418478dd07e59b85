"""Sections open questions by number and by title, other passages by symbols; documents are matched to a problem."""

from pathlib import Path

import pytest

from regard.derivations.context.questions import CurrentQuestion, fit, guess_problem, infer_problem, questions_of
from regard.derivations.notation.parser import parse
from regard.derivations.notation.syntax import Symbol
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read, read_text
from regard.derivations.verify import judge_document

PROBLEM = load_problem("cs224n-a4")


def opened(path: tuple[str, ...] = (), *titles: str) -> list[str]:
    return [question.id for question in questions_of(path, titles, PROBLEM)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("1", "a"), ["1a"]),
        (("1", "c", "ii"), ["1c.ii"]),
        (("1", "c"), ["1c.i", "1c.ii"]),
        (("1", "c", "ix"), ["1c.i", "1c.ii"]),
        (("1", "b"), ["1b"]),
        (("9", "z"), []),
        (("1",), []),
        ((), []),
    ],
)
def test_enumerators_open_questions(path, expected):
    assert opened(path) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Copying in attention", ["1a"]),
        ("Permuting the INPUT!", ["2a.i", "2a.ii"]),
        ("Subspace extraction", ["1b.subspace"]),
        ("Photocopying", []),
        ("Conclusions", []),
    ],
)
def test_titles_open_questions(title, expected):
    assert opened((), title) == expected


def test_a_title_outranks_a_number_and_the_nearest_title_counts():
    assert opened(("1", "a"), "An average of two") == ["1b"]
    assert opened((), "Conclusions", "Copying") == ["1a"]
    assert opened(("1", "c", "ii"), "Single-headed attention") == ["1c.ii"]


def test_below_the_title_of_a_chapter_the_letter_counts_first():
    def below(path: tuple[str, ...], chapter: str) -> list[str]:
        return [question.id for question in questions_of(path, [], PROBLEM, [chapter])]

    assert below(("2", "a", "i"), "Position Embeddings Exploration") == ["2a.i", "2b.i"]
    assert below(("2", "b", "ii"), "Position Embeddings Exploration") == ["2b.ii"]
    assert below(("4", "a"), "Position Embeddings") == ["2b.i", "2b.ii"]
    assert below(("2", "a"), "An average of two") == ["1b"]


def test_a_title_above_letters_of_its_own_refutes_nothing():
    text = "## 1. Copying in attention\n\n(a) Large scores.\n\n(b) Then $c \\approx v_j$ and $c = v_j + v_j$.\n"
    assert [step.status for step in judge_document(read_text(text), PROBLEM).verdicts] == ["holds", "refuted"]


@pytest.mark.parametrize("heading", ["#### (a) i.", "**(a) i.**", "(a) i. **A:**"])
def test_the_layer_is_judged_below_the_title_of_its_chapter(heading):
    text = f"### 2. Position Embeddings (6 points)\n\n{heading} So $Z_{{perm}} = PZ$ and $H_{{perm}} = HP$.\n"
    found = judge_document(read_text(text), PROBLEM).verdicts
    assert [(step.question, step.status) for step in found] == [("2a.i", "holds"), ("2a.i", "refuted")]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [(r"X_{perm} W_Q", "2a.i"), (r"A A^\top v_a", "1b.subspace"), (r"\gamma\mu_a + \mu_b", "1c.ii")],
)
def test_symbols_tell_the_question(formula, expected):
    scores = fit([parse(tokenize(formula))], PROBLEM)
    assert scores[0][1].id == expected
    assert scores[0][0] > 0.99
    assert [score for score, _ in scores] == sorted((score for score, _ in scores), reverse=True)


def test_symbols_that_nothing_explains_fit_nowhere():
    assert fit([Symbol("y", (Symbol("w"), Symbol("w")))], PROBLEM)[0][0] <= 0


def test_a_document_knows_the_symbols_that_it_defined():
    own = Symbol("y", (Symbol("w"),))
    question = PROBLEM.question("1b")
    stay = CurrentQuestion(question=question, own=frozenset({own}))
    assert fit([own], PROBLEM, stay)[0][1] is question


# -- which problem a document answers ----------------------------------------------------------------------------------
HERE = Path(__file__).parents[1]
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
