"""The fold over openings and markers: a stack of open questions, and what the next line makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.derivations.reading.asking import NEARBY, asks, ends_in_a_question, is_only_bold, is_summed_up
from regard.derivations.reading.document import Document
from regard.derivations.reading.enumerators import ROMANS
from regard.derivations.reading.markers import PLAIN, Marker
from regard.derivations.reading.openings import Opening
from regard.derivations.reading.paths import Context, follows, resolve
from regard.derivations.reading.ranges import Range


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
    ordinal: int = 0
    written: tuple[int, str] | None = None


class Folding:
    """Reads openings and markers in order; what it finds stands in `questions`, `markers` and `restated`.

    Block quotes at the end of questions are counted in `num_quoted`; with `takes_quotes` they count as answers.
    """

    def __init__(self, document: Document, events: Sequence[Opening | Marker], *, takes_quotes: bool) -> None:
        start = document.front_matter.end if document.front_matter else 0
        self.document, self.events, self.takes_quotes = document, events, takes_quotes
        self.questions: list[Question] = []
        self.markers: list[Marker] = []
        self.restated: list[Range] = []
        self.stack = [Question(start=start, body=start)]
        self.since: list[Question] = []
        self.latest: dict[tuple[str, ...], Question] = {}
        self.num_quoted = 0

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
        if opening.ordinal:
            self._leave_listed(opening)
        else:
            self._leave(path, rank, opening.start)
        if opening.is_answer and path in self.latest:
            self._restate([self.latest[path]])
        self._push(opening, path, rank)

    def _push(self, opening: Opening, path: tuple[str, ...], rank: float) -> None:
        enumerator = opening.enumerator
        is_numbered = enumerator is not None and enumerator.number is not None and opening.level == PLAIN
        question = Question(
            path=path,
            title=opening.title,
            start=opening.start,
            body=opening.body,
            words=opening.words,
            rank=rank,
            word=enumerator.word if enumerator else "",
            is_heading=opening.level < PLAIN,
            num_markers=len(self.markers),
            is_marked=opening.is_answer,
            is_roman=opening.is_roman and len(path) == 2 and path[1] not in ROMANS,
            ordinal=opening.ordinal,
            written=(enumerator.number or 0, enumerator.second or "") if enumerator and is_numbered else None,
        )
        if self.stack[-1].first_inner < 0:
            self.stack[-1].first_inner = opening.start
        self.latest[path] = question
        for items in (self.stack, self.questions, self.since):
            items.append(question)

    def mark(self, marker: Marker, index: int) -> None:
        """Takes note of a marker: what its question holds before it is the question's own text."""
        if marker.is_end:
            self.markers.append(marker)
            self.restated.append(Range(start=marker.end, end=self._next_start(index)))
            return
        if not self._is_quoted_answer(marker, index) if marker.quote_end else self._is_conclusion(marker, index):
            return
        self._close_asides(marker)
        self._close_restated(marker.start, index)
        owner = self.stack[-1]
        if not owner.is_marked:
            self.restated.append(Range(start=owner.start, end=marker.start))
            owner.is_marked = True
        for outer in self.stack[:-1]:
            intro = self.document.prose[outer.body : min(outer.first_inner, outer.body + NEARBY)]
            if not outer.is_marked and (owner.path or asks(intro)):
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
            above_is_heading=above.is_heading,
            is_heading=is_heading,
            has_title=opening.title != "",
            is_in_roman_part=part.is_roman,
            written=part.written,
        )
        path = resolve(enumerator, context)
        if is_heading or opening.is_answer or not path:
            return path
        known = self.latest.get(path)
        holder = next(item for item in reversed(self.stack) if item.path == path[: len(item.path)] != path)
        if known and known.start >= holder.start:
            return path if known.num_markers < len(self.markers) else ()
        is_safe = enumerator.number is not None or enumerator.word != ""
        return path if is_safe or follows(path, self.path) else ()

    def _rank(self, opening: Opening, *, is_titled: bool) -> float:
        if opening.level < PLAIN:
            return float(opening.level)
        heading = next(item for item in reversed(self.stack) if item.is_heading)
        return heading.rank + (0.25 if opening.ordinal else 0.75 if is_titled else 0.5)

    def _leave_listed(self, opening: Opening) -> None:
        """The next titled item of a list ends the one before; the first one ends no question."""
        for index in range(len(self.stack) - 1, 0, -1):
            if self.stack[index].ordinal and self.stack[index].ordinal == opening.ordinal - 1:
                self._pop(index, opening.start)
                return
        while self.stack[-1].ordinal:
            self._pop(len(self.stack) - 1, opening.start)

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

    def _next_start(self, index: int, after: int = 0) -> int:
        """Where the next opening or marker stands that is not inside a quote, if one is given by its end."""
        later = (self.events[place].start for place in range(index + 1, len(self.events)))
        return next((start for start in later if start >= after), len(self.document.text))

    def _is_conclusion(self, marker: Marker, index: int) -> bool:
        """True for an "Answer: …" that sums up the derivation before it instead of opening one."""
        if marker.is_own:
            return False
        before = self.document.prose[max(self._owner().body, marker.start - NEARBY) : marker.start]
        after = self.document.prose[marker.end : min(self._next_start(index), marker.end + NEARBY)]
        return is_summed_up(before, after)

    def _owner(self) -> Question:
        """The innermost open section that is more than a title in bold."""
        return next(item for item in reversed(self.stack) if item.path or item.is_heading or item.ordinal)

    def _is_quoted_answer(self, marker: Marker, index: int) -> bool:
        """True if a block quote answers: after a question in bold, or as the end of one question after another."""
        owner = self._owner()
        if owner is self.stack[0] or owner.is_marked:
            return False
        start = owner.body if owner.is_heading else self.document.line_at(owner.start).start
        before = self.document.text[max(start, marker.start - NEARBY) : marker.start]
        if is_only_bold(before):
            return True
        rest = self.document.text[marker.quote_end : self._next_start(index, marker.quote_end)]
        is_last = not rest.strip("> \t\r\n-*_") and ends_in_a_question(before)
        self.num_quoted += is_last
        return is_last and self.takes_quotes

    def _close_asides(self, marker: Marker) -> None:
        """Titled sections inside the question's text end where the answer begins."""
        while len(self.stack) > 1 and not self.stack[-1].path:
            aside = self.stack[-1]
            if aside.ordinal or (aside.is_heading and aside.rank < marker.level):
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
