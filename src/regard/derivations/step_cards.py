"""A step in the page: a marked stretch with its icon, and the card that says why."""

import html
from collections.abc import Iterable, Mapping, Sequence

from regard.core.verdict import StepVerdict
from regard.derivations.judged import STANDINGS, Mark, Standing, headline, notes, standing, worst
from regard.render.page import icon

SAID: Mapping[Standing, str] = {
    "refuted": "refuted",
    "undecided": "undecided",
    "holds": "holds",
    "proved": "proved",
    "given": "taken as given",
}


def step_id(number: int) -> str:
    """The anchor of the mark with this number."""
    return f"step-{number + 1}"


def classes(marks: Iterable[Mark]) -> str:
    """The standings that occur, as class names."""
    found = {standing(mark.verdict) for mark in marks}
    return " ".join(f"has-{name}" for name in STANDINGS if name in found)


def step(
    numbers: Sequence[int], marks: Sequence[Mark], inner: str, *, is_main: bool = True, is_prose: bool = False
) -> str:
    """The marked stretch; only its main part can be focused and carries the card."""
    stands = worst(marks)
    look = f"{stands} prose" if is_prose else stands
    names = " ".join(mark.verdict.id for mark in marks)
    ids = html.escape(names)
    if not is_main:
        return f'<span class="step {stands} continued" data-verdicts="{ids}">{inner}</span>'
    name = step_id(numbers[0])
    anchors = "".join(f'<span id="{step_id(number)}"></span>' for number in numbers[1:])
    said = html.escape(f"step {names}: {SAID[stands]}")
    card = "".join(_card_entry(mark.verdict) for mark in marks)
    return (
        f'<span class="step {look}" id="{name}" tabindex="0" role="group" aria-label="{said}" '
        f'aria-describedby="card-{name}" data-verdicts="{ids}">{anchors}'
        f'<span class="marked">{inner}</span>{icon(stands)}'
        f'<span class="card" id="card-{name}" role="tooltip">{card}</span></span>'
    )


def _card_entry(verdict: StepVerdict) -> str:
    stands = standing(verdict)
    kind = "" if verdict.kind == "step" else f" · {verdict.kind}"
    title = f'{icon(stands)}<b>{SAID[stands]}</b><span class="which">{html.escape(verdict.id + kind)}</span>'
    rows = [f'<span class="verdict {stands}">{title}</span>', _row("why", _sentence(headline(verdict)))]
    if verdict.counterexample:
        rows.append(_row("counterexample", html.escape(verdict.counterexample), label="Counterexample"))
    rows += [_row("note", _sentence(note)) for note in notes(verdict)]
    if verdict.method and verdict.method != "recognised":
        rows.append(_row("method", html.escape(verdict.method), label="Method"))
    if verdict.reproduce and stands == "refuted":
        rows.append(_row("reproduce", f"<code>{html.escape(verdict.reproduce)}</code>"))
    return f'<span class="entry">{"".join(rows)}</span>'


def _row(name: str, content: str, *, label: str = "") -> str:
    labelled = f'<span class="label">{label}</span> ' if label else ""
    return f'<span class="{name}">{labelled}{content}</span>'


def _sentence(text: str) -> str:
    return html.escape(text[:1].upper() + text[1:])


def margin_notes(marks: Iterable[Mark]) -> str:
    """The refuted steps of a paragraph, said in the margin beside it; the cards say the same to those who can't see."""
    refuted = [mark.verdict for mark in marks if mark.verdict.status == "refuted"]
    if not refuted:
        return ""
    entries = "".join(
        f'<span class="note refuted" data-for="{html.escape(verdict.id)}">{icon("refuted")}'
        f"<b>{html.escape(verdict.id)}</b> {_sentence(_short(verdict))}"
        f'<span class="counterexample">{html.escape(verdict.counterexample or "")}</span></span>'
        for verdict in refuted
    )
    return f'<span class="notes" aria-hidden="true">{entries}</span>'


def _short(verdict: StepVerdict) -> str:
    said = headline(verdict)
    return said if said.endswith((".", "。")) else f"{said}."


def noted(notes: str, inner: str) -> str:
    """A block with its margin notes, if it has any."""
    return f"{opening(notes)}{inner}{closing(notes)}"


def opening(notes: str) -> str:
    """What goes before a block with margin notes; they come first, so that they can float beside its top."""
    return f'<div class="noted">{notes}' if notes else ""


def closing(notes: str) -> str:
    """What goes after a block with margin notes."""
    return "</div>" if notes else ""
