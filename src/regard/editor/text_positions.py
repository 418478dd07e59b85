"""Places in a text, as Regard counts them and as the language server protocol does.

Regard counts lines and characters from one; the protocol counts from zero, and columns in units of an encoding, mostly
UTF-16, in which a character beyond U+FFFF takes two.
"""

from dataclasses import dataclass
from functools import cached_property

from lsprotocol.types import Position, PositionEncodingKind, Range

from regard.core.verdict import Extent
from regard.derivations.reading.document import line_starts

_BYTES_PER_UNIT = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


@dataclass(frozen=True, kw_only=True)
class TextPositions:
    r"""The lines of a text, and the unit in which the client counts columns.

    >>> TextPositions(text="a\n𝔻 = x").range_of(Extent(line=2, column=3, end_line=2, end_column=6))
    1:3-1:6
    """

    text: str
    encoding: PositionEncodingKind | str = PositionEncodingKind.Utf16

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return line_starts(self.text)

    def line(self, number: int) -> str:
        """The text of a line, counted from zero, without its end; empty beyond the last one."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def position(self, line: int, column: int) -> Position:
        """The client's position of a line and column that count from one."""
        before = self.line(line - 1)[: column - 1]
        return Position(line=line - 1, character=self._units(before))

    def end_of_line(self, number: int) -> Position:
        """The client's position behind the last character of a line, counted from one."""
        return self.position(number, len(self.line(number - 1)) + 1)

    def range_of(self, extent: Extent) -> Range:
        """The client's range of an extent."""
        start, end = self.position(extent.line, extent.column), self.position(extent.end_line, extent.end_column)
        return Range(start=start, end=end)

    def _units(self, text: str) -> int:
        name = str(getattr(self.encoding, "value", self.encoding))
        return len(text.encode(_CODECS[name], "surrogatepass")) // _BYTES_PER_UNIT[name]


def is_inside(position: Position, where: Range) -> bool:
    """True if a position lies in a range or at its end."""
    return _pair(where.start) <= _pair(position) <= _pair(where.end)


def overlap(one: Range, other: Range) -> bool:
    """True if two ranges touch."""
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: Position) -> tuple[int, int]:
    return position.line, position.character
