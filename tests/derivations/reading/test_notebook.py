"""Notebooks: Markdown cells only, and places in the stored file."""

import json

from regard.derivations.reading import outline, read, read_text


def notebook(*cells: tuple[str, str | list[str]]) -> str:
    return json.dumps(
        {
            "cells": [
                {"cell_type": kind, "metadata": {"cells": [{"source": "$no$"}]}, "source": source}
                for kind, source in cells
            ]
        },
        indent=1,
    )


def test_only_markdown_cells_are_read():
    stored = notebook(
        ("markdown", ["# 1 (a)\n", "$x$"]),
        ("code", "$y$"),
        ("markdown", "```\n$z$"),
        ("raw", "$w$"),
        ("markdown", "$v$"),
    )
    document = read_text(stored, kind="notebook")
    assert document.text == "# 1 (a)\n$x$\n\n```\n$z$\n\n$v$"
    assert [span.source for span in document.spans] == ["x", "z", "v"]
    assert [section.path for section in outline(document)] == [("1", "a")]


def test_places_lead_to_the_stored_file():
    stored = notebook(
        ("code", "1"), ("markdown", ['é 𝛼 "q" $\\alpha$\n', "then $\\beta = 1$"]), ("markdown", "so\n\n$\\gamma$")
    )
    document = read_text(stored, kind="notebook", path="a.ipynb")
    lines = stored.split("\n")
    for span in document.spans:
        for k, mark in enumerate(span.source):
            place = document.place(span.raw_offset(k))
            assert json.dumps(mark)[1:-1].startswith(lines[place.line - 1][place.column - 1])
        assert document.text[span.start : span.end] == f"${span.source}$"
    expected = [number for number, line in enumerate(lines, start=1) if "$" in line and "$no$" not in line]
    assert [document.place(span.start).line for span in document.spans] == expected


def test_the_older_format_is_read():
    cell = {"cell_type": "markdown", "source": ["$x$"]}
    stored = json.dumps({"worksheets": [{"cells": [cell, cell]}], "nbformat": 3})
    assert [span.source for span in read_text(stored, kind="notebook").spans] == ["x", "x"]


def test_characters_that_are_no_text_are_replaced():
    stored = '{"cells": [{"cell_type": "markdown", "source": "a\\ud800\\u0000 $\\ud835\\udefc$"}]}'
    document = read_text(stored, kind="notebook")
    assert document.text == "a\ufffd\ufffd $\U0001d6fc$"
    assert document.place(document.spans[0].start).column == stored.index("$") + 1


def test_a_delimiter_does_not_run_into_the_next_cell():
    document = read_text(notebook(("markdown", "$$ a"), ("markdown", "b $$")), kind="notebook")
    assert document.spans == ()
    assert [item.token for item in document.unclosed] == ["$$", "$$"]


def test_the_gold_notebook_is_read(gold):
    document = read(gold / "rotary-notebook.ipynb")
    stored = (gold / "rotary-notebook.ipynb").read_text(encoding="utf-8").split("\n")
    assert document.spans
    for span in document.spans:
        place = document.place(span.start)
        assert stored[place.line - 1][place.column - 1] == "$"
