"""Lines that look alike and count up are the marks of a document's parts, whatever they look like."""

import pytest

from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline
from regard.derivations.reading.part_marks import named_part, series_marks

STYLES = [
    "--- {} ---\n\n",
    "**Toggle: ({})**\n\n",
    "[{}] ",
    "{} -> ",
    "ad {})\n\n",
    "=== {} ===\n\n",
    "Now part {}.\n\n",
    "## My thoughts ({})\n\n",
    "*{}*\n\n",
    "- {}: ",
    "| {} | ",
    "<h4>{}</h4>\n\n",
    "<!-- {} -->\n",
]


def paths(text: str, kind: str = "markdown") -> list[str]:
    return ["/".join(section.path) for section in outline(read_text(text, kind=kind)).sections if section.path]


def marked(style: str, *letters: str) -> str:
    return "\n\n".join(style.format(letter) + "Take $x = y$." for letter in letters)


@pytest.mark.parametrize("style", STYLES)
def test_any_frame_around_letters_that_count_up_marks_the_parts(style):
    assert paths(marked(style, "a", "b", "c i", "c ii")) == ["/a", "/b", "/c/i", "/c/ii"]
    assert paths(marked(style, "1a", "1b", "2a")) == ["1/a", "1/b", "2/a"]


@pytest.mark.parametrize("style", [style for style in STYLES if style not in ("[{}] ",)])
def test_a_frame_around_one_letter_or_around_scattered_ones_does_not(style):
    assert paths(marked(style, "b")) == []
    assert len(series_marks(read_text(marked(style, "h", "c", "f")))) == 0


def test_other_letters_and_macros_count_too():
    assert paths(marked("{} ", "ⓐ", "ⓑ", "ⓒ")) == ["/a", "/b", "/c"]
    assert paths(marked("{}) ", "α", "β", "γ")) == ["/a", "/b", "/c"]
    assert paths(marked("\\mypart{{{}}} ", "1a", "1b.i", "1b.ii"), "latex") == ["1/a", "1/b/i", "1/b/ii"]


def test_four_capital_numerals_are_parts_and_three_may_be_chapters():
    text = "## Question 1\n\n" + marked("**{}. Title.** ", "I", "II", "III", "IV")
    assert paths(text) == ["1", "1/a", "1/b", "1/c", "1/d"]
    assert len(series_marks(read_text(marked("**{}. Title.** ", "I", "II", "III")))) == 0


def test_numbers_in_a_table_are_no_parts():
    rows = "| $\\gamma$ | $\\alpha_a$ |\n|---|---|\n| 0.5 | 0.0067 |\n| 1.0 | 0.5 |\n| 1.5 | 0.9933 |\n"
    assert paths(f"## 1(c)\n\n{rows}") == ["1/c"]


def test_letters_that_begin_again_belong_to_another_question():
    text = marked("{}) ", "a", "b", "c", "a", "b")
    assert paths(text) == ["/a", "/b", "/c", "/a", "/b"]


def test_a_list_inside_a_part_is_no_new_question():
    text = marked("**{})** ", "a", "b", "c", "a", "b", "d")
    assert [mark.line.number for mark in series_marks(read_text(text)).values()] == [1, 3, 5, 11]


def test_sentences_that_begin_with_the_same_words_are_no_marks():
    text = "This is a line. This is b line.\n\nThis is a key and\n\nthis is b\n\nThis is a query"
    assert series_marks(read_text(text)) == {}


@pytest.mark.parametrize(
    ("title", "number", "second", "third"),
    [("Problem 1: (c)", 1, "c", None), ("Question 3, g", 3, "g", None), ("Q2 b (ii)", 2, "b", "ii")],
)
def test_a_heading_that_is_all_number_and_letter(title, number, second, third):
    found = named_part(title)
    assert found is not None
    assert (found.number, found.second, found.third) == (number, second, third)


@pytest.mark.parametrize("title", ["Problem 1: (a)--(b)", "2 drawbacks", "Adam", "3 a long title", ""])
def test_a_heading_with_more_is_not(title):
    assert named_part(title) is None
