"""Text that a reader of the finished document does not see, or sees struck out: white, tiny, dropped, or as code."""

import re
from collections.abc import Iterator

from regard.derivations.reading.braces import group_end
from regard.derivations.reading.document import Document, Macro, Range

_NUMBER_BELOW_A_TENTH = r"0?\.0\d*|0(?:\.0\d*)?(?![\d.])"
_HIDING_STYLE = (
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.\d+)?(?![\d.])|font-size\s*:\s*[01](?:\.\d+)?(?![\d.])"
    r"|(?<![-\w])color\s*:\s*(?:white|transparent|#f{3}(?:f{3})?(?![0-9a-f])|rgba?\(\s*255\s*,\s*255\s*,\s*255)"
)
_TAG = re.compile(
    rf"<\w+\b[^<>]{{0,400}}(?:style\s*=\s*[\"'][^\"'<>]{{0,300}}(?:{_HIDING_STYLE})|\shidden\b"
    r"|\bcolor\s*=\s*[\"']?(?:white|#f{3}(?:f{3})?)\b)[^<>]{0,400}>",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"\\(?:textcolor|color)\s*\{\s*white\s*\}|\\[hv]?phantom(?![A-Za-z])|\\[bx]?cancel(?![A-Za-z])"
    rf"|\\scalebox\s*\{{\s*(?:{_NUMBER_BELOW_A_TENTH})|\\fontsize\s*\{{\s*[01](?:\.\d*)?\s*(?:pt)?\s*\}}"
)
_CODE_WITH_A_RELATION = re.compile(r"`[^`\n]{0,300}(?:=|≈|<|>|\\approx|\\(?:gg|ll|to|neq?)\b)[^`\n]{0,300}`")
_SPACE = re.compile(r"\s*")


def hidden_text(document: Document) -> list[Range]:
    """Where the document holds text that its reader does not see, or does not see as mathematics."""
    found = [*document.struck, *_by_marks(document), *_dropped(document)]
    return sorted(found, key=lambda place: place.start)


def _by_marks(document: Document) -> Iterator[Range]:
    fenced = [code for code in document.code if "\n" in document.text[code.start : code.end]]
    patterns = (_TAG, _COMMAND) if document.kind == "latex" else (_TAG, _COMMAND, _CODE_WITH_A_RELATION)
    for pattern in patterns:
        for mark in pattern.finditer(document.text):
            if not any(code.holds(mark.start()) for code in (*fenced, *document.comments)):
                yield Range(start=mark.start(), end=mark.end())


def _dropped(document: Document) -> Iterator[Range]:
    """The calls of macros that leave an argument out."""
    for macro in document.macros:
        if macro.arity and "#" not in macro.body:
            yield from _calls(document, macro)


def _calls(document: Document, macro: Macro) -> Iterator[Range]:
    front = document.front_matter.end if document.front_matter else 0
    for call in re.finditer(rf"{re.escape(macro.name)}(?![A-Za-z])", document.text[front:]):
        begin = _SPACE.match(document.text, front + call.end())
        end = group_end(document.text, begin.end()) if begin is not None else None
        if end is not None:
            yield Range(start=front + call.start(), end=end)
