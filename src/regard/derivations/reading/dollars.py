r"""Mathematics between dollars, told from prices and strays by the cheapest reading of a whole paragraph.

People write `$x$`, `$ x $` and `$5` in one paragraph, and now and then forget a dollar. Each dollar either stands alone
or pairs with the next; each choice has a cost; the reading with the least total cost is taken (in linear time).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.derivations.reading.document import Unclosed
from regard.derivations.reading.layout import Layout, Piece
from regard.derivations.reading.ranges import Range
from regard.derivations.reading.wording import CJK, is_only_words, num_sentence_words, reads_as_prose

_TOKEN = re.compile(r"\\[\s\S]|\$+")
_PRICE = re.compile(r"\d[\d,.]*\s?(?:[kKmMbB]\b|[^\w\s^_\\=+*/$]|\s|$)")
_NO_MATH_RUN = 5
_NESTED = (3, 5, 7)
_LONE, _LONE_AFTER_NUMBER, _LONE_PRICE = 2.0, 0.9, 0.3
_IMPOSSIBLE = 1e9


@dataclass(frozen=True, kw_only=True)
class _Dollar:
    """A single dollar: its offset and how many braces are open there."""

    offset: int
    depth: int


def dollars(layout: Layout, taken: Sequence[Range]) -> tuple[list[Piece], list[Unclosed]]:
    """The pairs of dollars in every paragraph, outside the ranges already taken, and the dollars left over."""
    pieces: list[Piece] = []
    unclosed: list[Unclosed] = []
    starts = [item.start for item in taken]
    for region in _joined_regions(layout):
        if layout.visible.find("$", region.start, region.end) >= 0:
            found, lone = _Paragraph(layout, region, (starts, taken)).reading()
            pieces += found
            unclosed += lone
    return pieces, unclosed


def _joined_regions(layout: Layout) -> list[Range]:
    """Paragraphs, those joined that one `$$…$$` with empty lines inside runs through."""
    joined: list[Range] = []
    is_open = False
    for region in layout.regions:
        words = layout.visible[region.start : region.end]
        is_odd = len(re.findall(r"(?<![\\$])\$\$(?!\$)", words)) % 2 == 1
        head = words.partition("$$")[0]
        if is_open and "$" not in head and (is_odd or head == words) and not reads_as_prose(head):
            joined[-1] = Range(start=joined[-1].start, end=region.end)
            is_open = not is_odd
        else:
            joined.append(region)
            is_open = is_odd and not reads_as_prose(words.rpartition("$$")[2])
    return joined


class _Paragraph:
    """The dollars of one paragraph and what each way of pairing them costs."""

    def __init__(self, layout: Layout, region: Range, taken: tuple[list[int], Sequence[Range]]) -> None:
        self.layout, self.text, self.region = layout, layout.visible, region
        self.taken_starts, self.taken = taken
        self.dollars = self._dollars()
        self.next_double = self._next_double()

    def _dollars(self) -> list[_Dollar]:
        found, depth, place = [], 0, self.region.start
        for token in _TOKEN.finditer(self.text, self.region.start, self.region.end):
            if token[0][0] == "$" and len(token[0]) < _NO_MATH_RUN and not self._is_taken(token.start()):
                depth += _num_opened(self.text, place, token.start())
                place = token.end()
                found += [_Dollar(offset=offset, depth=depth) for offset in range(*token.span())]
        return found

    def _is_taken(self, offset: int) -> bool:
        index = bisect_right(self.taken_starts, offset) - 1
        return index >= 0 and self.taken[index].holds(offset)

    def _is_double(self, index: int) -> bool:
        return index + 1 < len(self.dollars) and self.dollars[index + 1].offset == self.dollars[index].offset + 1

    def _next_double(self) -> list[int]:
        after = [len(self.dollars)] * (len(self.dollars) + 3)
        for index in range(len(self.dollars) - 1, -1, -1):
            after[index] = index if self._is_double(index) else after[index + 1]
        return after

    def reading(self) -> tuple[list[Piece], list[Unclosed]]:
        """The cheapest reading, found from the last dollar to the first."""
        num = len(self.dollars)
        cost = [0.0] * (num + 1)
        choice = [(0, 0)] * num
        for index in range(num - 1, -1, -1):
            options = [(self.lone_cost(index), (index, 1)), *self._pairings(index)]
            totals = [(price + cost[last + width], (last, width)) for price, (last, width) in options]
            cost[index], choice[index] = min(totals, key=lambda option: option[0])
        pieces, lone, index = [], [], 0
        while index < num:
            last, width = choice[index]
            if last > index:
                pieces.append(self._piece(index, last, width))
            elif self.lone_cost(index) == _LONE:
                lone.append(self.dollars[index].offset)
            index = last + width
        return pieces, list(_runs(lone))

    def _pairings(self, index: int) -> list[tuple[float, tuple[int, int]]]:
        """What this dollar can pair with: the closing dollar's number and the width of the delimiter."""
        options = []
        here = self.dollars[index]
        if index + 1 < len(self.dollars):
            options.append((self.inline_cost(index, index + 1), (index + 1, 1)))
            if self.dollars[index + 1].depth > here.depth:
                inner = [index + k for k in _NESTED if index + k < len(self.dollars)]
                closing = [k for k in inner if self.dollars[k].depth == here.depth]
                options += [(self.inline_cost(index, k) + 0.2, (k, 1)) for k in closing]
        if self._is_double(index):
            closing = self.next_double[index + 2]
            if closing < len(self.dollars):
                options.append((self.display_cost(index, closing), (closing, 2)))
        return options

    def lone_cost(self, index: int) -> float:
        """A dollar alone is a slip, unless it is a price: `$5` or `5$`."""
        offset = self.dollars[index].offset
        before, after = self.text[max(offset - 1, 0) : offset], self.text[offset + 1 : offset + 2]
        is_prefix = _PRICE.match(self.text, offset + 1, min(offset + 30, self.region.end))
        is_postfix = before.isdigit() and not (after.isalnum() or after in ("\\", "{", "("))
        if self.layout.is_latex or not (is_prefix or is_postfix):
            return _LONE
        return _LONE_PRICE if is_prefix else _LONE_AFTER_NUMBER

    def inline_cost(self, first: int, last: int) -> float:
        """What it costs to read the text between two dollars as a formula in the line."""
        start, end = self.dollars[first].offset + 1, self.dollars[last].offset
        content = self.text[start:end]
        if not content.strip():
            return _IMPOSSIBLE
        loose = int(content[0].isspace()) + int(content[-1].isspace())
        cost = (0.0, 1.0, 0.6)[loose] + 3.0 * (self.layout.num_breaks(start, end) > 0)
        is_like_price = loose > 0 or content[0].isdigit()
        cost += (2.5 if is_like_price else 1.0) * self.text[end + 1 : end + 2].isdigit()
        cost += 5.0 * self._holds_brackets(start, end)
        cost += 3.0 * (self.dollars[first].depth != self.dollars[last].depth)
        num_words = num_sentence_words(content)
        cost += 1.0 * (num_words == 1) + (4.0 if loose else 2.5) * (num_words > 1)
        if is_only_words(content):
            return cost + 4.0
        return cost + 1.5 * (num_words == 0 and CJK.search(content) is not None and "\\text" not in content)

    def display_cost(self, first: int, last: int) -> float:
        """What it costs to read the text between two double dollars as a display."""
        start, end = self.dollars[first].offset + 2, self.dollars[last].offset
        content = self.text[start:end]
        depth = self.dollars[first].depth
        num_inside = sum(1 for dollar in self.dollars[first + 2 : last] if dollar.depth <= depth)
        return 1.0 * (not content.strip()) + 2.0 * num_inside + 2.0 * (reads_as_prose(content))

    def _holds_brackets(self, start: int, end: int) -> bool:
        inside = self.taken[bisect_left(self.taken_starts, start) : bisect_left(self.taken_starts, end)]
        return any(self.text.startswith(("\\(", "\\["), item.start) for item in inside)

    def _piece(self, first: int, last: int, width: int) -> Piece:
        start, end = self.dollars[first].offset, self.dollars[last].offset + width
        inner = Range(start=start + width, end=end - width)
        return Piece(start=start, end=end, inner=inner, delimiter="$" * width, is_display=width == 2)


def _num_opened(text: str, start: int, end: int) -> int:
    """How many braces more are opened than closed between two offsets, those of sets aside."""
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
