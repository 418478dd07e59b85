"""How a document is divided into questions: sections with paths such as ("1", "b", "i").

The top level is an arabic number, the second a letter, the third a roman numeral; a level that the document doesn't
name is the empty string. Sections nest: one ends where its next sibling, or that of an ancestor, begins.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from regard.derivations.reading.answer_marks import AnswerMark
from regard.derivations.reading.document import PLACEHOLDER, Document, Range, by_start, range_at
from regard.derivations.reading.enumerators import ROMANS, Enumerator, letter, roman
from regard.derivations.reading.openings import POINTS, Opening, openings
from regard.derivations.reading.phrases import any_of

# From two questions on that end in a block quote (or in a colour, or a box), the quotes are the answers.
_MIN_STYLED = 2
_MIN_BLANK = 3
_MAX_JUMP = 4
# The number of 2. (b) counts a list below a question's heading.
_LISTED = re.compile(r"[\s>]*\d{1,2}\.\s{1,4}\((\w+)\)")


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
        holding = self.sections_at(offset)
        with_path = [section for section in holding if section.path]
        return next(reversed(with_path or holding), None)

    def sections_at(self, offset: int) -> tuple[Section, ...]:
        """The sections that hold an offset, the outermost first."""
        starts, stacks = self._stacks
        return stacks[bisect_right(starts, offset) - 1] if starts and offset >= starts[0] else ()

    @cached_property
    def _stacks(self) -> tuple[list[int], list[tuple[Section, ...]]]:
        """The offsets at which a section begins or ends, and the sections that are open from there on."""
        starts: list[int] = []
        stacks: list[tuple[Section, ...]] = []
        opened: list[Section] = []
        cuts = sorted({cut for section in self.sections for cut in (section.start, section.end)})
        place = 0
        for cut in cuts:
            while opened and opened[-1].end <= cut:
                opened.pop()
            while place < len(self.sections) and self.sections[place].start == cut:
                if self.sections[place].end > cut:
                    opened.append(self.sections[place])
                place += 1
            starts.append(cut)
            stacks.append(tuple(opened))
        return starts, stacks


def outline(document: Document) -> Outline:
    r"""The sections of a document, and what in them is question and not answer.

    After "My answer:", "Solution:", 答 and the like comes the answer; wrappers such as `\begin{answer}` and `\ans{…}`
    hold it. What else its section holds is the question. A block quote right after a question in bold is an answer too.
    Where nothing marks the answer, the paragraphs in front that ask for something are the question; a section that asks
    nothing is all answer.

    >>> from regard.derivations.reading.files import read_text
    >>> found = outline(read_text("1.(a) Copying\n\ni. Why?\n\nMy answer: so.\n\n1.(b)\n\nNo."))
    >>> [section.path for section in found.sections], found.restated[0].end
    ([('1', 'a'), ('1', 'a', 'i'), ('1', 'b')], 24)
    """
    found = openings(document)
    builder = _OutlineBuilder(document, found, styles=frozenset())
    styles = frozenset(style for style, number in builder.num_styled.items() if number >= _MIN_STYLED)
    if styles:
        builder = _OutlineBuilder(document, found, styles=styles)
    sections = sorted(builder.sections, key=lambda item: (item.start, -item.end))
    restated = _merged([*builder.restated, *_asked(document, builder, found)])
    return Outline(sections=tuple(_section(document, item) for item in sections), restated=tuple(restated))


def _merged(ranges: Sequence[Range]) -> Iterator[Range]:
    """The same characters as disjoint ranges in order."""
    start = end = -1
    for item in sorted(ranges, key=by_start):
        if item.start > end:
            if start < end:
                yield Range(start=start, end=end)
            start, end = item.start, item.end
        end = max(end, item.end)
    if start < end:
        yield Range(start=start, end=end)


@dataclass(kw_only=True)
class _OpenSection:
    """A section while it is built; `rank` orders headings, a plain line coming below the heading it stands under.

    `num_answers` is how many answers had been marked before it; `first_inner` is where its first inner section begins;
    `words` is where the words after its enumerator begin.
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
    is_in_template: bool = False


def _section(document: Document, item: _OpenSection) -> Section:
    """A line that is all there is of a section counts as its text, not only as its title."""
    is_empty = item.first_inner < 0 and not document.text[item.body : item.end].strip()
    body = min(item.words if is_empty else item.body, item.end)
    return Section(
        start=item.start, end=item.end, body=body, path=item.path, title=item.title, is_restated=item.is_restated
    )


