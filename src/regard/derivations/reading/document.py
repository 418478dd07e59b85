"""A document as it was read: the raw text, where its mathematics stands, and what surrounds it."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from regard.core.verdict import Place
from regard.derivations.reading.macros import Macro
from regard.derivations.reading.ranges import Line, OffsetMap, Range, line_starts
from regard.derivations.reading.splitting import PLACEHOLDER, sentence_starts

Kind = Literal["markdown", "latex", "notebook", "text"]
_NOT_BREAK = re.compile(r"[^\r\n]")
_STRUCK = re.compile(
    r"~~(?=\S)(?:[^~\r\n]|~(?!~)|\r?\n(?!\s*\n)){1,4000}~~|<(?P<tag>del|s|strike)>[^<]{1,4000}</(?P=tag)>"
)
_STRUCK_IN_LATEX = re.compile(r"\\(?:sout|st)\s?\{[^{}]{1,4000}\}")


@dataclass(frozen=True, kw_only=True)
class MathSpan(Range):
    """One delimited piece of mathematics; `start` and `end` take in the delimiters, `source` leaves them out.

    `delimiter` is what opens it: `$`, `$$`, `\\(`, `\\[`, `` $` ``, ```` ```math ````, or an environment's name.
    """

    source: str
    delimiter: str
    is_display: bool
    origin: OffsetMap

    def raw_offset(self, offset: int) -> int:
        """The offset in the document's text of the character at this offset of `source`."""
        return self.origin.at(offset)


@dataclass(frozen=True, kw_only=True)
class Image(Range):
    """A picture that the document shows, with the words that stand for it."""

    alt: str


@dataclass(frozen=True, kw_only=True)
class Heading(Range):
    """A heading with its level (1 is the highest); `title` is a piece of the text that begins at `title_start`."""

    level: int
    title: str
    title_start: int


@dataclass(frozen=True, kw_only=True)
class Unclosed:
    """An opening delimiter that nothing closes."""

    offset: int
    token: str


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text with its mathematics found; every offset counts characters of `text` from zero.

    In a notebook `text` is its Markdown cells with an empty line between them, and `place` leads to the stored file.
    """

    path: str
    kind: Kind
    text: str
    spans: tuple[MathSpan, ...] = ()
    images: tuple[Image, ...] = ()
    headings: tuple[Heading, ...] = ()
    quotes: tuple[Range, ...] = ()
    front_matter: Range | None = None
    code: tuple[Range, ...] = ()
    comments: tuple[Range, ...] = ()
    unclosed: tuple[Unclosed, ...] = ()
    macros: tuple[Macro, ...] = ()
    origin: OffsetMap = field(default=OffsetMap(), repr=False)
    stored_lines: tuple[int, ...] = field(default=(), repr=False)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the text; the one that holds an offset is `line_at(offset)`."""
        starts = line_starts(self.text)
        bounds = zip(starts, (*starts[1:], len(self.text)), strict=True)
        texts = [(start, self.text[start:end].rstrip("\r\n")) for start, end in bounds]
        return tuple(
            Line(number=number, start=start, end=start + len(text), text=text)
            for number, (start, text) in enumerate(texts, start=1)
        )

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return tuple(line.start for line in self.lines)

    def line_at(self, offset: int) -> Line:
        """The line of the text on which this offset stands."""
        return self.lines[bisect_right(self._line_starts, offset) - 1]

    def place(self, offset: int) -> Place:
        """File, line and column of a character; columns count characters from one."""
        starts = self.stored_lines or self._line_starts
        stored = self.origin.at(min(max(offset, 0), len(self.text)))
        line = bisect_right(starts, stored)
        return Place(file=self.path, line=line, column=stored - starts[line - 1] + 1)

    def span_at(self, offset: int) -> MathSpan | None:
        """The piece of mathematics that holds this offset, delimiters included."""
        index = bisect_right(self._span_starts, offset) - 1
        return self.spans[index] if index >= 0 and self.spans[index].holds(offset) else None

    @cached_property
    def _span_starts(self) -> tuple[int, ...]:
        return tuple(span.start for span in self.spans)

    @cached_property
    def prose(self) -> str:
        """The text with mathematics as placeholders, comments and front matter as blanks; offsets stay the same."""
        front = [self.front_matter] if self.front_matter else []
        blanks = [(item, _NOT_BREAK.sub(" ", self.text[item.start : item.end])) for item in (*self.comments, *front)]
        return _painted(self.text, [*blanks, *((span, PLACEHOLDER * (span.end - span.start)) for span in self.spans)])

    @cached_property
    def struck(self) -> tuple[Range, ...]:
        r"""What is struck out: ~~this~~, <del>this</del>, \sout{this}."""
        pattern = _STRUCK_IN_LATEX if self.kind == "latex" else _STRUCK
        return tuple(Range(start=found.start(), end=found.end()) for found in pattern.finditer(self.prose))

    def is_struck(self, offset: int) -> bool:
        """True if the character at this offset is struck out."""
        index = bisect_right(self.struck, offset, key=lambda item: item.start) - 1
        return index >= 0 and self.struck[index].holds(offset)

    @cached_property
    def paragraph_starts(self) -> tuple[int, ...]:
        """The offsets at which paragraphs begin: the first line, and those behind an empty one."""
        is_empty = [not line.text.strip("> \t") for line in self.lines]
        return tuple(line.start for k, line in enumerate(self.lines) if k == 0 or (is_empty[k - 1] and not is_empty[k]))

    @cached_property
    def sentence_starts(self) -> tuple[int, ...]:
        """The offsets at which sentences begin."""
        ended = {span.end for span in self.spans if span.is_display and span.source.rstrip().endswith((".", "。"))}
        return sentence_starts(self.prose, self.headings, ended)


def _painted(text: str, hidden: Iterable[tuple[Range, str]]) -> str:
    pieces, place = [], 0
    for item, paint in sorted(hidden, key=lambda pair: pair[0].start):
        start = max(item.start, place)
        if start >= item.end:
            continue
        pieces += [text[place:start], paint[start - item.start :]]
        place = item.end
    return "".join([*pieces, text[place:]])
