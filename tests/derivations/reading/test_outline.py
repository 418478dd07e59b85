"""How questions and answers open, and lines that only look as if they opened one."""

import time

import pytest

from derivations.reading.answers import answers
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline


def paths(text: str, kind: str = "markdown") -> list[str]:
    return ["/".join(section.path) for section in outline(read_text(text, kind=kind)).sections]


@pytest.mark.parametrize(
    ("line", "path", "title"),
    [
        ("1.(a) Copying in attention", "1/a", "Copying in attention"),
        ("1. (a)", "1/a", ""),
        ("1(a)", "1/a", ""),
        ("1a.", "1/a", ""),
        ("(1a) Copying", "1/a", "Copying"),
        ("(1.b.ii) Copying", "1/b/ii", "Copying"),
        ("(e.ii) Copying", "/e/ii", "Copying"),
        ("(e, ii)", "/e/ii", ""),
        ("1.a Copying", "1/a", "Copying"),
        ("1)(a) Copying", "1/a", "Copying"),
        ("1.(b) i. Combining values", "1/b/i", "Combining values"),
        ("1(c)(ii)", "1/c/ii", ""),
        ("Q1-2. An average of two", "1/b", "An average of two"),
        ("Q1.2.3", "1/b/iii", ""),
        ("Question 1 (b)", "1/b", ""),
        ("Question 1: Attention", "1", "Attention"),
        ("Problem 1b", "1/b", ""),
        ("Part 1", "1", ""),
        ("Part II", "2", ""),
        ("第1题", "1", ""),
        ("第一题 注意力", "1", "注意力"),
        ("第十二题（b）", "12/b", ""),
        ("第 2 题 (b) 位置编码", "2/b", "位置编码"),
        ("问题1", "1", ""),
        ("**1.(b) An average of two**", "1/b", "An average of two"),
        ("**Problem 1**", "1", ""),
        ("- 2.(b) Position embeddings", "2/b", "Position embeddings"),
        ("## Part 1", "1", ""),
        ("## 1. Attention", "1", "Attention"),
        ("## 1 (b)", "1/b", ""),
        ("### 1.2 Average", "1/b", "Average"),
        ("# 一、注意力", "1", "注意力"),
        ("> 1.(a) Copying", "1/a", "Copying"),
        ("### (a) (2 points) Copying in attention:", "/a", "Copying in attention"),
        ("**i. 条件描述：**", "//i", "条件描述"),
        ("<details><summary><b>(c) One head</b></summary>", "/c", "One head"),
        ("(c) **Drawbacks of one head** In the previous part, $x$.", "/c", "Drawbacks of one head"),
        ("(c)  Drawbacks of one head: In the previous part, $x$.", "/c", "Drawbacks of one head"),
        ("(c) We assign each head a target: $x$.", "/c", ""),
    ],
)
def test_each_way_of_opening_a_question(line, path, title):
    (section,) = outline(read_text(f"{line}\n\nSome text.")).sections
    assert ("/".join(section.path), section.title) == (path, title)


