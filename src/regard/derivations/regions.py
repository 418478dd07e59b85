"""A document cut into regions: each belongs to a question, or none, and is an answer or the question restated."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from regard.derivations.problems.model import Problem, Question
from regard.derivations.questions import questions_of
from regard.derivations.reading.document import Document
from regard.derivations.reading.outline import section_at, structure


@dataclass(frozen=True, kw_only=True)
class Region:
    """A stretch of the text, its words from `body` on; several questions where a heading does not say which part."""

    start: int
    body: int
    end: int
    questions: tuple[Question, ...] = ()
    is_answer: bool = True

    @property
    def question(self) -> Question | None:
        """The likeliest question."""
        return self.questions[0] if self.questions else None


def regions_of(document: Document, problem: Problem) -> list[Region]:
    """The regions of a document, in reading order, without gaps."""
    found = structure(document)
    cuts = {0, len(document.text)}
    for stretch in (*found.sections, *found.questions):
        cuts |= {stretch.start, stretch.end}
    regions = []
    for start, end in pairwise(sorted(cuts)):
        section = section_at(found.sections, start)
        holding = [section for section in reversed(found.sections) if section.holds(start) and section.title]
        above = [other for other in holding if other is not section and len(other.path) == 1]
        chapters = [other.title for other in above]
        titles = [other.title for other in holding if other not in above]
        regions.append(
            Region(
                start=start,
                body=section.body if section is not None and start < section.body <= end else start,
                end=end,
                questions=() if section is None else questions_of(section.path, titles, problem, chapters),
                is_answer=not any(restated.holds(start) for restated in found.questions),
            )
        )
    return regions


def region_at(regions: Sequence[Region], offset: int) -> Region:
    """The region that holds an offset."""
    nowhere = Region(start=offset, body=offset, end=offset)
    return next((region for region in regions if region.start <= offset < region.end), nowhere)


def answers_to(question: Question, regions: Sequence[Region]) -> list[Region]:
    """The regions that answer a question."""
    return [region for region in regions if region.question is question and region.is_answer]
