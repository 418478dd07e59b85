"""Sections open questions by number and by title; headings name the problem, or it is made from the document."""

import pytest

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import guess_problem, infer_problem, questions_of
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import read_text
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
    text = "## 1. Copying in attention\n\n(a) Large scores.\n\n(b) Then $c \\approx v_j$ and $c \\approx 2v_j$.\n"
    assert [step.status for step in judge_document(read_text(text), PROBLEM).verdicts] == ["holds", "refuted"]


@pytest.mark.parametrize("heading", ["#### (a) i.", "**(a) i.**", "(a) i. **A:**"])
def test_the_layer_is_judged_below_the_title_of_its_chapter(heading):
    text = f"### 2. Position Embeddings (6 points)\n\n{heading} So $Z_{{perm}} = PZ$ and $H_{{perm}} = HP$.\n"
    found = judge_document(read_text(text), PROBLEM).verdicts
    assert [(step.question, step.status) for step in found] == [("2a.i", "holds"), ("2a.i", "refuted")]


# -- which problem a document answers ----------------------------------------------------------------------------------
HEADINGS = ("1.(a) Copying in attention", "1.(b) An average of two", "2.(a) Permuting the input")


def sheet(*headings: str, answer: str = "$x = 1$") -> Document:
    return read_text("\n\n".join(f"{heading}\n\n{answer}" for heading in headings))


def guessed(document: Document) -> str | None:
    problem = guess_problem(document)
    return None if problem is None else problem.name


def judged(text: str) -> list[str]:
    document = read_text(text)
    problem = infer_problem(read_formulas(document))
    assert problem.name == "inferred"
    return [verdict.status for verdict in judge_document(document, problem).verdicts]


def test_headings_that_name_two_questions_name_the_problem():
    assert guessed(sheet(*HEADINGS[:2])) == "cs224n-a4"
    assert guessed(sheet(*HEADINGS[1:])) == "cs224n-a4"


@pytest.mark.parametrize("headings", [[], HEADINGS[:1], [HEADINGS[1], "1.(b) An average of two, again"]])
def test_headings_that_name_fewer_do_not(headings):
    assert guessed(sheet("Notes", *headings)) is None


def test_letters_alone_never_name_a_problem():
    answer = r"$q = \beta(k_a + k_b)$, $X_{perm} = PX$, $c \approx \frac12(v_a + v_b)$, $\hat{x}_i = \gamma x_i$"
    assert guessed(sheet("Part one", "Part two", answer=answer)) is None
    assert guessed(sheet("1.(a)", "1.(b)", "2.(a)", answer=answer)) is None


def test_bare_enumerators_with_other_titles_name_no_problem():
    assert guessed(sheet("1.(a) Integrals", "1.(b) Two averages", "2.(a) Permutations of letters")) is None


def test_undeclared_symbols_are_never_refuted():
    assert judged("$(a+b)^2 = a^2 + b^2$") == ["undecided"]
    assert judged(r"The roots: $x_1 + x_2 = -\frac{b}{a}$ and $x_1 x_2 = \frac{c}{a}$.").count("refuted") == 0


def test_identities_hold_for_whatever_the_symbols_are():
    assert judged("$(a+b)(a-b) = a^2 - b^2$") == ["holds"]


def test_declared_symbols_are_judged():
    declared = r"Let $x \in \mathbb{R}^d$ and $y \in \mathbb{R}^d$. "
    assert judged(declared + r"$\|x+y\|^2 = \|x\|^2 + 2x^\top y + \|y\|^2$")[-1] == "holds"
    assert judged(declared + r"$\|x+y\|^2 = \|x\|^2 - 2x^\top y + \|y\|^2$")[-1] == "refuted"


def test_shapes_and_families_are_inferred():
    text = r"$A \in \mathbb{R}^{m \times n}$, $\sum_i w_i = s$, $v \in \mathbb{R}^3$, $z_i \in \mathbb{R}^m$"
    (question,) = infer_problem(read_formulas(read_text(text))).questions
    symbols = question.setting.symbols
    assert symbols["A"].shape == ("m", "n")
    assert symbols["v"].shape == ("3", "1")
    assert (symbols["w_i"].index, symbols["w_i"].over) == ("i", "n")
    assert (symbols["z_i"].index, symbols["z_i"].shape) == ("i", ("m", "1"))
    assert question.setting.undeclared == {"s", "w_i"}


def test_a_symbol_that_is_declared_differently_twice_is_not_declared():
    text = r"$A \in \mathbb{R}^{m \times n}$, $B \in \mathbb{R}^n$. Later $A \in \mathbb{R}^m$, and $AB = BA$."
    (question,) = infer_problem(read_formulas(read_text(text))).questions
    assert "A" in question.setting.undeclared
    assert "B" not in question.setting.undeclared


def test_a_heading_ends_what_was_defined_before_it():
    text = "# One\n\nLet $x \\in \\mathbb{R}^d$ and $s = x^\\top x$.\n\n# Two\n\nSo $2s = 3x^\\top x$.\n"
    assert judged(text)[-1] == "undecided"
    assert judged(text.replace("# Two\n\n", ""))[-1] == "refuted"


@pytest.mark.parametrize("link", ["$, so $", "$. Hence $", r" \\ "])
def test_two_lines_with_one_left_side_must_agree_if_one_follows_from_the_other(link):
    text = f"Let $x \\in \\mathbb{{R}}^d$. Then $s = x^\\top x{link}s = 2x^\\top x$."
    assert judged(text)[-1] == "refuted"


def test_two_lines_with_one_left_side_may_differ_otherwise():
    text = "Let $x \\in \\mathbb{R}^d$. First let $s = x^\\top x$. Another choice: let $s = 2x^\\top x$."
    assert judged(text)[-1] == "holds"


def test_a_document_without_mathematics_has_no_symbols():
    document = read_text("Nothing here.")
    (question,) = infer_problem(read_formulas(document)).questions
    assert question.setting.symbols == {}
    assert guess_problem(document) is None