@pytest.mark.parametrize(
    "text",
    [
        "1. Self-Attention 层的推导",
        "1. a matrix $P$",
        "2) next",
        "(1) first",
        "2d array of numbers",
        "3 heads",
        "Question 1 asks us to do it.",
        "Part of the answer",
        "Q we take",
        "i.e. this",
        "e.g. that",
        "a matrix",
        "A. Someone",
        "x = 1",
        "c: the output",
        "第 1 页",
        "第一，计算",
        "as in part\n(a) above",
        "```\n1.(a)\n```",
        "<!--\n1.(a)\n-->",
        "$$\n1.(a)\n$$",
        "---\nq: 1\n---\n\nx",
    ],
)
def test_what_opens_no_question(text):
    assert paths(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Part 1\n### a\n#### i\n#### ii\n### b\n## Part 2\n### a", "1 1/a 1/a/i 1/a/ii 1/b 2 2/a"),
        ("1.(a)\n\ni.\n\nx\n\nii.Under it\n\n1.(b)\n\n(i) y\n\nii) z", "1/a 1/a/i 1/a/ii 1/b 1/b/i 1/b/ii"),
        ("1.(c)\n\ni. a\n\n1. step\n\n2. step\n\nii. b\n\ni. again", "1/c 1/c/i 1/c/ii //i"),
        ("### Question 1\n\n1. (a) x\n\n2. (b) y\n\n3. (c) z", "1 1/a 1/b 1/c"),
        ("## 注意力\n\n### 第一小问\n\nx\n\n### 第二小问\n\ny", " /a /b"),
        ("# My A4 question 1 (short)\n\n(b) x", "1 1/b"),
        ("# Sheet 4: Q1 and Q2\n\n(b) x", " /b"),
        ("Q1\n\n(a) x\n\n(b) y\n\n(a) no\n\nQ2\n\n(a) z", "1 1/a 1/b 2 2/a"),
        ("(a) x\n(b) y\n(c) z\n   i. u\n   ii. v", "/a /b /c /c/i /c/ii"),
        ("# Question 1\n## Part 1\n## Part 2\n# Question 2\n## Part 1", "1 1/a 1/b 2 2/a"),
        ("# 1\n## 1\n## 2\n# 2", "1 1/a 1/b 2"),
        ("# 1\n\ni. x\n\nii. y", "1 1/a 1/b"),
        ("第1题\n\n第1问\n\nx\n\n第2问", "1 1/a 1/b"),
        ("## 1\n### (h)\n### (i)\n#### (i)", "1 1/h 1/i 1/i/i"),
        ("i. x\n\nii. y", "//i //ii"),
        ("1.(c) x\n\n1.(c) 中的结论\n\n1.(d)", "1/c 1/d"),
        ("## 1. One\n\n1. (a) x\n\n2. (b) y\n3. (c) z\n\n## 2. Two\n\n1. (a) x", "1 1/a 1/b 1/c 2 2/a"),
        ("### (a) One\n\n**i. x**\n\n### (b)\n\n### (a) Two\n\n**i. x**\ny", "/a /a/i /b /a /a/i"),
        ("## Part II\n\n### Question 1", "2 2/a"),
    ],
)
def test_context_decides(text, expected):
    assert " ".join(paths(text)) == expected


def test_headings_without_an_enumerator_keep_their_title_and_close_nothing_above_them():
    text = (
        "# Homework\n\n## 2 (a)\n\n### 1. Self-attention\n\n$x$\n\n### Proof\n\n$y$\n\n"
        "## 2 (b)\n\n$z$\n\n## Appendix\n\n$w$"
    )
    document = read_text(text)
    whole = outline(document)
    assert [(section.path, section.title) for section in whole.sections] == [
        ((), "Homework"),
        (("2", "a"), ""),
        ((), "Self-attention"),
        ((), "Proof"),
        (("2", "b"), ""),
        ((), "Appendix"),
    ]
    found = [whole.section_at(span.start) for span in document.spans]
    assert [section and section.path for section in found] == [("2", "a"), ("2", "a"), ("2", "b"), ()]
    assert whole.section_at(0) == whole.sections[0]


def test_titles_in_bold_in_a_numbered_list_group_what_follows():
    text = "## Work\n\n1. **Copying**. See $x$.\n\na. p\n\nb. q\n\n2. **An average of two**\n\na. r\n\n## More\n\ns"
    sections = outline(read_text(text)).sections
    assert [section.title or "/".join(section.path) for section in sections] == [
        "Work",
        "Copying",
        "p",
        "q",
        "An average of two",
        "r",
        "More",
    ]
    copying, average = sections[1], sections[4]
    assert (copying.end, average.end) == (average.start, sections[6].start)
    assert text[copying.body :].startswith("See")


def test_titled_steps_of_an_answer_close_no_question():
    text = "### (c)\n\n**ii. Noise**\n\n1.  **First:** $x$\n2.  **Second:** $y$\n\nso\n\n### (d)\n\nz"
    document = read_text(text)
    found = [outline(document).section_at(span.start) for span in document.spans]
    assert [section and section.path for section in found] == [("", "c", "ii")] * 2


def test_sections_nest_and_end_where_the_next_begins():
    text = "## Part 1\n\n### a\n\nx\n\n### b\n\ny\n\n## Part 2\n\nz"
    one, a, b, two = outline(read_text(text)).sections
    assert (one.start, one.end) == (0, two.start)
    assert (a.end, b.end, two.end) == (b.start, two.start, len(text))
    assert text[a.body : a.end].strip() == "x"


