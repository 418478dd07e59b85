"""Every formula of a document in its place: read into chains, with its sentence and the question it belongs to."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.core.errors import InputError
from regard.derivations.context import Surroundings
from regard.derivations.fitting import Follower
from regard.derivations.formulas import Formula, index_conditions, number_premises
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.model import Problem, Question
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.reading.macros import expand
from regard.derivations.reading.sentences import lead_in, paragraph_at, sentence_after, sentence_before
from regard.derivations.regions import Region, region_at

_CONTEXT = 600
_FOLLOWING = 60
_NEARBY = 20
_PASSAGE = 1200


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
    """A formula read into chains, or why it cannot be, and where its sentence and that one's paragraph begin."""

    source: Source
    sentence: int
    paragraph: int
    chains: tuple[Chain, ...] = ()
    error: NotUnderstood | None = None

    @property
    def start(self) -> int:
        return self.source.span.start


def place_formulas(document: Document, problem: Problem, regions: Sequence[Region]) -> list[PlacedFormula]:
    """Every formula with its chains, its sentence and its question."""
    formulas = list(_joined_cells(document, [_read(document, span) for span in document.spans]))
    follower = Follower(problem=problem)
    contexts = _contexts(document, formulas)
    return [
        _placed(document, read, region_at(regions, read.start), context, follower)
        for read, context in zip(formulas, contexts, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class _Context:
    """What stands around a formula: its sentence's formulas, those before it in the paragraph, what leads its list."""

    sentence: Sequence[_Read]
    earlier: tuple[Chain, ...]
    lead: str = ""


def _contexts(document: Document, formulas: Sequence[_Read]) -> Iterator[_Context]:
    sentences: dict[int, list[_Read]] = {}
    paragraphs: dict[int, list[_Read]] = {}
    for read in formulas:
        sentences.setdefault(read.sentence, []).append(read)
        paragraphs.setdefault(read.paragraph, []).append(read)
    for read in formulas:
        lead = lead_in(document, read.sentence)
        leading = [other for other in sentences.get(lead.start, ()) if other.start < lead.end] if lead else []
        nearby = paragraphs[read.paragraph]
        place = bisect_left(nearby, read.sentence, key=lambda other: other.sentence)
        yield _Context(
            sentence=[*leading, *sentences[read.sentence]],
            earlier=tuple(chain for other in nearby[max(place - _NEARBY, 0) : place] for chain in other.chains),
            lead=document.text[lead.start : lead.end] if lead else "",
        )


def _placed(document: Document, read: _Read, region: Region, context: _Context, follower: Follower) -> PlacedFormula:
    question, alternatives = region.question, region.questions[1:]
    if question is None and region.is_answer:
        question, alternatives = follower.follow(read.chains)
    elif question is not None:
        question, alternatives = follower.varied(question, alternatives, read.chains)
    siblings = _siblings(context.sentence, read)
    end = sentence_after(document, read.start).end
    formula = Formula(
        source=read.source.text,
        chains=read.chains,
        surroundings=_surroundings(document, read, context),
        conditions=index_conditions(siblings, question.setting) if question else (),
        premises=number_premises(siblings),
        siblings=siblings,
        earlier=context.earlier,
        paragraph=read.paragraph,
        passage=document.prose[read.paragraph : end][-_PASSAGE:],
        sentence=document.text[max(read.sentence, read.start - _CONTEXT) : min(end, read.source.span.end + _CONTEXT)],
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


def _surroundings(document: Document, read: _Read, context: _Context) -> Surroundings:
    after = sentence_after(document, read.start)
    return Surroundings(
        before=f"{context.lead} {document.text[read.sentence : read.start]}"[-_CONTEXT:],
        after=after.text,
        following=document.prose[after.end : after.end + _FOLLOWING],
        is_struck=document.is_struck(read.start),
    )


def _siblings(sentence: Sequence[_Read], own: _Read) -> tuple[Chain, ...]:
    """The other chains of a sentence: what follows first, backwards, then what comes before, the nearest last."""
    after = [read.chains for read in reversed(sentence) if read.start > own.start]
    before = [read.chains for read in sentence if read.start < own.start]
    return tuple(chain for chains in (*after, *before) for chain in chains)


# -- reading -----------------------------------------------------------------------------------------------------------
def _read(document: Document, span: MathSpan) -> _Read:
    sentence = sentence_before(document, span.start).start
    read = _Read(
        source=Source(text=span.source, span=span), sentence=sentence, paragraph=paragraph_at(document, sentence)
    )
    try:
        read = replace(read, source=_expanded(document, span))
        return replace(read, chains=tuple(read_chains(read.source.text)))
    except NotUnderstood as error:
        return replace(read, error=error)
    except InputError as error:
        return replace(read, error=NotUnderstood(str(error)))


def _expanded(document: Document, span: MathSpan) -> Source:
    """The formula with the document's macros put in; refused if they run away or lack arguments."""
    if not document.macros:
        return Source(text=span.source, span=span)
    expansion = expand(span.source, document.macros)
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
