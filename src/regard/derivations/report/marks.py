"""Marked steps in a page: each step with its icon and a card that says why, in typeset formulas and in words.

Slots replace formulas and marked words while the prose around them is rendered, and are filled afterwards. A slot is a
number between two private-use characters, which no renderer touches.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.report import IN_WORDS, headline, label, remarks
from regard.derivations.results import STANDINGS, DocumentReport, StepVerdict, worst_standing
from regard.render.formulas import Piece, Stretch, cut_formula, scripted
from regard.render.mathml import typeset
from regard.render.page import icon

_OPEN, _CLOSE = "\ue000", "\ue001"
_SLOT = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_GLUED = re.compile(f"([(（「“]?{_OPEN}\\d+{_CLOSE})(?: ?([，。、；：！？）」”]+)|([,.;:!?)]+))")
_CONTROL = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f{_OPEN}{_CLOSE}\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
_DISPLAY = '<span class="display'
_PUNCTUATION = re.compile(r"(?:[,;.:，；。：、]|\\(?:qquad|quad|enspace|[,;:! ])(?![A-Za-z])|\s|~)+")
_NO_BREAK = (",", ";", ".", ":", "，", "；", "。", "：", "、")
_SPACE = re.compile(r"\\(qquad|quad)(?![A-Za-z])|\\(?:enspace|[,;:! ])|~")
_WORDS = re.compile(r"\\(?:text|textrm|mbox)\s*\{([^{}$\\]*)\}")


# -- steps and their cards ---------------------------------------------------------------------------------------------
def step_id(number: int) -> str:
    """The anchor of the step with this number, counted from zero in the whole report."""
    return f"step-{number + 1}"


def standing_classes(verdicts: Iterable[StepVerdict]) -> str:
    """The standings that occur, as class names."""
    found = {verdict.standing for verdict in verdicts}
    return " ".join(f"has-{standing}" for standing in STANDINGS if standing in found)


def _step(steps: Mapping[int, StepVerdict], inner: str, *, is_main: bool = True, is_prose: bool = False) -> str:
    """A marked stretch that belongs to one or more steps; only its main part can be focused and has the card."""
    standing = worst_standing(steps.values())
    look = f"{standing} doubtful" if _is_only_doubtful(steps.values()) else standing
    ids = " ".join(verdict.id for verdict in steps.values())
    if not is_main:
        return f'<span class="step {look} continued" data-verdicts="{html.escape(ids)}">{inner}</span>'
    name, *others = map(step_id, steps)
    anchors = "".join(f'<span id="{other}"></span>' for other in others)
    label = html.escape(f"step {ids}: {IN_WORDS[standing]}")
    card = "".join(map(_card_entry, steps.values()))
    return (
        f'<span class="step {look}{" prose" if is_prose else ""}" id="{name}" tabindex="0" role="group" '
        f'aria-label="{label}" aria-describedby="card-{name}" data-verdicts="{html.escape(ids)}">{anchors}'
        f'<span class="marked">{inner}</span>{icon(standing)}'
        f'<span class="card" id="card-{name}" role="tooltip">{card}</span></span>'
    )


def _is_only_doubtful(verdicts: Iterable[StepVerdict]) -> bool:
    """True if nothing is refuted, and whatever is undecided looks wrong under an uncertain reading."""
    needing_attention = [verdict for verdict in verdicts if verdict.status in ("refuted", "undecided")]
    return bool(needing_attention) and all(verdict.is_doubtful for verdict in needing_attention)


def _card_entry(verdict: StepVerdict) -> str:
    standing = verdict.standing
    which = html.escape(f"{verdict.id} · {verdict.role}")
    title = f'{icon(standing)}<b>{label(verdict)}</b><span class="which">{which}</span>'
    rows = [f'<span class="verdict {standing}">{title}</span>', _card_row("why", _sentence(headline(verdict)))]
    if verdict.counterexample:
        rows.append(_card_row("counterexample", scripted(verdict.counterexample), label="Counterexample"))
    rows += [_card_row("note", _sentence(remark)) for remark in remarks(verdict)]
    if verdict.method and standing not in ("given", "undecided"):
        rows.append(_card_row("method", html.escape(verdict.method), label="Method"))
    if verdict.reproduce and standing == "refuted":
        rows.append(_card_row("reproduce", f"<code>{html.escape(verdict.reproduce)}</code>"))
    return f'<span class="entry">{"".join(rows)}</span>'


def _card_row(name: str, content: str, *, label: str = "") -> str:
    labelled = f'<span class="label">{label}</span> ' if label else ""
    return f'<span class="{name}">{labelled}{content}</span>'


def _sentence(text: str) -> str:
    return scripted(text[:1].upper() + text[1:])


def _margin_notes(verdicts: Iterable[StepVerdict]) -> str:
    """The refuted steps of a paragraph, for the margin beside it; screen readers get the same from the cards."""
    entries = "".join(
        f'<span class="note refuted" data-for="{html.escape(verdict.id)}">{icon("refuted")}'
        f"<b>{html.escape(verdict.id)}</b> {_sentence(_with_period(headline(verdict)))}"
        f'<span class="counterexample">{scripted(verdict.counterexample or "")}</span></span>'
        for verdict in verdicts
        if verdict.status == "refuted"
    )
    return f'<span class="notes" aria-hidden="true">{entries}</span>' if entries else ""


def _with_period(text: str) -> str:
    return text if text.endswith((".", "。")) else f"{text}."


# -- formulas ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _FormulaSteps:
    """The steps in one formula by number, and the piece of the formula in which each shows its card."""

    steps: Mapping[int, StepVerdict]
    is_display: bool
    main_piece: Mapping[int, int]


def _formula_html(formula: MathSpan, steps: Mapping[int, StepVerdict]) -> str:
    """The formula with its steps marked; a display keeps its rows and columns."""
    offsets = [formula.raw_offset(place) for place in range(len(formula.source))] if steps else []
    stretches = [_stretch(verdict, number, offsets) for number, verdict in steps.items()]
    rows = cut_formula(formula.source, stretches) or [[[Piece(source=formula.source or " ", steps=tuple(steps))]]]
    pieces = [piece for row in rows for cell in row for piece in cell]
    main_piece = {step: place for place, piece in enumerate(pieces) for step in piece.steps}
    marked = _FormulaSteps(steps=steps, is_display=formula.is_display, main_piece=main_piece)
    places = iter(range(len(pieces)))
    shown = [[[_piece(piece, next(places), marked) for piece in cell] for cell in row] for row in rows]
    if not formula.is_display and len(rows) == 1 and len(rows[0]) == 1:
        return f'<span class="formula">{_joined(shown[0][0])}</span>'
    return _display(shown)


def _stretch(verdict: StepVerdict, number: int, offsets: Sequence[int]) -> Stretch:
    """The characters of the formula's source that come from the verdict's span."""
    first, end = (bisect_left(offsets, offset) for offset in verdict.span)
    if first >= end:
        return Stretch(start=0, end=len(offsets), step=number)
    return Stretch(start=first, end=end, step=number)


def _piece(piece: Piece, place: int, formula: _FormulaSteps) -> str:
    if not piece.steps:
        return _between(piece.source, formula.is_display)
    inner = typeset(piece.source, is_display=formula.is_display) or "&nbsp;"
    is_main = all(formula.main_piece[number] == place for number in piece.steps)
    return _step({number: formula.steps[number] for number in piece.steps}, inner, is_main=is_main)


def _between(source: str, is_display: bool) -> str:
    """What is between steps: punctuation and words as text that can wrap, the rest typeset."""
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
    return f'{_DISPLAY}{" aligned" if is_aligned else ""}"><span class="rows">{shown}</span></span>'


# -- slots -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _Slot:
    """A stretch of the text, the HTML that replaces it (nothing if the stretch is hidden), and the steps in it."""

    start: int
    end: int
    html: str
    steps: tuple[StepVerdict, ...] = ()
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class SlottedText:
    """A document's text with a slot for each formula and each marked word; hidden ranges are left out."""

    text: str
    slots: Sequence[_Slot]

    def fill(self, text: str) -> str:
        """The text, escaped, with every slot filled."""
        return self.fill_escaped(html.escape(text))

    def fill_escaped(self, escaped: str) -> str:
        """Escaped text with every slot filled."""
        glued = _GLUED.sub(r'<span class="glue">\1\2\3</span>', escaped)
        return self._replaced(glued, lambda slot: slot.html)

    def plain(self, text: str) -> str:
        """The text, escaped, with the source of each slot, for attributes and the like."""
        return self._replaced(html.escape(text), lambda slot: html.escape(slot.source))

    def steps_in(self, text: str) -> tuple[StepVerdict, ...]:
        """The steps in the slots of a text, in order."""
        numbers = map(int, _SLOT.findall(text))
        return tuple(step for number in numbers if number < len(self.slots) for step in self.slots[number].steps)

    def margin_notes(self, text: str) -> str:
        """The margin notes for the slots of a text."""
        return _margin_notes(self.steps_in(text))

    def split_at_displays(self, text: str) -> list[str]:
        """The text cut before and after each displayed formula."""
        parts = [""]
        for part in re.split(f"({_SLOT.pattern.replace('(', '(?:')})", text):
            slot = _SLOT.fullmatch(part)
            if slot and self.slots[int(slot[1])].html.startswith(_DISPLAY):
                parts += [part, ""]
            else:
                parts[-1] += part
        return [part.strip() for part in parts if part.strip()]

    def _replaced(self, text: str, content: Callable[[_Slot], str]) -> str:
        def replacement(found: re.Match[str]) -> str:
            number = int(found[1])
            return content(self.slots[number]) if number < len(self.slots) else ""

        return _SLOT.sub(replacement, text)


