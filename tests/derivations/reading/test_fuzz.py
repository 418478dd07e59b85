"""Documents that nobody wrote: whatever the text, only `InputError` is raised, and every place is right."""

import itertools
import json
import re
import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivations.reading.answers import answers
from regard.core.errors import InputError
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import normalized, read, read_text
from regard.derivations.reading.outline import outline

PIECES = (
    "$ $$ $$$ \\( \\) \\[ \\] \\\\[ ` `` ``` ```math ~~~ \\begin{align} \\end{align} \\begin{cases} \\end{cases} \\$ "
    "\\ { } <!-- --> <code> </code> | |-| > - 1. # ## ### --- === ** * _ % \\verb|x| \\begin{document} \\end{document} "
    "\\newcommand{\\a}{ \\def\\b#1{ \\text{ \\item \\item[(a)] \\section{1 (a)} \\question \\part \\begin{solution} "
    "\\end{solution} i. ii. (a) b) 1.(c) Q1-2. 第一题 Answer: 解： My answer: Part 2 x = y 5 word 如果 。 ， . : ! ? "
    "![a](b) <img> title: \\ans{ \\ifans{} \\begin{answer} \\end{answer} \\part[2] \\titledquestion{T}[3] Proof: Find "
    "$$b)\\quad $$ii\\quad \\textcolor{red}{ {\\color{red} \\begin{quote} \\end{quote} <details> "
    "</details> 1. 11. (C) or"
).split(" ")
TEXTS = st.lists(
    st.sampled_from([*PIECES, " ", "\n", "\n\n", "\r\n", "\r", "\t", "\ufeff", "𝛼", "\u2028", "\xa0", "e\u0301"]),
    max_size=60,
).map("".join)
KINDS = st.sampled_from(["markdown", "latex", "text"])


def check(document: Document) -> None:
    """Everything that must hold of any document."""
    text, place = document.text, 0
    for span in document.spans:
        assert place <= span.start < span.end <= len(text)
        place = span.end
        assert all(text[span.raw_offset(k)] == mark for k, mark in enumerate(span.source))
        assert span.start <= span.raw_offset(0) <= span.raw_offset(len(span.source)) <= span.end
        before, after = document.sentence_before(span.start), document.sentence_after(span.start)
        assert before.start <= before.end == span.start
        assert span.end == after.start <= after.end <= len(text)
    assert len(document.prose) == len(text)
    for item in (*document.images, *document.headings, *document.quotes, *document.code, *document.comments):
        assert 0 <= item.start <= item.end <= len(text)
    for heading in document.headings:
        assert text[heading.title_start :].startswith(heading.title) or "\0" in heading.title
    assert all(text.startswith(item.token, item.offset) for item in document.unclosed)
    check_structure(document)


def check_structure(document: Document) -> None:
    sections = outline(document).sections
    for first, second in itertools.pairwise(sections):
        assert first.start <= second.start
        assert second.end <= first.end or first.end <= second.start
    assert all(section.start <= section.body <= section.end for section in sections)
    place = 0
    for _, answer in answers(document):
        assert place <= answer.start < answer.end <= len(document.text)
        place = answer.end


@settings(max_examples=150)
@given(TEXTS, KINDS)
def test_any_text_is_read_or_refused(text, kind):
    try:
        document = read_text(text, kind=kind)
    except InputError:
        return
    assert document.text == normalized(text.removeprefix("\ufeff")).text
    check(document)


@settings(max_examples=60)
@given(st.text(max_size=80), KINDS)
def test_any_characters_are_read_or_refused(text, kind):
    try:
        check(read_text(text, kind=kind))
    except InputError:
        return


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["markdown", "code"]), TEXTS), max_size=4), st.booleans())
def test_any_notebook_is_read_or_refused(cells, is_ascii):
    stored = json.dumps(
        {"cells": [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]},
        ensure_ascii=is_ascii,
        indent=1,
    )
    try:
        document = read_text(stored, kind="notebook")
    except InputError:
        return
    check(document)
    lines = stored.split("\n")
    for offset, mark in enumerate(document.text):
        place = document.place(offset)
        raw = lines[place.line - 1][place.column - 1 :]
        unescaped = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), raw)
        written = unicodedata.normalize("NFC", unescaped).replace("\xa0", " ")
        assert (
            written.startswith(mark)
            or raw.startswith("\\")
            or document.text[offset - 1 : offset + 1] in ("\n\n", "\n")
            or mark == "\n"
        )


