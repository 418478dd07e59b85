"""Whom a question is about."""

import re
from collections.abc import Container

Span = tuple[int, int]

_WORD = re.compile(r"\S+")
_AROUND = '?!.,;:"“”()'
_POSSESSIVE = ("'s", "’s")


def find_known_name(text: str, names: Container[str]) -> Span | None:
    """Where the longest run of whole words stands that is a name, with or without the signs around it.

    >>> find_known_name("What is the birthplace of John Adams?", {"John", "John Adams", "John Adam"})
    (26, 36)
    >>> find_known_name("Where was Asa Yancey, Sr. born?", {"Asa Yancey, Sr."})
    (10, 25)
    """
    whole = [found.span() for found in _WORD.finditer(text)]
    bare = words_of(text)
    for length in range(len(whole), 0, -1):
        for first in range(len(whole) - length + 1):
            last = first + length - 1
            for start, end in ((whole[first][0], whole[last][1]), (bare[first][0], bare[last][1])):
                if text[start:end] in names:
                    return start, end
    return None


def words_of(text: str) -> list[Span]:
    """Where each word stands, without the signs around it and without a possessive ending."""
    return [_trimmed(text, *found.span()) for found in _WORD.finditer(text)]


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in _AROUND:
        start += 1
    while end > start and text[end - 1] in _AROUND:
        end -= 1
    return start, end - 2 if text[start:end].endswith(_POSSESSIVE) else end
