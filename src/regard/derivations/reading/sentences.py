"""The prose around mathematics: what a sentence says before and after a formula."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from regard.derivations.reading.document import Document
from regard.derivations.reading.ranges import Range

_ITEM = re.compile(r"[\s>]*(?:[-*+]\s|\d{1,3}[.)]\s|\\item\b|\\begin\{(?:itemize|enumerate)\}|$)")
_OPEN_ENDED = (":", "：")
_LONGEST_LIST = 40


@dataclass(frozen=True, kw_only=True)
class Passage(Range):
    """A stretch of a document's prose, with mathematics as placeholders; offsets are those of the document."""

    text: str


def prose(document: Document) -> str:
    """The text with mathematics replaced, character by character, by a placeholder; offsets stay the same.

    >>> from regard.derivations.reading.files import read_text
    >>> prose(read_text("Take $q$ now.")).replace("\\ufffc", "_")
    'Take ___ now.'
    """
    return document.prose


def sentence_before(document: Document, offset: int) -> Passage:
    """The prose from the start of its sentence up to an offset, or up to the formula that holds the offset.

    >>> from regard.derivations.reading.files import read_text
    >>> sentence_before(read_text("Done. Suppose that $x > 0$."), 20).text
    'Suppose that '
    """
    span = document.span_at(offset)
    end = span.start if span else offset
    starts = document.sentence_starts
    start = starts[max(bisect_right(starts, end) - 1, 0)]
    return Passage(start=start, end=end, text=document.prose[start:end])


def sentence_after(document: Document, offset: int) -> Passage:
    """The prose from an offset, or from the end of the formula that holds it, to the end of the sentence.

    >>> from regard.derivations.reading.files import read_text
    >>> sentence_after(read_text("So $x > 0$ for all keys. Next."), 4).text
    ' for all keys.'
    """
    span = document.span_at(offset)
    start = span.end if span else offset
    starts = document.sentence_starts
    index = bisect_left(starts, start) if span else bisect_right(starts, start)
    end = starts[index] if index < len(starts) else len(document.text)
    text = document.prose[start:end].rstrip()
    return Passage(start=start, end=start + len(text), text=text)


def paragraph_at(document: Document, offset: int) -> int:
    """Where the paragraph that holds an offset begins: behind the empty line before it.

    >>> from regard.derivations.reading.files import read_text
    >>> paragraph_at(read_text("One.\\n\\nTwo. Three."), 12)
    6
    """
    starts = document.paragraph_starts
    return starts[bisect_right(starts, offset) - 1]


def lead_in(document: Document, offset: int) -> Range | None:
    """The sentence with a colon at its end that leads the list in which an item's sentence begins.

    >>> from regard.derivations.reading.files import read_text
    >>> found = lead_in(read_text("Let $n = 2$:\\n- one\\n- two"), 22)
    >>> found.start, found.end
    (0, 12)
    """
    number = document.line_at(offset).number - 1
    lines = document.lines[max(number - _LONGEST_LIST, 0) : number + 1]
    if not lines[-1].text.strip() or not _ITEM.match(lines[-1].text):
        return None
    leading = next((line for line in reversed(lines) if not _ITEM.match(line.text)), None)
    if leading is None or not leading.text.rstrip("*_ \t").endswith(_OPEN_ENDED):
        return None
    return Range(start=sentence_before(document, leading.end).start, end=leading.end)
