"""What belongs to an assignment and what to its answer, in templates and in documents that repeat the questions."""

import pytest

from derivations.reading.answers import answers
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline

QUESTION = "Find $q$ such that $c = d$."


def answer_texts(text: str, kind: str = "latex") -> list[tuple[str, str]]:
    document = read_text(text, kind=kind)
    return [(path, document.text[found.start : found.end]) for path, found in answers(document)]


@pytest.mark.parametrize(
    ("opening", "closing", "preamble"),
    [
        (r"\begin{answer}", r"\end{answer}", ""),
        (r"\begin{solution}[2in]", r"\end{solution}", ""),
        (r"\begin{soln}", r"\end{soln}", ""),
        (r"\ifans{", "}", ""),
        (r"\alns{", "}", ""),
        (r"\ans{", "}", r"\newcommand{\ans}[1]{\textcolor{blue}{#1}}"),
        (r"\mysolution{", "}", ""),
        (r"\reply{", "}", r"\newcommand{\reply}[1]{\textbf{Answer:} #1}"),
    ],
)
def test_all_outside_of_the_wrapped_answers_of_a_template_is_the_assignment(opening, closing, preamble):
    text = (
        f"{preamble}\n\\titledquestion{{Attention}}[14]\nGiven $v = w$.\n\\begin{{parts}}\n"
        f"\\part[2] \\textbf{{Copying.}} {QUESTION}\n{opening}Take $q = k$.\n\nThen $x = y$ in {{braces}}.{closing}\n"
        f"Recall $s = t$.\n\\part[3] Assume $\\mu = 1$.\n\\begin{{subparts}}\\subpart[1] What is $r = 1$?\n"
        f"{opening}$q = 2k${closing}\n\\subpart[2] Let $a = b$.\n{opening}{closing}\n\\end{{subparts}}\\end{{parts}}"
    )
    assert answer_texts(text) == [("1/a", "Take $q = k$.\n\nThen $x = y$ in {braces}."), ("1/b/i", "$q = 2k$")]


def test_the_titles_of_a_template_are_found_in_bold():
    text = "\\titledquestion{Attention}[9]\n\\part[2]\\label{x}\\textbf{An average.} Why?\n\\part \\textbf{Find}."
    sections = outline(read_text(text, kind="latex")).sections
    assert [(section.path, section.title) for section in sections] == [
        (("1",), "Attention"),
        (("1", "a"), "An average"),
        (("1", "b"), ""),
    ]


def test_a_blank_template_has_no_answers():
    text = (
        "\\titledquestion{T}[4]\nGiven $v = w$.\n\\part[1] Let $a = b$.\n\n\\textbf{Describe} $c = d$.\n"
        "\\part[2] Assume $x = y$. What is $z = 1$? Think.\n\\part[1] Based on (a), briefly summarize why $u = 0$.\n"
    )
    assert answer_texts(text) == []
    handout = "\n\n".join(f"## 1 ({letter})\n\nLet $a = b$.\n\n{QUESTION}" for letter in "abc")
    assert answer_texts(handout, "markdown") == []


def test_a_template_without_wrappers_is_answered_after_what_it_asks():
    text = (
        "\\question Given $v = w$.\n\\part[1] Let $a = b$.\n\n\\textbf{Find} $q$ with $c = d$.\n\nWe take $q = k$.\n\n"
        "So $x = y$.\n\\part[2] $q = 2k$"
    )
    assert answer_texts(text) == [("1/a", "We take $q = k$.\n\nSo $x = y$."), ("1/b", "$q = 2k$")]


def test_a_macro_that_says_answer_opens_it():
    text = (
        f"\\newcommand{{\\ans}}{{\\textbf{{Answer: }}}}\n\\section*{{1 (a)}}\n{QUESTION}\n\n\\ans{{}} We take $q = k$."
    )
    assert answer_texts(text)[-1][1].endswith("We take $q = k$.")
    assert "c = d" not in "".join(words for _, words in answer_texts(text))


