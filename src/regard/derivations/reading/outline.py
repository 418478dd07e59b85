"""How a document is divided into questions: sections with paths such as ("1", "b", "i").

The top level is an arabic number, the second a letter, the third a roman numeral; a level that the document doesn't
name is the empty string. Sections nest: one ends where its next sibling, or that of an ancestor, begins.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.derivations.reading.document import PLACEHOLDER, Document, Range
from regard.derivations.reading.openings import ROMANS, AnswerMark, Enumerator, Opening, letter, openings, roman
from regard.derivations.reading.phrases import any_of

# From two questions on that end in a block quote, the quotes are the answers.
_MIN_QUOTED = 2
_MAX_JUMP = 4


@dataclass(frozen=True, kw_only=True)
class Section(Range):
    """A question's part of the document, from its heading at `start`; its text begins at `body`.

    `is_restated` says that all of it is the question's own text, and the answer comes later.
    """

    path: tuple[str, ...]
    title: str
    body: int
    is_restated: bool = False


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The sections of a document in the order in which they open, and the ranges that only restate questions."""

    sections: tuple[Section, ...]
    restated: tuple[Range, ...]

    def section_at(self, offset: int) -> Section | None:
        """The innermost section with a path that holds an offset; failing that, the innermost with a title."""
        holding = [section for section in self.sections if section.holds(offset)]
        with_path = [section for section in holding if section.path]
        return next(reversed(with_path or holding), None)


def outline(document: Document) -> Outline:
    r"""The sections of a document, and what in them is question and not answer.

    After "My answer:", "Solution:", 答 and the like comes the answer; what its section holds before that is the
    question. A block quote right after a question in bold is an answer too. A section without any such mark is all
    answer.

    >>> from regard.derivations.reading.files import read_text
    >>> found = outline(read_text("1.(a) Copying\n\ni. Why?\n\nMy answer: so.\n\n1.(b)\n\nNo."))
    >>> [section.path for section in found.sections], found.restated[0].end
    ([('1', 'a'), ('1', 'a', 'i'), ('1', 'b')], 24)
    """
    found = openings(document)
    builder = _OutlineBuilder(document, found, takes_quotes=False)
    if builder.num_quoted >= _MIN_QUOTED:
        builder = _OutlineBuilder(document, found, takes_quotes=True)
    sections = sorted(builder.sections, key=lambda item: (item.start, -item.end))
    return Outline(sections=tuple(_section(document, item) for item in sections), restated=tuple(builder.restated))


@dataclass(kw_only=True)
class _OpenSection:
    """A section while it is built; `rank` orders headings, a plain line coming below the heading it stands under.

    `num_answers` is how many answers had been marked before it; `first_inner` is where its first inner section begins;
    `words` is where the words after its enumerator begin; `written` is the number and letter of a plain line.
    """

    start: int
    path: tuple[str, ...] = ()
    title: str = ""
    body: int = 0
    words: int = 0
    rank: float = 0.0
    word: str = ""
    is_heading: bool = True
    num_answers: int = 0
    end: int = -1
    first_inner: int = -1
    is_restated: bool = False
    is_marked: bool = False
    is_roman: bool = False
    ordinal: int = 0
    written: tuple[int, str] | None = None


def _section(document: Document, item: _OpenSection) -> Section:
    """A line that is all there is of a section counts as its text, not only as its title."""
    is_empty = item.first_inner < 0 and not document.text[item.body : item.end].strip()
    body = min(item.words if is_empty else item.body, item.end)
    return Section(
        start=item.start, end=item.end, body=body, path=item.path, title=item.title, is_restated=item.is_restated
    )