def test_a_line_that_is_all_there_is_counts_as_text():
    document = read_text("1b. It is one half\n\n1c. Summary\n\nWords.")
    assert [document.text[s.body : s.end].strip() for s in outline(document).sections] == ["It is one half", "Words."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\section*{1 (b)} x \subsection*{ii.} y", "1/b 1/b/ii"),
        ("\\section{Attention}\n\\begin{description}\n\\item[(a)] x\n\\item[(b)] y\n\\end{description}", " /a /b"),
        ("\\textbf{1.(a) Copying}\n\n\\textbf{(b)} y", "1/a 1/b"),
        ("\\bigskip\\noindent\\textbf{1a.} x\n\n\\vspace{1em}\\noindent\\textbf{1b.} y", "1/a 1/b"),
        ("\\bigskip\n\\textbf{1b} i. x\n\n\\bigskip\n\\textbf{1c} i. y", "1/b 1/c"),
        ("\\noindent{\\large\\bfseries 1b.} x\n\n\\medskip\\textsf{(c)} y", "1/b 1/c"),
        ("\\question x\n\\part y\n\\part[2] z\n\\subpart u\n\\titledquestion{T}[3]\n\\part v", "1 1/a 1/b 1/b/i 2 2/a"),
        (
            "\\section*{1}\n\\begin{enumerate}[label=(\\alph*)]\n\\item x\n"
            "\\begin{enumerate}[(i)]\\item y\n\\item z\\end{enumerate}\n\\item w\\end{enumerate}",
            "1 1/a 1/a/i 1/a/ii 1/b",
        ),
        ("\\begin{enumerate}\n\\item x\n\\end{enumerate}", ""),
        ("1c. i: $x = 1$. ii: $y = 1$.\n\n1d. i: $z = 1$.", "1/c/i 1/c/ii 1/d/i"),
    ],
)
def test_latex_has_its_own_ways(text, expected):
    assert " ".join(paths(text, "latex")) == expected


def test_numerals_under_a_number_count_its_parts():
    assert paths("## 1\n\ni. $x$\n\nii. $y$\n") == ["1", "1/a", "1/b"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("i. Yes. ii. No.", ["2/b/i", "2/b/ii"]),
        ("i) Yes. ii) No, they differ. iii) Who knows?", ["2/b/i", "2/b/ii", "2/b/iii"]),
        ("(i) $x = 1$. (ii) $y = 2$.", ["2/b/i", "2/b/ii"]),
        ("i. 能。 ii. 不会。", ["2/b/i", "2/b/ii"]),
        ("i. Yes <br/> ii. No.", ["2/b/i", "2/b/ii"]),
        ("i. Yes ii. No.", ["2/b/i", "2/b/ii"]),
        ("(i) $x = 1$ (ii) $y = 2$", ["2/b/i", "2/b/ii"]),
        ("(i) As $x = 1$, see (ii) below.", ["2/b/i"]),
        ("i. Yes, as in part ii. below.", ["2/b/i"]),
        ("i. Yes. iii. No.", ["2/b/i"]),
        ("It helps. ii. No.", []),
    ],
)
def test_parts_that_follow_each_other_on_one_line(line, parts):
    assert paths(f"## 2.(b)\n\n{line}\n") == ["2/b", *parts]
    if parts[1:]:
        assert paths(f"**2.(b)** {line}\n") == ["2/b", *parts]


def answer_texts(text: str, kind: str = "markdown") -> list[tuple[str, str]]:
    return [(path, text[found.start : found.end]) for path, found in answers(read_text(text, kind=kind))]


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
    assert answer_texts(text) == [("1/b", "Take $q = k$.\n\nThen done.")]


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
    assert [path for path, _ in answer_texts(text)] == ["1/b"]
    assert answer_texts(text)[0][1].startswith("We have")


def test_without_markers_all_is_answer():
    assert answer_texts("Take $q$.") == [("", "Take $q$.")]
    assert answer_texts("1.(a) Title\n\nx\n\ni. y\n\nii.\n\n1.(b)\n\nz") == [("1/a", "x"), ("1/a/i", "y"), ("1/b", "z")]


def test_the_enumerators_of_the_answer_win_over_those_of_the_question():
    text = (
        "### Q1-3\n\nLet $k$.\n\ni. Design.\n\nii. Describe.\n\nMy answer:\n\ni. one\n\nii. two\n\n---\n\n"
        "### Q1-4\n\nWhy?\n\nMy answer:\n\nso"
    )
    assert answer_texts(text) == [("1/c/i", "one"), ("1/c/ii", "two"), ("1/d", "so")]
    sections = outline(read_text(text)).sections
    assert [(section.path[-1], section.is_restated) for section in sections] == [
        ("c", False),
        ("i", True),
        ("ii", True),
        ("i", False),
        ("ii", False),
        ("d", False),
    ]


def test_an_answer_without_enumerators_belongs_to_the_whole_question():
    assert answer_texts("### Q1-1\n\ni. One?\n\nii.Two?\n\nMy answer:\n\nboth") == [("1/a", "both")]


