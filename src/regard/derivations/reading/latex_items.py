"""Questions that LaTeX numbers by itself: the `exam` class, and `enumerate` with a label for letters or romans."""

import re
from collections.abc import Iterator

from regard.derivations.reading.document import Document
from regard.derivations.reading.enumerators import Enumerator, letter, roman
from regard.derivations.reading.macros import group_end
from regard.derivations.reading.markers import PLAIN
from regard.derivations.reading.openings import Opening

_TOKEN = re.compile(
    r"\\(?P<edge>begin|end)\s?\{enumerate\}(?:\[(?P<label>[^\]\r\n]{0,120})\])?"
    r"|\\(?P<item>item)(?![A-Za-z])(?!\s*\[)"
    r"|\\(?P<exam>titledquestion|question|part|subpart)(?![A-Za-z])(?:(?<=titledquestion)(?=\{)|(?!\s*\{))"
    r"(?P<points>\s?\[[^\]\r\n]{0,20}\])?"
)
_EXAM_LEVEL = {"question": 0, "titledquestion": 0, "part": 1, "subpart": 2}
_POINTS = re.compile(r"\s?\[[^\]\r\n]{0,20}\]")


def numbered_items(document: Document) -> Iterator[Opening]:
    """The openings that stand for numbers which only the typeset page shows."""
    if document.kind != "latex":
        return
    counts = [0, 0, 0]
    lists: list[list] = []
    for found in _TOKEN.finditer(document.prose):
        if found["exam"]:
            level = _EXAM_LEVEL[found["exam"]]
            counts[level] += 1
            counts[level + 1 :] = [0] * (2 - level)
            yield _exam_opening(document, found, level, counts[level])
        elif found["edge"] == "begin":
            lists.append([_style(found["label"] or ""), 0])
        elif found["edge"] == "end":
            lists[-1:] = []
        elif lists and lists[-1][0]:
            style, ordinal = lists[-1][0], lists[-1][1] + 1
            lists[-1][1] = ordinal
            symbol = letter(ordinal) if style == "letter" else roman(ordinal)
            yield _opening(found.start(), found.end(), Enumerator(end=0, symbol=symbol, form="enclosed", is_firm=True))


def _style(label: str) -> str:
    """What a label such as `label=(\\alph*)` or `(i)` counts in; empty if neither letters nor romans."""
    if "\\alph" in label or re.fullmatch(r"[(\s]*a[).\s]*", label):
        return "letter"
    return "roman" if "\\roman" in label or re.fullmatch(r"[(\s]*i[).\s]*", label) else ""


def _exam_opening(document: Document, found: re.Match[str], level: int, ordinal: int) -> Opening:
    title, end = "", found.end()
    if found["exam"] == "titledquestion":
        closed = group_end(document.prose, end, 300)
        title = document.text[end + 1 : closed - 1] if closed else ""
        points = _POINTS.match(document.prose, closed or end)
        end = points.end() if points else (closed or end)
    if level == 0:
        return _opening(found.start(), end, Enumerator(end=0, word="question", number=ordinal), title)
    symbol = letter(ordinal) if level == 1 else roman(ordinal)
    enumerator = Enumerator(end=0, word="part", symbol=symbol, form="enclosed", is_firm=True)
    return _opening(found.start(), end, enumerator, title)


def _opening(start: int, end: int, enumerator: Enumerator, title: str = "") -> Opening:
    return Opening(start=start, end=end, body=end, words=end, title=title, level=PLAIN, enumerator=enumerator)
