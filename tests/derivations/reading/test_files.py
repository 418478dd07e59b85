"""Files of every kind, and the ones that can't be read."""

import os

import pytest

from regard.core.errors import InputError
from regard.derivations.reading import MAX_BYTES, documents_in, read, read_text
from regard.derivations.reading.scan import MAX_LINES, MAX_MARKS


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
        ("a.md", b"caf\xe9", "byte 3 is not UTF-8"),
        ("a.md", b"x" * (MAX_BYTES + 1), "bytes, more than"),
        ("a.md", b"\n" * MAX_LINES + b"x", "lines, more than"),
        ("a.md", b"$ " * (MAX_MARKS + 1), "delimiters, more than"),
        ("a.pdf", b"%PDF", "kind that can't be read"),
        ("a", b"x", "kind that can't be read"),
        ("a.ipynb", b"x", "not JSON"),
        ("a.ipynb", b"[" * 100_000, "not JSON"),
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
        ".hidden.md",
        ".git/f.md",
        "z/.ipynb_checkpoints/c.ipynb",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    names = [str(path.relative_to(tmp_path)) for path in documents_in(tmp_path)]
    assert names == ["a.tex", "b.md", os.path.join("z", "c.ipynb"), os.path.join("z", "d.txt")]  # noqa: PTH118
    with pytest.raises(InputError, match="not a folder"):
        documents_in(tmp_path / "b.md")