def test_a_marker_after_each_part_answers_that_part():
    text = (
        "Q1\n\n(a) Foo?\n\nSolution: yes.\n\n(b) Bar?\n\nSolution: no.\n\n1.(c) i. Foo?\n\nAns. x\n\nii. Bar?\n\nAns. y"
    )
    assert answer_texts(text) == [("1/a", "yes."), ("1/b", "no."), ("1/c/i", "x"), ("1/c/ii", "y")]


def test_enumerators_right_after_a_marker_are_the_answers():
    text = "1.(c) Let $x = 1$.\n\ni. Do.\n\nii. Say.\n\nAnswer:\n\ni. one\n\nii. two"
    assert answer_texts(text) == [("1/c/i", "one"), ("1/c/ii", "two")]


def test_letters_that_the_question_lists_come_again_in_the_answer():
    text = "## Q1\n\n(a) Describe.\n\n(b) Explain.\n\nAnswer:\n\n(a) one\n\n(b) two\n\n## Q2\n\n(a) Foo?\n\nAnswer: x"
    assert answer_texts(text) == [("1/a", "one"), ("1/b", "two"), ("2/a", "x")]


def test_the_text_above_restated_questions_is_question_too():
    text = (
        "Do all.\n\n## Q2\n\nGiven $Q = XW$.\n\n### Q2-1\n\nShow.\n\nMy answer:\n\ndone\n\n### Q2-2\n\nwithout a mark"
    )
    assert answer_texts(text) == [("2/a", "done"), ("2/b", "without a mark")]


def test_parts_that_an_answer_lists_inside_its_wrapper_are_no_question():
    parts = "(c) i. $x = 1$.\n\nii. $y = 2$.\n"
    text = f"\\begin{{solution}}\n{parts}\\end{{solution}}\n\n\\begin{{solution}}\n(d) $z = 3$.\n\\end{{solution}}\n"
    sections = outline(read_text(text, kind="latex")).sections
    assert [(section.path[1:], section.is_restated) for section in sections] == [
        (("c", "i"), False),
        (("c", "ii"), False),
        (("d",), False),
    ]


def test_a_formula_alone_after_a_wrapper_goes_on_with_the_answer():
    before, after = "Why?\n\n\\ans{Since}\n", "\n\\ans{we are done.}\n"
    for between, is_answer in (("\\[x = 1\\]", True), ("(b) Show that\n\\[x = 1\\]", False)):
        text = f"1.(a) {before}{between}{after}"
        place = text.index("x = 1")
        restated = outline(read_text(text, kind="latex")).restated
        assert any(part.start <= place < part.end for part in restated) is not is_answer


def test_an_answer_that_sums_up_a_derivation_hides_nothing():
    text = "1.(b)\n\nWe have $a = b$, so $c = d$.\n\nAnswer: $q = k$."
    assert answer_texts(text) == [("1/b", "We have $a = b$, so $c = d$.\n\nAnswer: $q = k$.")]
    alone = "1.(b)\n\nWe have $a = b$.\n\n### End\n\n**So**\n\nAnswer:\n\n$q = k$."
    assert [answer for _, answer in answer_texts(alone)] == ["We have $a = b$.", "$q = k$."]
    asked = "1.(b)\n\nFind $q$ such that $c = d$.\n\nAnswer: $q = k$."
    assert answer_texts(asked) == [("1/b", "$q = k$.")]


def test_a_quote_after_a_question_in_bold_is_the_answer():
    text = "**1. (a) What is it?**\n\n> It is $x$.\n\nMore.\n\n**1. (b) And this?**\n\n> $y$"
    assert answer_texts(text) == [("1/a", "> It is $x$.\n\nMore."), ("1/b", "> $y$")]
    bare = "**What is it?**\n\n> It is $x$.\n\n**And this?**\n\n> $y$"
    assert [answer for _, answer in answer_texts(bare)] == ["> It is $x$.", "> $y$"]
    not_only = "## 1 (a)\n\nWe see $x = 1$.\n\n**Note**\n\n> quote"
    assert answer_texts(not_only)[0] == ("1/a", "We see $x = 1$.")


def test_quotes_that_end_one_question_after_another_are_the_answers():
    text = (
        "1. **Copying**. See.\n\na. **Explain** why.\n\n> As $x$.\n\n"
        "b. What of $c$? Say it.\n\n> $c = v$\n\n2. **Two**\n\na. Hm"
    )
    assert answer_texts(text) == [("/a", "> As $x$."), ("/b", "> $c = v$"), ("/a", "Hm")]
    once = "1.(a) Explained.\n\nIt is $x$.\n\n> quote\n\n1.(b) Because.\n\nAs $y$.\n\n> quote"
    assert answer_texts(once)[0] == ("1/a", "Explained.\n\nIt is $x$.\n\n> quote")


