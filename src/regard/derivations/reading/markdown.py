"""Reads Markdown: front matter, code, headings, quotes, lists and tables, all by offset in the raw text."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.derivations.reading.delimiters import (
    Delimited,
    QuotedLine,
    TextLayout,
    find_images,
    find_mathematics,
    num_sentence_words,
    reads_as_prose,
)
from regard.derivations.reading.document import (
    Document,
    DocumentKind,
    Heading,
    Range,
    Unclosed,
    by_start,
    line_starts,
    masked,
)
from regard.derivations.reading.latex import macro_definitions

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def read_markdown(text: str, path: str, kind: DocumentKind = "markdown") -> Document:
    """The document in a Markdown text; indented text counts as prose, since people indent what continues a list.

    >>> document = read_markdown("# One\\n\\nTake $q$ for `$5`.", "a.md")
    >>> document.headings[0].title, document.spans[0].source, len(document.spans)
    ('One', 'q', 1)
    """
    lines = quoted_lines(text)
    front = front_matter(text, lines)
    blocks = list(_unread_blocks(text, lines, front.end if front else 0))
    fences = [block for block in blocks if isinstance(block, _Fence)]
    markup = [block for block in blocks if isinstance(block, _Markup)]
    hidden = [*(part for fence in fences if fence.is_closed for part in _hidden_parts(text, fence)), *markup]
    readable = masked(text, [*hidden, *([front] if front else [])])
    macros = list(macro_definitions(readable))
    readable = masked(readable, [place for place, _ in macros])
    paragraphs, headings = _paragraphs(readable, lines)
    code, ticked = _code_spans(readable, [_range(run) for run in paragraphs])
    tables = [rows for run in paragraphs if (rows := table_rows(readable, run))]
    layout = TextLayout(
        text=text,
        visible=masked(readable, [*code, *ticked]),
        paragraphs=[_range(run) for run in paragraphs],
        breaks=_breaks(readable, paragraphs, tables),
        dropped=[place for place, _ in macros],
        quoted=[line for line in lines if line.levels],
        table_rows=[row for rows in tables for row in rows],
        macros=[macro for _, macro in macros if macro],
        found=[
            *(formula for fence in fences for formula in _fenced(text, fence)),
            *ticked,
            *(_typed(readable) if kind == "text" and not _DELIMITER.search(text) else ()),
        ],
        unclosed=[Unclosed(offset=item.start, token=item.token) for item in fences if not item.is_closed],
    )
    spans, unclosed = find_mathematics(layout)
    return Document(
        path=path,
        kind=kind,
        text=text,
        spans=spans,
        images=tuple(find_images(layout.visible)),
        headings=tuple(headings),
        quotes=tuple(_quotes(lines)),
        front_matter=front,
        code=tuple(sorted([*code, *filter(_is_code, blocks)], key=by_start)),
        comments=tuple(block for block in markup if block.is_comment),
        unclosed=unclosed,
        macros=tuple(macro for _, macro in macros if macro),
    )


def _range(lines: Sequence[QuotedLine]) -> Range:
    return Range(start=lines[0].start, end=lines[-1].end)


# -- block quotes ------------------------------------------------------------------------------------------------------
_QUOTE_MARK = re.compile(r"[ \t]*> ?")


def quoted_lines(text: str) -> tuple[QuotedLine, ...]:
    r"""The lines of a text with their block quote marks.

    >>> [line.levels for line in quoted_lines("a\n> b\n> > c")]
    [(), (4,), (8, 10)]
    """
    starts = line_starts(text)
    return tuple(_quoted_line(text, start, end) for start, end in itertools.pairwise((*starts, len(text))))


def _quoted_line(text: str, start: int, end: int) -> QuotedLine:
    end = start + len(text[start:end].rstrip("\r\n"))
    levels, place = [], start
    while mark := _QUOTE_MARK.match(text, place, end):
        place = mark.end()
        levels.append(place)
    return QuotedLine(start=start, end=end, levels=tuple(levels))


def _quotes(lines: Sequence[QuotedLine]) -> Iterator[Range]:
    for is_quoted, run in itertools.groupby(lines, key=lambda line: bool(line.levels)):
        if is_quoted:
            yield _range(list(run))


# -- what is no prose: front matter, fences, comments, HTML code -------------------------------------------------------
_YAML = re.compile(r"\s*$|[\w\"'-][\w .\"'-]*:(?:\s|$)|[ \t]|- |#")
_TOML = re.compile(r"\s*$|[\w\"'.-]+\s*=|\[|#|[ \t]")
_MAX_FRONT_LINES = 200
_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})([^\r\n]*)")
_MARKUP = re.compile(r"<!--|<(pre|code|script|style)\b[^>\r\n]{0,200}>", re.IGNORECASE)
_MARKUP_END = re.compile(r"-->|</(pre|code|script|style)\s{0,9}>", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class _Fence(Range):
    """A fenced block with its content and its info string."""

    inner: Range
    info: str
    token: str
    is_closed: bool


@dataclass(frozen=True, kw_only=True)
class _Markup(Range):
    """A comment or a piece of HTML code."""

    is_comment: bool


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


def _unread_blocks(text: str, lines: Sequence[QuotedLine], start: int) -> Iterator[_Fence | _Markup]:
    """Fences, comments and HTML code from an offset on, in order and without overlap; unclosed fences too."""
    fences = _Fences(text, lines)
    markup_ends: dict[str, list[int]] = {}
    for found in _MARKUP_END.finditer(text):
        markup_ends.setdefault((found[1] or "").lower(), []).append(found.end())
    place = start
    for index, line in enumerate(lines):
        if line.end < place:
            continue
        fence = fences.opening_on(index) if line.start >= place else None
        if fence:
            yield fence
            place = max(place, fence.end)
            continue
        for markup in _markup_in(text, Range(start=max(place, line.content), end=line.end), markup_ends):
            yield markup
            place = markup.end


class _Fences:
    """The lines that look like fences; a search that failed is not repeated, so that reading takes linear time."""

    def __init__(self, text: str, lines: Sequence[QuotedLine]) -> None:
        found = ((index, _FENCE.match(text, line.content, line.end)) for index, line in enumerate(lines))
        self.marks = {index: fence for index, fence in found if fence}
        self.order = sorted(self.marks)
        self.lines = lines
        self.hopeless: dict[str, int] = {}

    def opening_on(self, index: int) -> _Fence | None:
        """The fence that opens on a line, up to the line that closes it or the end of its block quote."""
        opening = self.marks.get(index)
        if opening is None or (opening[1][0] == "`" and "`" in opening[2]):
            return None
        depth = len(self.lines[index].levels)
        last = self._quote_end(index, depth) if depth else len(self.lines)
        closing = self._closing(index, last, opening[1])
        is_closed = closing is not None or depth > 0
        if not is_closed:
            self.hopeless[opening[1][0]] = len(opening[1])
        inner_start = self.lines[index + 1].start if index + 1 < len(self.lines) else opening.end()
        final = self.lines[last - 1 if closing is None else closing]
        inner_end = max(inner_start, final.end if closing is None else final.start) if is_closed else inner_start
        return _Fence(
            start=opening.start(1),
            end=max(final.end, inner_end) if is_closed else opening.end(),
            inner=Range(start=inner_start, end=inner_end),
            info=opening[2].strip(),
            token=opening[1],
            is_closed=is_closed,
        )

    def _quote_end(self, index: int, depth: int) -> int:
        end = index + 1
        while end < len(self.lines) and len(self.lines[end].levels) >= depth:
            end += 1
        return end

    def _closing(self, index: int, last: int, mark: str) -> int | None:
        if len(mark) >= self.hopeless.get(mark[0], len(mark) + 1):
            return None
        for number in self.order[bisect_left(self.order, index + 1) : bisect_left(self.order, last)]:
            fence = self.marks[number]
            if fence[1][0] == mark[0] and len(fence[1]) >= len(mark) and not fence[2].strip():
                return number
        return None


def _markup_in(text: str, line: Range, ends: dict[str, list[int]]) -> Iterator[_Markup]:
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
            yield _Markup(start=found.start(), end=place, is_comment=found[0] == "<!--")


_MATH_FENCES = ("math", "{math}", "latex", "tex", "katex")
_TEXT_FENCES = ("", "text", "txt", "plain", "plaintext")
_RELATION = re.compile(r"~?[=≈≤≥<>≫≪∝∼≠→]|\\(?:approx|leq?|geq?|gg|ll|sim|propto|to|neq?)(?![A-Za-z])")
_MATH_SIGN = re.compile(r"\\[A-Za-z]{2,}|[_^]\{|[α-ωΓ-Ω≈≤≥≫≪∝∼∑√∏ᵀ⊤·∞]|(?<=[A-Za-z])_[a-z0-9](?![a-z])")
_CODE = re.compile(
    r"[\"'`;#$]|//|[+*/-]=|==|\b(?:def|return|import|print|for|while|if|else|class|self|None|True|False|let|var|const)\b"
    r"|[a-z]\.[a-z]|\w\[|\)\s*:|^\s*[$>%]\s|->|=>|\{\s*$|^\s*\}"
)
_MAX_WORDS = 1
_PRIME = re.compile(r"(?<=[A-Za-z])'(?![A-Za-z])")
_DELIMITER = re.compile(r"\$|\\[(\[]|\\begin\b|```")
_WIDE_GAP = re.compile(r"(?m)(?<=\S)[ \t]{3,}|^[ \t]*\(?[a-z\d]{1,3}[).][ \t]+|:[ \t]{2,}")


def _hidden_parts(text: str, fence: _Fence) -> list[Range]:
    """All of a fenced block; of a text with formulas in it, only the fences."""
    if _is_math(fence) and _is_text(text, fence):
        return [Range(start=fence.start, end=fence.inner.start), Range(start=fence.inner.end, end=fence.end)]
    return [fence]


def _is_text(text: str, fence: _Fence) -> bool:
    content = text[fence.inner.start : fence.inner.end]
    return "$" in content and reads_as_prose(content)


def _is_math(fence: _Fence) -> bool:
    return fence.is_closed and fence.info.lower().split(maxsplit=1)[:1] in [[name] for name in _MATH_FENCES]


def _is_code(block: _Fence | _Markup) -> bool:
    return block.is_closed and not _is_math(block) if isinstance(block, _Fence) else not block.is_comment


def _fenced(text: str, fence: _Fence) -> Iterator[Delimited]:
    """The formulas of a fenced block: all of it, or each line of a text block that reads like a formula."""
    delimiter = f"{fence.token}{fence.info.lower()}"
    if _is_math(fence) and _is_text(text, fence):
        return
    if _is_math(fence):
        yield Delimited(start=fence.start, end=fence.end, inner=fence.inner, delimiter=delimiter, is_display=True)
    elif fence.is_closed and fence.info.lower() in _TEXT_FENCES:
        for place in _statements(text, fence.inner):
            if _is_formula(text[place.start : place.end], is_declared=fence.info != ""):
                yield Delimited(
                    start=place.start,
                    end=place.end,
                    inner=place,
                    delimiter=delimiter,
                    is_display=True,
                    is_plain_text=True,
                )


def _typed(text: str) -> Iterator[Delimited]:
    """The formulas of a text file without any delimiters: what stands alone on a line, or behind a wide gap in it."""
    for place in _statements(text, Range(start=0, end=len(text)), gap=_WIDE_GAP):
        if _is_formula(_PRIME.sub("", text[place.start : place.end]), is_declared=False):
            yield Delimited(
                start=place.start, end=place.end, inner=place, delimiter="line", is_display=True, is_plain_text=True
            )


def _statements(text: str, block: Range, gap: re.Pattern[str] | None = None) -> list[Range]:
    """The lines of a text block, or what gaps leave of them; one that begins with a relation sign goes on the last."""
    content = text[block.start : block.end]
    found: list[Range] = []
    gaps = [found.end() for found in gap.finditer(content)] if gap is not None else []
    for start, end in itertools.pairwise(sorted({*line_starts(content), *gaps, len(content)})):
        line = content[start:end]
        words = line.strip("> \t\r\n")
        begin = block.start + start + (line.index(words) if words else 0)
        goes_on = _RELATION.match(words) is not None and bool(found) and found[-1].end > found[-1].start
        first = found.pop().start if goes_on else begin
        found.append(Range(start=first, end=begin + len(words)))
    return found


def _is_formula(line: str, *, is_declared: bool) -> bool:
    """True for a relation that is no line of a program; in a block without a name it must have signs of mathematics."""
    if not _RELATION.search(line) or _CODE.search(line) or num_sentence_words(line) > _MAX_WORDS:
        return False
    return is_declared or _MATH_SIGN.search(line) is not None


# -- paragraphs and headings -------------------------------------------------------------------------------------------
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)")
_UNDERLINE = re.compile(r" {0,3}(={3,}|-{3,})[ \t]*$")
_NOTHING = "\0 \t\r\n\f\v"
_MAX_UNDERLINED = 80


def _paragraphs(visible: str, lines: Sequence[QuotedLine]) -> tuple[list[list[QuotedLine]], list[Heading]]:
    """Runs of lines without an empty one, a heading being a run of its own; and the headings."""
    runs: list[list[QuotedLine]] = [[]]
    headings = []
    for line in lines:
        heading = _heading(visible, line) or _underlined(visible, runs[-1], line)
        if heading:
            headings.append(heading)
            runs += [[line], []] if heading.start >= line.start else [[]]
        elif visible[line.content : line.end].strip(_NOTHING):
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
    level, title = len(marks[1]), words.strip()
    return Heading(start=line.start, end=line.end, level=level, title=title, title_start=title_start)


def _underlined(visible: str, before: Sequence[QuotedLine], line: QuotedLine) -> Heading | None:
    """A short line of words over `===` or `---` is a heading; a sentence or a formula over a rule isn't."""
    marks = _UNDERLINE.match(visible, line.content, line.end)
    if marks is None or len(before) != 1 or before[0].end - before[0].content > _MAX_UNDERLINED:
        return None
    words = visible[before[0].content : before[0].end]
    title = words.strip()
    if _ITEM.match(words) or set(title) & set("$|\\\0") or title[-1:] in ".。!！?？:：;；,，":
        return None
    level = 1 if marks[1][0] == "=" else 2
    title_start = before[0].content + len(words) - len(words.lstrip())
    return Heading(start=before[0].start, end=line.end, level=level, title=title, title_start=title_start)


