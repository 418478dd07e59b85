"""Texts made to hang a reader: each is read or refused in bounded time.

They are read in a process of their own, where annotations are not executed, so that only the reader is timed.
"""

import json

HOSTILE = {
    "a run of dollars": ["", "$", 1_000_000],
    "a million dollars apart": ["", "$ ", 1_000_000],
    "many dollars": ["", "$x ", 2_000],
    "many displays": ["", "$$x", 2_000],
    "openings": ["", "\\( ", 5_000],
    "displays never closed": ["", "\\[ a\n\n", 2_000],
    "environments": ["", r"\begin{align}", 5_000],
    "nested environments": ["", r"\begin{pmatrix}", 5_000],
    "braces": ["$", "{", 50_000],
    "groups": ["$", r"\text{", 10_000],
    "one long line": ["$x$ ", "a", 1_000_000],
    "one long sentence": ["$", "ab ", 30_000],
    "unclosed fences": ["", "```a\n~~~b\n", 1_000],
    "comments": ["", "<!--", 10_000],
    "images": ["", "![", 10_000],
    "quotes": ["", "> ", 30_000],
    "headings": ["", "# 1\n## a\n### i\n", 300],
    "parts on a line": ["1.(a)\n\ni. a. ", "ii. a. ", 10_000],
    "struck out": ["", "~~a\n", 5_000],
    "struck out by tags": ["", "<s>a", 30_000],
    "one list": ["Let:\n", "- $x$\n", 2_000],
    "romans": ["1.(a)\n\n", "i.\n\n", 1_000],
    "titled items": ["", "1. **a**\n", 1_000],
    "questions and quotes": ["", "(a) Why?\n\n> b\n\n", 500],
    "markers": ["1.(a)\n\n", "Answer: $x$\n\n", 500],
    "blanks after a marker": ["Answer", " ", 30_000],
    "blanks after a number": ["1", " ", 30_000],
    "blanks after a heading": ["#", " ", 30_000],
    "blanks in mathematics": ["$", " ", 30_000],
    "definitions": ["", r"\def\a{", 5_000],
    "sections": ["", r"\section{", 5_000],
    "full stops": ["", "i.e. x. ", 5_000],
    "stars": ["", "*", 50_000],
    "cells": ["|a|\n|-|\n", "|$x", 2_000],
    "backslashes": ["", "\\", 50_000],
    "brackets": ["", "[", 50_000],
    "paragraphs": ["", "We have $x = 1$.\n\n", 5_000],
    "formulas in one sentence": ["", "and $x = 1$ ", 5_000],
    "headings with letters": ["", "## 1 (a)\n\n$x$\n\n", 3_000],
    "quoted questions": ["## 1 (a)\n\n", "> Why $x$?\n\nok\n\n", 3_000],
    "parts and numerals": ["", "(a) x\n\ni. $x$\n\nii. y\n\n", 2_000],
    "questions and answers": ["## 1 (a)\n\n", "Find $x$.\n\nAnswer: ok\n\n", 3_000],
    "wrapped answers": ["\\question x\n", "\\part[2] Find $x$.\n\\ans{ok}\n", 3_000],
    "wrappers never closed": ["\\question x\n", "\\part \\ans{", 3_000],
    "colours": ["## 1 (a)\n\n", "Why?\n\n\\textcolor{red}{x}\n\n{\\color{blue} y}\n\n", 2_000],
    "markers in formulas": ["(a) x\n\n", "$$ii) \\quad x$$\n\n", 3_000],
    "macros for mathematics": ["\\newcommand{\\m}[1]{$#1$}\\def\\be{\\begin{align}}", "\\m{x} \\be ", 3_000],
    "accents": ["", "e\u0301\xa0", 30_000],
    "text blocks": ["", "```text\nα = 1\n```\n\n", 3_000],
    "a long text block": ["```text\n", "α = 1\n", 5_000],
}
CODE = """
import json, sys, time
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline
from regard.core.errors import InputError

seconds = {}
for name, (head, piece, number) in json.loads(sys.argv[1]).items():
    for kind in ("markdown", "latex", "notebook"):
        start = time.process_time()
        try:
            document = read_text(f"{head}{piece * number}{head}x", kind=kind)
            found = outline(document)
            for span in document.spans:
                sentence = document.sentence_before(span.start)
                document.sentence_after(span.start), document.lead_in(sentence.start)
                found.section_at(span.start), document.paragraph_start(span.start)
        except InputError as error:
            assert len(str(error)) < 200
        seconds[f"{name} as {kind}"] = time.process_time() - start
print(json.dumps(seconds))
"""


def timed(python, texts: dict[str, list]) -> dict[str, float]:
    done = python("-c", CODE, json.dumps(texts))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_ends_soon(python):
    seconds = timed(python, HOSTILE)
    assert len(seconds) == 3 * len(HOSTILE)
    assert {name: spent for name, spent in seconds.items() if not spent < 3} == {}


def test_twice_the_text_takes_about_twice_the_time(python):
    pieces = ["1.(a) Take $q$ and \\(c\\), `code`.\n\n", "> - | $x", "> $$\n", "i.\n\nAnswer: $x$\n", "```a\n~~~~b\n"]
    texts = {f"{number} times {piece}": ["", piece, number] for piece in pieces for number in (50, 150, 300)}
    seconds = timed(python, texts)
    for piece in pieces:
        once, twice = (seconds[f"{number} times {piece} as markdown"] for number in (150, 300))
        assert twice < 3.5 * once + 0.1, piece


def test_runs_of_every_length_end_soon(python):
    runs = {mark: ["", "".join(mark * k + " x\n" for k in range(80, 0, -1)), 1] for mark in "`~$*#>"}
    assert max(timed(python, runs).values()) < 3