class _OutlineBuilder:
    """A stack of open sections, through which openings and answer marks go in order.

    What is written in one of the `styles` (a block quote, a colour) at the end of a question counts as its answer;
    `num_styled` counts such places either way.
    """

    def __init__(self, document: Document, found: Sequence[Opening | AnswerMark], *, styles: frozenset[str]) -> None:
        start = document.front_matter.end if document.front_matter else 0
        self.document, self.found, self.styles = document, found, styles
        self.sections: list[_OpenSection] = []
        self.restated: list[Range] = []
        self.root = _OpenSection(start=start, body=start)
        self.stack = [self.root]
        self.since_answer: list[_OpenSection] = []
        self.latest: dict[tuple[str, ...], _OpenSection] = {}
        self.num_answers = 0
        self.wrapped_until = 0
        self.num_styled = Counter[str]()
        self.opening_starts = [item.start for item in found if isinstance(item, Opening)]
        for index, item in enumerate(found):
            if isinstance(item, Opening):
                self.open(item)
            else:
                self.mark(item, index)
        self._close_from(0, len(document.text))

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
            is_marked=opening.is_answer or opening.start < self.wrapped_until,
            is_roman=is_roman and len(path) == 2 and path[1] not in ROMANS,
            ordinal=opening.ordinal,
            is_in_template=opening.is_in_template,
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
        before = self.path[1] if len(self.path) > 1 else ""
        if opening.is_in_series and enumerator.number is None and before and path[1] > before:
            return path
        if opening.is_in_series and enumerator.number is None and before > path[1] == "a":
            return ("", *path[1:])
        if known and known.start >= holder.start:
            return path if known.num_answers < self.num_answers else _begun_again(path)
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
            listed = None if opening.is_heading else _LISTED.match(self.document.text, opening.start)
            is_below = listed is not None and above.is_heading and len(above.path) == 1
            if listed and is_below and listed[1] in ROMANS:
                return ("", "", listed[1])
            return (above.path[0] if is_below else str(enumerator.number), enumerator.second, *third)
        return self._from_number(enumerator, above, has_title=opening.title != "")

    def _from_number(self, enumerator: Enumerator, above: _OpenSection, *, has_title: bool) -> tuple[str, ...]:
        """A number counts questions, unless it stands below a question's heading: then it counts its parts."""
        assert enumerator.number is not None
        number, path = enumerator.number, self.path[:1] if enumerator.is_sub else above.path
        is_same_word = enumerator.word != "" and above.word in ("", enumerator.word)
        if not path and enumerator.is_sub and enumerator.word:
            return ("", letter(number))
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
        if not self._is_answer(mark, index):
            return
        self._close_asides(mark)
        self._close_restated(mark.start, index)
        owner = self.stack[-1]
        if not owner.is_marked:
            self.restated.append(Range(start=owner.start, end=mark.end if mark.form == "wrapper" else mark.start))
            owner.is_marked = True
        for outer in self.stack[:-1]:
            intro = self.document.prose[outer.body : min(outer.first_inner, outer.body + _NEARBY)]
            if not outer.is_marked and (owner.path or asks(intro)):
                self.restated.append(Range(start=outer.start, end=outer.first_inner))
        if mark.form == "wrapper":
            self.wrapped_until = mark.until
            self._restate_after(mark, index)
        self.num_answers += 1
        self.since_answer.clear()

    def _is_answer(self, mark: AnswerMark, index: int) -> bool:
        """Whether an answer really begins at a mark."""
        if mark.form == "style":
            return self._is_styled_answer(mark)
        if mark.form == "reasoning":
            owner = self._owner()
            before = self.document.prose[max(owner.body, mark.start - _NEARBY) : mark.start]
            return not owner.is_marked and asks(before)
        return mark.form == "wrapper" or not self._is_conclusion(mark, index)

    def _restate_after(self, mark: AnswerMark, index: int) -> None:
        """What follows a wrapper is the next question's text, but for formulas alone that go on with the answer."""
        end = self._next_start(index, mark.closed)
        between = self.document.prose[mark.closed : end]
        if PLACEHOLDER not in between or _WORDS.search(_COMMAND.sub("", between)):
            self.restated.append(Range(start=mark.until, end=end))

    def _restate(self, sections: Sequence[_OpenSection]) -> None:
        for section in sections:
            section.is_restated = True
            self.restated.append(Range(start=section.start, end=section.end))

    def _next_start(self, index: int, after: int = 0) -> int:
        """Where the next opening or mark stands, from an offset on."""
        place = bisect_left(self.found, after, lo=index + 1, key=by_start)
        return self.found[place].start if place < len(self.found) else len(self.document.text)

    def _next_opening(self, after: int) -> int:
        """Where the next question may open, from an offset on."""
        place = bisect_left(self.opening_starts, after)
        return self.opening_starts[place] if place < len(self.opening_starts) else len(self.document.text)

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

    def _is_styled_answer(self, mark: AnswerMark) -> bool:
        """True if a block quote or the like answers: after a question in bold, or as the end of one after another."""
        owner = self._owner()
        if owner is self.stack[0] or owner.is_marked:
            return False
        start = owner.body if owner.is_heading else self.document.line_at(owner.start).start
        before = self.document.text[max(start, mark.start - _NEARBY) : mark.start]
        after = self.document.text[mark.closed : min(self._next_opening(mark.closed), mark.closed + _NEARBY)]
        has_text_after = after.strip("> \t\r\n-*_\\{}") != ""
        if mark.style == "quote" and not _BOLD.sub("", before).strip("> \t\r\n"):
            if has_text_after and ends_in_a_question(self.document.prose[mark.start : mark.until]):
                self.restated.append(Range(start=owner.start, end=mark.closed))
                owner.body = mark.closed
                return False
            return True
        is_last = not has_text_after and ends_in_a_question(before)
        self.num_styled[mark.style] += is_last
        return is_last and mark.style in self.styles

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
            own = [item for item in self.since_answer if not item.is_marked]  # and not inside an answer
            parts = [item for item in own if len(item.path) == level and not item.is_heading]
            listed = [item for item in parts if item.path[:-1] == path[: level - 1]]
            if len(listed) < 2 or listed[-1].end >= 0 or (level == 2 and not self._are_listed_again(listed, index)):
                continue
            self._close_from(self.stack.index(listed[-1]), offset)
            paths = {item.path for item in listed}
            self._restate([item for item in own if item.path[:level] in paths and not item.is_restated])

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


