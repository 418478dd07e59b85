"""The blocks of a Markdown text in which nothing is prose: front matter, fenced code, comments, HTML code."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.derivations.reading.layout import QuotedLine
from regard.derivations.reading.ranges import Range, line_starts

_QUOTE_MARK = re.compile(r"[ \t]*> ?")
_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})([^\r\n]*)")
_MARKUP = re.compile(r"<!--|<(pre|code|script|style)\b[^>\r\n]{0,200}>", re.IGNORECASE)
_MARKUP_END = re.compile(r"-->|</(pre|code|script|style)\s{0,9}>", re.IGNORECASE)
_YAML = re.compile(r"\s*$|[\w\"'-][\w .\"'-]*:(?:\s|$)|[ \t]|- |#")
_TOML = re.compile(r"\s*$|[\w\"'.-]+\s*=|\[|#|[ \t]")
_MAX_FRONT_LINES = 200


@dataclass(frozen=True, kw_only=True)
class Fence(Range):
    """A fenced block, with the range of its content and its info string; `is_closed` unless nothing ends it."""

    inner: Range
    info: str
    token: str
    is_closed: bool


@dataclass(frozen=True, kw_only=True)
class Markup(Range):
    """A comment or a piece of HTML code."""

    is_comment: bool


def quoted_lines(text: str) -> tuple[QuotedLine, ...]:
    r"""The lines of a text with their block quote marks.

    >>> [line.levels for line in quoted_lines("a\n> b\n> > c")]
    [(), (4,), (8, 10)]
    """
    starts = line_starts(text)
    return tuple(_quoted_line(text, start, end) for start, end in zip(starts, (*starts[1:], len(text)), strict=True))


def _quoted_line(text: str, start: int, end: int) -> QuotedLine:
    end = start + len(text[start:end].rstrip("\r\n"))
    levels, place = [], start
    while mark := _QUOTE_MARK.match(text, place, end):
        place = mark.end()
        levels.append(place)
    return QuotedLine(start=start, end=end, levels=tuple(levels))


def front_matter(text: str, lines: Sequence[QuotedLine]) -> Range | None:
    r"""The settings between two `---` (or `+++`) lines at the very top, if they look like settings.

    >>> front_matter("---\na: 1\n---\nb", quoted_lines("---\na: 1\n---\nb"))
    Range(start=0, end=12)
    """
    first = text[: lines[0].end].rstrip()
    if first not in ("---", "+++"):
        return None
    setting = _YAML if first == "---" else _TOML
    for line in lines[1:_MAX_FRONT_LINES]:
        words = text[line.start : line.end]
        if words.rstrip() == first or (first == "---" and words.rstrip() == "..."):
            return Range(start=0, end=line.end)
        if not setting.match(words):
            return None
    return None


def blocks(text: str, lines: Sequence[QuotedLine], start: int) -> Iterator[Fence | Markup]:
    """Fences, comments and HTML code from an offset on, in order and without overlap; unclosed fences too."""
    fences = _Fences(text, lines)
    ends = _markup_ends(text)
    place = start
    for index, line in enumerate(lines):
        if line.end < place:
            continue
        fence = fences.opening_on(index) if line.start >= place else None
        if fence:
            yield fence
            place = max(place, fence.end)
            continue
        for markup in _markup_in(text, Range(start=max(place, line.content), end=line.end), ends):
            yield markup
            place = markup.end


class _Fences:
    """The lines that look like fences; a search that failed is not tried again, so that all takes linear time."""

    def __init__(self, text: str, lines: Sequence[QuotedLine]) -> None:
        found = ((index, _FENCE.match(text, line.content, line.end)) for index, line in enumerate(lines))
        self.marks = {index: fence for index, fence in found if fence}
        self.order = sorted(self.marks)
        self.lines = lines
        self.hopeless: dict[str, int] = {}

    def opening_on(self, index: int) -> Fence | None:
        """The fence that opens on a line, up to the line that closes it or the end of its block quote."""
        opening = self.marks.get(index)
        if opening is None or (opening[1][0] == "`" and "`" in opening[2]):
            return None
        depth = len(self.lines[index].levels)
        last = _quote_end(self.lines, index, depth) if depth else len(self.lines)
        closing = self._closing(index, last, opening[1])
        is_closed = closing is not None or depth > 0
        if not is_closed:
            self.hopeless[opening[1][0]] = len(opening[1])
        inner_start = self.lines[index + 1].start if index + 1 < len(self.lines) else opening.end()
        final = self.lines[last - 1 if closing is None else closing]
        inner_end = max(inner_start, final.end if closing is None else final.start) if is_closed else inner_start
        return Fence(
            start=opening.start(1),
            end=max(final.end, inner_end) if is_closed else opening.end(),
            inner=Range(start=inner_start, end=inner_end),
            info=opening[2].strip(),
            token=opening[1],
            is_closed=is_closed,
        )

    def _closing(self, index: int, last: int, mark: str) -> int | None:
        if len(mark) >= self.hopeless.get(mark[0], len(mark) + 1):
            return None
        for position in range(bisect_left(self.order, index + 1), bisect_left(self.order, last)):
            fence = self.marks[self.order[position]]
            if fence[1][0] == mark[0] and len(fence[1]) >= len(mark) and not fence[2].strip():
                return self.order[position]
        return None


def _quote_end(lines: Sequence[QuotedLine], index: int, depth: int) -> int:
    end = index + 1
    while end < len(lines) and len(lines[end].levels) >= depth:
        end += 1
    return end


def _markup_ends(text: str) -> dict[str, list[int]]:
    ends: dict[str, list[int]] = {}
    for found in _MARKUP_END.finditer(text):
        ends.setdefault((found[1] or "").lower(), []).append(found.end())
    return ends


def _markup_in(text: str, line: Range, ends: dict[str, list[int]]) -> Iterator[Markup]:
    place = counted = line.start
    num_ticks = 0
    while found := _MARKUP.search(text, place, line.end):
        place = found.end()
        num_ticks, counted = num_ticks + text.count("`", counted, place), place
        closers = ends.get((found[1] or "").lower(), [])
        index = bisect_left(closers, place + 1)
        is_in_code = num_ticks % 2 == 1
        if index < len(closers) and not is_in_code:
            place = counted = closers[index]
            yield Markup(start=found.start(), end=place, is_comment=found[0] == "<!--")
