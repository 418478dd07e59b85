"""Slots in a text: formulas and marked words are taken out before the prose is rendered, and put back after.

A slot is a number between two private-use characters, which no renderer touches.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.derivations.judged import JudgedDocument, Mark
from regard.derivations.page_formulas import DISPLAY, formula_html
from regard.derivations.step_cards import margin_notes, step

_OPEN, _CLOSE = "\ue000", "\ue001"
_SLOT = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_GLUED = re.compile(f"([(（「“]?{_OPEN}\\d+{_CLOSE})(?: ?([，。、；：！？）」”]+)|([,.;:!?)]+))")
_CONTROL = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f{_OPEN}{_CLOSE}\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What belongs into each slot: its HTML, its source for places that hold no HTML, and the marks in it."""

    filled: Sequence[str]
    sources: Sequence[str]
    marks: Sequence[tuple[Mark, ...]]

    def fill(self, text: str) -> str:
        """The text, escaped, with every slot filled."""
        return self.fill_escaped(html.escape(text))

    def fill_escaped(self, escaped: str) -> str:
        """Escaped text with every slot filled."""
        return self._replaced(
            _GLUED.sub(r'<span class="glue">\1\2\3</span>', escaped), lambda number: self.filled[number]
        )

    def plain(self, text: str) -> str:
        """The text, escaped, with the source of each slot: for attributes and the like."""
        return self._replaced(html.escape(text), lambda number: html.escape(self.sources[number]))

    def marks_in(self, text: str) -> tuple[Mark, ...]:
        """The marks in the slots of a text, in order."""
        return tuple(mark for number in _SLOT.findall(text) for mark in self._marks(int(number)))

    def margin(self, text: str) -> str:
        """The margin notes for the slots of a text."""
        return margin_notes(self.marks_in(text))

    def split(self, text: str) -> list[str]:
        """The text cut before and after each slot that holds a display."""
        parts = [""]
        for part in re.split(f"({_SLOT.pattern.replace('(', '(?:')})", text):
            slot = _SLOT.fullmatch(part)
            if slot and self.filled[int(slot[1])].startswith(DISPLAY):
                parts += [part, ""]
            else:
                parts[-1] += part
        return [part.strip() for part in parts if part.strip()]

    def _marks(self, number: int) -> tuple[Mark, ...]:
        return self.marks[number] if number < len(self.marks) else ()

    def _replaced(self, text: str, content: Callable[[int], str]) -> str:
        def replacement(slot: re.Match[str]) -> str:
            number = int(slot[1])
            return content(number) if number < len(self.filled) else ""

        return _SLOT.sub(replacement, text)


@dataclass(frozen=True, kw_only=True)
class _Item:
    start: int
    end: int
    filled: str
    marks: tuple[Mark, ...] = ()


def with_slots(document: JudgedDocument) -> tuple[str, Slots]:
    """The document's text with a slot for each formula and each marked word, hidden ranges left out."""
    items = sorted(_items(document), key=lambda item: (item.start, -item.end))
    pieces, place, kept = [], 0, []
    for item in items:
        if item.start < place:
            continue
        pieces.append(_clean(document.text[place : item.start]))
        if item.filled:
            pieces.append(f"{_OPEN}{len(kept)}{_CLOSE}")
            kept.append(item)
        place = item.end
    text = "".join([*pieces, _clean(document.text[place:])])
    sources = [_clean(document.text[item.start : item.end]) for item in kept]
    return text, Slots(filled=[item.filled for item in kept], sources=sources, marks=[item.marks for item in kept])


def _clean(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


def _items(document: JudgedDocument) -> list[_Item]:
    owners = _owners(document)
    items = [_Item(start=start, end=end, filled="") for start, end in document.hidden if start < end]
    for place, formula in enumerate(document.formulas):
        numbers = owners.get(place, [])
        filled = formula_html(document, formula, numbers)
        marks = tuple(document.marks[number] for number in numbers)
        items.append(_Item(start=formula.start, end=formula.end, filled=filled, marks=marks))
    for number in owners.get(-1, []):
        mark = document.marks[number]
        words = html.escape(_clean(" ".join(document.text[mark.start : mark.end].split())))
        filled = step([number], [mark], words, is_prose=True)
        items.append(_Item(start=mark.start, end=mark.end, filled=filled, marks=(mark,)))
    return items


def _owners(document: JudgedDocument) -> Mapping[int, list[int]]:
    """For each formula the numbers of the marks in it; those that stand in prose belong to -1."""
    owners: dict[int, list[int]] = {}
    bounds = [(formula.start, formula.end) for formula in document.formulas]
    place = 0
    order = sorted(range(len(document.marks)), key=lambda number: document.marks[number].start)
    for number in order:
        start = document.marks[number].start
        while place < len(bounds) and bounds[place][1] <= start:
            place += 1
        is_inside = place < len(bounds) and bounds[place][0] <= start
        owners.setdefault(place if is_inside else -1, []).append(number)
    return owners
