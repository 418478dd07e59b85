"""Every formula of a document in its place: read into chains, with its sentence and the question it belongs to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.derivations.context import Surroundings
from regard.derivations.fitting import Follower, variant
from regard.derivations.formulas import Formula, index_conditions, number_premises
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.model import Problem, Question
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.reading.macros import expand
from regard.derivations.reading.sentences import sentence_after, sentence_before
from regard.derivations.regions import Region, region_at
from regard.errors import InputError

__all__ = ["PlacedFormula", "Source", "place_formulas"]

_CONTEXT = 600


@dataclass(frozen=True, kw_only=True)
class Source:
    """A formula's LaTeX, macros put in, and the way back to the document's text."""

    text: str
    span: MathSpan
    offsets: tuple[int, ...] | None = None

    def raw_offset(self, offset: int) -> int:
        """The offset in the document of a character of the formula."""
        if not self.text or not self.span.source:
            return self.span.start
        inside = min(max(offset, 0), len(self.text) - 1)
        origin = inside if self.offsets is None else self.offsets[inside]
        return self.span.raw_offset(min(origin, len(self.span.source) - 1))


@dataclass(frozen=True, kw_only=True)
class PlacedFormula:
    """A formula in its place; `alternatives` are other questions that it may belong to.

    `is_lumped` says that its heading opens several parts of a question at once.
    """

    source: Source
    formula: Formula
    question: Question | None
    alternatives: tuple[Question, ...] = ()
    is_answer: bool = True
    is_lumped: bool = False
    is_under_heading: bool = True
    error: NotUnderstood | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions that it may belong to, the likeliest first; none if it only restates one."""
        return (self.question, *self.alternatives) if self.question is not None and self.is_answer else ()


@dataclass(frozen=True, kw_only=True)
class _Read:
    """A formula read into chains, or why it cannot be, and where its sentence begins."""

    source: Source
    sentence: int
    chains: tuple[Chain, ...] = ()
    error: NotUnderstood | None = None

    @property
    def start(self) -> int:
        return self.source.span.start


def place_formulas(document: Document, problem: Problem, regions: Sequence[Region]) -> list[PlacedFormula]:
    """Every formula with its chains, its sentence and its question."""
    formulas = list(_joined_cells(document, [_read(document, span) for span in document.spans]))
    sentences: dict[int, list[_Read]] = {}
    for read in formulas:
        sentences.setdefault(read.sentence, []).append(read)
    follower = Follower(problem=problem)
    return [
        _placed(document, read, region_at(regions, read.start), sentences[read.sentence], follower) for read in formulas
    ]


def _placed(
    document: Document, read: _Read, region: Region, sentence: Sequence[_Read], follower: Follower
) -> PlacedFormula:
    question, alternatives = region.question, region.questions[1:]
    if question is None and region.is_answer:
        question, alternatives = follower.follow(read.chains)
    elif question is not None and (other := variant(question, follower.problem, read.chains)) is not None:
        question, alternatives = other, (question, *alternatives)
    siblings = _siblings(sentence, read)
    formula = Formula(
        source=read.source.text,
        chains=read.chains,
        surroundings=Surroundings(
            before=document.text[read.sentence : read.start][-_CONTEXT:],
            after=sentence_after(document, read.start).text,
        ),
        conditions=index_conditions(siblings, question.setting) if question else (),
        premises=number_premises(siblings),
        siblings=siblings,
    )
    return PlacedFormula(
        source=read.source,
        formula=formula,
        question=question,
        alternatives=alternatives,
        is_answer=region.is_answer,
        is_lumped=len(region.questions) > 1,
        is_under_heading=bool(region.questions),
        error=read.error,
    )


def _siblings(sentence: Sequence[_Read], own: _Read) -> tuple[Chain, ...]:
    """The other chains of a sentence: what follows first, backwards, then what comes before, the nearest last."""
    after = [read.chains for read in reversed(sentence) if read.start > own.start]
    before = [read.chains for read in sentence if read.start < own.start]
    return tuple(chain for chains in (*after, *before) for chain in chains)


# -- reading -----------------------------------------------------------------------------------------------------------
def _read(document: Document, span: MathSpan) -> _Read:
    source = _expanded(document, span)
    sentence = sentence_before(document, span.start).start
    try:
        return _Read(source=source, sentence=sentence, chains=tuple(read_chains(source.text)))
    except NotUnderstood as error:
        return _Read(source=source, sentence=sentence, error=error)


def _expanded(document: Document, span: MathSpan) -> Source:
    """The formula with the document's macros put in; one whose macros run away stays as it is written."""
    if not document.macros:
        return Source(text=span.source, span=span)
    try:
        expansion = expand(span.source, document.macros)
    except InputError:
        return Source(text=span.source, span=span)
    return Source(text=expansion.source, span=span, offsets=expansion.offsets)


def _joined_cells(document: Document, formulas: Sequence[_Read]) -> Iterator[_Read]:
    """In a table row | α_a | → ½ | the relation of one cell goes on from the first cell of its row that has none."""
    heads: dict[int, Source] = {}
    for read in formulas:
        line = document.line_at(read.start)
        is_row = line.text.lstrip("> ").startswith("|")
        if is_row and not read.chains and read.error is None:
            heads.setdefault(line.number, read.source)
        goes_on = bool(read.chains) and not read.chains[0].sides[0]
        if is_row and goes_on and line.number in heads:
            left = tuple(tokenize(heads[line.number].text))
            first = replace(read.chains[0], sides=(left, *read.chains[0].sides[1:]), is_moved=True)
            yield replace(read, chains=(first, *read.chains[1:]))
        else:
            yield read