@pytest.mark.parametrize(
    "wrapped",
    [
        r"\textcolor{blue}{We take $q = k$.}",
        r"{\color{blue} We take $q = k$.}",
        r"\begin{quote}We take $q = k$.\end{quote}",
        r"\begin{tcolorbox}We take $q = k$.\end{tcolorbox}",
        r"\blue{We take $q = k$.}",
    ],
)
def test_a_colour_or_box_that_ends_one_question_after_another_marks_the_answers(wrapped):
    text = "\\newcommand{\\blue}[1]{\\textcolor{blue}{#1}}\n" + "".join(
        f"\\section*{{1 ({letter})}}\nAssume $a = b$. {QUESTION}\n\n{wrapped}\n\n" for letter in "ab"
    )
    found = answer_texts(text)
    assert [path for path, _ in found] == ["1/a", "1/b"]
    assert all("q = k" in words and "c = d" not in words for _, words in found)
    emphasis = f"\\section*{{1 (a)}}\nWe use \\textcolor{{blue}}{{red ink}} and $a = b$.\n\n{wrapped}"
    assert "a = b" in answer_texts(emphasis)[0][1]


def test_questions_that_are_quoted_are_not_answers():
    text = f"## 1 (a)\n\n> {QUESTION}\n\nTake $q = k$.\n\n## 1 (b)\n\n> Show that $a = b$.\n\n> Really?\n\nIt is $x$."
    assert [words for _, words in answer_texts(text, "markdown")] == ["Take $q = k$.", "It is $x$."]


def test_a_question_in_front_of_an_unmarked_answer_is_not_part_of_it():
    text = f"## 1\n\nGiven $v = w$.\n\n### (a)\n\n**{QUESTION}**\n\nTake $q = k$.\n\n### (b)\n\n$x = y$"
    assert answer_texts(text, "markdown") == [("1/a", "Take $q = k$."), ("1/b", "$x = y$")]
    alone = f"### (a)\n\n{QUESTION}"
    assert answer_texts(alone, "markdown") == [("/a", QUESTION)]
    later = "### (a)\n\nWe have $a = b$.\n\nWhat is $c$?\n\nIt is $d$."
    assert answer_texts(later, "markdown") == [("/a", "We have $a = b$.\n\nWhat is $c$?\n\nIt is $d$.")]


@pytest.mark.parametrize("word", ["Proof:", "**Proof.**", "Justification:", "证明：", "Beweis:", "Démonstration :"])
def test_a_proof_answers_what_was_asked_and_hides_nothing(word):
    asked = f"## 1 (b)\n\nLet $v = w$. {QUESTION} Note that $e = f$.\n\n{word}\n\n$x = y$"
    assert [words for _, words in answer_texts(asked, "markdown")] == ["$x = y$"]
    own = f"## 1 (b)\n\nWe take $v = w$.\n\n{word}\n\n$x = y$"
    assert [words for _, words in answer_texts(own, "markdown")] == [f"We take $v = w$.\n\n{word}\n\n$x = y$"]


def test_points_say_that_a_text_is_the_assignment():
    text = (
        "\\section*{1 (a)}\n\\begin{enumerate}[label=(\\roman*)]\n\\item \\textbf{(1 point)} If $a = b$, describe $c$."
        "\n\n\\textbf{Answer:} It is $d$.\n\\item \\textbf{(2 points)} Now $e = f$.\n\n\\textbf{Answer:} So $g = h$."
        "\n\\begin{itemize}\\item one\\item two $u = v$\\end{itemize}\n\\end{enumerate}"
    )
    found = answer_texts(text)
    assert [path for path, _ in found] == ["1/a/i", "1/a/ii"]
    assert "a = b" not in found[0][1]
    assert "e = f" not in found[1][1]
    assert "u = v" in found[1][1]
