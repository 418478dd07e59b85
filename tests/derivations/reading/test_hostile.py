"""Texts made to hang a reader: each is read or refused in bounded time."""

import time

import pytest

from regard.derivations.reading import answer_ranges, outline, read_text
from regard.errors import InputError

SIZE = 100_000
HOSTILE = {
    "a run of dollars": "$" * 1_000_000,
    "a million dollars apart": "$ " * 1_000_000,
    "many dollars": "$x " * 15_000,
    "many displays": "$$x" * 15_000,
    "openings": "\\( " * 20_000,
    "displays never closed": "\\[ a\n\n" * 15_000,
    "environments": r"\begin{align}" * 20_000,
    "nested environments": r"\begin{pmatrix}" * 20_000 + r"\end{pmatrix}" * 20_000,
    "braces": "$" + "{" * SIZE + "$",
    "one long line": "$x$ " + "a" * 1_000_000,
    "one long sentence": "$x " + "ab " * SIZE + "$",
    "backtick runs of every length": "".join("`" * k + " " for k in range(1, 300)),
    "fences of every length": "".join("`" * k + "x\n" for k in range(300, 3, -1)),
    "unclosed fences": "```a\n~~~b\n" * 10_000,
    "comments": "<!--" * 40_000,
    "images": "![" * 40_000,
    "quotes": "> " * SIZE,
    "headings": "# 1\n## a\n### i\n" * 3_000,
    "romans": "i.\n\n" * 10_000,
    "markers": "Answer: $x$\n\n" * 5_000,
    "blanks": "Answer" + " " * SIZE + "x",
    "more blanks": "1" + " " * SIZE + "x",
    "definitions": r"\def\a{" * 20_000,
    "sections": r"\section{" * 20_000,
    "full stops": "i.e. x. " * 20_000,
    "stars": "*" * SIZE,
    "table": "|a|\n|-|\n" + "|$x" * 10_000,
    "backslashes": "\\" * SIZE,
    "brackets in json": "[" * SIZE,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["markdown", "latex", "notebook"])
def test_it_ends_soon(name, kind):
    start = time.process_time()
    try:
        document = read_text(HOSTILE[name], kind=kind)
        outline(document)
        answer_ranges(document)
    except InputError as error:
        assert len(str(error)) < 200
    assert time.process_time() - start < 8


def test_twice_the_text_takes_about_twice_the_time():
    def seconds(num: int) -> float:
        text = "1.(a) Take $q = k_a$ and \\(c\\), see `code`.\n\n" * num
        start = time.process_time()
        document = read_text(text)
        outline(document)
        answer_ranges(document)
        return time.process_time() - start

    seconds(100)
    assert min(seconds(4_000) for _ in range(2)) < 5 * min(seconds(2_000) for _ in range(2))
