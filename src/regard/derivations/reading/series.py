"""A document's own marks of its parts: lines that look alike and count up, whatever they look like.

What stands around a letter such as the b of `--- b ---`, `Toggle: (b)` or `\\mypart{1b}` is its frame. The lines with the
same frame are a series if their letters count up from a, again and again where another question begins.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from regard.derivations.reading.document import PLACEHOLDER, Document, Line, Range, range_at
from regard.derivations.reading.enumerators import ROMANS, Enumerator, normalized

_LETTERS, _GREEK = "abcdefgh", "αβγδεζηθ"
_CIRCLED = {chr(first + k): _LETTERS[k] for first in (0x24B6, 0x24D0, 0x1F150, 0x1F170) for k in range(len(_LETTERS))}
_SAME = str.maketrans({**_CIRCLED, **dict(zip(_GREEK, _LETTERS, strict=True))})
_NUMERALS = "|".join(sorted(ROMANS[:5], key=len, reverse=True))
_GAP = r"[ .,:_()\-–]{0,3}"
_MARK = re.compile(
    rf"(?:(?<![0-9\\])(?P<number>[1-9]){_GAP}|(?<![A-Za-z0-9\\]))(?P<letter>[a-hA-H])"
    rf"(?:{_GAP}(?P<third>{_NUMERALS}|[1-4])(?![A-Za-z0-9'’])|(?![A-Za-z0-9'’]))"
)
_NUMERAL = re.compile(rf"(?<![A-Za-z0-9\\])(?P<third>{_NUMERALS})(?![A-Za-z0-9'’])")
_MAX_LEAD, _MAX_LINE, _MAX_TAIL = 30, 80, 4
_TAIL = re.compile(
    rf"(?:</\w+>|[^\w\s<{PLACEHOLDER}])*(?:\s+(?!(?:[+<>]|=(?!=)))(?:</\w+>|[^\w\s{PLACEHOLDER}$\\]+)(?=\s|$))?"
)
_WORDS = re.compile(r"[^\W\d_]+(?:[^\S\r\n][^\W\d_]+)*")
_LEAST_STEPS = 2
_MOSTLY = 0.75


@dataclass(frozen=True, kw_only=True)
class Mark(Range):
    """A line's mark from `start` to `end`, with what it counts; `closes` says that nothing follows it on the line."""

    line: Line
    enumerator: Enumerator
    closes: bool


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """What lines that look alike have in common around their letters."""

    lead: str
    tail: str
    has_number: bool
    is_upper: bool
    is_numeral: bool


def series_marks(document: Document) -> dict[int, Mark]:
    """The marks that belong to a series, by the number of their line."""
    framed: dict[_Frame, list[Mark]] = defaultdict(list)
    for line in _lines(document):
        for frame, mark in _marks_of(document, line):
            framed[frame].append(mark)
    outer = {frame: list(_without_inner(marks)) for frame, marks in framed.items() if not frame.is_numeral}
    letters = {frame: marks for frame, marks in outer.items() if _counts_up(marks)}
    frames = {(frame.lead, frame.tail) for frame in letters}
    numerals = {f: marks for f, marks in framed.items() if f.is_numeral and (f.lead, f.tail) in frames}
    found: dict[int, Mark] = {}
    for mark in (mark for marks in {**letters, **numerals}.values() for mark in marks):
        found.setdefault(mark.line.number, mark)
    return found


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
    for place, found in enumerate((*_MARK.finditer(text, 0, _MAX_LINE), *_NUMERAL.finditer(text, 0, _MAX_LEAD))):
        tail = _TAIL.match(text, found.end())
        assert tail is not None
        lead, closes = text[: found.start()], not text[tail.end() :].strip()
        is_short = closes and len(text) <= _MAX_LINE and place < _MAX_TAIL
        is_letter = shown[found.start() : found.end()].isascii()
        if PLACEHOLDER in lead or (len(lead) > _MAX_LEAD and not is_short):
            continue
        if is_letter and not _is_set_off(lead, tail[0], closes):
            continue
        mark = Mark(
            start=start + found.start(),
            end=start + tail.end() + len(text[tail.end() :]) - len(text[tail.end() :].lstrip()),
            line=line,
            enumerator=_enumerator(found),
            closes=closes,
        )
        groups = found.groupdict()
        for spelt in dict.fromkeys((lead, _WORDS.sub("w", lead)) if is_short else (lead,)):
            yield (
                _Frame(
                    lead=spelt.lower(),
                    tail=tail[0].strip(),
                    has_number=groups.get("number") is not None,
                    is_upper=(groups.get("letter") or "a").isupper(),
                    is_numeral="letter" not in groups,
                ),
                mark,
            )


def _shown(document: Document, start: int, end: int) -> str:
    """The prose of a line; in a comment, which hides no mark from its author, the text."""
    return document.text[start:end] if range_at(document.comments, start) else document.prose[start:end]


def _is_set_off(lead: str, tail: str, closes: bool) -> bool:
    """True unless it may be a word of a sentence: something other than words and spaces is next to the letter."""
    return bool(tail) or closes or (lead != "" and not lead[-1].isalnum() and lead[-1] not in " \t,")


def _enumerator(found: re.Match[str]) -> Enumerator:
    groups = found.groupdict()
    written = groups["third"] or groups.get("joined")
    third = ROMANS[int(written) - 1] if written and written.isdigit() else written
    if groups.get("letter") is None:
        return Enumerator(end=0, symbol=third, form="enclosed", is_firm=True)
    symbol = groups["letter"].lower()
    if groups["number"]:
        return Enumerator(end=0, number=int(groups["number"]), second=symbol, third=third, form="enclosed", is_firm=True)
    return Enumerator(end=0, symbol=symbol, third=third, form="enclosed", is_firm=True)


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


def _counts_up(marks: Sequence[Mark]) -> bool:
    """True if the letters of a series go a, b, c …, from a again where another question begins."""
    changes = [(before, after) for before, after in pairwise(("", *map(_letter, marks))) if before != after]
    steps = [after == _LETTERS[0] or ord(after) - ord(before or "`") in (1, 2) for before, after in changes]
    ups = sum(step and before != "" and after != _LETTERS[0] for (before, after), step in zip(changes, steps, strict=True))
    least = 1 if marks[0].enumerator.number is not None else _LEAST_STEPS
    return ups >= least and sum(steps) >= _MOSTLY * len(steps)
