"""The last look at refutations, when the whole document is known: what remains of one if its reading is uncertain."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.derivations.context.formulas import Formula, JudgedStep, plain
from regard.derivations.context.placing import Placement
from regard.derivations.context.questions import DOCUMENT
from regard.derivations.judging.findings import Finding, Note, NoteKind, OpenBecause, left_open
from regard.derivations.judging.scope import CONSTANTS
from regard.derivations.notation.syntax import describe, symbols
from regard.derivations.reading.delimiters import CJK
from regard.derivations.reading.document import Document
from regard.derivations.reading.phrases import any_of, words
from regard.derivations.results import Role

# Readings that a refutation may rest on only if the document needs them elsewhere too.
_GUESSES = (
    NoteKind.OTHER_CASE,
    NoteKind.RECOGNITION_SLIP,
    NoteKind.OTHER_QUESTION,
    NoteKind.LIKE_SIBLING,
    NoteKind.SWAPPED_NAME,
    NoteKind.PRIME_AS_TRANSPOSE,
    NoteKind.COUNT_OF_ALL,
)


_LOOK_ALIKES = {"alpha": "a", "kappa": "k", "gamma": "v", "nu": "v", "omega": "w", "rho": "p", "chi": "x"}
_GARBLED = re.compile(r"(?<![A-Za-z\\(])[A-Za-z][;!](?=\s)|[A-Za-z]\d[A-Z]|\d>>")
_NOISY = 4
_WORD = re.compile(r"[^\W\d_]{1,30}")
_FEW_WORDS, _COMMON = 25, 0.06
_UNIT = re.compile(rf"[\s~(\[]{{0,3}}(?:{any_of('unit')}|%)")


@dataclass(frozen=True, kw_only=True)
class ReviewedStep:
    """A judged step with its formula and place."""

    formula: Formula
    placement: Placement
    step: JudgedStep
    is_in_table: bool = False

    @property
    def is_refuted(self) -> bool:
        """True if the step claims something that comes out false."""
        return self.step.finding.is_false


def reviewed(document: Document, steps: Sequence[ReviewedStep], formulas: Sequence[Formula]) -> list[ReviewedStep]:
    """The steps, with doubtful refutations left open."""
    if _is_foreign(document.prose):
        return [_left_open(item, "the words around it do not change its meaning") for item in steps]
    is_noisy = _num_look_alikes(formulas) + len(_GARBLED.findall(document.prose)) >= _NOISY
    established = {note for item in steps if item.step.finding.is_true for note in item.step.finding.notes}
    return [
        _left_open(item, _doubt(document, item, established, is_noisy=is_noisy) if item.is_refuted else None)
        for item in steps
    ]


def _doubt(document: Document, item: ReviewedStep, established: set[Note], *, is_noisy: bool) -> str | None:
    """What a refutation depends on that is not certain."""
    if not item.placement.is_sure and _has_symbols(item):
        question = item.placement.question
        return f"this belongs to “{question.title}”" if question is not None else "this stands for itself"
    is_inferred = item.placement.question is None or item.placement.question.id == DOCUMENT
    if is_inferred and item.step.finding.kind == "ill-shaped":
        return "every symbol has the shape that it was taken to have"
    if not _has_symbols(item) and _has_unit(document, item):
        return "its numbers are in the same unit"
    if item.is_in_table:
        return "it does not depend on the other cells of its row"
    guesses = [note for note in item.step.finding.notes if note.kind in _GUESSES and note not in established]
    if guesses:
        return str(guesses[0])
    names = (*_GUESSES, NoteKind.ALIAS)
    is_exact = item.step.role is Role.DESIGN and not any(note.kind in names for note in item.step.finding.notes)
    return "no letter was misread; this text seems to come from text recognition" if is_noisy and not is_exact else None


def _is_foreign(prose: str) -> bool:
    """True if the words of a document are in a language whose conditions and denials are not read."""
    found = [word for word in _WORD.findall(prose.lower()) if word.isalpha()]
    num_common = sum(word in words("common") or CJK.search(word) is not None for word in found)
    return len(found) >= _FEW_WORDS and num_common < _COMMON * len(found)


def _has_unit(document: Document, item: ReviewedStep) -> bool:
    """True if a unit stands in a formula or right after it: 7 · 8 = 56 GB."""
    span = item.formula.source.span
    return _UNIT.match(document.text, span.end) is not None or "\\text" in span.source or "\\mathrm" in span.source


def _has_symbols(item: ReviewedStep) -> bool:
    """True unless a step is about plain numbers, which mean the same everywhere."""
    sides = [plain(side) for chain in item.formula.chains for side in chain.sides]
    return any(side is None or any(symbol.name not in CONSTANTS for symbol in symbols(side)) for side in sides)


def _num_look_alikes(formulas: Sequence[Formula]) -> int:
    """How many symbols a document spells with different letters that look alike, as text recognition does."""
    spelt: dict[tuple[str, str], set[str]] = {}
    for expression in (side for formula in formulas for side in formula.expressions):
        for symbol in symbols(expression):
            name, script = symbol.name, describe(symbol.subscripts[0]) if len(symbol.subscripts) == 1 else ""
            if script:
                spelt.setdefault((_glyph(name), _glyph(script)), set()).add(f"{name}_{script}")
    return sum(len(names) > 1 for names in spelt.values())


def _glyph(name: str) -> str:
    return _LOOK_ALIKES.get(name, name.lower() if len(name) == 1 else name)


def _left_open(item: ReviewedStep, doubt: str | None) -> ReviewedStep:
    if doubt is None or not item.is_refuted:
        return item
    return replace(item, step=replace(item.step, finding=doubtful(item.step.finding, doubt)))


def doubtful(finding: Finding, doubt: str) -> Finding:
    """A failure that is not certain: what it depends on, and what shows it."""
    shown = f" ({finding.counterexample})" if finding.counterexample else ""
    reason = f"Looks wrong if {doubt}{shown}"
    return left_open(OpenBecause.DOUBTFUL, reason, finding.notes)
