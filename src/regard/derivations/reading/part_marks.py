"""A document's own marks of its parts: lines that look alike and count up, whatever they look like.

What stands around a letter such as the b of `--- b ---`, `Toggle: (b)` or `\\mypart{1b}` is its frame. The lines with
the same frame are a series if their letters count up from a, again and again where another question begins.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from regard.derivations.reading.document import PLACEHOLDER, Document, Line, Range, range_at
from regard.derivations.reading.enumerators import ROMANS, Enumerator, normalized

_LETTERS, _GREEK = "abcdefgh", "αβγδεζηθ"
_CIRCLED = {chr(first + k): _LETTERS[k] for first in (0x24B6, 0x24D0, 0x1F150, 0x1F170) for k in range(len(_LETTERS))}
_SAME = str.maketrans({**_CIRCLED, **dict(zip(_GREEK, _LETTERS, strict=True))})
_NUMERALS = "|".join(sorted(ROMANS[:5], key=len, reverse=True))
_GAP = r"[ .,:_()\-–]{0,3}"
_MARK = re.compile(
    rf"(?:(?<![0-9\\])(?P<number>[1-9]){_GAP}|(?<![A-Za-z0-9\\]))(?P<letter>[a-hA-H])"
    rf"(?:(?P<gap>{_GAP})(?P<third>{_NUMERALS}|[1-4])(?![A-Za-z0-9'’])|(?![A-Za-z0-9'’]))"
)
_CAPITALS = tuple(numeral.upper() for numeral in ROMANS[:5])
_CAPITAL = re.compile(rf"(?<![A-Za-z0-9\\])(?P<capital>{_NUMERALS.upper()})(?=\s?[.):–—-])")
_NUMERAL = re.compile(rf"(?<![A-Za-z0-9\\])(?P<third>{_NUMERALS})(?![A-Za-z0-9'’])")
_MAX_LEAD, _MAX_LINE, _MAX_TAIL = 30, 80, 4
_TAIL = re.compile(
    rf"(?:</\w+>|[^\w\s<{PLACEHOLDER}])*(?:\s+(?!(?:[+<>]|=(?!=)))(?:</\w+>|[^\w\s{PLACEHOLDER}$\\]+)(?=\s|$))?"
)
_WORDS = re.compile(r"[^\W\d_]+(?:[^\S\r\n][^\W\d_]+)*")
_ALONE = re.compile(r"(?:[^\W\d_]{1,12})?[\s().:*]*")
_LEAST_STEPS = {"number": 1, "letter": 2, "capital": 3}  # three chapters are often I, II and III
_MOSTLY = 0.75


@dataclass(frozen=True, kw_only=True)
class Mark(Range):
    """A line's mark from `start` to `end`, with what it counts."""

    line: Line
    enumerator: Enumerator


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """What lines that look alike have in common around their letters."""

    lead: str
    tail: str
    counts_in: Literal["number", "letter", "capital", "numeral"]
    is_upper: bool


def series_marks(document: Document) -> dict[int, Mark]:
    """The marks that belong to a series, by the number of their line."""
    framed: dict[_Frame, list[Mark]] = defaultdict(list)
    for line in _lines(document):
        for frame, mark in _marks_of(document, line):
            framed[frame].append(mark)
    outer = {frame: list(_without_inner(marks)) for frame, marks in framed.items() if frame.counts_in != "numeral"}
    letters = {frame: marks for frame, marks in outer.items() if _counts_up(frame, marks)}
    frames = {(frame.lead, frame.tail) for frame in letters}
    numerals = {f: marks for f, marks in framed.items() if f.counts_in == "numeral" and (f.lead, f.tail) in frames}
    found: dict[int, Mark] = {}
    for mark in (mark for marks in {**letters, **numerals}.values() for mark in marks):
        found.setdefault(mark.line.number, mark)
    return found


def named_part(title: str) -> Enumerator | None:
    """The enumerator that is all there is of a heading but a word: Problem 1: (c).

    >>> named_part("Question 3, g").second
    'g'
    """
    text = normalized(title)
    found = _MARK.search(text)
    is_whole = found and found["number"] and _ALONE.fullmatch(text[: found.start()] + text[found.end() :])
    return _enumerator(found) if found and is_whole else None


def _lines(document: Document) -> Iterator[Line]:
    """The lines that are not inside formulas or code."""
    front = document.front_matter
    for line in document.lines:
        content = line.start + len(line.text) - len(line.text.lstrip("> \t"))
        span = document.span_at(content)
        is_hidden = range_at(document.code, content) or (front is not None and front.holds(content))
        if content < line.end and span is None and not is_hidden:
            yield line


