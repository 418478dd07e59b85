r"""Where sentences begin in prose whose mathematics has been replaced by placeholders.

A sentence ends at 。！？ and at . ! ? before a blank, at an empty line, at a list item, a table row and a heading. It
runs on across an empty line or into a list item where the line before ends in a colon or comma, from a display to the
next display, and from a display to a paragraph that opens with "where", "for", "with", 其中 or the like.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.ranges import Range, line_starts

PLACEHOLDER = "\ufffc"

_END = re.compile(r"[。！？]|[!?](?![!?\w=])|\.(?=\s|$|[\u3000-\u9fff*_\"'”’)\]])")
_CLOSERS = re.compile(r"[\"'”’」』)）\]*_]{0,20}[ \t\u3000]*")
_ENUMERATOR = re.compile(r"[\s>*_(#+-]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})")
_SHORT = re.compile(f".*{any_of('abbreviation')}", re.IGNORECASE | re.DOTALL)
_ITEM = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)]|\(?(?:[a-z]|[ivx]{2,5})[.)])\s|\\item\b|\|)")
_MARKS = re.compile(r"[\s>]*")
_OPEN_ENDED = (":", "：", ",", "，", "、")
_GOES_ON = re.compile(rf"[\s>]*{any_of('continuation')}", re.IGNORECASE)


def sentence_starts(prose: str, headings: Sequence[Range] = (), full_stops: Collection[int] = ()) -> tuple[int, ...]:
    """The offsets at which sentences begin; `full_stops` are the ends of displays that close with a full stop inside.

    >>> sentence_starts("We get c. Then, i.e. later, it is done.")
    (0, 10)
    """
    starts = [0]
    before, is_over = "", True
    for line, after_gap in _lines_of(prose):
        words = prose[line.start : line.end]
        is_heading = _is_inside(headings, line.start)
        is_new = is_heading or after_gap or _ITEM.match(words) is not None
        if is_over or (is_new and (is_heading or not _runs_on(before, words))):
            marks = _MARKS.match(words)
            assert marks is not None
            starts.append(line.start + marks.end())
        inner = list(_inner_starts(prose, line))
        starts += [start for start in inner if start < line.end]
        is_over = is_heading or line.end in inner or line.start + len(words.rstrip()) in full_stops
        before = words
    return tuple(sorted(set(starts)))


def _lines_of(prose: str) -> Iterator[tuple[Range, bool]]:
    """The lines that hold something, trailing blanks aside, and whether an empty line comes before."""
    starts = (*line_starts(prose), len(prose))
    after_gap = False
    for start, end in itertools.pairwise(starts):
        words = prose[start:end].rstrip()
        if words.strip("> \t"):
            yield Range(start=start, end=start + len(words)), after_gap
            after_gap = False
        else:
            after_gap = True


def _is_inside(ranges: Sequence[Range], offset: int) -> bool:
    index = bisect_right(ranges, offset, key=lambda item: item.start) - 1
    return index >= 0 and ranges[index].holds(offset)


def _runs_on(before: str, words: str) -> bool:
    if before.rstrip("*_ \t").endswith(_OPEN_ENDED):
        return True
    return _is_display(before) and (_is_display(words) or _GOES_ON.match(words) is not None)


def _is_display(words: str) -> bool:
    return not words.strip(PLACEHOLDER + "> \t")


def _inner_starts(prose: str, line: Range) -> Iterator[int]:
    for found in _END.finditer(prose, line.start, line.end):
        if found[0] != "." or not _is_short(prose, line.start, found.start()):
            closers = _CLOSERS.match(prose, found.end(), line.end)
            yield closers.end() if closers else found.end()


def _is_short(prose: str, start: int, stop: int) -> bool:
    """True if the full stop belongs to an enumerator in front of the line or to an abbreviation."""
    is_enumerator = stop - start <= 20 and _ENUMERATOR.fullmatch(prose, start, stop)
    return bool(is_enumerator or _SHORT.fullmatch(prose, max(start, stop - 12), stop))
