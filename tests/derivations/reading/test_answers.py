"""Which part of a document is answer."""

import pytest

from regard.derivations.reading import answer_ranges, outline, read_text


def answers(text: str, kind: str = "markdown") -> list[tuple[str, str]]:
    document = read_text(text, kind=kind)
    return [("/".join(answer.path), text[answer.start : answer.end]) for answer in answer_ranges(document)]


@pytest.mark.parametrize(
    "marker",
    [
        "My answer:",
        "Answer:",
        "**Answer:**",
        "**Answer**:",
        "*Solution.*",
        "### Solution",
        "Ans.",
        "> Answer:",
        "- Sol:",
        "答：",
        "答案",
        "**解：**",
        "我的答案：",
        "解答:",
        "Answer (b):",
        "__Solution__",
    ],
)
def test_each_marker_opens_an_answer(marker):
    text = f"## 1 (b)\n\nFind $q$ so that $c = d$.\n\n{marker}\n\nTake $q = k$.\n\nThen done."
    assert answers(text) == [("1/b", "Take $q = k$.\n\nThen done.")]


@pytest.mark.parametrize(
    "line",
    [
        "The answer is one.",
        "Solutions to the homework",
        "Answering this",
        "解释：",
        "解得：$x$",
        "答案是一。",
        "Proof:",
        "回答了",
    ],
)
def test_other_words_open_none(line):
    text = f"## 1 (b)\n\nWe have $a = b$.\n\n{line}\n\nTake $q = k$."
    assert [path for path, _ in answers(text)] == ["1/b"]
    assert answers(text)[0][1].startswith("We have")


def test_without_markers_all_is_answer():
    assert answers("Take $q$.") == [("", "Take $q$.")]
    assert answers("1.(a) Title\n\nx\n\ni. y\n\nii.\n\n1.(b)\n\nz") == [("1/a", "x"), ("1/a/i", "y"), ("1/b", "z")]


def test_the_enumerators_of_the_answer_win_over_those_of_the_question():
    text = (
        "### Q1-3\n\nLet $k$.\n\ni. Design.\n\nii. Describe.\n\nMy answer:\n\ni. one\n\nii. two\n\n---\n\n"
        "### Q1-4\n\nWhy?\n\nMy answer:\n\nso"
    )
    assert answers(text) == [("1/c/i", "one"), ("1/c/ii", "two"), ("1/d", "so")]
    sections = outline(read_text(text))
    assert [(section.path[-1], section.is_restated) for section in sections] == [
        ("c", False),
        ("i", True),
        ("ii", True),
        ("i", False),
        ("ii", False),
        ("d", False),
    ]


def test_an_answer_without_enumerators_belongs_to_the_whole_question():
    assert answers("### Q1-1\n\ni. One?\n\nii.Two?\n\nMy answer:\n\nboth") == [("1/a", "both")]


def test_a_marker_after_each_part_answers_that_part():
    text = (
        "Q1\n\n(a) Foo?\n\nSolution: yes.\n\n(b) Bar?\n\nSolution: no.\n\n1.(c) i. Foo?\n\nAns. x\n\nii. Bar?\n\nAns. y"
    )
    assert answers(text) == [("1/a", "yes."), ("1/b", "no."), ("1/c/i", "x"), ("1/c/ii", "y")]


def test_enumerators_right_after_a_marker_are_the_answers():
    text = "1.(c) Let $x = 1$.\n\ni. Do.\n\nii. Say.\n\nAnswer:\n\ni. one\n\nii. two"
    assert answers(text) == [("1/c/i", "one"), ("1/c/ii", "two")]


def test_letters_that_the_question_lists_come_again_in_the_answer():
    text = "## Q1\n\n(a) Describe.\n\n(b) Explain.\n\nAnswer:\n\n(a) one\n\n(b) two\n\n## Q2\n\n(a) Foo?\n\nAnswer: x"
    assert answers(text) == [("1/a", "one"), ("1/b", "two"), ("2/a", "x")]


def test_the_text_above_restated_questions_is_question_too():
    text = (
        "Do all.\n\n## Q2\n\nGiven $Q = XW$.\n\n### Q2-1\n\nShow.\n\nMy answer:\n\ndone\n\n### Q2-2\n\nwithout a mark"
    )
    assert answers(text) == [("2/a", "done"), ("2/b", "without a mark")]


def test_an_answer_that_sums_up_a_derivation_hides_nothing():
    text = "1.(b)\n\nWe have $a = b$, so $c = d$.\n\nAnswer: $q = k$."
    assert answers(text) == [("1/b", "We have $a = b$, so $c = d$.\n\nAnswer: $q = k$.")]
    alone = "1.(b)\n\nWe have $a = b$.\n\n### End\n\n**So**\n\nAnswer:\n\n$q = k$."
    assert [answer for _, answer in answers(alone)] == ["We have $a = b$.", "$q = k$."]
    asked = "1.(b)\n\nFind $q$ such that $c = d$.\n\nAnswer: $q = k$."
    assert answers(asked) == [("1/b", "$q = k$.")]


def test_a_quote_after_a_question_in_bold_is_the_answer():
    text = "**1. (a) What is it?**\n\n> It is $x$.\n\nMore.\n\n**1. (b) And this?**\n\n> $y$"
    assert answers(text) == [("1/a", "> It is $x$.\n\nMore."), ("1/b", "> $y$")]
    bare = "**What is it?**\n\n> It is $x$.\n\n**And this?**\n\n> $y$"
    assert [answer for _, answer in answers(bare)] == ["> It is $x$.", "> $y$"]
    not_only = "## 1 (a)\n\nWe see $x = 1$.\n\n**Note**\n\n> quote"
    assert answers(not_only)[0] == ("1/a", "We see $x = 1$.")


def test_quotes_that_end_one_question_after_another_are_the_answers():
    text = (
        "1. **Copying**. See.\n\na. **Explain** why.\n\n> As $x$.\n\n"
        "b. What of $c$? Say it.\n\n> $c = v$\n\n2. **Two**\n\na. Hm"
    )
    assert answers(text) == [("/a", "> As $x$."), ("/b", "> $c = v$"), ("/a", "Hm")]
    once = "1.(a) Explain it.\n\nIt is $x$.\n\n> quote\n\n1.(b) Why?\n\nAs $y$.\n\n> quote"
    assert answers(once)[0] == ("1/a", "Explain it.\n\nIt is $x$.\n\n> quote")


def test_an_item_that_says_answer_opens_it():
    text = "(a) Copying: Recall $x$. Why?\n\n- Answer\n\n    $y$\n\n(b) Two: Give $q$.\n\n- Answer\n\n    $z$"
    assert answers(text) == [("/a", "$y$"), ("/b", "$z$")]


def test_a_heading_for_the_question_ends_where_the_answer_begins():
    text = "## 1 (b)\n\n### Question\n\nFind it.\n\n### Solution\n\nHere.\n\n### Remark\n\nMore."
    assert answers(text) == [("1/b", "Here."), ("1/b", "More.")]


def test_latex_environments_hold_answers():
    text = (
        "\\question Do.\n\\part Find $x$. \\begin{solution}$x = 1$\\end{solution} Hint.\n"
        "\\part Y. \\begin{answer}No\\end{answer}"
    )
    assert answers(text, "latex") == [("1/a", "$x = 1$"), ("1/b", "No")]
