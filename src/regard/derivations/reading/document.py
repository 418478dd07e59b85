"""A document as it was read: the raw text, where its mathematics and headings are, and the prose around a formula.

Every offset counts characters of the text from zero.
"""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Literal, TypeVar

from regard.core.verdict import Extent, Place
from regard.derivations.reading.phrases import any_of

DocumentKind = Literal["markdown", "latex", "notebook", "text"]
PLACEHOLDER = "\ufffc"  # stands for a character of mathematics in prose

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NOT_BREAK = re.compile(r"[^\r\n]")
_STRUCK = re.compile(
    r"~~(?=\S)(?:[^~\r\n]|~(?!~)|\r?\n(?!\s*\n)){1,4000}~~|<(?P<tag>del|s|strike)>[^<]{1,4000}</(?P=tag)>"
)
_STRUCK_IN_LATEX = re.compile(r"\\(?:sout|st)\s?\{[^{}]{1,4000}\}")
_LIST_ITEM = re.compile(r"[\s>]*(?:[-*+]\s|\d{1,3}[.)]\s|\\item\b|\\begin\{(?:itemize|enumerate)\}|$)")
_SYMBOLS = re.compile(r"^symbols:[ \t]*\r?\n((?:[ \t]+\S.*\n)+)", re.MULTILINE)
_LONGEST_LIST = 40


# -- ranges ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Range:
    """The characters from `start` up to, not including, `end`."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        """True if the character at this offset is in the range."""
        return self.start <= offset < self.end


_R = TypeVar("_R", bound=Range)
by_start = attrgetter("start")


@dataclass(frozen=True, kw_only=True)
class Line(Range):
    """A line of the text, without its line break."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Passage(Range):
    """A stretch of a document's prose, with mathematics as placeholders."""

    text: str


@dataclass(frozen=True, kw_only=True)
class OffsetMap:
    """The way back from a derived text: what begins at `starts[i]` was copied from offset `targets[i]`.

    >>> OffsetMap(starts=(0, 2), targets=(10, 15)).at(3)
    16
    """

    starts: tuple[int, ...] = (0,)
    targets: tuple[int, ...] = (0,)

    def at(self, offset: int) -> int:
        """The offset from which the character at this offset of the derived text was copied."""
        piece = max(bisect_right(self.starts, offset) - 1, 0)
        return self.targets[piece] + offset - self.starts[piece]

    def after(self, offset: int) -> "OffsetMap":
        """The map of what is left of the derived text from an offset on."""
        piece = max(bisect_right(self.starts, offset), 1)
        starts = (0, *(start - offset for start in self.starts[piece:]))
        return OffsetMap(starts=starts, targets=(self.at(offset), *self.targets[piece:]))

    def onto(self, outer: "OffsetMap") -> "OffsetMap":
        """The way back through two derived texts: this map leads into the text of which `outer` knows the origin.

        >>> OffsetMap(starts=(0, 2), targets=(0, 3)).onto(OffsetMap(starts=(0, 4), targets=(10, 20)))
        OffsetMap(starts=(0, 2, 3), targets=(10, 13, 20))
        """
        starts: list[int] = []
        for start, end, target in zip(self.starts, [*self.starts[1:], None], self.targets, strict=True):
            starts.append(start)
            first = bisect_right(outer.starts, target)
            last = len(outer.starts) if end is None else bisect_left(outer.starts, target + end - start)
            starts += [start + inner - target for inner in outer.starts[first:last]]
        return OffsetMap(starts=tuple(starts), targets=tuple(outer.at(self.at(start)) for start in starts))


@dataclass(frozen=True, kw_only=True)
class MappedText:
    """A derived text and the way back from it."""

    text: str
    origin: OffsetMap

    @classmethod
    def joined(cls, pieces: Iterable[tuple[str, int]], *, empty_at: int = 0) -> "MappedText":
        """Pieces one after another, each with the offset from which it was copied; no pieces stand at `empty_at`.

        >>> MappedText.joined([("ab", 10), ("c", 15)])
        MappedText(text='abc', origin=OffsetMap(starts=(0, 2), targets=(10, 15)))
        """
        pieces = list(pieces) or [("", empty_at)]
        starts = itertools.accumulate((len(text) for text, _ in pieces[:-1]), initial=0)
        origin = OffsetMap(starts=tuple(starts), targets=tuple(target for _, target in pieces))
        return cls(text="".join(text for text, _ in pieces), origin=origin)


