"""Tables of a Markdown paragraph: their rows, and the bars between cells that inline mathematics doesn't cross."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.derivations.reading.layout import QuotedLine
from regard.derivations.reading.ranges import Range

_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a table and the offsets between its cells."""

    lines: tuple[QuotedLine, ...]
    breaks: tuple[int, ...]

    def row(self, line: QuotedLine) -> Range:
        """The range of one row."""
        return Range(start=line.start, end=line.end)


def tables_in(visible: str, lines: Sequence[QuotedLine]) -> Iterator[Table]:
    r"""The table of a paragraph, if its first rows say that it is one.

    >>> from regard.derivations.reading.blocks import quoted_lines
    >>> [table.breaks for table in tables_in("|a|\n|-|\n|b|", quoted_lines("|a|\n|-|\n|b|"))]
    [(0, 2, 4, 6, 8, 10)]
    """
    for index in range(1, len(lines)):
        rule = visible[lines[index].content : lines[index].end]
        header = visible[lines[index - 1].content : lines[index - 1].end]
        if "-" in rule and "|" in rule and "|" in header and not set(rule) - set("|:- \t"):
            rows = tuple(line for line in lines[index - 1 :] if "|" in visible[line.content : line.end])
            yield Table(lines=rows, breaks=tuple(offset for row in rows for offset in _cell_breaks(visible, row)))
            return


def _cell_breaks(visible: str, row: QuotedLine) -> Iterator[int]:
    """Every bar, unless a cell would be left with half a pair of dollars: then the bar belongs to the formula."""
    bars = [bar.start() for bar in _BAR.finditer(visible, row.content, row.end)]
    edges = [row.content, *bars, row.end]
    yield row.start
    if all(visible.count("$", start, end) % 2 == 0 for start, end in itertools.pairwise(edges)):
        yield from (bar for bar in bars if bar > row.start)
