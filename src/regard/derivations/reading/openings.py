"""Lines that may open a question, one by one; whether they do is for the outline to say, which knows the context."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from regard.derivations.reading.document import Document, Heading
from regard.derivations.reading.enumerators import ROMANS, Enumerator, normalised, parse_enumerator
from regard.derivations.reading.markers import PLAIN, Marker, MarkerWords, answer_environments, marker_words, quotes
from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.ranges import Line, Range
from regard.derivations.reading.splitting import PLACEHOLDER
from regard.derivations.reading.titles import EDGES, cleaned, leading_title, listed_title, title_of

_MARKS = re.compile(
    r"(?:\s|>|[-+](?=\s)|\*{1,3}|_{1,3}|<(?:b|strong|u)>|\\noindent(?![a-z])|\\(?:textbf|textit|emph|underline)\s?\{"
    r"|\{\\(?:bf|it)(?![a-z])|\\item(?![a-z])(?!\s*\[))*"
)
_LIST_MARK = re.compile(r"[\s>]*(?:[-+*]\s|\\item)")
_LABEL = re.compile(r"\\item\s?\[([^\]\r\n]{1,60})\]")
_BOLD = re.compile(r"[\s>]*(?:\*\*[^*]{1,120}\*\*|__[^_]{1,120}__|\\textbf\{[^{}]{1,120}\})\s*[:：]?\s*$")
_CLOSED = re.compile(r"[*_}]{0,3}\s*")
_STOP = re.compile(r"[.。!！?？:：;；)）*_}\]" + PLACEHOLDER + "]")
_BREAK = re.compile(r"<br\s?/?>|\\\\", re.IGNORECASE)
_SENTENCE_ENDS = (".", "。", "!", "！", "?", "？", ";", "；")
_CHOICE = re.compile(any_of("yes_or_no"), re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Opening(Range):
    """A line that may open a section; `end` is where its own words end, `body` where what it opens begins.

    `level` is a heading's, or `PLAIN`; `is_answer` if the line itself says that an answer follows. Words behind the
    enumerator, from `words` on, may be a title or all there is of the answer. `ordinal` numbers the titled items of a
    list.
    """

    body: int
    words: int
    title: str
    level: int
    enumerator: Enumerator | None
    is_answer: bool = False
    ordinal: int = 0

    @property
    def is_roman(self) -> bool:
        """True if a lone roman numeral opens it."""
        return self.enumerator is not None and (self.enumerator.symbol or "").lower() in ROMANS


def events(document: Document) -> list[Opening | Marker]:
    """Everything that may open a section or an answer, in the order of the text."""
    markers = [*answer_environments(document), *quotes(document)]
    return sorted([*_heading_events(document), *_line_events(document), *markers], key=lambda item: item.start)


def _heading_events(document: Document) -> Iterator[Opening | Marker]:
    for heading in document.headings:
        title = normalised(heading.title)
        skipped = _skipped(title)
        marker = marker_words(title[skipped:])
        if marker and not marker.enumerator and not title[skipped + marker.end :].strip(EDGES):
            level = heading.level
            yield Marker(start=heading.start, end=heading.end, is_own=marker.is_own, level=level)
        else:
            yield _heading_opening(document, heading, skipped)


def _heading_opening(document: Document, heading: Heading, skipped: int) -> Opening:
    enumerator = parse_enumerator(normalised(heading.title)[skipped:])
    after = skipped + (enumerator.end if enumerator else 0)
    has_math = PLACEHOLDER in document.prose[heading.start : heading.end]
    return Opening(
        start=heading.start,
        end=heading.end,
        body=heading.title_start + after if has_math else heading.end,
        words=heading.end,
        title=cleaned(heading.title[after:]),
        level=heading.level,
        enumerator=enumerator,
    )


def _line_events(document: Document) -> Iterator[Opening | Marker]:
    hidden = sorted([*document.headings, *document.code, *document.comments], key=lambda item: item.start)
    starts = [item.start for item in hidden]
    before, found = "", list[Opening | Marker]()
    for line in document.lines:
        is_free = not before or _STOP.match(before[-1]) is not None or _LIST_MARK.match(line.text) is not None
        before = document.prose[line.start : line.end].strip("> \t\r\n")
        content = line.start + _skipped(line.text)
        is_read = before and not _is_hidden(document, hidden, starts, content)
        found = list(_line_event(document, line, content, is_free or found != [])) if is_read else []
        yield from found
        if found and isinstance(found[0], Opening):
            yield from _parts_on_line(document, found[0])


def _is_hidden(document: Document, hidden: Sequence[Range], starts: Sequence[int], offset: int) -> bool:
    index = bisect_right(starts, offset) - 1
    front = document.front_matter
    is_inside = index >= 0 and hidden[index].holds(offset)
    return is_inside or document.span_at(offset) is not None or (front is not None and front.holds(offset))


def _line_event(document: Document, line: Line, content: int, is_free: bool) -> Iterator[Opening | Marker]:
    label = _LABEL.match(document.text, content, line.end)
    words = normalised(label[1] if label else document.text[content : line.end])
    whole = Range(start=line.start + len(line.text) - len(line.text.lstrip("> \t")), end=line.end)
    marker = marker_words(words)
    enumerator = parse_enumerator(words)
    if marker and is_free:
        yield from _marker_event(whole, content, marker)
    elif label and enumerator:
        yield _line_opening(document, whole, label.end(), enumerator)
    elif enumerator and _is_plain_opening(words, enumerator) and (is_free or not words[enumerator.end :].strip("*_} ")):
        yield _line_opening(document, whole, content + enumerator.end, enumerator)
    elif _BOLD.match(line.text) and title_of(document.prose[content : line.end].rstrip("*_?？")):
        yield _opening(whole, line.end, line.end, title=cleaned(document.text[content : line.end]))
    elif is_free and (listed := listed_title(document.prose[content : line.end])):
        ordinal, title, length = listed
        yield replace(_opening(whole, content + length, content + length, title), ordinal=ordinal)


def _parts_on_line(document: Document, first: Opening) -> list[Opening]:
    """The parts that follow each other on one line: the ii of "i. Yes. ii. No."; an i on its own is none."""
    place = first.words
    start = 1 if first.is_roman and first.enumerator and (first.enumerator.symbol or "").lower() == ROMANS[0] else 0
    found: list[Opening] = []
    for numeral in ROMANS[start:]:
        part = _part(numeral).search(document.prose, place, first.end)
        if part is None or not _begins_a_part(document.prose[place : part.start()], part[0]):
            break
        place = part.end()
        enumerator = Enumerator(end=place - part.start(), symbol=numeral, form="firm", is_firm=True)
        found.append(
            Opening(
                start=part.start(), end=first.end, body=place, words=place, title="", level=PLAIN, enumerator=enumerator
            )
        )
    return found if start + len(found) > 1 else []


@lru_cache(maxsize=len(ROMANS))
def _part(numeral: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w(])(?:\({numeral}\)|{numeral}[.)])(?=\s|[\u4e00-\u9fff{PLACEHOLDER}])\s{{0,4}}")


def _begins_a_part(before: str, numeral: str) -> bool:
    """Whether a numeral behind these words opens a part: they end a sentence, or are all there is of an answer.

    That is a yes or no, or a formula before a numeral in brackets.
    """
    words = _BREAK.sub(" ", before).strip(EDGES)
    if numeral.strip("(.) ") == ROMANS[0]:
        return words == "" or words.endswith(_SENTENCE_ENDS)
    is_answer = _CHOICE.fullmatch(words) is not None or (numeral[0] == "(" and words.endswith(PLACEHOLDER))
    return is_answer or words.endswith(_SENTENCE_ENDS)


def _marker_event(line: Range, content: int, marker: MarkerWords) -> Iterator[Opening | Marker]:
    end = content + marker.end
    if marker.enumerator:
        yield replace(_opening(line, end, end), enumerator=marker.enumerator, is_answer=True)
    else:
        yield Marker(start=line.start, end=end, is_own=marker.is_own)


def _is_plain_opening(words: str, enumerator: Enumerator) -> bool:
    """A line that is no heading needs a firm enumerator; a number alone is the item of a list."""
    rest = words[enumerator.end :]
    if enumerator.word:
        is_set_off = rest[:1] in ("", "*", "_", "}") or words[: enumerator.end].rstrip()[-1] in ".:)、"
        return is_set_off or (title_of(rest) != "" and (not rest[0].isascii() or not rest[0].islower()))
    if enumerator.number is not None:
        return enumerator.is_firm and enumerator.second is not None and enumerator.form != "digits"
    return enumerator.is_firm and enumerator.symbol is not None and enumerator.symbol.islower()


def _line_opening(document: Document, line: Range, after: int, enumerator: Enumerator) -> Opening:
    """A title behind a number, or all in bold, is a heading; behind a letter or numeral alone, the answer begins."""
    rest = document.prose[after : line.end]
    title = title_of(rest)
    is_set_off = enumerator.number is not None or _BOLD.match(document.text, line.start, line.end) is not None
    is_heading = title != "" and is_set_off and not _CHOICE.fullmatch(title)
    is_emphatic = document.text.startswith(("*", "_", "\\text", "\\emph"), line.start)
    closed = _CLOSED.match(document.text, after, line.end) if is_emphatic else None
    words = closed.end() if closed else after
    opening = _opening(line, line.end if is_heading else words, words, title or leading_title(rest))
    return replace(opening, enumerator=enumerator)


def _opening(line: Range, body: int, words: int, title: str = "") -> Opening:
    return Opening(start=line.start, end=line.end, body=body, words=words, title=title, level=PLAIN, enumerator=None)


def _skipped(text: str) -> int:
    marks = _MARKS.match(text)
    return marks.end() if marks else 0