def _marks_of(document: Document, line: Line) -> Iterator[tuple[_Frame, Mark]]:
    """What may be marks in front of a line, or at the end of a short one, each with its frame."""
    skipped = len(line.text) - len(line.text.lstrip("> \t"))
    start = line.start + skipped
    shown = normalized(_shown(document, start, line.end))
    text = shown.translate(_SAME)
    for place, found in enumerate(_found_in(text)):
        tail = _TAIL.match(text, found.end() + _closes_numeral(text, found))
        assert tail is not None
        lead, closes = text[: found.start()], not text[tail.end() :].strip()
        is_short = closes and len(text) <= _MAX_LINE and place < _MAX_TAIL
        is_letter = shown[found.start() : found.end()].isascii()
        if PLACEHOLDER in lead or (len(lead) > _MAX_LEAD and not is_short):
            continue
        if is_letter and not _is_set_off(lead, tail[0], closes):
            continue
        end = tail.end() + len(text[tail.end() :]) - len(text[tail.end() :].lstrip())
        mark = Mark(start=start + found.start(), end=start + end, line=line, enumerator=_enumerator(found))
        groups = found.groupdict()
        for spelt in dict.fromkeys((lead, _WORDS.sub("w", lead)) if is_short else (lead,)):
            yield (
                _Frame(
                    lead=spelt.lower(),
                    tail=_tail_of(groups.get("gap") or "", tail[0].strip()),
                    counts_in=_unit(groups),
                    is_upper=(groups.get("letter") or "a").isupper(),
                ),
                mark,
            )


def _tail_of(gap: str, tail: str) -> str:
    """What stands after a letter, whether or not a numeral follows: the `)` of `c) ii)` and of `b)`."""
    return gap[0] + tail.lstrip(").:") if gap[1:] and gap[0] in ").:" else tail


def _found_in(text: str) -> Iterator[re.Match[str]]:
    yield from _MARK.finditer(text, 0, _MAX_LINE)
    yield from _CAPITAL.finditer(text, 0, _MAX_LEAD)
    yield from _NUMERAL.finditer(text, 0, _MAX_LEAD)


def _unit(groups: Mapping[str, str | None]) -> Literal["number", "letter", "capital", "numeral"]:
    if "letter" in groups:
        return "number" if groups["number"] else "letter"
    return "capital" if "capital" in groups else "numeral"


def _shown(document: Document, start: int, end: int) -> str:
    """The prose of a line; in a comment, which hides no mark from its author, the text."""
    return document.text[start:end] if range_at(document.comments, start) else document.prose[start:end]


def _is_set_off(lead: str, tail: str, closes: bool) -> bool:
    """True unless it may be a word of a sentence: something other than words and spaces is next to the letter."""
    return bool(tail) or closes or (lead != "" and not lead[-1].isalnum() and lead[-1] not in " \t,")


def _closes_numeral(text: str, found: re.Match[str]) -> bool:
    """True if the next character closes a bracket before the numeral: the frame of (c)(ii) is that of (c)."""
    return "(" in (found.groupdict().get("gap") or "") and text[found.end() : found.end() + 1] == ")"


def _enumerator(found: re.Match[str]) -> Enumerator:
    groups = found.groupdict()
    if "capital" in groups:
        return Enumerator(end=0, symbol=_LETTERS[_CAPITALS.index(groups["capital"])], form="enclosed", is_firm=True)
    third = ROMANS[int(groups["third"]) - 1] if (groups["third"] or "").isdigit() else groups["third"]
    if "letter" not in groups:
        return Enumerator(end=0, symbol=third, form="enclosed", is_firm=True)
    symbol = groups["letter"].lower()
    base = Enumerator(end=0, third=third, form="enclosed", is_firm=True)
    return (
        replace(base, number=int(groups["number"]), second=symbol) if groups["number"] else replace(base, symbol=symbol)
    )


def _letter(mark: Mark) -> str:
    return mark.enumerator.second or mark.enumerator.symbol or ""


def _without_inner(marks: Sequence[Mark]) -> Iterator[Mark]:
    """The marks without runs inside a part, after which the letters go on as before: a, b, (a, b,) c."""
    place, before = 0, ""
    while place < len(marks):
        end = place + 1
        while end < len(marks) and ord(_letter(marks[end])) - ord(_letter(marks[end - 1])) in (0, 1):
            end += 1
        goes_on = end < len(marks) and before != "" and ord(_letter(marks[end])) == ord(before) + 1
        if not (goes_on and _letter(marks[place]) == _LETTERS[0]):
            yield from marks[place:end]
            before = _letter(marks[end - 1])
        place = end


def _counts_up(frame: _Frame, marks: Sequence[Mark]) -> bool:
    """True if the letters of a series go a, b, c …, from a again where another question begins."""
    changes = [(before, after) for before, after in pairwise(("", *map(_letter, marks))) if before != after]
    ups = sum(before != "" and ord(after) - ord(before) in (1, 2) for before, after in changes)
    starts = sum(after == _LETTERS[0] for _, after in changes)
    return starts > 0 and ups >= _LEAST_STEPS[frame.counts_in] and ups + starts >= _MOSTLY * len(changes)
