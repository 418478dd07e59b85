"""Sections open questions by number and by title; passages without either by their symbols."""

import pytest

from regard.derivations.notation.parser import parse
from regard.derivations.notation.syntax import Symbol
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.loading import load_problem
from regard.derivations.questions import Stay, fit, questions_of
from regard.derivations.reading.files import read_text
from regard.derivations.sheet import judge_document

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
    stay = Stay(question=question, own=frozenset({own}))
    assert fit([own], PROBLEM, stay)[0][1] is question
