"""What stands where in a text before its mathematics is looked for: the common ground of Markdown and LaTeX."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from regard.derivations.reading.document import Heading, MathSpan, Unclosed
from regard.derivations.reading.macros import Macro
from regard.derivations.reading.ranges import Range, cut


@dataclass(frozen=True, kw_only=True)
class Piece(Range):
    """Delimited mathematics by its offsets: the whole, and what is inside the delimiters."""

    inner: Range
    delimiter: str
    is_display: bool


@dataclass(frozen=True, kw_only=True)
class QuotedLine(Range):
    """A line with the offsets at which its block quote marks end, outermost first."""

    levels: tuple[int, ...] = ()

    @property
    def content(self) -> int:
        """Where the line goes on after its block quote marks."""
        return self.levels[-1] if self.levels else self.start


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The structure of a text; in `visible`, of the same length, what cannot hold mathematics is NUL.

    `regions` are the paragraphs, in which delimiters pair; `breaks` are the offsets within them (a list item, a table
    cell) that inline mathematics hardly ever crosses; `dropped` is what a source must not contain (comments).
    """

    text: str
    visible: str
    regions: tuple[Range, ...]
    breaks: tuple[int, ...] = ()
    quoted: tuple[QuotedLine, ...] = ()
    tables: tuple[Range, ...] = ()
    dropped: tuple[Range, ...] = ()
    pieces: tuple[Piece, ...] = ()
    headings: tuple[Heading, ...] = ()
    quotes: tuple[Range, ...] = ()
    front_matter: Range | None = None
    code: tuple[Range, ...] = ()
    comments: tuple[Range, ...] = ()
    unclosed: tuple[Unclosed, ...] = ()
    macros: tuple[Macro, ...] = ()
    is_latex: bool = False
    _region_starts: tuple[int, ...] = field(init=False, repr=False)
    _quoted_starts: tuple[int, ...] = field(init=False, repr=False)
    _dropped_starts: tuple[int, ...] = field(init=False, repr=False)
    _table_starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, ranges in (
            ("_region_starts", self.regions),
            ("_quoted_starts", self.quoted),
            ("_dropped_starts", self.dropped),
            ("_table_starts", self.tables),
        ):
            object.__setattr__(self, name, tuple(item.start for item in ranges))

    def region_at(self, offset: int) -> int:
        """The number of the paragraph that holds an offset, or that comes before it."""
        return bisect_right(self._region_starts, offset) - 1

    def num_breaks(self, start: int, end: int) -> int:
        """How many boundaries of list items, table cells or quotes lie between two offsets."""
        return bisect_left(self.breaks, end) - bisect_right(self.breaks, start)

    def in_table(self, offset: int) -> bool:
        """True if the offset lies in the row of a table."""
        index = bisect_right(self._table_starts, offset) - 1
        return index >= 0 and self.tables[index].holds(offset)

    def quote_marks(self, piece: Range) -> Iterator[Range]:
        """The block quote marks inside a piece, no more levels of them than where the piece begins."""
        first = bisect_right(self._quoted_starts, piece.start) - 1
        depth = len(self.quoted[first].levels) if first >= 0 and piece.start <= self.quoted[first].end else 0
        last = bisect_left(self._quoted_starts, piece.end)
        for line in self.quoted[first + 1 : last] if depth else ():
            yield Range(start=line.start, end=line.levels[min(depth, len(line.levels)) - 1])

    def drops(self, piece: Range) -> Iterator[Range]:
        """The comments and definitions inside a piece."""
        first = bisect_left(self._dropped_starts, piece.start)
        yield from self.dropped[first : bisect_left(self._dropped_starts, piece.end)]


def span_of(layout: Layout, piece: Piece) -> MathSpan:
    r"""The mathematics of a piece, without quote marks and comments; in a table cell `\|` stands for `|`."""
    holes = [*layout.quote_marks(piece), *layout.drops(piece)]
    if layout.in_table(piece.start):
        holes += _escaped_pipes(layout.text, piece.inner)
    source, origin = cut(layout.text, piece.inner, _disjoint(holes))
    return MathSpan(
        start=piece.start,
        end=piece.end,
        source=source,
        delimiter=piece.delimiter,
        is_display=piece.is_display,
        origin=origin,
    )


def _escaped_pipes(text: str, inner: Range) -> Iterator[Range]:
    place = text.find("\\|", inner.start, inner.end)
    while place >= 0:
        yield Range(start=place, end=place + 1)
        place = text.find("\\|", place + 2, inner.end)


def _disjoint(holes: Iterable[Range]) -> Iterator[Range]:
    place = 0
    for hole in sorted(holes, key=lambda item: item.start):
        if hole.end > place:
            yield Range(start=max(hole.start, place), end=hole.end)
            place = hole.end
