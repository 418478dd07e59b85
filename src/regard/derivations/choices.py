"""Yes or no, found in the prose of an answer."""

import re
from dataclasses import dataclass

from regard.derivations.problems.model import Choice
from regard.derivations.reading.phrases import any_of

_OPENING = re.compile(
    r"[\s*_>#.:：\-–—\ufffc()（）]*(?:\(?(?:[ivx]+|\d)[.)]\s*)?"
    rf"(?:(?:{any_of('own')}\s*)?{any_of('answer')}|a(?=[:：]))?[\s*_.:：]*",
    re.IGNORECASE,
)
_NEGATED = re.compile(rf"{any_of('negation')}[^.?!。？！]*$", re.IGNORECASE)
_ASKED = re.compile(r"[^.?!。？！\n]{4,160}[?？]")


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The answer that was given, the words that give it, and where they stand in the prose."""

    answer: str
    words: str
    offset: int


def find_choice(prose: str, choice: Choice) -> Chosen | None:
    """The choice that a passage makes: by its first word, else by the phrase that comes first.

    >>> find_choice("No. The codes differ.", Choice(answer="no", yes=("yes",), no=("no",))).answer
    'no'
    """
    prose = _ASKED.sub(lambda asked: " " * len(asked.group()), prose)
    begin = _behind_opening(prose, 0)
    first = _longest(prose, begin, choice, is_opening=True)
    if first is not None:
        return first
    for offset in range(begin, len(prose)):
        found = _longest(prose, offset, choice, is_opening=False)
        if found is not None:
            return None if _NEGATED.search(prose[max(0, offset - 40) : offset]) else found
    return None


def find_choice_by_cue(prose: str, choice: Choice) -> Chosen | None:
    """The answer that follows a question in running prose, if the question uses one of the choice's cues.

    >>> find_choice_by_cue("Can two codes coincide? No.", Choice(answer="no", no=("no",), cues=("coincide",))).words
    'No'
    """
    lowered = prose.lower()
    if not any(cue in lowered for cue in choice.cues):
        return None
    for asked in _ASKED.finditer(prose):
        if any(cue in asked.group().lower() for cue in choice.cues):
            found = _longest(prose, _behind_opening(prose, asked.end()), choice, is_opening=True)
            if found is not None:
                return found
    return None


def _behind_opening(prose: str, offset: int) -> int:
    """Where the words of an answer begin: behind marks, a number and the word `answer` itself."""
    opening = _OPENING.match(prose, offset)
    return offset if opening is None else opening.end()


def _longest(prose: str, offset: int, choice: Choice, *, is_opening: bool) -> Chosen | None:
    """The longest phrase of either side that begins here; short words count only at the opening."""
    found = []
    for answer, phrases in (("yes", choice.yes), ("no", choice.no)):
        for phrase in phrases:
            is_long = len(phrase) >= (3 if not phrase.isascii() else 5)
            if (is_opening or is_long) and _stands_at(prose, offset, phrase):
                found.append(Chosen(answer=answer, words=prose[offset : offset + len(phrase)], offset=offset))
    return max(found, key=lambda item: len(item.words), default=None)


def _stands_at(prose: str, offset: int, phrase: str) -> bool:
    """True if the phrase begins here and, in an alphabet, no letter touches it."""
    end = offset + len(phrase)
    if prose[offset:end].lower() != phrase:
        return False
    if not phrase.isascii():
        return True
    before, after = prose[offset - 1 : offset], prose[end : end + 1]
    return not (before.isascii() and before.isalpha()) and not (after.isascii() and after.isalpha())