def with_slots(report: DocumentReport) -> SlottedText:
    """The text of a judged document with its formulas and marked words taken out."""
    assert report.document is not None, "a page needs the document"
    text = report.document.text
    pieces, place, kept = [], 0, []
    for slot in sorted(_slots(report, report.document), key=lambda slot: (slot.start, -slot.end)):
        if slot.start < place:
            continue
        pieces.append(_clean(text[place : slot.start]))
        if slot.html:
            pieces.append(f"{_OPEN}{len(kept)}{_CLOSE}")
            kept.append(slot)
        place = slot.end
    return SlottedText(text="".join([*pieces, _clean(text[place:])]), slots=kept)


def _slots(report: DocumentReport, document: Document) -> Iterable[_Slot]:
    hidden = [*document.comments, *([document.front_matter] if document.front_matter else [])]
    yield from (_Slot(start=item.start, end=item.end, html="") for item in hidden if item.start < item.end)
    steps_in_formula, in_prose = _grouped(report, document)
    for formula, steps in zip(document.spans, steps_in_formula, strict=True):
        yield _Slot(
            start=formula.start,
            end=formula.end,
            html=_formula_html(formula, steps),
            steps=tuple(steps.values()),
            source=_clean(document.text[formula.start : formula.end]),
        )
    for number, verdict in in_prose.items():
        start, end = verdict.span
        source = _clean(document.text[start:end])
        words = html.escape(" ".join(source.split()))
        marked = _step({number: verdict}, words, is_prose=True)
        yield _Slot(start=start, end=end, html=marked, steps=(verdict,), source=source)


def _grouped(report: DocumentReport, document: Document) -> tuple[list[dict[int, StepVerdict]], dict[int, StepVerdict]]:
    """The steps of each formula by number, and those that are in the prose."""
    in_formula: list[dict[int, StepVerdict]] = [{} for _ in document.spans]
    in_prose: dict[int, StepVerdict] = {}
    place = 0
    for number, verdict in sorted(enumerate(report.verdicts), key=lambda item: item[1].span[0]):
        start = verdict.span[0]
        while place < len(document.spans) and document.spans[place].end <= start:
            place += 1
        is_inside = place < len(document.spans) and document.spans[place].start <= start
        (in_formula[place] if is_inside else in_prose)[number] = verdict
    return in_formula, in_prose


def _clean(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