def range_at(ranges: Sequence[_R], offset: int) -> _R | None:
    """The range that holds an offset, among disjoint ranges in order."""
    index = bisect_right(ranges, offset, key=by_start) - 1
    return ranges[index] if index >= 0 and ranges[index].holds(offset) else None


def line_starts(text: str) -> tuple[int, ...]:
    r"""The offset at which each line begins; \n, \r\n and \r all end a line.

    >>> line_starts("a\r\nb\rc\n")
    (0, 3, 5, 7)
    """
    return (0, *(found.end() for found in _LINE_BREAK.finditer(text)))


def masked(text: str, ranges: Iterable[Range], mask: str = "\0") -> str:
    r"""The text with every character of the ranges, except line breaks, replaced by a mask; offsets stay the same.

    >>> masked("a `b` c", [Range(start=2, end=5)], "-")
    'a --- c'
    """
    pieces, place = [], 0
    for hidden in sorted(ranges, key=by_start):
        if hidden.end <= place:
            continue
        start = max(hidden.start, place)
        pieces += [text[place:start], _NOT_BREAK.sub(mask, text[start : hidden.end])]
        place = hidden.end
    return "".join([*pieces, text[place:]])


# -- the document ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class MathSpan(Range):
    """A delimited piece of mathematics; `start` and `end` include the delimiters, `source` doesn't.

    `delimiter` is what opens it: `$`, `$$`, `\\(`, `\\[`, `` $` ``, ```` ```math ````, or the name of an environment.
    `marker` is the enumerator of a part that stands in front of the formula, inside the delimiters; `source` is without
    it. `is_plain_text` says that it stands in a text block, and is typed without LaTeX.
    """

    source: str
    delimiter: str
    is_display: bool
    origin: OffsetMap
    is_plain_text: bool = False
    marker: str = ""

    def raw_offset(self, offset: int) -> int:
        """The offset in the document's text of the character at this offset of `source`."""
        return self.origin.at(offset)


@dataclass(frozen=True, kw_only=True)
class Image(Range):
    """A picture with its alternative text, and the name of its file as written, both empty if there is none."""

    alt: str
    file: str


@dataclass(frozen=True, kw_only=True)
class Heading(Range):
    """A heading and its level (1 is the highest); `title` begins at `title_start`."""

    level: int
    title: str
    title_start: int


@dataclass(frozen=True, kw_only=True)
class Unclosed:
    """An opening delimiter that nothing closes."""

    offset: int
    token: str


@dataclass(frozen=True, kw_only=True)
class Macro:
    r"""A command that the document defines: `name` (with its backslash) takes `arity` arguments, `#1` … in `body`."""

    name: str
    arity: int
    body: str


