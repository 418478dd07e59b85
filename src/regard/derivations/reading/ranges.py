"""Offsets: ranges of a text, its lines, and maps from a derived text back to the one it was taken from."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NOT_BREAK = re.compile(r"[^\r\n]")


@dataclass(frozen=True, kw_only=True)
class Range:
    """The characters from `start` up to, not including, `end`."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        """True if the character at this offset belongs to the range."""
        return self.start <= offset < self.end


@dataclass(frozen=True, kw_only=True)
class Line(Range):
    """One line of a text, without its line break."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class OffsetMap:
    """Pieces of a derived text that were copied unchanged: derived `starts[i]` was taken from offset `targets[i]`.

    >>> OffsetMap(starts=(0, 2), targets=(10, 15)).at(3)
    16
    """

    starts: tuple[int, ...] = (0,)
    targets: tuple[int, ...] = (0,)

    def at(self, offset: int) -> int:
        """The offset from which the character at this offset of the derived text was taken."""
        piece = max(bisect_right(self.starts, offset) - 1, 0)
        return self.targets[piece] + offset - self.starts[piece]


def line_starts(text: str) -> tuple[int, ...]:
    r"""The offset at which each line begins; \n, \r\n and \r all end a line.

    >>> line_starts("a\r\nb\rc\n")
    (0, 3, 5, 7)
    """
    return (0, *(found.end() for found in _LINE_BREAK.finditer(text)))


def masked(text: str, ranges: Iterable[Range]) -> str:
    r"""The text with every character of the ranges, line breaks aside, replaced by NUL; offsets stay the same.

    >>> masked("a `b` c", [Range(start=2, end=5)])
    'a \x00\x00\x00 c'
    """
    pieces, place = [], 0
    for hidden in sorted(ranges, key=lambda item: item.start):
        if hidden.end <= place:
            continue
        start = max(hidden.start, place)
        pieces += [text[place:start], _NOT_BREAK.sub("\0", text[start : hidden.end])]
        place = hidden.end
    return "".join([*pieces, text[place:]])


def cut(text: str, kept: Range, dropped: Iterable[Range]) -> tuple[str, OffsetMap]:
    """What is left of the kept range without the dropped ones, and the way back to the text.

    >>> source, origin = cut("a\\n> b", Range(start=0, end=5), [Range(start=2, end=4)])
    >>> source, origin.at(2)
    ('a\\nb', 4)
    """
    pieces = [piece for piece in left_over(kept, dropped) if piece.start < piece.end]
    starts, length = [], 0
    for piece in pieces:
        starts.append(length)
        length += piece.end - piece.start
    source = "".join(text[piece.start : piece.end] for piece in pieces)
    if not pieces:
        return "", OffsetMap(targets=(kept.start,))
    return source, OffsetMap(starts=tuple(starts), targets=tuple(piece.start for piece in pieces))


def left_over(kept: Range, dropped: Iterable[Range]) -> Iterator[Range]:
    """The pieces of a range that the dropped ranges leave; some may be empty."""
    place = kept.start
    for hole in sorted(dropped, key=lambda item: item.start):
        if hole.end <= place or hole.start >= kept.end:
            continue
        yield Range(start=place, end=max(place, hole.start))
        place = min(hole.end, kept.end)
    yield Range(start=place, end=kept.end)