def _begun_again(path: tuple[str, ...]) -> tuple[str, ...]:
    """Where the numerals begin again without a letter between, the letter was not seen: the part is unknown."""
    return ("", "", ROMANS[0]) if path[2:] == ROMANS[:1] else ()


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
_WORDS = re.compile(r"[^\W\d_]")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?(?:\s?\{[a-zA-Z*]*\})?")
_EMPHASIS = r"(?:\*\*|__|\\(?:textbf|underline|emph)\s?\{)"
_ASKS = re.compile(
    rf"[?？][*_)}}\s]{{0,9}}(?:[\r\n]|\Z)|{any_of('asks_inside')}|{_EMPHASIS}\s?(?i:{any_of('order')})"
    rf"|(?:\A|[.;:!)*}}]\s|[\r\n])[\s*_>]{{0,4}}{any_of('asks')}"
)
_SETS_A_TASK = re.compile(
    rf"[?？][*_)}}\s]{{0,9}}(?:[\r\n]|\Z)|(?:\A|[.:!)*}}]\s|[\r\n])[>\s]{{0,4}}{_EMPHASIS}?[\s*_]{{0,4}}{any_of('task')}"
    rf"|{_EMPHASIS}\s?(?i:{any_of('order')})|(?i:, (?:please )?(?:briefly )?{any_of('task')})"
)
_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t>]*(?:\r\n|\r|\n)")
_NEXT_PARAGRAPH = re.compile(r"(?:\r\n|\r|\n)[ \t>]*(?:\r\n|\r|\n)\s*\S")
_BOLD = re.compile(r"\*\*[^*]+\*\*[:：]?|__[^_]+__[:：]?")
_NOTHING = re.compile(
    r"(?:\s|\\(?:begin|end)\s?\{[a-z]+\*?\}|\\(?:label|vspace\*?)\s?\{[^{}]*\}|\\[a-z]+(?![a-z{])|[>*_{}\\-])*"
)