@dataclass(frozen=True, kw_only=True)
class NotebookCell:
    """A Markdown cell: its number among all cells, counted from one, and where it starts in the document's text."""

    number: int
    start: int


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text in which the mathematics has been found.

    The text of a notebook is that of its Markdown cells with an empty line between them; `place` leads to the stored
    file. `declarations` is the TOML of the file that declares its symbols, empty if there is none, and `images_beside`
    are the names of pictures that came with it.
    """

    path: str
    kind: DocumentKind
    text: str
    spans: tuple[MathSpan, ...] = ()
    images: tuple[Image, ...] = ()
    headings: tuple[Heading, ...] = ()
    declarations: str = ""
    images_beside: tuple[str, ...] = ()
    quotes: tuple[Range, ...] = ()
    front_matter: Range | None = None
    code: tuple[Range, ...] = ()
    comments: tuple[Range, ...] = ()
    unclosed: tuple[Unclosed, ...] = ()
    macros: tuple[Macro, ...] = ()
    origin: OffsetMap = field(default=OffsetMap(), repr=False)
    stored_lines: tuple[int, ...] = field(default=(), repr=False)
    cells: tuple[NotebookCell, ...] = ()

    @property
    def declares_symbols(self) -> bool:
        """True if its front matter or the file beside it declares symbols."""
        return bool(self.declarations or self.symbol_lines)

    @property
    def symbol_lines(self) -> str:
        """The lines under `symbols:` in the front matter."""
        front = self.front_matter
        block = _SYMBOLS.search(self.text, front.start, front.end) if front is not None else None
        return "" if block is None else block[1]

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the text."""
        bounds = itertools.pairwise((*self._line_starts, len(self.text)))
        texts = [(start, self.text[start:end].rstrip("\r\n")) for start, end in bounds]
        return tuple(
            Line(number=number, start=start, end=start + len(text), text=text)
            for number, (start, text) in enumerate(texts, start=1)
        )

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return line_starts(self.text)

    def line_at(self, offset: int) -> Line:
        """The line that holds an offset."""
        return self.lines[bisect_right(self._line_starts, offset) - 1]

    def place(self, offset: int) -> Place:
        """File, line and column of a character; columns count characters from one."""
        starts = self.stored_lines or self._line_starts
        stored = self.origin.at(min(max(offset, 0), len(self.text)))
        line = bisect_right(starts, stored)
        place = Place(file=self.path, line=line, column=stored - starts[line - 1] + 1)
        if not self.cells:
            return place
        cell = self.cells[max(bisect_right(self.cells, offset, key=by_start), 1) - 1]
        return replace(place, cell=cell.number, cell_line=self.text.count("\n", cell.start, offset) + 1)

    def extent(self, start: int, end: int) -> Extent:
        """The lines and columns from one character to before another."""
        first, last = self.place(start), self.place(max(end - 1, start))
        return Extent(line=first.line, column=first.column, end_line=last.line, end_column=last.column + 1)

    def span_at(self, offset: int) -> MathSpan | None:
        """The piece of mathematics that holds an offset, delimiters included."""
        return range_at(self.spans, offset)

    @cached_property
    def prose(self) -> str:
        """The text with mathematics as placeholders, comments and front matter as blanks; offsets stay the same.

        >>> Document(path="", kind="text", text="a <!-- b --> c", comments=(Range(start=2, end=12),)).prose
        'a            c'
        """
        front = [self.front_matter] if self.front_matter else []
        blank = masked(self.text, [*self.comments, *front], " ")
        pieces, place = [], 0
        for span in self.spans:
            pieces += [blank[place : span.start], PLACEHOLDER * (span.end - span.start)]
            place = span.end
        return "".join([*pieces, blank[place:]])

    @cached_property
    def struck(self) -> tuple[Range, ...]:
        r"""What is struck out: ~~this~~, <del>this</del>, \sout{this}."""
        pattern = _STRUCK_IN_LATEX if self.kind == "latex" else _STRUCK
        return tuple(Range(start=found.start(), end=found.end()) for found in pattern.finditer(self.prose))

    def is_struck(self, offset: int) -> bool:
        """True if the character at this offset is struck out."""
        return range_at(self.struck, offset) is not None

    def paragraph_start(self, offset: int) -> int:
        """Where the paragraph that holds an offset begins: after the empty line before it."""
        return self._paragraph_starts[bisect_right(self._paragraph_starts, offset) - 1]

    @cached_property
    def _paragraph_starts(self) -> tuple[int, ...]:
        is_empty = [not line.text.strip("> \t") for line in self.lines]
        return tuple(line.start for k, line in enumerate(self.lines) if k == 0 or (is_empty[k - 1] and not is_empty[k]))

    @cached_property
    def sentence_starts(self) -> tuple[int, ...]:
        """The offsets at which sentences begin."""
        ended = {span.end for span in self.spans if span.is_display and span.source.rstrip().endswith((".", "。"))}
        return sentence_starts(self.prose, self.headings, ended)

    def sentence_before(self, offset: int) -> Passage:
        """The prose from the start of a sentence up to an offset, or up to the formula that holds the offset."""
        span = self.span_at(offset)
        end = span.start if span else offset
        start = self.sentence_starts[max(bisect_right(self.sentence_starts, end) - 1, 0)]
        return Passage(start=start, end=end, text=self.prose[start:end])

    def sentence_after(self, offset: int) -> Passage:
        """The prose from an offset, or from the end of the formula that holds it, to the end of the sentence."""
        span = self.span_at(offset)
        start = span.end if span else offset
        starts = self.sentence_starts
        index = bisect_left(starts, start) if span else bisect_right(starts, start)
        end = starts[index] if index < len(starts) else len(self.text)
        text = self.prose[start:end].rstrip()
        return Passage(start=start, end=start + len(text), text=text)

    def lead_in(self, offset: int) -> Range | None:
        """The sentence, ending in a colon, that leads the list in which an item begins at this offset."""
        number = self.line_at(offset).number - 1
        lines = self.lines[max(number - _LONGEST_LIST, 0) : number + 1]
        if not lines[-1].text.strip() or not _LIST_ITEM.match(lines[-1].text):
            return None
        leading = next((line for line in reversed(lines) if not _LIST_ITEM.match(line.text)), None)
        if leading is None or not leading.text.rstrip("*_ \t").endswith((":", "：")):
            return None
        return Range(start=self.sentence_before(leading.end).start, end=leading.end)


