"""What Regard says about a planting: whether the planted step is refuted, and whether any other is."""

from dataclasses import dataclass
from functools import cache

from derivations.planting.generator import Planting
from derivations.planting.layout import Page
from regard.derivations.problems.loading import load_problem
from regard.derivations.problems.model import Problem
from regard.derivations.reading.files import read_text
from regard.derivations.sheet import Sheet, judge_document
from regard.verdict import StepVerdict


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The verdict on the planted step (None if there is none) and the other steps that were refuted."""

    planting: Planting
    verdict: StepVerdict | None
    others: tuple[StepVerdict, ...]

    @property
    def is_caught(self) -> bool:
        return self.verdict is not None and self.verdict.status == "refuted"

    @property
    def is_exact(self) -> bool:
        return self.is_caught and not self.others


@cache
def _problem() -> Problem:
    return load_problem("cs224n-a4")


def judged(text: str, *, is_strict: bool = False) -> Sheet:
    return judge_document(read_text(text), _problem(), is_strict=is_strict)


def measure(planting: Planting) -> Outcome:
    """The judge's word on a planting; strict where the slip stays true in the limit."""
    sheet = judged(planting.document, is_strict=planting.slip.is_strict)
    place = (planting.planted.line, planting.planted.column)
    here = [verdict for verdict in sheet.verdicts if _place(verdict) == place]
    others = tuple(verdict for verdict in sheet.verdicts if verdict.status == "refuted" and _place(verdict) != place)
    return Outcome(planting=planting, verdict=here[0] if len(here) == 1 else None, others=others)


def wrongly_refuted(page: Page, *, is_strict: bool = False) -> tuple[StepVerdict, ...]:
    """The steps of a true document that the judge refutes."""
    return tuple(verdict for verdict in judged(page.text, is_strict=is_strict).verdicts if verdict.status == "refuted")


def lost_signs(page: Page) -> list[tuple[int, int]]:
    """Signs that a document has and no verdict is about."""
    places = {_place(verdict) for verdict in judged(page.text).verdicts}
    return [(step.line, step.column) for step in page.steps if (step.line, step.column) not in places]


def _place(verdict: StepVerdict) -> tuple[int, int]:
    assert verdict.where is not None
    return verdict.where.line, verdict.where.column
