"""Which part of a document is answer: where questions are restated, their own text is not to be judged.

After "My answer:", "Solution:", "Ans.", 答, 解 and the like comes the answer; what its section holds before that is the
question. A block quote right after a question in bold is an answer too. A section without any such mark is all answer.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from regard.derivations.reading.document import Document
from regard.derivations.reading.outline import Section, Structure, structure
from regard.derivations.reading.ranges import Range, left_over

_RULES = re.compile(r"(?:(?:\r\n|\r|\n)[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*)(?=\s*\Z)")
_BLANK = "> \t\r\n*_-"


@dataclass(frozen=True, kw_only=True)
class AnswerRange(Range):
    """A stretch of somebody's answer, the path of the question it answers, and the innermost section it stands in."""

    path: tuple[str, ...]
    section: Section | None


def answer_ranges(document: Document) -> tuple[AnswerRange, ...]:
    """The stretches of a document that are answers, in order, none empty and none overlapping.

    >>> from regard.derivations.reading.files import read_text
    >>> document = read_text("### Q1-2. Two\\n\\nFind $q$.\\n\\nMy answer:\\n\\nTake $q = k$.")
    >>> [(answer.path, document.text[answer.start : answer.end]) for answer in answer_ranges(document)]
    [(('1', 'b'), 'Take $q = k$.')]
    """
    found = structure(document)
    holes = _merged(_holes(document, found))
    starts = [hole.start for hole in holes]
    answers: list[AnswerRange] = []
    for stretch in _stretches(found.sections, len(document.text)):
        first = max(bisect_right(starts, stretch.start) - 1, 0)
        near = holes[first : bisect_right(starts, stretch.end)]
        for piece in left_over(stretch, near):
            text = _RULES.sub("", document.text[piece.start : piece.end])
            start = piece.start + len(text) - len(text.lstrip())
            if text.strip().strip(_BLANK):
                answers.append(replace(stretch, start=start, end=start + len(text.strip())))
    return tuple(answers)


def _holes(document: Document, found: Structure) -> Iterator[Range]:
    """What is no answer: restated questions, headings, the markers' own words, front matter, what follows the end."""
    yield from found.questions
    yield from (Range(start=section.start, end=section.body) for section in found.sections)
    yield from found.markers
    yield from (item for item in (document.front_matter, *document.comments[-1:]) if item and _is_edge(document, item))


def _is_edge(document: Document, item: Range) -> bool:
    return item.start == 0 or item.end == len(document.text)


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for item in sorted(ranges, key=lambda item: item.start):
        if merged and item.start <= merged[-1].end:
            merged[-1] = Range(start=merged[-1].start, end=max(item.end, merged[-1].end))
        else:
            merged.append(Range(start=item.start, end=item.end))
    return merged


def _stretches(sections: Sequence[Section], length: int) -> Iterator[AnswerRange]:
    """The document cut where a section begins or ends, each stretch with the sections it stands in."""
    open_now: list[Section] = []
    place = 0
    for section in (*sections, None):
        start = section.start if section else length
        while open_now and open_now[-1].end <= start:
            yield _stretch(place, open_now[-1].end, open_now)
            place = max(place, open_now.pop().end)
        yield _stretch(place, start, open_now)
        place = start
        if section:
            open_now.append(section)


def _stretch(start: int, end: int, open_now: Sequence[Section]) -> AnswerRange:
    path = next((section.path for section in reversed(open_now) if section.path), ())
    return AnswerRange(start=start, end=max(start, end), path=path, section=open_now[-1] if open_now else None)
