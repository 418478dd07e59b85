"""From a text to a document: its layout first, then its mathematics by offset in the raw text."""

from collections.abc import Iterable, Iterator

from regard.core.errors import InputError
from regard.derivations.reading.brackets import bracketed
from regard.derivations.reading.document import Document, Kind, MathSpan, Unclosed
from regard.derivations.reading.dollars import dollars
from regard.derivations.reading.images import images
from regard.derivations.reading.latex import latex_layout
from regard.derivations.reading.layout import Layout, Piece, span_of
from regard.derivations.reading.markdown import markdown_layout
from regard.derivations.reading.ranges import Range, line_starts

MAX_LINES = 50_000
MAX_MARKS = 50_000
_MARKS = ("$", "`", "\\(", "\\)", "\\[", "\\]", "\\begin", "\\end", "![", "<img", "<!--", "<code", "<pre")


def scan(text: str, kind: Kind, path: str) -> Document:
    r"""A text with every piece of its mathematics found.

    >>> [span.source for span in scan(r"Take $q = k_a$ for $5, so \(c \approx v_a\).", "markdown", "a.md").spans]
    ['q = k_a', 'c \\approx v_a']
    """
    _check_size(text, path)
    layout = latex_layout(text) if kind == "latex" else markdown_layout(text)
    spans, unclosed = _mathematics(layout)
    return Document(
        path=path,
        kind=kind,
        text=text,
        spans=spans,
        images=tuple(images(layout.visible)),
        headings=layout.headings,
        quotes=layout.quotes,
        front_matter=layout.front_matter,
        code=layout.code,
        comments=layout.comments,
        unclosed=unclosed,
        macros=layout.macros,
    )


def _check_size(text: str, path: str) -> None:
    num_lines = len(line_starts(text))
    num_marks = sum(text.count(mark) for mark in _MARKS)
    for number, limit, things in ((num_lines, MAX_LINES, "lines"), (num_marks, MAX_MARKS, "delimiters")):
        if number > limit:
            raise InputError(f"{path} has {number} {things}, more than the {limit} that are read. Split it.")


def _mathematics(layout: Layout) -> tuple[tuple[MathSpan, ...], tuple[Unclosed, ...]]:
    explicit, open_brackets = bracketed(layout)
    paired, open_dollars = dollars(layout, explicit)
    pieces = list(_outermost([*layout.pieces, *explicit, *paired]))
    left_over = sorted([*layout.unclosed, *open_brackets, *open_dollars], key=lambda item: item.offset)
    return tuple(span_of(layout, piece) for piece in pieces), tuple(_outside(left_over, pieces))


def _outermost(pieces: Iterable[Piece]) -> Iterator[Piece]:
    place = 0
    for piece in sorted(pieces, key=lambda item: (item.start, -item.end)):
        if piece.start >= place:
            yield piece
            place = piece.end


def _outside(left_over: Iterable[Unclosed], pieces: Iterable[Range]) -> Iterator[Unclosed]:
    rest = iter(pieces)
    piece = next(rest, None)
    for item in left_over:
        while piece and piece.end <= item.offset:
            piece = next(rest, None)
        if not piece or not piece.holds(item.offset):
            yield item