# -- sentences ---------------------------------------------------------------------------------------------------------
_SENTENCE_END = re.compile(r"[。！？]|[!?](?![!?\w=])|\.(?=\s|$|[\u3000-\u9fff*_\"'”’)\]])")
_CLOSERS = re.compile(r"[\"'”’」』)）\]*_]{0,20}[ \t\u3000]*")
_ENUMERATOR = re.compile(r"[\s>*_(#+-]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})")
_ABBREVIATION = re.compile(f".*{any_of('abbreviation')}", re.IGNORECASE | re.DOTALL)
_NEW_ITEM = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)]|\(?(?:[a-z]|[ivx]{2,5})[.)])\s|\\item\b|\|)")
_MARKS = re.compile(r"[\s>]*")
_OPEN_ENDED = (":", "：", ",", "，", "、")
_LEADS_IN = re.compile(rf"(?:{any_of('consequence')}|{any_of('asserting')})\s*$", re.IGNORECASE)
_CONTINUATION = re.compile(rf"[\s>]*{any_of('continuation')}", re.IGNORECASE)


def sentence_starts(prose: str, headings: Sequence[Range] = (), full_stops: Collection[int] = ()) -> tuple[int, ...]:
    """The offsets at which sentences begin; `full_stops` are the ends of displays that end in a full stop.

    A sentence ends at 。！？ and at . ! ? before a blank, at an empty line, a list item, a table row and a heading. It
    continues across an empty line or into a list item if the line before ends in a colon or comma, from "then" or "we
    get" to a display, from a display to the next display, and from a display to a paragraph that opens with "where",
    "for" or the like.

    >>> sentence_starts("We get c. Then, i.e. later, it is done.")
    (0, 10)
    """
    starts = [0]
    before, is_over = "", True
    for line, after_gap in _filled_lines(prose):
        words = prose[line.start : line.end]
        is_heading = range_at(headings, line.start) is not None
        is_new = is_heading or after_gap or _NEW_ITEM.match(words) is not None
        if is_over or (is_new and (is_heading or not _runs_on(before, words))):
            marks = _MARKS.match(words)
            assert marks is not None
            starts.append(line.start + marks.end())
        inner = list(_starts_inside(prose, line))
        starts += [start for start in inner if start < line.end]
        is_over = is_heading or line.end in inner or line.start + len(words.rstrip()) in full_stops
        before = words
    return tuple(sorted(set(starts)))


def _filled_lines(prose: str) -> Iterator[tuple[Range, bool]]:
    """The lines that aren't empty, without trailing blanks, and whether an empty line comes before."""
    after_gap = False
    for start, end in itertools.pairwise((*line_starts(prose), len(prose))):
        words = prose[start:end].rstrip()
        if words.strip("> \t"):
            yield Range(start=start, end=start + len(words)), after_gap
        after_gap = not words.strip("> \t")


def _runs_on(before: str, words: str) -> bool:
    if before.rstrip("*_ \t").endswith(_OPEN_ENDED) or (_is_display(words) and _LEADS_IN.search(before)):
        return True
    return _is_display(before) and (_is_display(words) or _CONTINUATION.match(words) is not None)


def _is_display(words: str) -> bool:
    return not words.strip(PLACEHOLDER + "> \t")


def _starts_inside(prose: str, line: Range) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(prose, line.start, line.end):
        if found[0] != "." or not _is_abbreviated(prose, line.start, found.start()):
            closers = _CLOSERS.match(prose, found.end(), line.end)
            yield closers.end() if closers else found.end()


def _is_abbreviated(prose: str, start: int, stop: int) -> bool:
    """True if the full stop belongs to an enumerator in front of the line or to an abbreviation."""
    is_enumerator = stop - start <= 20 and _ENUMERATOR.fullmatch(prose, start, stop)
    return bool(is_enumerator or _ABBREVIATION.fullmatch(prose, max(start, stop - 12), stop))
