"""LaTeX files: comments, code and definitions hold no mathematics, environments do."""

import pytest

from regard.derivations.reading import read_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a $x$ % $y$\n\\verb|$z$| \\$5 $w$", ["x", "w"]),
        ("50\\% of $x$", ["x"]),
        ("\\begin{align}a % c $\n&=b\\end{align}", ["a \n&=b"]),
        ("\\begin{gather*}\na\n% comment\n\nb\n\\end{gather*}", ["\na\n\n\nb\n"]),
        ("\\newcommand{\\a}{$x$}\\def\\b#1{$#1$} $y$", ["y"]),
        ("\\documentclass{a}\n$p$\n\\begin{document}$x$\\end{document}$q$", ["x"]),
        ("\\begin{verbatim}$x$\\end{verbatim} $y$", ["y"]),
        ("\\begin{comment}$x$\\end{comment} $y$", ["y"]),
        ("\\begin{verbatim} $y$", ["y"]),
        ("\\begin{eqnarray}a&=&b\\end{eqnarray}", ["a&=&b"]),
        ("\\[\\begin{cases}a\\\\[1ex]b\\end{cases}\\]", ["\\begin{cases}a\\\\[1ex]b\\end{cases}"]),
        ("\\begin{equation}\\begin{split}a\\end{split}\\end{equation}", ["\\begin{split}a\\end{split}"]),
        ("$ x $ and $$y$$", [" x ", "y"]),
    ],
)
def test_mathematics_is_found(text, expected):
    document = read_text(text, kind="latex")
    assert [span.source for span in document.spans] == expected
    for span in document.spans:
        assert all(text[span.raw_offset(k)] == mark for k, mark in enumerate(span.source))


def test_the_layout_is_kept():
    text = (
        "\\title{T}\n\\begin{document}\n\\section*{1 (b) Average {of} two}\n"
        "\\begin{quote}q\\end{quote}\\includegraphics[w]{a.png}\n\\end{document}"
    )
    document = read_text(text, kind="latex")
    assert [heading.title for heading in document.headings] == ["1 (b) Average {of} two"]
    assert [text[item.start : item.end] for item in document.quotes] == ["q"]
    assert [text[item.start : item.end] for item in document.images] == ["\\includegraphics[w]{a.png}"]
    assert document.front_matter
    assert text[: document.front_matter.end].endswith("\\begin{document}")