class _OutlineBuilder:
    """A stack of open sections, through which openings and answer marks go in order.

    With `takes_quotes`, block quotes at the end of questions count as answers; `num_quoted` counts them either way.
    """

    def __init__(self, document: Document, found: Sequence[Opening | AnswerMark], *, takes_quotes: bool) -> None:
        start = document.front_matter.end if document.front_matter else 0
        self.document, self.found, self.takes_quotes = document, found, takes_quotes
        self.sections: list[_OpenSection] = []
        self.restated: list[Range] = []
        self.stack = [_OpenSection(start=start, body=start)]
        self.since_answer: list[_OpenSection] = []
        self.latest: dict[tuple[str, ...], _OpenSection] = {}
        self.num_answers = self.num_quoted = 0
        for index, item in enumerate(found):
            if isinstance(item, Opening):
                self.open(item)
            else:
                self.mark(item, index)
        self._close_from(1, len(document.text))

    @property
    def path(self) -> tuple[str, ...]:
        """The path of the innermost open question."""
        return next((item.path for item in reversed(self.stack) if item.path), ())

    # -- openings ------------------------------------------------------------------------------------------------------
    def open(self, opening: Opening) -> None:
        """Opens a section, if the line opens one here."""
        path = self._path_of(opening)
        if opening.enumerator and not path and not opening.is_heading:
            return
        rank = self._rank(opening, is_titled=not path)
        if opening.ordinal:
            self._close_listed(opening)
        else:
            self._close_others(path, rank, opening.start)
        if opening.is_answer and path in self.latest:
            self._restate([self.latest[path]])
        self._push(opening, path, rank)

    def _push(self, opening: Opening, path: tuple[str, ...], rank: float) -> None:
        enumerator = opening.enumerator
        is_roman = enumerator is not None and enumerator.is_roman
        is_numbered = enumerator is not None and enumerator.number is not None and not opening.is_heading
        section = _OpenSection(
            path=path,
            title=opening.title,
            start=opening.start,
            body=opening.body,
            words=opening.words,
            rank=rank,
            word=enumerator.word if enumerator else "",
            is_heading=opening.is_heading,
            num_answers=self.num_answers,
            is_marked=opening.is_answer,
            is_roman=is_roman and len(path) == 2 and path[1] not in ROMANS,
            ordinal=opening.ordinal,
            written=(enumerator.number or 0, enumerator.second or "") if enumerator and is_numbered else None,
        )
        if self.stack[-1].first_inner < 0:
            self.stack[-1].first_inner = opening.start
        self.latest[path] = section
        for items in (self.stack, self.sections, self.since_answer):
            items.append(section)

    def _path_of(self, opening: Opening) -> tuple[str, ...]:
        """The path of the question that a line opens here; empty if it opens none."""
        enumerator = opening.enumerator
        if enumerator is None:
            return ()
        path = self._resolve(opening, enumerator)
        if opening.is_heading or opening.is_answer or not path:
            return path
        known = self.latest.get(path)
        holder = next(item for item in reversed(self.stack) if item.path == path[: len(item.path)] != path)
        if known and known.start >= holder.start:
            return path if known.num_answers < self.num_answers else ()
        is_safe = enumerator.number is not None or enumerator.word != ""
        return path if is_safe or _follows(path, self.path) else ()

    def _resolve(self, opening: Opening, enumerator: Enumerator) -> tuple[str, ...]:
        """What an enumerator means where it stands."""
        rank = self._rank(opening, is_titled=False)
        above = next((item for item in reversed(self.stack) if item.path and item.rank < rank), self.stack[0])
        part = next((item for item in self.stack if len(item.path) == 2), self.stack[0])
        third = (enumerator.third,) if enumerator.third else ()
        if enumerator.number is None:
            return self._from_symbol(enumerator, third, part)
        if enumerator.second:
            is_counted = not opening.is_heading and _only_counts(enumerator, above, part)
            return (self.path[0] if is_counted else str(enumerator.number), enumerator.second, *third)
        return self._from_number(enumerator, above, has_title=opening.title != "")

    def _from_number(self, enumerator: Enumerator, above: _OpenSection, *, has_title: bool) -> tuple[str, ...]:
        """A number counts questions, unless it stands below a question's heading: then it counts its parts."""
        assert enumerator.number is not None
        number, path = enumerator.number, self.path[:1] if enumerator.is_sub else above.path
        is_same_word = enumerator.word != "" and above.word in ("", enumerator.word)
        if not path or (is_same_word and not enumerator.is_sub):
            return (str(number),)
        if len(path) == 1:
            return (*path, letter(number))
        # A titled number inside a part is a step of the answer.
        if len(path) == 2 and not has_title:
            return (*path, roman(number))
        return (str(number),) if enumerator.word else ()

    def _from_symbol(self, enumerator: Enumerator, third: tuple[str, ...], part: _OpenSection) -> tuple[str, ...]:
        assert enumerator.symbol is not None
        symbol, path = enumerator.symbol.lower(), self.path
        # An i, v or x after h, u or w is a letter.
        is_next_letter = len(path) >= 2 and len(symbol) == 1 and path[1] == chr(ord(symbol) - 1)
        if symbol in ROMANS and not is_next_letter:
            if len(path) >= 2 and not part.is_roman:
                return (*path[:2], symbol)
            return (path[0], letter(ROMANS.index(symbol) + 1)) if path else ("", "", symbol)
        return (path[0] if path else "", symbol, *third)

    def _rank(self, opening: Opening, *, is_titled: bool) -> float:
        if opening.is_heading:
            return float(opening.level)
        heading = next(item for item in reversed(self.stack) if item.is_heading)
        return heading.rank + (0.25 if opening.ordinal else 0.75 if is_titled else 0.5)

    # -- closing -------------------------------------------------------------------------------------------------------
    def _close_from(self, index: int, offset: int) -> None:
        for item in self.stack[index:]:
            item.end = offset
        del self.stack[index:]

    def _close_listed(self, opening: Opening) -> None:
        """The next titled item of a list closes the one before; the first one closes no question."""
        for index in range(len(self.stack) - 1, 0, -1):
            if self.stack[index].ordinal and self.stack[index].ordinal == opening.ordinal - 1:
                self._close_from(index, opening.start)
                return
        while self.stack[-1].ordinal:
            self._close_from(len(self.stack) - 1, opening.start)

    def _close_others(self, path: tuple[str, ...], rank: float, offset: int) -> None:
        """Closes what a new section ends: questions that don't contain it, titled sections of its rank."""
        for index, item in enumerate(self.stack[1:], start=1):
            holds = len(item.path) < len(path) and path[: len(item.path)] == item.path
            if (item.path and path and not holds) or (not path and item.rank >= rank):
                self._close_from(index, offset)
                break
        while len(self.stack) > 1 and not self.stack[-1].path and self.stack[-1].rank >= rank:
            self._close_from(len(self.stack) - 1, offset)

    # -- answers -------------------------------------------------------------------------------------------------------
    def mark(self, mark: AnswerMark, index: int) -> None:
        """Records that an answer begins: what its question holds before it is the question's own text."""
        if mark.is_end:
            self.num_answers += 1
            self.restated.append(Range(start=mark.end, end=self._next_start(index)))
            return
        if not self._is_quoted_answer(mark, index) if mark.quote_end else self._is_conclusion(mark, index):
            return
        self._close_asides(mark)
        self._close_restated(mark.start, index)
        owner = self.stack[-1]
        if not owner.is_marked:
            self.restated.append(Range(start=owner.start, end=mark.start))
            owner.is_marked = True
        for outer in self.stack[:-1]:
            intro = self.document.prose[outer.body : min(outer.first_inner, outer.body + _NEARBY)]
            if not outer.is_marked and (owner.path or asks(intro)):
                self.restated.append(Range(start=outer.start, end=outer.first_inner))
        self.num_answers += 1
        self.since_answer.clear()

    def _restate(self, sections: Sequence[_OpenSection]) -> None:
        for section in sections:
            section.is_restated = True
            self.restated.append(Range(start=section.start, end=section.end))

    def _next_start(self, index: int, after: int = 0) -> int:
        """Where the next opening or mark stands, from an offset on."""
        later = (self.found[place].start for place in range(index + 1, len(self.found)))
        return next((start for start in later if start >= after), len(self.document.text))

    def _owner(self) -> _OpenSection:
        """The innermost open section that is more than a title in bold."""
        return next(item for item in reversed(self.stack) if item.path or item.is_heading or item.ordinal)

    def _is_conclusion(self, mark: AnswerMark, index: int) -> bool:
        """True for an "Answer: …" of one paragraph that sums up the derivation before it, which asks nothing."""
        if mark.is_own:
            return False
        before = self.document.prose[max(self._owner().body, mark.start - _NEARBY) : mark.start]
        after = self.document.prose[mark.end : min(self._next_start(index), mark.end + _NEARBY)]
        is_one_paragraph = after.strip() != "" and not _NEXT_PARAGRAPH.search(after)
        return PLACEHOLDER in before and not asks(before) and is_one_paragraph

    def _is_quoted_answer(self, mark: AnswerMark, index: int) -> bool:
        """True if a block quote answers: after a question in bold, or as the end of one question after another."""
        owner = self._owner()
        if owner is self.stack[0] or owner.is_marked:
            return False
        start = owner.body if owner.is_heading else self.document.line_at(owner.start).start
        before = self.document.text[max(start, mark.start - _NEARBY) : mark.start]
        if not _BOLD.sub("", before).strip("> \t\r\n"):
            return True
        rest = self.document.text[mark.quote_end : self._next_start(index, mark.quote_end)]
        is_last = not rest.strip("> \t\r\n-*_") and ends_in_a_question(before)
        self.num_quoted += is_last
        return is_last and self.takes_quotes

    def _close_asides(self, mark: AnswerMark) -> None:
        """Titled sections inside the question's text end where the answer begins."""
        while len(self.stack) > 1 and not self.stack[-1].path:
            aside = self.stack[-1]
            if aside.ordinal or (aside.is_heading and aside.rank < mark.level):
                return
            self._close_from(len(self.stack) - 1, mark.start)

    def _close_restated(self, offset: int, index: int) -> None:
        """Parts that the question's text lists one after another end together where the answer begins."""
        path = self.path
        for level in (3, 2):
            parts = [item for item in self.since_answer if len(item.path) == level and not item.is_heading]
            listed = [item for item in parts if item.path[:-1] == path[: level - 1]]
            if len(listed) < 2 or listed[-1].end >= 0 or (level == 2 and not self._are_listed_again(listed, index)):
                continue
            self._close_from(self.stack.index(listed[-1]), offset)
            paths = {item.path for item in listed}
            self._restate([item for item in self.since_answer if item.path[:level] in paths and not item.is_restated])

    def _are_listed_again(self, listed: Sequence[_OpenSection], index: int) -> bool:
        """True if the next letter after the mark is one of those listed, or if no letter follows."""
        letters = {item.path[1] for item in listed}
        for place in range(index + 1, len(self.found)):
            item = self.found[place]
            enumerator = item.enumerator if isinstance(item, Opening) else None
            if enumerator and enumerator.number is not None:
                return True
            if enumerator and enumerator.symbol and not enumerator.is_roman:
                return enumerator.symbol.lower() in letters
        return True


