"""A judged document as the reports see it: the text, its formulas, and a verdict for each stretch that was judged."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from regard.core.verdict import StepVerdict

Standing = Literal["refuted", "undecided", "holds", "proved", "given"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
_TAKEN_AS_GIVEN = ("given", "definition", "supposition")
_COUNTED: Mapping[Standing, str] = {
    "proved": "proved",
    "holds": "hold",
    "refuted": "refuted",
    "undecided": "undecided",
    "given": "taken as given",
}
_WITHOUT_REASON: Mapping[Standing, str] = {
    "refuted": "the step does not hold",
    "undecided": "the step could not be decided",
    "holds": "the step holds",
    "proved": "the step is proved",
    "given": "taken as given",
}


@dataclass(frozen=True, kw_only=True)
class FormulaSpan:
    """One piece of mathematics; `start` and `end` take in its delimiters, `source` is the LaTeX between them.

    `offsets` has the place in the document's text of each character of `source` (what a macro expands to stands where
    the macro does); left empty, the source stands in the text as it is.
    """

    start: int
    end: int
    source: str
    is_display: bool
    offsets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert not self.offsets or len(self.offsets) == len(self.source), "one offset a character"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A verdict and the stretch of the document's text that it is about."""

    verdict: StepVerdict
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class QuestionState:
    """What became of one question; `claims` are those of the catalogue that bear on it."""

    id: str
    title: str
    state: str
    points: float = 0.0
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JudgedDocument:
    """A document with its verdicts in reading order; offsets count characters of `text` from zero.

    `hidden` are ranges that a reader should not see: front matter, comments, macro definitions. `is_part` says that
    only some of its marks are here, so that nothing can be said of its questions as a whole.
    """

    path: str
    kind: Literal["markdown", "latex", "notebook", "text"]
    text: str
    problem: str
    title: str
    formulas: tuple[FormulaSpan, ...] = ()
    marks: tuple[Mark, ...] = ()
    questions: tuple[QuestionState, ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()
    understood: float = 1.0
    is_part: bool = False

    def marks_of(self, question: str | None) -> tuple[Mark, ...]:
        """The marks that belong to a question."""
        return tuple(mark for mark in self.marks if mark.verdict.question == question)


def standing(verdict: StepVerdict) -> Standing:
    """How a step stands: its status, except that what was only taken as given is not said to hold."""
    if verdict.status in ("holds", "proved") and verdict.kind in _TAKEN_AS_GIVEN:
        return "given"
    return verdict.status


def worst(marks: Iterable[Mark]) -> Standing:
    """The standing that a reader should see first; of nothing, `given`."""
    found = {standing(mark.verdict) for mark in marks}
    for name in STANDINGS:
        if name in found:
            return name
    return "given"


def tally(marks: Iterable[Mark]) -> Mapping[Standing, int]:
    """How many steps stand how, all five always named."""
    counts = Counter(standing(mark.verdict) for mark in marks)
    return {name: counts[name] for name in STANDINGS}


def tally_in_words(marks: Iterable[Mark]) -> str:
    """The counts as a list; what is zero is left out, but for what is refuted.

    >>> tally_in_words([])
    '0 refuted'
    """
    counts = tally(marks)
    return ", ".join(f"{counts[name]} {word}" for name, word in _COUNTED.items() if counts[name] or name == "refuted")


def headline(verdict: StepVerdict) -> str:
    """The verdict's reason, or words for its standing if it has none."""
    return verdict.reason or _WITHOUT_REASON[standing(verdict)]


def notes(verdict: StepVerdict) -> tuple[str, ...]:
    """The verdict's notes, and with which probability the step holds."""
    chance = () if verdict.probability is None else (f"holds with probability {verdict.probability:.3g}",)
    return (*verdict.notes, *chance)
