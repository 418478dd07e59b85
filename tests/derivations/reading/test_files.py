"""Files of every kind, notebooks with places in the stored file, and files that can't be read."""

import json
import os

import pytest

from regard.core.errors import InputError
from regard.derivations.reading.files import MAX_BYTES, MAX_DELIMITERS, MAX_LINES, documents_in, read, read_text
from regard.derivations.reading.outline import outline


@pytest.mark.parametrize(
    ("name", "kind"), [("a.md", "markdown"), ("a.MARKDOWN", "markdown"), ("a.txt", "text"), ("a.tex", "latex")]
)
def test_the_suffix_says_the_kind(tmp_path, name, kind):
    path = tmp_path / name
    path.write_text("Take $q = k_a$.", encoding="utf-8")
    document = read(path)
    assert (document.kind, document.path) == (kind, str(path))
    assert [span.source for span in document.spans] == ["q = k_a"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_column(tmp_path, mark):
    path = tmp_path / "a.md"
    path.write_bytes(mark + "$x$ 设 $y$".encode())
    document = read(path)
    assert [document.place(span.start).column for span in document.spans] == [1, 7]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_line_break_is_kept_and_counted_once(newline):
    document = read_text(newline.join(["a", "", "设 $x", "= y$", "", "$$z$$"]))
    first, second = document.spans
    assert first.source == f"x{newline}= y"
    assert [
        (document.place(o).line, document.place(o).column) for o in (first.start, first.raw_offset(2 + len(newline)))
    ] == [(3, 3), (4, 2)]
    assert (document.place(second.start).line, document.place(second.start).column) == (6, 1)
    assert [line.text for line in document.lines] == ["a", "", "设 $x", "= y$", "", "$$z$$"]
    assert document.line_at(second.start).number == 6


def test_columns_count_characters():
    document = read_text("𝛼β 中 $x$")
    assert document.place(document.spans[0].start).column == 6


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"", "empty"),
        ("a.md", b" \n\t\r\n", "empty"),
        ("a.md", b"\xef\xbb\xbf", "empty"),
        ("a.md", b"a\0b", "NUL"),
        ("a.md", "设".encode("utf-16"), "UTF-8"),
        ("a.md", b"caf\xe9", "byte 3 is invalid"),
        ("a.md", b"x" * (MAX_BYTES + 1), "bytes; the limit is"),
        ("a.md", b"\n" * MAX_LINES + b"x", "lines; the limit is"),
        ("a.md", b"$ " * (MAX_DELIMITERS + 1), "delimiters; the limit is"),
        ("a.md", b"%PDF-1.7", "is a PDF"),
        ("a.pdf", b"%PDF", "not a kind of file that can be read"),
        ("a", b"x", "not a kind of file that can be read"),
        ("a.ipynb", b"x", "not valid JSON"),
        ("a.ipynb", b"[" * 100_000, "not valid JSON"),
        ("a.ipynb", b"[]", "no cells"),
        ("a.ipynb", b"{}", "no cells"),
        ("a.ipynb", b'{"cells": []}', "no text in Markdown cells"),
    ],
)
def test_what_can_not_be_read_says_why_in_one_line(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_can_not_be_read(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none.md")
    with pytest.raises(InputError):
        read("a\0.md")
    fifo = tmp_path / "pipe.md"
    os.mkfifo(fifo)
    with pytest.raises(InputError, match="not a regular file"):
        read(fifo)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "", "\ufeff"])
def test_a_text_that_is_none_can_not_be_read(text):
    with pytest.raises(InputError):
        read_text(text)


def test_a_folder_is_listed_sorted_and_without_what_is_hidden(tmp_path):
    for name in (
        "b.md",
        "a.tex",
        "z/c.ipynb",
        "z/d.txt",
        "e.pdf",
        "a.pdf",
        ".hidden.md",
        ".git/f.md",
        "z/.ipynb_checkpoints/c.ipynb",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    names = [str(path.relative_to(tmp_path)) for path in documents_in(tmp_path)]
    assert names == ["a.tex", "b.md", "e.pdf", os.path.join("z", "c.ipynb"), os.path.join("z", "d.txt")]  # noqa: PTH118
    with pytest.raises(InputError, match="not a folder"):
        documents_in(tmp_path / "b.md")


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
    assert [section.path for section in outline(document).sections] == [("1", "a")]


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


def test_blanks_accents_and_wide_letters_are_made_plain_and_places_stay_right():
    text = "Si\xa0c'est e\u0301gal,\u2009on a\u200b\n$x\xa0＝ ｙ$ e\u0301t $z = 1$."
    document = read_text(text)
    assert document.prose.startswith("Si c'est égal, on a\n")
    assert [span.source for span in document.spans] == ["x = y", "z = 1"]
    last = document.place(document.spans[1].start)
    assert (last.line, last.column) == (2, text.splitlines()[1].index("$z") + 1)


def test_a_notebook_is_made_plain_too():
    stored = json.dumps({"cells": [{"cell_type": "markdown", "source": ["e\u0301\xa0a $x = 1$"]}]}, ensure_ascii=False)
    document = read_text(stored, kind="notebook")
    assert document.text == "é a $x = 1$"
    assert document.place(document.spans[0].start).column == stored.index("$x") + 1


def test_places_in_a_notebook_name_the_cell_and_its_line():
    cells = [
        {"cell_type": "code", "source": "1"},
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Let $x = 1$."]},
        {"cell_type": "markdown", "source": " "},
        {"cell_type": "markdown", "source": "Then\n$y = 2$."},
    ]
    document = read_text(json.dumps({"cells": cells, "nbformat": 4}), kind="notebook", path="a.ipynb")
    places = [document.place(span.start) for span in document.spans]
    assert [str(place) for place in places] == ["a.ipynb cell 2, line 3", "a.ipynb cell 4, line 2"]
    assert places[1].to_dict() == {
        "file": "a.ipynb", "line": 1, "column": places[1].column, "cell": 4, "cell_line": 2,
    }  # fmt: skip
    assert str(document.place(len(document.text))) == "a.ipynb cell 4, line 2"
