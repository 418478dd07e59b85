"""What Regard says about a planting: whether the planted step is refuted, and whether any other is."""

from dataclasses import dataclass
from functools import cache

from derivations.planting.generator import Planting
from derivations.planting.layout import Page
from regard.derivations.problems.problem import Problem, load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import StepVerdict
from regard.derivations.verify import judge_document

Spot = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The verdict on the planted step (None if there is none) and the other steps that were refuted."""

    verdict: StepVerdict | None
    others: tuple[StepVerdict, ...]

    @property
    def is_caught(self) -> bool:
        return self.verdict is not None and self.verdict.status == "refuted"


@dataclass(frozen=True, kw_only=True)
class Untouched:
    """A true document: the steps that were refuted all the same, and the signs that got no verdict."""

    refuted: tuple[StepVerdict, ...]
    lost: tuple[Spot, ...]


@cache
def _problem() -> Problem:
    return load_problem("cs224n-a4")


def _verdicts(text: str, *, is_strict: bool) -> tuple[StepVerdict, ...]:
    return judge_document(read_text(text), _problem(), is_strict=is_strict).verdicts


def _spot(verdict: StepVerdict) -> Spot:
    assert verdict.where is not None
    return verdict.where.line, verdict.where.column


def measure(planting: Planting) -> Outcome:
    """The judge's word on a planting; strict where the slip stays true in the limit."""
    verdicts = _verdicts(planting.document, is_strict=planting.slip.is_strict)
    spot = (planting.planted.line, planting.planted.column)
    here = [verdict for verdict in verdicts if _spot(verdict) == spot]
    others = tuple(verdict for verdict in verdicts if verdict.status == "refuted" and _spot(verdict) != spot)
    return Outcome(verdict=here[0] if len(here) == 1 else None, others=others)


def examine(page: Page, *, is_strict: bool = False) -> Untouched:
    """The judge's word on a document in which all is true."""
    verdicts = _verdicts(page.text, is_strict=is_strict)
    spots = {_spot(verdict) for verdict in verdicts}
    lost = tuple((step.line, step.column) for step in page.steps if (step.line, step.column) not in spots)
    return Untouched(refuted=tuple(verdict for verdict in verdicts if verdict.status == "refuted"), lost=lost)