def _only_counts(enumerator: Enumerator, above: _OpenSection, part: _OpenSection) -> bool:
    """True if the numbers are those of a list and mean nothing: `2.(b)` after `1.(a)`, `1.(a)` in question 2."""
    number = enumerator.number or 0
    if enumerator.word or enumerator.second != letter(number):
        return False
    is_first = number == 1 and len(above.path) == 1 and above.is_heading
    return is_first or part.written == (number - 1, letter(number - 1))


def _follows(path: tuple[str, ...], current: tuple[str, ...]) -> bool:
    """True if a plain letter or numeral continues from the open question, skipping a few at most."""
    level = len(path)
    has_sibling = len(current) >= level and current[: level - 1] == path[:-1]
    before = _ordinal(current[level - 1], level) if has_sibling else 0
    return 0 < _ordinal(path[-1], level) - before <= _MAX_JUMP


def _ordinal(name: str, level: int) -> int:
    if level == 3:
        return ROMANS.index(name) + 1 if name in ROMANS else 0
    return ord(name) - ord("a") + 1 if len(name) == 1 else 0


# -- question or answer? -----------------------------------------------------------------------------------------------
_NEARBY = 1_500
_ASKS = re.compile(
    rf"[?？][*_)\s]{{0,9}}(?:[\r\n]|\Z)|{any_of('asks_inside')}"
    rf"|(?:\A|[.;:!)*]\s|[\r\n])[\s*_]{{0,4}}{any_of('asks')}"
)
_ORDER = re.compile(rf"\*\*{any_of('order')}", re.IGNORECASE)
_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)")
_NEXT_PARAGRAPH = re.compile(r"(?:\r\n|\r|\n)[ \t>]*(?:\r\n|\r|\n)\s*\S")
_BOLD = re.compile(r"\*\*[^*]+\*\*[:：]?|__[^_]+__[:：]?")


def asks(prose: str) -> bool:
    """True if a text asks for something: an order, or a question at the end of a line.

    >>> asks("Find a query."), asks("We find a query.")
    (True, False)
    """
    return _ASKS.search(prose) is not None


def ends_in_a_question(text: str) -> bool:
    """True if the last paragraph of a text asks for something or has a question mark anywhere.

    >>> ends_in_a_question("Why?"), ends_in_a_question("Why?\\n\\nSo it is.")
    (True, False)
    """
    paragraph = _GAP.split(text.strip())[-1]
    return "?" in paragraph or "？" in paragraph or _ORDER.search(paragraph) is not None or asks(paragraph)