def asks(prose: str) -> bool:
    """True if a text asks for something: an order, or a question at the end of a line.

    >>> asks("Find a query."), asks("We find a query.")
    (True, False)
    """
    return _ASKS.search(prose) is not None or POINTS.search(prose) is not None


def ends_in_a_question(text: str) -> bool:
    """True if the last paragraph of a text asks for something or has a question mark anywhere.

    >>> ends_in_a_question("Why?"), ends_in_a_question("Why?\\n\\nSo it is.")
    (True, False)
    """
    paragraph = _GAP.split(text.strip("> \t\r\n"))[-1]
    return "?" in paragraph or "？" in paragraph or asks(paragraph)


def _asked(document: Document, builder: _OutlineBuilder, found: Sequence[Opening | AnswerMark]) -> Iterator[Range]:
    """What belongs to questions although no answer is marked."""
    wrappers = [item for item in found if isinstance(item, AnswerMark) and item.form == "wrapper"]
    if any(isinstance(item, Opening) and item.is_in_template for item in found):
        yield from _template(document, builder, wrappers)
        return
    sections = [item for item in builder.sections if not item.is_marked and not item.is_restated]
    leaves = [item for item in sections if item.first_inner < 0 and item.path]
    if len(leaves) >= _MIN_BLANK and not builder.num_answers and all(_is_blank(document, item) for item in leaves):
        yield Range(start=0, end=len(document.text))
        return
    asked = [question for item in leaves if (question := _leading_question(document, item))]
    yield from asked
    starts = [question.start for question in asked]
    for item in sections:
        if item.first_inner >= 0 and bisect_right(starts, item.end) > bisect_right(starts, item.start):
            yield Range(start=item.start, end=item.first_inner)


def _template(document: Document, builder: _OutlineBuilder, wrappers: Sequence[AnswerMark]) -> Iterator[Range]:
    """In a course's template, what is outside of wrapped answers; where none is wrapped, what introduces and asks."""
    filled = [mark for mark in wrappers if not _NOTHING.fullmatch(document.prose, mark.end, mark.until)]
    sections = [item for item in (builder.root, *builder.sections) if range_at(filled, item.start) is None]
    for item, following in zip(sections, [*sections[1:], None], strict=True):
        end = following.start if following else len(document.text)
        first, last = bisect_left(filled, item.start, key=by_start), bisect_left(filled, end, key=by_start)
        if first < last:
            starts = [item.start, *(mark.until for mark in filled[first:last])]
            ends = [*(mark.end for mark in filled[first:last]), end]
            yield from (Range(start=start, end=stop) for start, stop in zip(starts, ends, strict=True))
        elif item.is_marked or item.is_restated:
            continue
        elif following and len(following.path) > len(item.path):
            yield Range(start=item.start, end=end)
        else:
            parts = _paragraphs(document, item.body, end)
            asking = [k for k, part in enumerate(parts) if _is_of_template(document.prose[part.start : part.end])]
            if asking:
                yield Range(start=item.start, end=end if asking[-1] == len(parts) - 1 else parts[asking[-1]].end)


def _is_of_template(paragraph: str) -> bool:
    return "?" in paragraph or _SETS_A_TASK.search(paragraph) is not None


def _paragraphs(document: Document, start: int, end: int) -> list[Range]:
    """The paragraphs that hold more than marks and commands."""
    cuts = [start]
    for gap in _GAP.finditer(document.prose, start, end):
        cuts += [gap.start(), gap.end()]
    cuts.append(max(start, end))
    pairs = zip(cuts[::2], cuts[1::2], strict=True)
    return [Range(start=a, end=b) for a, b in pairs if not _NOTHING.fullmatch(document.prose, a, b)]


def _is_blank(document: Document, item: _OpenSection) -> bool:
    """True if a section ends in a question, and so answers nothing."""
    parts = _paragraphs(document, item.body, item.end)
    return bool(parts) and ends_in_a_question(document.prose[parts[-1].start : parts[-1].end])


def _leading_question(document: Document, item: _OpenSection) -> Range | None:
    """The paragraphs at the beginning of a section that set a task, if something else follows them."""
    end = -1
    for part in _paragraphs(document, item.body, item.end):
        if not _SETS_A_TASK.search(document.prose[part.start : part.end]):
            return Range(start=item.start, end=end) if end >= 0 else None
        end = part.end
    return None