@given(TEXTS, st.integers(0, 200))
def test_places_count_lines_and_columns(text, offset):
    try:
        document = read_text(text)
    except InputError:
        return
    offset, stored = min(offset, len(document.text)), text.removeprefix("\ufeff")
    origin = document.origin.at(offset)
    before = re.split(r"\r\n|\r(?!\n)|\n", stored[:origin])
    place = document.place(offset)
    if stored[max(origin - 1, 0) : origin + 1] != "\r\n":
        assert (place.line, place.column) == (len(before), len(before[-1]) + 1)


@given(st.binary(max_size=60), st.sampled_from([".md", ".tex", ".ipynb"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("fuzz") / f"a{suffix}"
    path.write_bytes(content)
    try:
        check(read(path))
    except InputError:
        return


FORMULAS = st.sampled_from(
    [
        "x",
        "q = k_a",
        r"k_i^\top q",
        r"\frac{1}{2}",
        "2",
        "0.5",
        "n - 1",
        r"\|x\|",
        r"\{a, b\}",
        r"\text{if } x > 0",
        "c ≈ v_a",
        "5x",
    ]
)
WORDS = st.sampled_from(
    ["so we get", "where", "其中", "因此，", "for a price of $5", r"and \$3", "then `a$b` is", "so", "1. first"]
)
DELIMITERS = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]"}


@dataclass(frozen=True)
class Built:
    """A piece of a document and the formulas that were put into it."""

    text: str
    formulas: tuple[str, ...]


@st.composite
def paragraphs(draw) -> Built:
    parts = draw(
        st.lists(st.tuples(WORDS, st.sampled_from(sorted(DELIMITERS)), FORMULAS, st.booleans()), min_size=1, max_size=4)
    )
    text = "".join(
        f"{words} {mark}{formula}{DELIMITERS[mark]}{' ' if spaced else ', '}" for words, mark, formula, spaced in parts
    )
    return Built(text.strip(), tuple(formula for _, _, formula, _ in parts))


@st.composite
def blocks(draw) -> Built:
    kind = draw(
        st.sampled_from(["paragraph", "quote", "list", "table", "display", "environment", "fence", "code", "comment"])
    )
    formulas = tuple(draw(st.lists(FORMULAS, min_size=1, max_size=3)))
    if kind == "quote":
        inner = draw(paragraphs())
        return Built("> " + inner.text, inner.formulas)
    if kind == "list":
        return Built("\n".join(f"- item ${formula}$" for formula in formulas), formulas)
    if kind == "table":
        cells = " | ".join(f"${formula}$".replace("\\|", "\\\\|") for formula in formulas)
        bars = "|".join("-" for _ in formulas)
        return Built(f"| {' | '.join('a' for _ in formulas)} |\n|{bars}|\n| {cells} |", formulas)
    if kind == "display":
        return Built(f"$$\n{formulas[0]}\n$$", (f"\n{formulas[0]}\n",))
    if kind == "environment":
        inner = " \\\\ ".join(formulas)
        return Built(f"\\begin{{align*}}{inner}\\end{{align*}}", (inner,))
    if kind == "fence":
        return Built(f"```math\n{formulas[0]}\n```", (f"{formulas[0]}\n",))
    if kind in ("code", "comment"):
        edges = ("```\n", "\n```") if kind == "code" else ("<!-- ", " -->")
        return Built(f"${formulas[0]}$".join(edges), ())
    return draw(paragraphs())


@settings(max_examples=80)
@given(st.lists(blocks(), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_pair_that_was_written_is_found(parts, newline):
    text = "\n\n".join(part.text for part in parts).replace("\n", newline)
    document = read_text(text)
    expected = [formula.replace("\n", newline) for part in parts for formula in part.formulas]
    assert [span.source for span in document.spans] == expected
    check(document)


def test_the_builder_would_notice_a_loss():
    with pytest.raises(AssertionError):
        test_every_pair_that_was_written_is_found.hypothesis.inner_test([Built("$x", ("x",))], "\n")
