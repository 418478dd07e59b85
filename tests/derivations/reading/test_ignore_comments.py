"""Comments that exempt steps: which lines and formulas each of them covers."""

import pytest

from regard.derivations.reading.files import read_text
from regard.derivations.reading.ignore_comments import ignore_comments

DISPLAY = "$$\na = b\n$$"
ALIGNED = "\\begin{align}\na &= b \\\\ % regard: ignore\n&= c\n\\end{align}"


def exempted(text: str, kind="markdown") -> list[tuple[str, str]]:
    document = read_text(text, kind=kind)
    found = ignore_comments(document)
    return [(document.text[each.exempted.start : each.exempted.end], each.reason) for each in found]


@pytest.mark.parametrize(
    ("text", "covered", "reason"),
    [
        ("Then $a = b$. <!-- regard: ignore -->\n\n$c = d$", "Then $a = b$. <!-- regard: ignore -->", ""),
        ("<!-- regard: ignore: it is meant -->\n\nThen $a = b$.\n$c = d$", "Then $a = b$.", "it is meant"),
        ("<!--regard:ignore\nover two\nlines-->\nThen $a = b$.", "Then $a = b$.", "over two lines"),
        (f"<!-- regard: ignore -->\n{DISPLAY}\n$c = d$", DISPLAY, ""),
        (f"x\n\n{DISPLAY} <!-- REGARD: IGNORE – known -->", f"{DISPLAY} <!-- REGARD: IGNORE – known -->", "known"),
        ("> <!-- regard: ignore -->\n> $a = b$", "> $a = b$", ""),
        ("$a = b$\n<!-- regard: ignore -->", "<!-- regard: ignore -->", ""),
    ],
)
def test_a_comment_covers_its_line_or_the_next_one_with_the_formulas_there(text, covered, reason):
    assert exempted(text) == [(covered, reason)]


def test_inside_a_formula_a_comment_covers_one_row():
    assert exempted(ALIGNED, "latex") == [("a &= b \\\\ % regard: ignore", "")]
    assert exempted("% regard: ignore why\n\\[ a = b \\]", "latex") == [("\\[ a = b \\]", "why")]


@pytest.mark.parametrize(
    "text",
    [
        "$a = b$ <!-- regard: ignored -->",
        "$a = b$ <!-- please regard: ignore -->",
        "$a = b$ regard: ignore",
        "`<!-- regard: ignore -->` $a = b$",
        "$a = b$ <!-- regard: ignore-all -->",
    ],
)
def test_other_comments_words_and_code_exempt_nothing(text):
    assert exempted(text) == []
