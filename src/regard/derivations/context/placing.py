"""Every formula of a document in its place: read into chains, with its sentence and the question it belongs to."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from regard.core.errors import InputError
from regard.derivations.context.formulas import Formula, expressions_in, index_conditions, number_premises, plain
from regard.derivations.context.questions import CurrentQuestion, fit, is_numbered, questions_of
from regard.derivations.context.surroundings import Surroundings
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.reading.latex import expand
from regard.derivations.reading.outline import outline

_CONTEXT = 600
_FOLLOWING = 60
_NEARBY = 20
_PASSAGE = 1200
_CLEARLY_BETTER = 0.04
_MUCH_BETTER = 0.1
_MOST_ALTERNATIVES = 3


# -- regions -----------------------------------------------------------------------------------------------------------
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
    found = outline(document)
    cuts = {0, len(document.text)}
    for stretch in (*found.sections, *found.restated):
        cuts |= {stretch.start, stretch.end}
    regions = []
    for start, end in pairwise(sorted(cuts)):
        section = found.section_at(start)
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
                is_answer=not any(restated.holds(start) for restated in found.restated),
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


# -- formulas without a heading ----------------------------------------------------------------------------------------
@dataclass(kw_only=True)
class QuestionFollower:
    """Follows a document from formula to formula; remembers the question it was at, and the symbols it introduced."""

    problem: Problem
    question: Question | None = None
    design_question: Question | None = None
    own: set[Symbol] = field(default_factory=set)
    _variants: dict[str, Question] = field(init=False, default_factory=dict)

    def follow(self, chains: Sequence[Chain]) -> tuple[Question | None, tuple[Question, ...]]:
        """The question whose symbols fit a formula best, and others that fit nearly as well.

        The question before stays unless another fits clearly better. A document that has strayed from the question of
        its latest design, by a symbol that belongs elsewhere, comes back as soon as that question fits again.
        """
        expressions = expressions_in(chains)
        near: tuple[Question, ...] = ()
        if expressions:
            scores = fit(expressions, self.problem, CurrentQuestion(question=self.question, own=frozenset(self.own)))
            near = tuple(question for score, question in scores if score >= scores[0][0] - _CLEARLY_BETTER)
            self.question = self.question if self.question in near else scores[0][1]
            is_elsewhere = self.question is not None and not _are_parts(self.design_question, self.question)
            if self.design_question in near and is_elsewhere:
                self.question = self.design_question
        self.design_question = self.question if _has_design(chains, self.question) else self.design_question
        self.own |= _introduced(chains)
        others = [question for question in near if question is not self.question][:_MOST_ALTERNATIVES]
        if self.design_question is not None and self.design_question not in (self.question, *others):
            others.append(self.design_question)
        return self.question, tuple(others)

    def varied(
        self, question: Question, others: tuple[Question, ...], chains: Sequence[Chain]
    ) -> tuple[Question, tuple[Question, ...]]:
        """The question of a heading, or a variant of it that fits a formula much better, and others that may be meant.

        Once a section has turned to a variant, its other formulas may belong there too.
        """
        other = _variant(question, self.problem, chains)
        if other is not None:
            self._variants[question.id] = other
            return other, (question, *others)
        known = self._variants.get(question.id)
        return question, others if known is None else (*others, known)


def _variant(question: Question, problem: Problem, chains: Sequence[Chain]) -> Question | None:
    """A variant of the question, which only its title would open, whose symbols fit a formula much better."""
    variants = [other for other in problem.questions if _are_parts(question, other) and not is_numbered(other)]
    expressions = expressions_in(chains)
    if not expressions or not variants or question in variants:
        return None
    scores = {id(other): score for score, other in fit(expressions, problem)}
    best = max(variants, key=lambda other: scores[id(other)])
    return best if scores[id(best)] > scores[id(question)] + _MUCH_BETTER else None


def _are_parts(one: Question | None, other: Question) -> bool:
    """True for two parts of one question, which share what was designed."""
    return one is not None and one.path[:2] == other.path[:2]


def _has_design(chains: Sequence[Chain], question: Question | None) -> bool:
    """True if a formula fills in what a question leaves open."""
    if question is None or question.design is None:
        return False
    lefts = (plain(chain.sides[0]) for chain in chains if chain.signs[0].text == "=")
    return any(isinstance(left, Symbol) and describe(left) in question.design.symbols for left in lefts)


def _introduced(chains: Sequence[Chain]) -> set[Symbol]:
    """Symbols that a formula defines, and the bare letters on the other side: the q and t of q = t(k_a + k_b)."""
    found: set[Symbol] = set()
    for chain in chains:
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if isinstance(left, Symbol) and chain.signs[0].text == "=":
            found.add(left)
            found |= {symbol for symbol in symbols(right) if not symbol.subscripts} if right is not None else set()
    return found


# -- formulas in their places ------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class FormulaSource:
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

    source: FormulaSource
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
class _ReadFormula:
    """A formula read into chains, or why it cannot be, and where its sentence and that one's paragraph begin."""

    source: FormulaSource
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
    follower = QuestionFollower(problem=problem)
    contexts = _contexts(document, formulas)
    return [
        _placed(document, read, region_at(regions, read.start), context, follower)
        for read, context in zip(formulas, contexts, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class _FormulaContext:
    """What stands around a formula: its sentence's formulas, those before it in the paragraph, what leads its list."""

    sentence: Sequence[_ReadFormula]
    earlier: tuple[Chain, ...]
    lead: str = ""


def _contexts(document: Document, formulas: Sequence[_ReadFormula]) -> Iterator[_FormulaContext]:
    sentences: dict[int, list[_ReadFormula]] = {}
    paragraphs: dict[int, list[_ReadFormula]] = {}
    for read in formulas:
        sentences.setdefault(read.sentence, []).append(read)
        paragraphs.setdefault(read.paragraph, []).append(read)
    for read in formulas:
        lead = document.lead_in(read.sentence)
        leading = [other for other in sentences.get(lead.start, ()) if other.start < lead.end] if lead else []
        nearby = paragraphs[read.paragraph]
        place = bisect_left(nearby, read.sentence, key=lambda other: other.sentence)
        yield _FormulaContext(
            sentence=[*leading, *sentences[read.sentence]],
            earlier=tuple(chain for other in nearby[max(place - _NEARBY, 0) : place] for chain in other.chains),
            lead=document.text[lead.start : lead.end] if lead else "",
        )


def _placed(
    document: Document, read: _ReadFormula, region: Region, context: _FormulaContext, follower: QuestionFollower
) -> PlacedFormula:
    question, alternatives = region.question, region.questions[1:]
    if question is None and region.is_answer:
        question, alternatives = follower.follow(read.chains)
    elif question is not None:
        question, alternatives = follower.varied(question, alternatives, read.chains)
    siblings = _siblings(context.sentence, read)
    end = document.sentence_after(read.start).end
    formula = Formula(
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


def _surroundings(document: Document, read: _ReadFormula, context: _FormulaContext) -> Surroundings:
    after = document.sentence_after(read.start)
    return Surroundings(
        before=f"{context.lead} {document.text[read.sentence : read.start]}"[-_CONTEXT:],
        after=after.text,
        following=document.prose[after.end : after.end + _FOLLOWING],
        is_struck=document.is_struck(read.start),
    )


def _siblings(sentence: Sequence[_ReadFormula], own: _ReadFormula) -> tuple[Chain, ...]:
    """The other chains of a sentence: what follows first, backwards, then what comes before, the nearest last."""
    after = [read.chains for read in reversed(sentence) if read.start > own.start]
    before = [read.chains for read in sentence if read.start < own.start]
    return tuple(chain for chains in (*after, *before) for chain in chains)


# -- reading -----------------------------------------------------------------------------------------------------------
def _read(document: Document, span: MathSpan) -> _ReadFormula:
    sentence = document.sentence_before(span.start).start
    read = _ReadFormula(
        source=FormulaSource(text=span.source, span=span),
        sentence=sentence,
        paragraph=document.paragraph_start(sentence),
    )
    try:
        read = replace(read, source=_expanded(document, span))
        return replace(read, chains=tuple(read_chains(read.source.text)))
    except NotUnderstood as error:
        return replace(read, error=error)
    except InputError as error:
        return replace(read, error=NotUnderstood(str(error)))


def _expanded(document: Document, span: MathSpan) -> FormulaSource:
    """The formula with the document's macros put in; refused if they run away or lack arguments."""
    if not document.macros:
        return FormulaSource(text=span.source, span=span)
    expansion = expand(span.source, document.macros)
    return FormulaSource(text=expansion.source, span=span, offsets=expansion.offsets)


def _joined_cells(document: Document, formulas: Sequence[_ReadFormula]) -> Iterator[_ReadFormula]:
    """In a table row | α_a | → ½ | the relation of one cell continues the first cell of its row that has none."""
    heads: dict[int, FormulaSource] = {}
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
