"""The layout of a Markdown text: paragraphs, headings, lists, quotes, tables and code spans, all by raw offset."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from regard.derivations.reading.blocks import Fence, Markup, blocks, front_matter, quoted_lines
from regard.derivations.reading.document import Heading, Unclosed
from regard.derivations.reading.layout import Layout, Piece, QuotedLine
from regard.derivations.reading.macros import Macro, definitions
from regard.derivations.reading.ranges import Range, masked
from regard.derivations.reading.tables import Table, tables_in

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)")
_UNDERLINE = re.compile(r" {0,3}(={3,}|-{3,})[ \t]*$")
_TICKS = re.compile(r"`+")
_ESCAPED = re.compile(r"(?<!\\)\\`")
_NOTHING = "\0 \t\r\n\f\v"
_MAX_UNDERLINED = 80


def markdown_layout(text: str) -> Layout:
    """The layout of a Markdown text; indented text counts as prose, for people indent what continues a list."""
    lines = quoted_lines(text)
    front = front_matter(text, lines)
    found = list(blocks(text, lines, front.end if front else 0))
    fences = [block for block in found if isinstance(block, Fence)]
    markup = [block for block in found if isinstance(block, Markup)]
    hidden = [*(fence for fence in fences if fence.is_closed), *markup]
    visible, macros = _without_definitions(masked(text, [*hidden, *([front] if front else [])]))
    paragraphs, headings = _paragraphs(visible, lines)
    code, ticked = _code_spans(visible, [_range(run) for run in paragraphs])
    tables = [table for run in paragraphs for table in tables_in(visible, run)]
    return Layout(
        text=text,
        visible=masked(visible, [*code, *ticked]),
        regions=tuple(_range(run) for run in paragraphs),
        breaks=_breaks(visible, paragraphs, tables),
        quoted=tuple(line for line in lines if line.levels),
        tables=tuple(table.row(line) for table in tables for line in table.lines),
        dropped=tuple(place for place, _ in macros),
        pieces=(*(_fenced(fence) for fence in fences if _is_math(fence)), *ticked),
        headings=tuple(headings),
        quotes=tuple(_quotes(lines)),
        front_matter=front,
        code=tuple(sorted([*code, *filter(_is_code, hidden)], key=lambda item: item.start)),
        comments=tuple(block for block in markup if block.is_comment),
        unclosed=tuple(Unclosed(offset=item.start, token=item.token) for item in fences if not item.is_closed),
        macros=tuple(macro for _, macro in macros if macro),
    )


def _without_definitions(visible: str) -> tuple[str, list[tuple[Range, Macro | None]]]:
    found = list(definitions(visible))
    return masked(visible, [place for place, _ in found]), found


def _range(lines: Sequence[QuotedLine]) -> Range:
    return Range(start=lines[0].start, end=lines[-1].end)


def _is_math(fence: Fence) -> bool:
    return fence.is_closed and fence.info.split(maxsplit=1)[:1] in (["math"], ["{math}"])


def _is_code(block: Fence | Markup) -> bool:
    return not (_is_math(block) if isinstance(block, Fence) else block.is_comment)


def _fenced(fence: Fence) -> Piece:
    delimiter = fence.token + "math"
    return Piece(start=fence.start, end=fence.end, inner=fence.inner, delimiter=delimiter, is_display=True)


def _quotes(lines: Sequence[QuotedLine]) -> Iterator[Range]:
    run: list[QuotedLine] = []
    for line in lines:
        if line.levels:
            run.append(line)
        elif run:
            yield _range(run)
            run = []
    if run:
        yield _range(run)


def _paragraphs(visible: str, lines: Sequence[QuotedLine]) -> tuple[list[list[QuotedLine]], list[Heading]]:
    """Runs of lines without an empty one, a heading being a run of its own; and the headings."""
    runs: list[list[QuotedLine]] = [[]]
    headings = []
    for line in lines:
        words = visible[line.content : line.end]
        heading = _heading(visible, line) or _underlined(visible, runs[-1], line)
        if heading:
            headings.append(heading)
            runs += [[line], []] if heading.start >= line.start else [[]]
        elif words.strip(_NOTHING):
            runs[-1].append(line)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run], headings


def _heading(visible: str, line: QuotedLine) -> Heading | None:
    marks = _HEADING.match(visible, line.content, line.end)
    if marks is None:
        return None
    words = visible[marks.end() : line.end]
    if words[:1].strip() and len(marks[1]) == 1:
        return None
    closed = words.rstrip()
    bare = closed.rstrip("#")
    words = bare if bare != bare.rstrip() or not bare else closed
    title_start = marks.end() + len(words) - len(words.lstrip())
    title = words.strip()
    return Heading(start=line.start, end=line.end, level=len(marks[1]), title=title, title_start=title_start)


def _underlined(visible: str, before: Sequence[QuotedLine], line: QuotedLine) -> Heading | None:
    """A short line of words over `===` or `---` is a heading; a sentence or a formula over a rule is not."""
    marks = _UNDERLINE.match(visible, line.content, line.end)
    if marks is None or len(before) != 1 or before[0].end - before[0].content > _MAX_UNDERLINED:
        return None
    words = visible[before[0].content : before[0].end]
    title = words.strip()
    if _ITEM.match(words) or set(title) & set("$|\\\0") or title[-1] in ".。!！?？:：;；,，":
        return None
    level = 1 if marks[1][0] == "=" else 2
    title_start = before[0].content + len(words) - len(words.lstrip())
    return Heading(start=before[0].start, end=line.end, level=level, title=title, title_start=title_start)


def _breaks(visible: str, paragraphs: Sequence[Sequence[QuotedLine]], tables: Sequence[Table]) -> tuple[int, ...]:
    breaks = {offset for table in tables for offset in table.breaks}
    for lines in paragraphs:
        for before, line in itertools.pairwise(lines):
            is_deeper = len(line.levels) > len(before.levels)
            if is_deeper or _ITEM.match(visible, line.content, line.end):
                breaks.add(line.content)
    return tuple(sorted(breaks))


def _code_spans(visible: str, regions: Sequence[Range]) -> tuple[list[Range], list[Piece]]:
    code: list[Range] = []
    math: list[Piece] = []
    for region in regions:
        for span, inner in _ticked(visible, region):
            before, after = visible[span.start - 1 : span.start], visible[span.end : span.end + 1]
            if before == after == "$" and inner.start == span.start + 1:
                whole = Range(start=span.start - 1, end=span.end + 1)
                piece = Piece(start=whole.start, end=whole.end, inner=inner, delimiter="$`", is_display=False)
                math.append(piece)
            else:
                code.append(span)
    return code, math


def _ticked(visible: str, region: Range) -> Iterator[tuple[Range, Range]]:
    """Runs of backticks that close each other: of one length, the next one closes; ``quotes'' are no code."""
    runs = [(run.start(), run.end()) for run in _TICKS.finditer(visible, region.start, region.end)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    place = region.start
    for start, end in runs:
        same = by_length[end - start]
        index = bisect_left(same, end)
        if start < place or index == len(same) or _ESCAPED.match(visible, start - 1):
            continue
        close = same[index]
        if end - start == 2 and visible.find("''", end, close) >= 0:
            continue
        place = close + end - start
        yield Range(start=start, end=place), Range(start=end, end=close)
