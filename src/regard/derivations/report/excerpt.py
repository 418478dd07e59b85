"""Source lines with carets under one stretch, as compilers show them, cut to a given width."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rich.cells import cell_len

from regard.render.terminal import spelled

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_OTHER_BREAKS = re.compile("[\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}]")
_TAB = 4
_MAX_LINES = 6


@dataclass(frozen=True, kw_only=True)
class ExcerptLine:
    """One displayed line; `carets` goes right below `text`. Lines left out are one line without a number or carets."""

    number: int | None
    text: str
    carets: str = ""


def excerpt(text: str, start: int, end: int, *, width: int, encoding: str = "utf-8") -> tuple[ExcerptLine, ...]:
    r"""The lines that contain `text[start:end]`, none wider than `width` cells, with carets under exactly that stretch.

    >>> [(line.number, line.text, line.carets) for line in excerpt("so\n设 q = k_a 时", 5, 12, width=40)]
    [(2, '设 q = k_a 时', '   ^^^^^^^')]
    """
    shown = [
        _shown(
            number, _spelled_parts((line[:low], line[low:high], line[high:]), encoding), width, spelled("…", encoding)
        )
        for number, line, low, high in _covered(text, start, end)
    ]
    if len(shown) <= _MAX_LINES:
        return tuple(shown)
    half = _MAX_LINES // 2
    return (*shown[:half], ExcerptLine(number=None, text=spelled("…", encoding)), *shown[-half:])


def _covered(text: str, start: int, end: int) -> Iterator[tuple[int, str, int, int]]:
    """Number, text and covered columns of each line that the stretch touches, without the spaces around it."""
    stretch = text[start:end]
    end = max(start + len(stretch.rstrip()), start)
    start += len(stretch) - len(stretch.lstrip()) if end > start else 0
    starts = _line_starts(text)
    number = bisect_right(starts, start)
    begin = starts[number - 1]
    closing = _LINE_BREAK.search(text, end)
    for line, breaking in _lines(text[begin : closing.start() if closing else len(text)]):
        low, high = max(start - begin, 0), min(end - begin, len(line))
        covered = line[low:high]
        if covered.strip() or start == end:
            low += len(covered) - len(covered.lstrip())
            yield number, line, low, low + len(covered.strip())
        number, begin = number + 1, begin + len(line) + len(breaking)


@lru_cache(maxsize=2)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(found.end() for found in _LINE_BREAK.finditer(text)))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line and its line break."""
    parts = [*re.split(f"({_LINE_BREAK.pattern})", text), ""]
    return zip(parts[::2], parts[1::2], strict=True)


def _shown(number: int, parts: tuple[str, str, str], width: int, ellipsis: str) -> ExcerptLine:
    """The line cut to the width so that its middle part, the one with the carets, stays visible."""
    before, inside, after = parts
    if cell_len(before + inside + after) > width:
        before = before.lstrip()
    room = width - cell_len(inside)
    if room < 2 * len(ellipsis):
        lead = ellipsis if before else ""
        return _line(number, lead, _first_cells(inside, width - len(lead) - len(ellipsis)), ellipsis)
    if cell_len(before + after) > room:
        before, after = _window(before, after, room, ellipsis)
    return _line(number, before, inside, after)


def _line(number: int, before: str, inside: str, after: str) -> ExcerptLine:
    width = cell_len(before + inside) - cell_len(before)
    carets = " " * cell_len(before) + "^" * max(width, 1)
    # Trailing spaces above the carets are kept, so that the line is as long as they are.
    return ExcerptLine(number=number, text=before + inside + after.rstrip(), carets=carets)


def _window(before: str, after: str, room: int, ellipsis: str) -> tuple[str, str]:
    """As much of the text before and after as fits, about half each, cut with an ellipsis."""
    ellipsis_width = len(ellipsis)
    half = room // 2
    left = min(cell_len(before), max(half, room - cell_len(after)))
    right = room - left
    if left < cell_len(before):
        before = ellipsis + _last_cells(before, left - ellipsis_width)
    if right < cell_len(after):
        after = _first_cells(after, right - ellipsis_width) + ellipsis
    return before, after


def _first_cells(text: str, cells: int) -> str:
    """The longest prefix that is at most this many cells wide."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cell_len(text[:middle]) <= cells else (low, middle - 1)
    return text[:low]


def _last_cells(text: str, cells: int) -> str:
    return _first_cells(text[::-1], cells)[::-1]


def _spelled_parts(parts: tuple[str, str, str], encoding: str) -> tuple[str, str, str]:
    """The parts with tabs expanded, and every character replaced that the terminal cannot show."""
    shown, column = [], 0
    for part in parts:
        pieces = []
        for index, piece in enumerate(part.split("\t")):
            if index:
                stop = _TAB - column % _TAB
                pieces.append(" " * stop)
                column += stop
            pieces.append(spelled(_OTHER_BREAKS.sub("?", piece), encoding))
            column += cell_len(pieces[-1])
        shown.append("".join(pieces))
    return shown[0], shown[1], shown[2]
