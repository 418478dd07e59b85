"""A Markdown text put together from the strings of another file, with the way back for every character."""

from dataclasses import replace

from regard.derivations.reading.document import Document
from regard.derivations.reading.ranges import OffsetMap
from regard.derivations.structured.places import Written

_GAP = "\n\n"


class Composition:
    r"""Paragraphs in the order in which they are added.

    >>> composition = Composition()
    >>> composition.formula(Written(text="b", starts=(0,), targets=(20,)), lead="a = ", lead_at=11)
    >>> composition.text, [composition.origin.at(place) for place in (2, 6, 8)]
    ('$$\na = b\n$$', [20, 11, 20])
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._starts: list[int] = []
        self._targets: list[int] = []

    @property
    def text(self) -> str:
        """All paragraphs so far."""
        return "".join(self._texts)

    @property
    def origin(self) -> OffsetMap:
        """From an offset of the text to the offset in the file that it comes from."""
        return OffsetMap(starts=tuple(self._starts) or (0,), targets=tuple(self._targets) or (0,))

    def say(self, text: str, *, at: int) -> None:
        """A paragraph of our own words, which all stand at one place of the file."""
        self._gap(at)
        self._own(text, at)

    def copy(self, written: Written) -> None:
        """A paragraph copied from the file."""
        self._gap(written.targets[0])
        self._copy(written, *_trimmed(written.text))

    def formula(self, written: Written, *, lead: str = "", lead_at: int = 0, is_by_lines: bool = False) -> None:
        """A displayed formula; by lines, each line of the string is a line of the formula."""
        first = written.targets[0]
        self._gap(first)
        self._own("$$\n", first)
        if lead:
            self._own(lead, lead_at)
        begin, end = _trimmed(written.text)
        if is_by_lines:
            self._copy_lines(written, begin, end)
        else:
            self._copy(written, begin, end, is_flat=True)
        self._own("\n$$", self._targets[-1])

    def placed(self, document: Document, stored_lines: tuple[int, ...]) -> Document:
        """A document that was read from the text, with its places in the file."""
        return replace(document, origin=self.origin, stored_lines=stored_lines)

    def _gap(self, at: int) -> None:
        if self._length:
            self._own(_GAP, at)

    def _own(self, text: str, at: int) -> None:
        for sign in text:
            self._add(sign, at)

    def _copy(self, written: Written, begin: int, end: int, *, is_flat: bool = False) -> None:
        origin = OffsetMap(starts=written.starts, targets=written.targets)
        for place in range(begin, end):
            sign = written.text[place]
            self._add(" " if is_flat and sign == "\n" else sign, origin.at(place))

    def _copy_lines(self, written: Written, begin: int, end: int) -> None:
        origin = OffsetMap(starts=written.starts, targets=written.targets)
        place, link = begin, ""
        for line in written.text[begin:end].splitlines(keepends=True):
            content = line.rstrip()
            if content:
                self._own(link, origin.at(place))
                self._copy(written, place, place + len(content))
                link = "\n" if content.endswith("\\\\") else " \\\\\n"
            place += len(line)

    def _add(self, sign: str, at: int) -> None:
        self._starts.append(self._length)
        self._targets.append(at)
        self._texts.append(sign)
        self._length += 1


def _trimmed(text: str) -> tuple[int, int]:
    """Where the text begins and ends without the blanks around it."""
    return len(text) - len(text.lstrip()), len(text.rstrip())
