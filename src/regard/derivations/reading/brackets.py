r"""Mathematics in explicit delimiters: `\(…\)`, `\[…\]` and environments such as `align`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.derivations.reading.document import Unclosed
from regard.derivations.reading.layout import Layout, Piece
from regard.derivations.reading.ranges import Range
from regard.derivations.reading.wording import reads_as_prose

ENVIRONMENTS = frozenset(
    ("equation", "align", "gather", "multline", "eqnarray", "alignat", "flalign", "displaymath", "math")
)
# Written without any delimiters around them, these are still mathematics, and their own marks belong to the source.
_INNER = frozenset(
    ("aligned", "gathered", "alignedat", "split", "cases", "array", "matrix", "pmatrix", "bmatrix", "vmatrix")
)
_TOKEN = re.compile(r"\\(begin|end)\s{0,9}\{([A-Za-z]+\*?)\}|\\\\[()\[\]]|\\[\s\S]")
_CLOSING = {"\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}
_ALIGNAT_COLUMNS = re.compile(r"\s{0,9}\{\s{0,9}\d{1,3}\s{0,9}\}")


@dataclass(frozen=True, kw_only=True)
class _Token(Range):
    """An opening or closing delimiter; `name` is the same for the two that belong together."""

    name: str
    is_opening: bool
    text: str


def bracketed(layout: Layout) -> tuple[list[Piece], list[Unclosed]]:
    """Every explicit pair from left to right, none inside another, and the openings that nothing closes."""
    tokens = list(_tokens(layout))
    partner = _partners(tokens)
    pieces: list[Piece] = []
    unclosed: list[Unclosed] = []
    place = 0
    for index, token in enumerate(tokens):
        if token.start < place or not token.is_opening:
            continue
        closing = partner[index]
        if closing is not None and _belong_together(layout, token, closing):
            pieces.append(_piece(layout, token, closing))
            place = closing.end
        elif not token.text.startswith("\\\\"):
            unclosed.append(Unclosed(offset=token.start, token=token.text))
    return pieces, unclosed


def _tokens(layout: Layout) -> Iterator[_Token]:
    closers = {closing: opening for opening, closing in _CLOSING.items()}
    for found in _TOKEN.finditer(layout.visible):
        text, name = found[0], found[2]
        start, end = found.span()
        if name:
            plain = name.rstrip("*")
            if plain in ENVIRONMENTS or plain in _INNER:
                yield _Token(start=start, end=end, name=name, is_opening=found[1] == "begin", text=text)
        elif layout.is_latex and text.startswith("\\\\"):
            continue
        elif text in _CLOSING:
            yield _Token(start=start, end=end, name=text, is_opening=True, text=text)
        elif text in closers:
            yield _Token(start=start, end=end, name=closers[text], is_opening=False, text=text)


def _partners(tokens: list[_Token]) -> list[_Token | None]:
    """For each opening, the closing one that matches it; inner environments may hold others of their own name."""
    partners: list[_Token | None] = [None] * len(tokens)
    open_now: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        stack = open_now.setdefault(token.name, [])
        if token.is_opening:
            if token.name not in _INNER:
                stack.clear()
            stack.append(index)
        elif stack:
            partners[stack.pop()] = token
    return partners


def _belong_together(layout: Layout, opening: _Token, closing: _Token) -> bool:
    first, last = layout.region_at(opening.start), layout.region_at(closing.start)
    if first == last:
        return True
    if opening.name in ("\\(", "\\\\("):
        return False
    return not reads_as_prose(layout.visible[opening.end : closing.start])


def _piece(layout: Layout, opening: _Token, closing: _Token) -> Piece:
    name = opening.name
    inner_start, inner_end = opening.end, closing.start
    if name in _INNER:
        inner_start, inner_end = opening.start, closing.end
    elif name.startswith("alignat"):
        columns = _ALIGNAT_COLUMNS.match(layout.visible, inner_start, inner_end)
        inner_start = columns.end() if columns else inner_start
    return Piece(
        start=opening.start,
        end=closing.end,
        inner=Range(start=inner_start, end=inner_end),
        delimiter=name,
        is_display=name not in ("\\(", "\\\\(", "math"),
    )
