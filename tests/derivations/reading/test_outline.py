"""How answers open questions, and lines that only look as if they did."""

import pytest

from regard.derivations.reading import outline, read_text, section_at


def paths(text: str, kind: str = "markdown") -> list[str]:
    return ["/".join(section.path) for section in outline(read_text(text, kind=kind))]


@pytest.mark.parametrize(
    ("line", "path", "title"),
    [
        ("1.(a) Copying in attention", "1/a", "Copying in attention"),
        ("1. (a)", "1/a", ""),
        ("1(a)", "1/a", ""),
        ("1a.", "1/a", ""),
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
        ("(c) **Drawbacks of one head** In the previous part, $x$.", "/c", "Drawbacks of one head"),
        ("(c)  Drawbacks of one head: In the previous part, $x$.", "/c", "Drawbacks of one head"),
        ("(c) We assign each head a target: $x$.", "/c", ""),
    ],
)
def test_each_way_of_opening_a_question(line, path, title):
    (section,) = outline(read_text(f"{line}\n\nSome text."))
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
        ("1.(c)\n\ni. a\n\n1. step\n\n2. step\n\nii. b\n\ni. again", "1/c 1/c/i 1/c/ii"),
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
    sections = outline(document)
    assert [(section.path, section.title) for section in sections] == [
        ((), "Homework"),
        (("2", "a"), ""),
        ((), "Self-attention"),
        ((), "Proof"),
        (("2", "b"), ""),
        ((), "Appendix"),
    ]
    found = [section_at(sections, span.start) for span in document.spans]
    assert [section and section.path for section in found] == [("2", "a"), ("2", "a"), ("2", "b"), ()]
    assert section_at(sections, 0) == sections[0]


def test_titles_in_bold_in_a_numbered_list_group_what_follows():
    text = "## Work\n\n1. **Copying**. See $x$.\n\na. p\n\nb. q\n\n2. **An average of two**\n\na. r\n\n## More\n\ns"
    sections = outline(read_text(text))
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
    found = [section_at(outline(document), span.start) for span in document.spans]
    assert [section and section.path for section in found] == [("", "c", "ii")] * 2


def test_sections_nest_and_end_where_the_next_begins():
    text = "## Part 1\n\n### a\n\nx\n\n### b\n\ny\n\n## Part 2\n\nz"
    one, a, b, two = outline(read_text(text))
    assert (one.start, one.end) == (0, two.start)
    assert (a.end, b.end, two.end) == (b.start, two.start, len(text))
    assert text[a.body : a.end].strip() == "x"


def test_a_line_that_is_all_there_is_counts_as_text():
    document = read_text("1b. It is one half\n\n1c. Summary\n\nWords.")
    assert [document.text[s.body : s.end].strip() for s in outline(document)] == ["It is one half", "Words."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\section*{1 (b)} x \subsection*{ii.} y", "1/b 1/b/ii"),
        ("\\section{Attention}\n\\begin{description}\n\\item[(a)] x\n\\item[(b)] y\n\\end{description}", " /a /b"),
        ("\\textbf{1.(a) Copying}\n\n\\textbf{(b)} y", "1/a 1/b"),
        ("\\question x\n\\part y\n\\part[2] z\n\\subpart u\n\\titledquestion{T}[3]\n\\part v", "1 1/a 1/b 1/b/i 2 2/a"),
        (
            "\\section*{1}\n\\begin{enumerate}[label=(\\alph*)]\n\\item x\n"
            "\\begin{enumerate}[(i)]\\item y\n\\item z\\end{enumerate}\n\\item w\\end{enumerate}",
            "1 1/a 1/a/i 1/a/ii 1/b",
        ),
        ("\\begin{enumerate}\n\\item x\n\\end{enumerate}", ""),
    ],
)
def test_latex_has_its_own_ways(text, expected):
    assert " ".join(paths(text, "latex")) == expected


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