# -- tables, list items, code spans ------------------------------------------------------------------------------------
_BAR = re.compile(r"(?<!\\)\|")
_TICKS = re.compile(r"`+")
_ESCAPED = re.compile(r"(?<!\\)\\`")


def table_rows(visible: str, lines: Sequence[QuotedLine]) -> list[QuotedLine]:
    r"""The rows of the table in a paragraph; none if it has no header with a rule below.

    >>> [row.start for row in table_rows("|a|\n|-|\n|b|", quoted_lines("|a|\n|-|\n|b|"))]
    [0, 4, 8]
    """
    for index in range(1, len(lines)):
        rule = visible[lines[index].content : lines[index].end]
        header = visible[lines[index - 1].content : lines[index - 1].end]
        if "-" in rule and "|" in rule and "|" in header and not set(rule) - set("|:- \t"):
            return [line for line in lines[index - 1 :] if "|" in visible[line.content : line.end]]
    return []


def _breaks(
    visible: str, paragraphs: Sequence[Sequence[QuotedLine]], tables: Sequence[Sequence[QuotedLine]]
) -> list[int]:
    """Where list items, deeper quotes and table cells begin."""
    breaks = {offset for rows in tables for row in rows for offset in _cell_breaks(visible, row)}
    for lines in paragraphs:
        for before, line in itertools.pairwise(lines):
            is_deeper = len(line.levels) > len(before.levels)
            if is_deeper or _ITEM.match(visible, line.content, line.end):
                breaks.add(line.content)
    return sorted(breaks)


