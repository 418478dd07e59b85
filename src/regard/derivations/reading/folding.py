"""The fold over openings and markers: a stack of open questions, and what the next line makes of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.derivations.reading.document import Document
from regard.derivations.reading.enumerators import ROMANS
from regard.derivations.reading.markers import PLAIN, Marker
from regard.derivations.reading.openings import Opening
from regard.derivations.reading.paths import Context, follows, resolve
from regard.derivations.reading.ranges import Range
from regard.derivations.reading.splitting import PLACEHOLDER

__all__ = ["Folding", "Question"]

_ASKS = re.compile(
    r"[?？][*_)\s]{0,9}(?:[\r\n]|\Z)|请|试证|题目(?:大意)?[:：]|(?<![要所需])求(?![得出和解])"
    r"|, and (?:justify|explain|show|prove)\b|(?:\A|[.;:!)*]\s|[\r\n])\s{0,4}"
    r"(?:Find|Show that|Describe|Explain|Justify|Design|Briefly|Prove|Derive|Give|Compute|Write|Task|Question)\b"
)
_NEXT_PARAGRAPH = re.compile(r"(?:\r\n|\r|\n)[ \t>]*(?:\r\n|\r|\n)\s*\S")
_BOLD = re.compile(r"\*\*[^*]+\*\*:?|__[^_]+__:?")
_NEARBY = 1_500


@dataclass(kw_only=True)
class Question:
    """A section while it is open; `rank` orders headings, a plain line coming below the heading it stands under.

    `num_markers` is how many answers had been marked before it; `first_inner` is where its first section begins;
    `words` is where the words behind its enumerator begin.
    """

    start: int
    path: tuple[str, ...] = ()
    title: str = ""
    body: int = 0
    words: int = 0
    rank: float = 0.0
    word: str = ""
    is_heading: bool = True
    num_markers: int = 0
    end: int = -1
    first_inner: int = -1
    is_restated: bool = False
    is_marked: bool = False
    is_roman: bool = False


class Folding:
    """Reads openings and markers in order; what it finds stands in `questions`, `markers` and `restated`."""

    def __init__(self, document: Document, events: Sequence[Opening | Marker]) -> None:
        start = document.front_matter.end if document.front_matter else 0
        self.document, self.events = document, events
        self.questions: list[Question] = []
        self.markers: list[Marker] = []
        self.restated: list[Range] = []
        self.stack = [Question(start=start, body=start)]
        self.since: list[Question] = []
        self.latest: dict[tuple[str, ...], Question] = {}

    @property
    def path(self) -> tuple[str, ...]:
        """The path of the innermost open question."""
        return next((item.path for item in reversed(self.stack) if item.path), ())

    def open(self, opening: Opening) -> None:
        """Opens a section, if the line does open one here."""
        path = self._path_of(opening)
        is_heading = opening.level < PLAIN
        if opening.enumerator and not path and not is_heading:
            return
        rank = self._rank(opening, is_titled=not path)
        self._leave(path, rank, opening.start)
        if opening.is_answer and path in self.latest:
            self._restate([self.latest[path]])
        question = Question(
            path=path,
            title=opening.title,
            start=opening.start,
            body=opening.body,
            words=opening.words,
            rank=rank,
            word=opening.enumerator.word if opening.enumerator else "",
            is_heading=is_heading,
            num_markers=len(self.markers),
            is_marked=opening.is_answer,
            is_roman=opening.is_roman and len(path) == 2 and path[1] not in ROMANS,
        )
        if self.stack[-1].first_inner < 0:
            self.stack[-1].first_inner = opening.start
        for items in (self.stack, self.questions, self.since):
            items.append(question)
        self.latest[path] = question

    def mark(self, marker: Marker, index: int) -> None:
        """Takes note of a marker: what its question holds before it is the question's own text."""
        if marker.is_end:
            self.markers.append(marker)
            self.restated.append(Range(start=marker.end, end=self._next_start(index)))
            return
        if self._is_conclusion(marker, index) or (marker.is_quote and not self._is_only_bold(marker)):
            return
        self._close_asides(marker)
        self._close_restated(marker.start, index)
        owner = self.stack[-1]
        if not owner.is_marked:
            self.restated.append(Range(start=owner.start, end=marker.start))
            owner.is_marked = True
        for outer in self.stack[:-1]:
            if not outer.is_marked and outer.first_inner >= 0:
                self.restated.append(Range(start=outer.start, end=outer.first_inner))
        self.markers.append(marker)
        self.since.clear()

    def close(self, end: int) -> None:
        """Ends every section that is still open."""
        self._pop(1, end)

    def _path_of(self, opening: Opening) -> tuple[str, ...]:
        enumerator = opening.enumerator
        if enumerator is None:
            return ()
        is_heading = opening.level < PLAIN
        rank = self._rank(opening, is_titled=False)
        above = next((item for item in reversed(self.stack) if item.path and item.rank < rank), self.stack[0])
        part = next((item for item in self.stack if len(item.path) == 2), self.stack[0])
        context = Context(
            path=self.path,
            above=above.path,
            above_word=above.word,
            has_title=opening.title != "",
            is_in_roman_part=part.is_roman,
        )
        path = resolve(enumerator, context)
        if is_heading or opening.is_answer or not path:
            return path
        known = self.latest.get(path)
        if known:
            return path if known.num_markers < len(self.markers) else ()
        is_safe = enumerator.number is not None or enumerator.word != ""
        return path if is_safe or follows(path, self.path) else ()

    def _rank(self, opening: Opening, *, is_titled: bool) -> float:
        if opening.level < PLAIN:
            return float(opening.level)
        heading = next(item for item in reversed(self.stack) if item.is_heading)
        return heading.rank + (0.75 if is_titled else 0.5)

    def _leave(self, path: tuple[str, ...], rank: float, offset: int) -> None:
        """Ends what a new section ends: questions that don't contain it, titled sections of its rank."""
        for index, item in enumerate(self.stack[1:], start=1):
            holds = len(item.path) < len(path) and path[: len(item.path)] == item.path
            if (item.path and path and not holds) or (not path and item.rank >= rank):
                self._pop(index, offset)
                break
        while len(self.stack) > 1 and not self.stack[-1].path and self.stack[-1].rank >= rank:
            self._pop(len(self.stack) - 1, offset)

    def _pop(self, index: int, offset: int) -> None:
        for item in self.stack[index:]:
            item.end = offset
        del self.stack[index:]

    def _restate(self, questions: Sequence[Question]) -> None:
        for question in questions:
            question.is_restated = True
            self.restated.append(Range(start=question.start, end=question.end))

    def _next_start(self, index: int) -> int:
        return self.events[index + 1].start if index + 1 < len(self.events) else len(self.document.text)

    def _is_conclusion(self, marker: Marker, index: int) -> bool:
        """True for an "Answer: …" that sums up the derivation before it instead of opening one."""
        if marker.is_own or marker.is_alone or marker.is_quote:
            return False
        before = self.document.prose[max(self.stack[-1].body, marker.start - _NEARBY) : marker.start]
        after = self.document.prose[marker.end : min(self._next_start(index), marker.end + _NEARBY)]
        return PLACEHOLDER in before and not _ASKS.search(before) and not _NEXT_PARAGRAPH.search(after)

    def _is_only_bold(self, marker: Marker) -> bool:
        """True if the question holds nothing before the quote but words in bold."""
        owner = next(item for item in reversed(self.stack) if item.path or item.is_heading)
        start = owner.body if owner.is_heading else self.document.line_at(owner.start).start
        before = self.document.text[max(start, marker.start - _NEARBY) : marker.start]
        is_open = owner is not self.stack[0] and not owner.is_marked
        return is_open and not _BOLD.sub("", before).strip("> \t\r\n")

    def _close_asides(self, marker: Marker) -> None:
        """Titled sections inside the question's text end where the answer begins."""
        while len(self.stack) > 1 and not self.stack[-1].path:
            aside = self.stack[-1]
            if aside.is_heading and aside.rank < marker.level:
                return
            self._pop(len(self.stack) - 1, marker.start)

    def _close_restated(self, offset: int, index: int) -> None:
        """Parts that the question's text lists one after another end together where the answer begins."""
        path = self.path
        for level in (3, 2):
            parts = [item for item in self.since if len(item.path) == level and not item.is_heading]
            listed = [item for item in parts if item.path[:-1] == path[: level - 1]]
            if len(listed) < 2 or listed[-1].end >= 0 or (level == 2 and not self._are_listed_again(listed, index)):
                continue
            self._pop(self.stack.index(listed[-1]), offset)
            paths = {item.path for item in listed}
            self._restate([item for item in self.since if item.path[:level] in paths and not item.is_restated])

    def _are_listed_again(self, listed: Sequence[Question], index: int) -> bool:
        """True if the next letter after the marker is one of those listed, or if no letter follows."""
        letters = {item.path[1] for item in listed}
        for place in range(index + 1, len(self.events)):
            event = self.events[place]
            enumerator = event.enumerator if isinstance(event, Opening) else None
            if enumerator and enumerator.number is not None:
                return True
            if enumerator and enumerator.symbol and enumerator.symbol.lower() not in ROMANS:
                return enumerator.symbol.lower() in letters
        return True