def test_an_item_that_says_answer_opens_it():
    text = "(a) Copying: Recall $x$. Why?\n\n- Answer\n\n    $y$\n\n(b) Two: Give $q$.\n\n- Answer\n\n    $z$"
    assert answer_texts(text) == [("/a", "$y$"), ("/b", "$z$")]


def test_a_heading_for_the_question_ends_where_the_answer_begins():
    text = "## 1 (b)\n\n### Question\n\nFind it.\n\n### Solution\n\nHere.\n\n### Remark\n\nMore."
    assert answer_texts(text) == [("1/b", "Here."), ("1/b", "More.")]


def test_latex_environments_hold_answers():
    text = (
        "\\question Do.\n\\part Find $x$. \\begin{solution}$x = 1$\\end{solution} Hint.\n"
        "\\part Y. \\begin{answer}No\\end{answer}"
    )
    assert answer_texts(text, "latex") == [("1/a", "$x = 1$"), ("1/b", "No")]


# -- markers in formulas and in recognised handwriting -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("formula", "path", "source"),
    [
        (r"$$b) \quad x = y$$", "1/b", "x = y"),
        (r"$$(b) \quad x = y$$", "1/b", "x = y"),
        (r"$$b. \qquad x = y$$", "1/b", "x = y"),
        (r"$$ii \quad x = y$$", "1/a/ii", "x = y"),
        (r"$$(ii) \quad x = y$$", "1/a/ii", "x = y"),
        (r"$$\text{(ii)} x = y$$", "1/a/ii", "x = y"),
        ("$$\n(ii) \\quad x = y\n$$", "1/a/ii", "x = y\n"),
        (r"- $ii) x = y$", "1/a/ii", "x = y"),
        (r"$(b)$ We take $x = y$", "1/b", ""),
    ],
)
def test_a_part_marked_inside_a_formula(formula, path, source):
    document = read_text(f"## 1 (a)\n\n(i) $u = v$\n\n{formula}\n")
    section = outline(document).sections[-1]
    assert "/".join(section.path) == path
    span = document.spans[1]
    assert span.source == source
    assert document.text.startswith(source, span.raw_offset(0))


@pytest.mark.parametrize(
    "formula",
    [
        r"$$i \; x = y$$",
        r"$$(x) y = z$$",
        r"$$(a)\, b = c$$",
        r"$$x \quad y = z$$",
        r"so $b) \quad x = y$",
        "$$f(b) = c$$",
    ],
)
def test_other_formulas_have_no_marker(formula):
    document = read_text(f"## 1 (a)\n\n{formula}\n")
    assert [section.path for section in outline(document).sections] == [("1", "a")]
    assert not document.spans[0].marker


def test_capital_letters_and_mixed_markers_continue_the_parts():
    assert " ".join(paths("1.a) x\n\nb) y\n\n(C) z\n\ne. i) w\n\nii) v")) == "1/a 1/b 1/c 1/e/i 1/e/ii"
    assert paths("- (a) Copying\n  - i. x\n  - ii. y\n- (B) An average") == ["/a", "/a/i", "/a/ii", "/b"]


def test_where_numerals_begin_again_without_a_letter_the_part_is_unknown():
    text = "## 1 (c)\n\ni. x\n\nor\n\n$$i \\quad y = z$$\n\n$$ii \\quad u = v$$\n\n(d) again"
    assert paths(text) == ["1/c", "1/c/i", "//i", "//ii", "/d"]


def test_headings_that_latex_numbers_in_letters():
    counters = "\\renewcommand\\thesubsection{(\\alph{subsection})}\n"
    body = (
        "\\section{One}\n\\subsection{Two}\n\\subsection{}\n\\subsubsection{}\n\\subsection*{Aside}\n\\section{Three}\n"
    )
    assert paths(counters + body, "latex") == ["1", "1/a", "1/b", "1/b/i", "", "2"]
    assert paths("\\section{One}\n\\subsection{Two}\n", "latex") == ["", ""]


def test_many_sections_are_found_fast():
    text = "".join(f"## {number} (a)\n\nWe have $x = {number}$.\n\n" for number in range(1, 100)) * 20
    document = read_text(text)
    found = outline(document)
    start = time.perf_counter()
    assert all(found.section_at(span.start) for span in document.spans)
    assert time.perf_counter() - start < 1
