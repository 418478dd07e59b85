"""Formulas of a judged document as HTML: typeset piece by piece, each step marked on its own."""

import html
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.derivations.judged import FormulaSpan, JudgedDocument, Mark
from regard.derivations.step_cards import step
from regard.render.formulas import Piece, Stretch, cut_formula
from regard.render.mathml import typeset

DISPLAY = '<span class="display'
_PUNCTUATION = re.compile(r"(?:[,;.:，；。：、]|\\(?:qquad|quad|enspace|[,;:! ])(?![A-Za-z])|\s|~)+")
_NO_BREAK = (",", ";", ".", ":", "，", "；", "。", "：", "、")
_SPACE = re.compile(r"\\(qquad|quad)(?![A-Za-z])|\\(?:enspace|[,;:! ])|~")
_WORDS = re.compile(r"\\(?:text|textrm|mbox)\s*\{([^{}$\\]*)\}")


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What is needed to set one formula: its marks by number, and in which part each shows its card."""

    marks: Mapping[int, Mark]
    is_display: bool
    main: Mapping[int, int]


def formula_html(document: JudgedDocument, formula: FormulaSpan, numbers: Sequence[int]) -> str:
    """The formula with the marks of these numbers; a display keeps its rows and columns."""
    offsets = formula.offsets or _plain_offsets(document.text, formula)
    stretches = [_stretch(document.marks[number], number, offsets) for number in numbers]
    rows = cut_formula(formula.source, stretches) or [[[Piece(source=formula.source or " ", steps=tuple(numbers))]]]
    pieces = [piece for row in rows for cell in row for piece in cell]
    main = {step: place for place, piece in enumerate(pieces) for step in piece.steps}
    setting = _Setting(
        marks={number: document.marks[number] for number in numbers}, is_display=formula.is_display, main=main
    )
    places = iter(range(len(pieces)))
    shown = [[[_piece(piece, next(places), setting) for piece in cell] for cell in row] for row in rows]
    if not formula.is_display and len(rows) == 1 and len(rows[0]) == 1:
        return f'<span class="formula">{_joined(shown[0][0])}</span>'
    return _display(shown)


def _plain_offsets(text: str, formula: FormulaSpan) -> Sequence[int]:
    start = max(text.find(formula.source, formula.start, formula.end), formula.start)
    return range(start, start + len(formula.source))


def _stretch(mark: Mark, number: int, offsets: Sequence[int]) -> Stretch:
    """The characters of the source whose places lie in the mark."""
    if isinstance(offsets, range):
        inside = range(max(mark.start - offsets.start, 0), max(min(mark.end - offsets.start, len(offsets)), 0))
    else:
        first = bisect_left(offsets, mark.start)
        inside = range(first, max(bisect_left(offsets, mark.end), first))
    if not inside:
        return Stretch(start=0, end=len(offsets), step=number)
    return Stretch(start=inside[0], end=inside[-1] + 1, step=number)


def _piece(piece: Piece, place: int, setting: _Setting) -> str:
    if not piece.steps:
        return _between(piece.source, setting.is_display)
    inner = typeset(piece.source, is_display=setting.is_display) or "&nbsp;"
    marks = [setting.marks[number] for number in piece.steps]
    is_main = all(setting.main[number] == place for number in piece.steps)
    return step(piece.steps, marks, inner, is_main=is_main)


def _between(source: str, is_display: bool) -> str:
    """What stands between steps: signs and words as text that can wrap, the rest typeset."""
    words = _WORDS.fullmatch(source)
    if words:
        return f'<span class="words">{html.escape(words[1])}</span>'
    closing = _PUNCTUATION.match(source)
    if closing and closing.end() < len(source):
        return _between(source[: closing.end()], is_display) + _between(source[closing.end() :], is_display)
    if closing:
        return _SPACE.sub(lambda space: f'<span class="{space[1] or "thin"}"> </span>', html.escape(source))
    return typeset(source, is_display=is_display)


def _joined(pieces: Sequence[str]) -> str:
    """The pieces in a row that may break between them, but not before a comma."""
    joined = ""
    for piece in pieces:
        joined += piece if not joined or piece.startswith(_NO_BREAK) else f" <wbr>{piece}"
    return joined


def _display(rows: Sequence[Sequence[Sequence[str]]]) -> str:
    is_aligned = any(len(row) > 1 for row in rows)
    shown = "".join(
        f'<span class="row">{"".join(f"<span class=cell>{_joined(cell)}</span>" for cell in row)}</span>'
        for row in rows
    )
    return f'{DISPLAY}{" aligned" if is_aligned else ""}"><span class="rows">{shown}</span></span>'
