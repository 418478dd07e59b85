"""Words that say "here my answer begins": My answer, Solution, Ans., 答, 解, and the environments of LaTeX."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.derivations.reading.document import Document
from regard.derivations.reading.enumerators import Enumerator, parse_enumerator
from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.ranges import Range

PLAIN = 100

_WORDS = re.compile(
    rf"(?:(?P<own>{any_of('own')})\s{{0,4}})?(?:{any_of('not_own')}\s{{0,4}})?{any_of('answer')}", re.IGNORECASE
)
_END = re.compile(r"\s{0,4}[*_}\]]{0,4}\s{0,4}(?:[:.]\s{0,4}[*_}]{0,4}\s{0,4}|$)")
_LINK = re.compile(rf"\s{{0,4}}(?:{any_of('answer_to')})?\s{{0,4}}", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s?\{(?:solution|answer|sol|ans)\*?\}(?:\[[^\]\r\n]{0,80}\])?")


@dataclass(frozen=True, kw_only=True)
class Marker(Range):
    """The place of such words; `is_end` where an answer's environment ends, `is_own` if they say whose answer it is.

    `quote_end` is where the block quote ends that takes the place of the words, if one does; `level` is that of a
    heading, or `PLAIN`.
    """

    is_end: bool = False
    is_own: bool = False
    quote_end: int = 0
    level: int = PLAIN


@dataclass(frozen=True, kw_only=True)
class MarkerWords:
    """What the words in front of a line say, where they end, and the enumerator among them ("Answer (i):")."""

    end: int
    is_own: bool
    enumerator: Enumerator | None = None


def marker_words(words: str) -> MarkerWords | None:
    """The words in front of a normalised line that open an answer, if they do.

    >>> marker_words("My answer: yes").end, marker_words("The answer is yes")
    (11, None)
    """
    found = _WORDS.match(words)
    if found is None:
        return None
    is_own = found["own"] is not None
    end = _END.match(words, found.end())
    if end:
        return MarkerWords(end=end.end(), is_own=is_own)
    link = _LINK.match(words, found.end())
    place = link.end() if link else found.end()
    enumerator = parse_enumerator(words[place:])
    if enumerator is None or (place == found.end() and words[place] != "("):
        return None
    stop = place + enumerator.end
    if stop < len(words) and not words[:stop].rstrip().endswith((":", ")", ".")):
        return None
    # "Solution 2:" counts solutions, not questions.
    counts_answers = enumerator.number is not None and enumerator.second is None and not enumerator.word
    return MarkerWords(end=stop, is_own=is_own, enumerator=None if counts_answers else enumerator)


def answer_environments(document: Document) -> Iterator[Marker]:
    r"""Where `\begin{solution}` and the like open and close an answer."""
    if document.kind == "latex":
        for found in _ENVIRONMENT.finditer(document.prose):
            yield Marker(start=found.start(), end=found.end(), is_end=found[1] == "end", is_own=True)


def quotes(document: Document) -> Iterator[Marker]:
    """Where block quotes begin, for answers may be given in them."""
    for quote in document.quotes if document.kind != "latex" else ():
        yield Marker(start=quote.start, end=quote.start, quote_end=quote.end)
