r"""Finds the mathematics in a text: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and environments such as `align`.

Explicit delimiters pair like brackets. Dollars are also prices, and people forget some: each paragraph gets the
cheapest of all ways to pair its dollars.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.derivations.reading.braces import closing_braces
from regard.derivations.reading.document import Image, Macro, MappedText, MathSpan, Range, Unclosed, by_start, range_at
from regard.derivations.reading.phrases import any_of

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_ESCAPED_BAR = re.compile(r"\\\|")
_LONGEST_MARKS = 40


@dataclass(frozen=True, kw_only=True)
class Delimited(Range):
    """Delimited mathematics by its offsets; `inner` is what stands between the delimiters."""

    inner: Range
    delimiter: str
    is_display: bool
    is_plain_text: bool = False


@dataclass(frozen=True, kw_only=True)
class QuotedLine(Range):
    """A line with the offsets at which its block quote marks end, outermost first."""

    levels: tuple[int, ...] = ()

    @property
    def content(self) -> int:
        """Where the line goes on after its block quote marks."""
        return self.levels[-1] if self.levels else self.start


@dataclass(frozen=True, kw_only=True)
class TextLayout:
    """The structure of a text in which mathematics is looked for.

    `visible` is the text with NUL for every character that can't belong to mathematics. Delimiters pair within
    `paragraphs`; inline mathematics hardly ever crosses one of the `breaks` (a list item, a table cell). `dropped` is
    what a formula's source must not contain (comments, definitions); `found` and
    `unclosed` are known already.
    """

    text: str
    visible: str
    paragraphs: Sequence[Range]
    breaks: Sequence[int]
    dropped: Sequence[Range]
    quoted: Sequence[QuotedLine] = ()
    table_rows: Sequence[Range] = ()
    macros: Sequence[Macro] = ()
    found: Sequence[Delimited] = ()
    unclosed: Sequence[Unclosed] = ()
    is_latex: bool = False

    def paragraph_number(self, offset: int) -> int:
        """The number of the paragraph that holds an offset, or that comes before it."""
        return bisect_right(self.paragraphs, offset, key=by_start) - 1

    def has_break(self, start: int, end: int) -> bool:
        """True if a list item, a table cell or a quote begins between two offsets."""
        return bisect_left(self.breaks, end) > bisect_right(self.breaks, start)

    def quote_marks(self, piece: Range) -> Iterator[Range]:
        """The block quote marks inside a piece, no more levels of them than where the piece begins."""
        first = bisect_right(self.quoted, piece.start, key=by_start) - 1
        depth = len(self.quoted[first].levels) if first >= 0 and piece.start <= self.quoted[first].end else 0
        last = bisect_left(self.quoted, piece.end, key=by_start)
        for line in self.quoted[first + 1 : last] if depth else ():
            yield Range(start=line.start, end=line.levels[min(depth, len(line.levels)) - 1])


def find_mathematics(layout: TextLayout) -> tuple[tuple[MathSpan, ...], tuple[Unclosed, ...]]:
    """The mathematics of a text, and the opening delimiters that nothing closes."""
    explicit, open_brackets = _explicit(layout)
    paired, open_dollars = _dollars(layout, explicit)
    pieces = list(_outermost([*layout.found, *explicit, *paired, *_macro_calls(layout)]))
    unclosed = sorted([*layout.unclosed, *open_brackets, *open_dollars], key=lambda item: item.offset)
    outside = tuple(item for item in unclosed if range_at(pieces, item.offset) is None)
    return tuple(_span(layout, piece) for piece in pieces), outside


def _outermost(pieces: Iterable[Delimited]) -> Iterator[Delimited]:
    place = 0
    for piece in sorted(pieces, key=lambda item: (item.start, -item.end)):
        if piece.start >= place:
            yield piece
            place = piece.end


def _span(layout: TextLayout, piece: Delimited) -> MathSpan:
    r"""The mathematics of a piece, without quote marks and comments; in a table cell `\|` stands for `|`."""
    first = bisect_left(layout.dropped, piece.start, key=by_start)
    last = bisect_left(layout.dropped, piece.end, key=by_start)
    holes = [*layout.quote_marks(piece), *layout.dropped[first:last]]
    if range_at(layout.table_rows, piece.start):
        escapes = _ESCAPED_BAR.finditer(layout.text, piece.inner.start, piece.inner.end)
        holes += [Range(start=escape.start(), end=escape.start() + 1) for escape in escapes]
    kept = ((layout.text[part.start : part.end], part.start) for part in _without(piece.inner, holes))
    mapped = MappedText.joined(kept, empty_at=piece.inner.start)
    source, origin = mapped.text, mapped.origin
    marker = _MARKER.match(source) if _starts_a_line(layout.text, piece.start) else None
    if marker:
        source, origin = source[marker.end() :], origin.after(marker.end())
    return MathSpan(
        start=piece.start,
        end=piece.end,
        source=source,
        delimiter=piece.delimiter,
        is_display=piece.is_display,
        is_plain_text=piece.is_plain_text,
        origin=origin,
        marker=(marker[marker.lastgroup or 0] if marker else ""),
    )


# The enumerator of a part in front of a formula: `$$b) \quad x = y$$`, `$$(ii) \quad x = y$$`, `$$iii \quad x = y$$`.
_ENUMERATOR = r"(?:[A-Za-z]|[ivxIVX]{2,5}|\d{1,2})"
_GAP = r"(?:\\(?:q?quad|enspace)(?![a-z])|\\hspace\*?\{[^{}]{0,20}\}|~~)"
_MARKER = re.compile(
    rf"\s*(?:(?P<closed>\(\s?{_ENUMERATOR}\s?\))(?=\s*(?:{_GAP}|$))|(?P<half>{_ENUMERATOR}\s?\))"
    rf"|(?P<stopped>{_ENUMERATOR}\s?\.|i{{1,3}}|iv|vi{{1,3}}|ix)(?=\s*{_GAP})"
    rf"|\\(?:text|textbf|textrm|mathbf|mathrm|mbox)\s?\{{\s*(?P<text>\(?\s?{_ENUMERATOR}\s?[).:])\s*\}})(?:\s*{_GAP})*\s*"
)
_LINE_START = re.compile(r"(?:.*[\r\n])?[ \t>*_]*(?:(?:[-+*]|\d{1,3}[.)]|\\item)[ \t]+)?[*_]*", re.DOTALL)


def _starts_a_line(text: str, offset: int) -> bool:
    begin = max(offset - _LONGEST_MARKS, 0)
    before = text[begin:offset]
    has_start = begin == 0 or "\n" in before or "\r" in before
    return has_start and _LINE_START.fullmatch(before) is not None


def _without(kept: Range, holes: Iterable[Range]) -> Iterator[Range]:
    """What is left of a range without some holes."""
    place = kept.start
    for hole in sorted(holes, key=by_start):
        if place < min(hole.start, kept.end):
            yield Range(start=place, end=min(hole.start, kept.end))
        place = max(place, hole.end)
    if place < kept.end:
        yield Range(start=place, end=kept.end)


# -- explicit delimiters -----------------------------------------------------------------------------------------------
_ENVIRONMENTS = frozenset("equation align gather multline eqnarray alignat flalign displaymath math".split())
# Mathematics even without delimiters around them; their own \begin and \end belong to the source.
_INNER = frozenset("aligned gathered alignedat split cases array matrix pmatrix bmatrix vmatrix".split())
_EDGE = re.compile(r"\\(begin|end)\s{0,9}\{([A-Za-z]+\*?)\}|\\\\[()\[\]]|\\[A-Za-z]+|\\[\s\S]")
_BEGIN_IN_MACRO = re.compile(r"\s*\\begin\{([A-Za-z]+\*?)\}")
_END_IN_MACRO = re.compile(r"\\end\{([A-Za-z]+\*?)\}\s*$")
_MATH_IN_MACRO = re.compile(
    r"\$[^$]+\$|\\\(.+\\\)|\\\[.+\\\]|\\begin\{(?P<name>[A-Za-z]+)\*?\}.*\\end\{(?P=name)\*?\}", re.DOTALL
)
_NAMING = re.compile(r"\\(?:label|tag)\*?\s?\{[^{}]*\}")
_CLOSING = {"\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}
_ALIGNAT_COLUMNS = re.compile(r"\s{0,9}\{\s{0,9}\d{1,3}\s{0,9}\}")


@dataclass(frozen=True, kw_only=True)
class _Edge(Range):
    """An opening or closing delimiter; `name` is the same for the two that belong together."""

    name: str
    is_opening: bool
    text: str


def _explicit(layout: TextLayout) -> tuple[list[Delimited], list[Unclosed]]:
    """The explicit pairs from left to right, none inside another, and the openings that nothing closes."""
    edges = list(_edges(layout))
    partners = _partners(edges)
    pieces: list[Delimited] = []
    unclosed: list[Unclosed] = []
    place = 0
    for edge, partner in zip(edges, partners, strict=True):
        if edge.start < place or not edge.is_opening:
            continue
        if partner is not None and _belong_together(layout, edge, partner):
            pieces.append(_delimited(layout, edge, partner))
            place = partner.end
        elif not edge.text.startswith("\\\\"):
            unclosed.append(Unclosed(offset=edge.start, token=edge.text))
    return pieces, unclosed


def _edges(layout: TextLayout) -> Iterator[_Edge]:
    in_macros = dict(_edges_in_macros(layout.macros))
    for found in _EDGE.finditer(layout.visible):
        text, environment = found[0], found[2]
        start, end = found.span()
        if text in in_macros:
            name, is_opening = in_macros[text]
            yield _Edge(start=start, end=end, name=name, is_opening=is_opening, text=text)
        elif environment:
            if environment.rstrip("*") in _ENVIRONMENTS | _INNER:
                yield _Edge(start=start, end=end, name=environment, is_opening=found[1] == "begin", text=text)
        elif layout.is_latex and text.startswith("\\\\"):
            continue
        elif text in _CLOSING:
            yield _Edge(start=start, end=end, name=text, is_opening=True, text=text)
        elif text in _OPENING:
            yield _Edge(start=start, end=end, name=_OPENING[text], is_opening=False, text=text)


def _edges_in_macros(macros: Sequence[Macro]) -> Iterator[tuple[str, tuple[str, bool]]]:
    r"""Macros that only open or close mathematics, such as `\be` for `\begin{equation}`."""
    for macro in macros:
        begin, end = _BEGIN_IN_MACRO.match(macro.body), _END_IN_MACRO.search(macro.body)
        edge = begin or end
        is_one = macro.arity == 0 and (begin is None) != (end is None)
        if edge and is_one and edge[1].rstrip("*") in _ENVIRONMENTS | _INNER:
            yield macro.name, (edge[1], begin is not None)


def _macro_calls(layout: TextLayout) -> Iterator[Delimited]:
    r"""Calls of macros that put their arguments into mathematics, such as `\eq{x = y}`; the whole call is a formula."""
    wrapping = {macro.name: macro for macro in layout.macros if _wraps_mathematics(macro)}
    closing = closing_braces(layout.visible) if wrapping else {}
    for found in _EDGE.finditer(layout.visible) if wrapping else ():
        macro = wrapping.get(found[0])
        end = found.end()
        for _ in range(macro.arity if macro else 0):
            begin = end + len(layout.visible[end : end + 9]) - len(layout.visible[end : end + 9].lstrip())
            end = closing[begin] + 1 if begin in closing else -1
        if macro and end > 0:
            call = Range(start=found.start(), end=end)
            is_display = "\\begin" in macro.body or "\\[" in macro.body or "$$" in macro.body
            yield Delimited(start=call.start, end=end, inner=call, delimiter=macro.name, is_display=is_display)


def _wraps_mathematics(macro: Macro) -> bool:
    """True if the body is mathematics in its delimiters, and holds all arguments, or a whole relation."""
    inner = _MATH_IN_MACRO.search(macro.body)
    if inner is None or (inner["name"] and inner["name"] not in _ENVIRONMENTS):
        return False
    outside = _NAMING.sub("", macro.body[: inner.start()] + macro.body[inner.end() :])
    return "#" not in outside and ("#" in inner[0] or "=" in inner[0])


def _partners(edges: Sequence[_Edge]) -> list[_Edge | None]:
    """For each opening edge, the closing one that matches; only inner environments may nest in their own kind."""
    partners: list[_Edge | None] = [None] * len(edges)
    open_now: dict[str, list[int]] = {}
    for index, edge in enumerate(edges):
        stack = open_now.setdefault(edge.name, [])
        if edge.is_opening:
            if edge.name not in _INNER:
                stack.clear()
            stack.append(index)
        elif stack:
            partners[stack.pop()] = edge
    return partners


def _belong_together(layout: TextLayout, opening: _Edge, closing: _Edge) -> bool:
    if layout.paragraph_number(opening.start) == layout.paragraph_number(closing.start):
        return True
    is_inline = opening.name in ("\\(", "\\\\(")
    return not is_inline and not reads_as_prose(layout.visible[opening.end : closing.start])


def _delimited(layout: TextLayout, opening: _Edge, closing: _Edge) -> Delimited:
    name = opening.name
    start, end = (opening.start, closing.end) if name in _INNER else (opening.end, closing.start)
    if name.startswith("alignat"):
        columns = _ALIGNAT_COLUMNS.match(layout.visible, start, end)
        start = columns.end() if columns else start
    is_display = name not in ("\\(", "\\\\(", "math")
    inner = Range(start=start, end=end)
    return Delimited(start=opening.start, end=closing.end, inner=inner, delimiter=name, is_display=is_display)


# -- dollars -----------------------------------------------------------------------------------------------------------
_DOLLARS = re.compile(r"\\[\s\S]|\$+")
_DOUBLE = re.compile(r"(?<![\\$])\$\$(?!\$)")
_PRICE = re.compile(r"\d[\d,.]*\s?(?:[kKmMbB]\b|[^\w\s^_\\=+*/$]|\s|$)")
_LONGEST_RUN = 4
_NESTED = (3, 5, 7)
_LONE, _LONE_AFTER_NUMBER, _LONE_PRICE = 2.0, 0.9, 0.3
_IMPOSSIBLE = 1e9


def _dollars(layout: TextLayout, taken: Sequence[Delimited]) -> tuple[list[Delimited], list[Unclosed]]:
    """The pairs of dollars outside what is taken already, and the dollars left over."""
    pieces: list[Delimited] = []
    unclosed: list[Unclosed] = []
    for paragraph in _joined_paragraphs(layout):
        if layout.visible.find("$", paragraph.start, paragraph.end) >= 0:
            found, lone = _DollarPairing(layout, paragraph, taken).cheapest()
            pieces += found
            unclosed += lone
    return pieces, unclosed


def _joined_paragraphs(layout: TextLayout) -> list[Range]:
    """The paragraphs, joined where a `$$…$$` with empty lines inside runs through several."""
    joined: list[Range] = []
    is_open = False
    for paragraph in layout.paragraphs:
        words = layout.visible[paragraph.start : paragraph.end]
        is_odd = len(_DOUBLE.findall(words)) % 2 == 1
        head = words.partition("$$")[0]
        if is_open and "$" not in head and (is_odd or head == words) and not reads_as_prose(head):
            joined[-1] = Range(start=joined[-1].start, end=paragraph.end)
            is_open = not is_odd
        else:
            joined.append(paragraph)
            is_open = is_odd and not reads_as_prose(words.rpartition("$$")[2])
    return joined


@dataclass(frozen=True, kw_only=True)
class _Dollar:
    """A single dollar: its offset and how many braces are open there."""

    offset: int
    depth: int


class _DollarPairing:
    """The dollars of one paragraph and what each way to pair them costs.

    Each dollar stands alone or pairs with a later one; dynamic programming finds the least total cost in linear time.
    """

    def __init__(self, layout: TextLayout, paragraph: Range, taken: Sequence[Delimited]) -> None:
        self.layout, self.text, self.paragraph, self.taken = layout, layout.visible, paragraph, taken
        self.dollars = self._find_dollars()
        self.next_double = [len(self.dollars)] * (len(self.dollars) + 3)
        for index in range(len(self.dollars) - 1, -1, -1):
            self.next_double[index] = index if self._is_double(index) else self.next_double[index + 1]

    def _find_dollars(self) -> list[_Dollar]:
        found, depth, place = [], 0, self.paragraph.start
        for token in _DOLLARS.finditer(self.text, self.paragraph.start, self.paragraph.end):
            is_dollar = token[0][0] == "$" and len(token[0]) <= _LONGEST_RUN
            if is_dollar and range_at(self.taken, token.start()) is None:
                depth += _num_opened(self.text, place, token.start())
                place = token.end()
                found += [_Dollar(offset=offset, depth=depth) for offset in range(*token.span())]
        return found

    def _is_double(self, index: int) -> bool:
        return index + 1 < len(self.dollars) and self.dollars[index + 1].offset == self.dollars[index].offset + 1

    def cheapest(self) -> tuple[list[Delimited], list[Unclosed]]:
        """The pairs and the lone dollars of the cheapest pairing, found from the last dollar to the first."""
        num = len(self.dollars)
        cost = [0.0] * (num + 1)
        choice = [(0, 0)] * num
        for index in range(num - 1, -1, -1):
            options = [(self._lone_cost(index), (index, 1)), *self._pairings(index)]
            totals = [(price + cost[last + width], (last, width)) for price, (last, width) in options]
            cost[index], choice[index] = min(totals, key=lambda option: option[0])
        pieces, lone, index = [], [], 0
        while index < num:
            last, width = choice[index]
            if last > index:
                pieces.append(self._delimited(index, last, width))
            elif self._lone_cost(index) == _LONE:
                lone.append(self.dollars[index].offset)
            index = last + width
        return pieces, list(_runs(lone))

    def _pairings(self, index: int) -> list[tuple[float, tuple[int, int]]]:
        """What this dollar can pair with: the cost, the number of the closing dollar, the width of the delimiter."""
        options = []
        here = self.dollars[index]
        if index + 1 < len(self.dollars):
            options.append((self._inline_cost(index, index + 1), (index + 1, 1)))
            if self.dollars[index + 1].depth > here.depth:
                inner = [index + k for k in _NESTED if index + k < len(self.dollars)]
                closing = [k for k in inner if self.dollars[k].depth == here.depth]
                options += [(self._inline_cost(index, k) + 0.2, (k, 1)) for k in closing]
        if self._is_double(index):
            closing = self.next_double[index + 2]
            if closing < len(self.dollars):
                options.append((self._display_cost(index, closing), (closing, 2)))
        return options

    def _lone_cost(self, index: int) -> float:
        """A dollar alone is a slip, unless it belongs to a price: `$5` or `5$`."""
        offset = self.dollars[index].offset
        before, after = self.text[max(offset - 1, 0) : offset], self.text[offset + 1 : offset + 2]
        is_prefix = _PRICE.match(self.text, offset + 1, min(offset + 30, self.paragraph.end))
        is_postfix = before.isdigit() and not (after.isalnum() or after in ("\\", "{", "("))
        if self.layout.is_latex or not (is_prefix or is_postfix):
            return _LONE
        return _LONE_PRICE if is_prefix else _LONE_AFTER_NUMBER

    def _inline_cost(self, first: int, last: int) -> float:
        """The cost of reading the text between two dollars as an inline formula."""
        start, end = self.dollars[first].offset + 1, self.dollars[last].offset
        content = self.text[start:end]
        if not content.strip():
            return _IMPOSSIBLE
        loose = int(content[0].isspace()) + int(content[-1].isspace())
        cost = (0.0, 1.0, 0.6)[loose] + 3.0 * self.layout.has_break(start, end)
        is_like_price = loose > 0 or content[0].isdigit()
        cost += (2.5 if is_like_price else 1.0) * self.text[end + 1 : end + 2].isdigit()
        cost += 5.0 * self._holds_brackets(start, end)
        cost += 3.0 * (self.dollars[first].depth != self.dollars[last].depth)
        num_words = num_sentence_words(content)
        cost += 1.0 * (num_words == 1) + (4.0 if loose else 2.5) * (num_words > 1)
        if is_only_words(content):
            return cost + 4.0
        return cost + 1.5 * (num_words == 0 and CJK.search(content) is not None and "\\text" not in content)

    def _display_cost(self, first: int, last: int) -> float:
        """The cost of reading the text between two double dollars as a display."""
        start, end = self.dollars[first].offset + 2, self.dollars[last].offset
        content = self.text[start:end]
        depth = self.dollars[first].depth
        num_inside = sum(1 for dollar in self.dollars[first + 2 : last] if dollar.depth <= depth)
        return 1.0 * (not content.strip()) + 2.0 * num_inside + 2.0 * reads_as_prose(content)

    def _holds_brackets(self, start: int, end: int) -> bool:
        first = bisect_left(self.taken, start, key=by_start)
        last = bisect_left(self.taken, end, key=by_start)
        return any(self.text.startswith(("\\(", "\\["), item.start) for item in self.taken[first:last])

    def _delimited(self, first: int, last: int, width: int) -> Delimited:
        start, end = self.dollars[first].offset, self.dollars[last].offset + width
        inner = Range(start=start + width, end=end - width)
        return Delimited(start=start, end=end, inner=inner, delimiter="$" * width, is_display=width == 2)


def _num_opened(text: str, start: int, end: int) -> int:
    r"""How many more braces open than close between two offsets; `\{` and `\}` don't count."""
    plain = text.count("{", start, end) - text.count("}", start, end)
    return plain - text.count("\\{", start, end) + text.count("\\}", start, end)