def _cell_breaks(visible: str, row: QuotedLine) -> Iterator[int]:
    """Every bar, unless that would leave a cell with half a pair of dollars: then the bar belongs to the formula."""
    bars = [bar.start() for bar in _BAR.finditer(visible, row.content, row.end)]
    edges = [row.content, *bars, row.end]
    yield row.start
    if all(visible.count("$", start, end) % 2 == 0 for start, end in itertools.pairwise(edges)):
        yield from (bar for bar in bars if bar > row.start)


def _code_spans(visible: str, paragraphs: Sequence[Range]) -> tuple[list[Range], list[Delimited]]:
    """Code between backticks, and mathematics written as $`…`$."""
    code: list[Range] = []
    math: list[Delimited] = []
    for span, inner in (pair for paragraph in paragraphs for pair in _ticked(visible, paragraph)):
        before, after = visible[span.start - 1 : span.start], visible[span.end : span.end + 1]
        if before == after == "$" and inner.start == span.start + 1:
            start, end = span.start - 1, span.end + 1
            math.append(Delimited(start=start, end=end, inner=inner, delimiter="$`", is_display=False))
        else:
            code.append(span)
    return code, math


def _ticked(visible: str, paragraph: Range) -> Iterator[tuple[Range, Range]]:
    """Runs of backticks that close each other: the next run of the same length closes; ``quotes'' are no code."""
    runs = [(run.start(), run.end()) for run in _TICKS.finditer(visible, paragraph.start, paragraph.end)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    place = paragraph.start
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