def _runs(offsets: Sequence[int]) -> Iterator[Unclosed]:
    """Lone dollars next to each other are one delimiter."""
    start = end = -1
    for offset in (*offsets, -1):
        if offset == end:
            end += 1
            continue
        if start >= 0:
            yield Unclosed(offset=start, token="$" * (end - start))
        start, end = offset, offset + 1


# -- formula or sentence? ----------------------------------------------------------------------------------------------
_IN_FORMULA = re.compile(
    r"\\(?:text|textrm|textbf|textit|textnormal|mbox|hbox|mathrm|mathbf|mathsf|mathit|operatorname\*?|label|tag|"
    r"intertext|begin|end)\s{0,9}\{[^{}]{0,2000}\}|[_^]\{[^{}]{0,2000}\}|\\[A-Za-z]+"
)
_WORD_ROW = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?:[ \t\r\n\0]+[A-Za-z]{2,})+(?![A-Za-z])")
_LINK_WORD = re.compile(rf"(?<![\\_^]){any_of('link_word')}", re.IGNORECASE)
_SIGN = re.compile(r"[^\s\0,.;:!?'\"()\[\]{}“”‘’…—\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def num_sentence_words(content: str) -> int:
    r"""How many words stand in rows of two or more, outside text commands and indices; a lone link word counts one.

    >>> [num_sentence_words(words) for words in ("x = 1 and so we find", r"\text{for all } i", "5 and ")]
    [4, 0, 1]
    """
    bare = _IN_FORMULA.sub(" ", content)
    return sum(_word_rows(bare)) or int(_LINK_WORD.search(bare) is not None)


def is_only_words(content: str) -> bool:
    """True if nothing in it could be part of a formula: only link words, Chinese or the like, punctuation.

    >>> is_only_words(" and "), is_only_words("，"), is_only_words("和"), is_only_words("="), is_only_words("x")
    (True, True, True, False, False)
    """
    return not _SIGN.search(_LINK_WORD.sub(" ", content))


def reads_as_prose(content: str) -> bool:
    """True if it contains part of a sentence, so that no display can run across it."""
    bare = _IN_FORMULA.sub(" ", content)
    return max(_word_rows(bare), default=0) >= 3 or len(CJK.findall(bare)) >= 6


def _word_rows(bare: str) -> list[int]:
    return [len(row[0].split()) for row in _WORD_ROW.finditer(bare)]


# -- pictures ----------------------------------------------------------------------------------------------------------
_LINKED_FILE = r"(?<!!)\[[^\[\]\r\n]{0,500}\](?=\((?![a-z]+:)[^()\s]{1,300}\.(?:png|jpe?g|heic|gif|webp|pdf)\))"
_IMAGE = re.compile(
    r"!\[([^\[\]\r\n]{0,500})\](?=[(\[])|!\[\[|<(?:img|object|embed)\b"
    rf"|\\include(?:graphics|pdf|svg)(?![A-Za-z])|{_LINKED_FILE}",
    re.IGNORECASE,
)
_ALT = re.compile(r"""\balt\s{0,9}=\s{0,9}["']([^"'>]{0,500})""", re.IGNORECASE)
_IMAGE_END = {"(": ")", "[": "]", "!": "]]", "<": ">", "\\": "}"}
# Where the name of its file is; a picture that is written out (data:…) has none.
_IMAGE_FILE = {
    "(": re.compile(r"\(\s{0,9}(?!data:)(?:attachment:)?(<[^<>]{1,300}|[^\s()<>]{1,300})"),
    "[": re.compile(r"\[([^\[\]]{1,300})"),
    "!": re.compile(r"([^\[\]|]{1,300})"),
    "<": re.compile(r"""\b(?:src|data)\s{0,9}=\s{0,9}["']?(?!data:)([^"'>\s]{1,300})""", re.IGNORECASE),
    "\\": re.compile(r"\{([^{}]{1,300})\}"),
}
_LONGEST_IMAGE = 2_000


def find_images(visible: str) -> Iterator[Image]:
    """The pictures in a text, and the links to files with pictures, in order.

    >>> [(image.alt, image.file) for image in find_images('![a plot](plot.png) <img src="b.png" alt="b"> [c](c.pdf)')]
    [('a plot', 'plot.png'), ('b', 'b.png'), ('', 'c.pdf')]
    """
    for found in _IMAGE.finditer(visible):
        kind = visible[found.end()] if found[0].endswith("]") else found[0][0]
        end = visible.find(_IMAGE_END[kind], found.end(), found.end() + _LONGEST_IMAGE)
        end = found.end() if end < 0 else end + len(_IMAGE_END[kind])
        alt = _ALT.search(visible, found.end(), end) if kind == "<" else None
        file = _IMAGE_FILE[kind].search(visible, found.end(), end)
        name = "".join(filter(str.isprintable, file[1])).strip("< ") if file else ""
        yield Image(start=found.start(), end=end, alt=found[1] or (alt[1] if alt else ""), file=name)
