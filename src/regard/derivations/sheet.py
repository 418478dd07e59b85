"""A whole document judged: every step a verdict, every question a row."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from regard.derivations.choices import Chosen, find_choice, find_choice_by_cue
from regard.derivations.context import Surroundings
from regard.derivations.judging.judge import ANY_NUMBER
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.relations import Relation
from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Expression, Symbol, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize
from regard.derivations.problems.model import Problem, Question
from regard.derivations.questions import Stay, fit, questions_of
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.reading.macros import expand
from regard.derivations.reading.outline import section_at, structure
from regard.derivations.reading.sentences import sentence_after, sentence_before
from regard.derivations.signs import relation_signs
from regard.derivations.steps import Formula, JudgedStep, QuestionJudge, index_conditions
from regard.errors import InputError
from regard.verdict import Place, Status, StepVerdict

__all__ = ["QuestionRow", "Sheet", "SheetStep", "judge_document"]

_STAY = 0.04
_CONTEXT = 600
_ALTERNATIVES = 3


@dataclass(frozen=True, kw_only=True)
class SheetStep:
    """A verdict and the stretch of the document's text that it is about."""

    verdict: StepVerdict
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """What became of one question: judged, prose, image, unanswered."""

    id: str
    title: str
    state: str
    points: float
    counts: Mapping[str, int]
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A document with its verdicts, in reading order, and a row for every question of its problem."""

    document: Document
    problem: Problem
    steps: tuple[SheetStep, ...]
    questions: tuple[QuestionRow, ...]

    @property
    def verdicts(self) -> tuple[StepVerdict, ...]:
        """The verdicts in reading order."""
        return tuple(step.verdict for step in self.steps)

    @property
    def understood(self) -> float:
        """The share of steps that could be read."""
        missed = sum(verdict.outcome == "not understood" for verdict in self.verdicts)
        return 1.0 - missed / max(len(self.steps), 1)


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
class _Item:
    """A formula in its place."""

    source: Source
    formula: Formula
    question: Question | None
    is_answer: bool
    alternatives: tuple[Question, ...] = ()
    is_lumped: bool = False
    is_under_heading: bool = True
    error: NotUnderstood | None = None


def judge_document(document: Document, problem: Problem, *, is_strict: bool = False) -> Sheet:
    """The verdicts on a document under a problem; `is_strict` refutes an = that only holds in the limit."""
    sections = _sections(document, problem)
    items = _placed(document, problem, sections)
    judges = _judges(items, problem, is_strict)
    steps: list[SheetStep] = []
    for item in items:
        steps += _judged(document, item, judges)
    steps += _choices(document, problem, sections)
    steps.sort(key=lambda step: step.start)
    steps = _numbered(steps)
    return Sheet(
        document=document,
        problem=problem,
        steps=tuple(steps),
        questions=_rows(document, problem, sections, items, steps),
    )


# -- which question ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _Region:
    start: int
    body: int
    end: int
    questions: tuple[Question, ...]
    is_answer: bool

    @property
    def question(self) -> Question | None:
        return self.questions[0] if self.questions else None


def _sections(document: Document, problem: Problem) -> list[_Region]:
    """The document cut into regions: each belongs to a question (or none), and is an answer or the question restated."""
    found = structure(document)
    cuts = {
        0,
        len(document.text),
        *(edge for section in found.sections for edge in (section.start, section.end)),
        *(edge for restated in found.questions for edge in (restated.start, restated.end)),
    }
    regions = []
    for start, end in pairwise(sorted(cuts)):
        section = section_at(found.sections, start)
        titles = [holding.title for holding in reversed(found.sections) if holding.holds(start) and holding.title]
        questions = () if section is None else questions_of(section.path, titles, problem)
        is_answer = not any(restated.holds(start) for restated in found.questions)
        body = section.body if section is not None and start < section.body <= end else start
        regions.append(_Region(start=start, body=body, end=end, questions=questions, is_answer=is_answer))
    return regions


def _region_of(regions: Sequence[_Region], offset: int) -> _Region | None:
    return next((region for region in regions if region.start <= offset < region.end), None)


def _placed(document: Document, problem: Problem, regions: Sequence[_Region]) -> list[_Item]:
    """Every formula with its chains, its sentence and its question."""
    sources = {span.start: _expanded(document, span) for span in document.spans}
    raw = _joined_cells(document, [(span, *_chains(sources[span.start])) for span in document.spans])
    in_sentence: dict[int, list[tuple[int, tuple[Chain, ...]]]] = {}
    for span, chains, _ in raw:
        in_sentence.setdefault(sentence_before(document, span.start).start, []).append((span.start, chains))
    items: list[_Item] = []
    current: Question | None = None
    own: set[Symbol] = set()
    for span, chains, error in raw:
        region = _region_of(regions, span.start)
        question = region.question if region else None
        is_answer = region.is_answer if region else True
        alternatives = region.questions[1:] if region else ()
        if question is None and is_answer:
            current, alternatives = _fitting(chains, problem, Stay(question=current, own=frozenset(own)))
            question = current
            own |= _introduced(chains)
        passage = sentence_before(document, span.start)
        siblings = _nearest_last(in_sentence[passage.start], span.start)
        formula = Formula(
            source=sources[span.start].text,
            chains=chains,
            surroundings=Surroundings(
                before=document.text[passage.start : passage.end][-_CONTEXT:],
                after=sentence_after(document, span.start).text,
            ),
            conditions=index_conditions(siblings, question) if question else (),
            premises=_premises(siblings),
            siblings=tuple(siblings),
        )
        items.append(
            _Item(
                source=sources[span.start],
                formula=formula,
                question=question,
                is_answer=is_answer,
                error=error,
                alternatives=alternatives,
                is_lumped=region is not None and bool(region.questions[1:]),
                is_under_heading=region is not None and bool(region.questions),
            )
        )
    return items


_Raw = tuple[MathSpan, tuple[Chain, ...], NotUnderstood | None]


def _joined_cells(document: Document, raw: Sequence[_Raw]) -> list[_Raw]:
    """In a table row | α_a | → ½ | the relation of one cell goes on from the first cell of its row that has none."""
    joined, rows = [], dict[int, MathSpan]()
    for span, chains, error in raw:
        line = document.line_at(span.start)
        is_row = line.text.lstrip("> ").startswith("|")
        if is_row and not chains and error is None:
            rows.setdefault(line.number, span)
        head = rows.get(line.number)
        if is_row and head is not None and chains and not chains[0].sides[0]:
            left = tuple(tokenize(head.source))
            chains = (replace(chains[0], sides=(left, *chains[0].sides[1:]), is_moved=True), *chains[1:])
        joined.append((span, chains, error))
    return joined


def _nearest_last(groups: Sequence[tuple[int, tuple[Chain, ...]]], offset: int) -> list[Chain]:
    """The chains of a sentence: what follows first, backwards, then what comes before, so that the nearest before comes last."""
    after = [chains for start, chains in reversed(groups) if start > offset]
    before = [chains for start, chains in groups if start < offset]
    return [chain for chains in (*after, *before) for chain in chains]


def _expanded(document: Document, span: MathSpan) -> Source:
    """The formula with the document's macros put in; one whose macros run away stays as it is written."""
    if not document.macros:
        return Source(text=span.source, span=span)
    try:
        expansion = expand(span.source, document.macros)
    except InputError:
        return Source(text=span.source, span=span)
    return Source(text=expansion.source, span=span, offsets=expansion.offsets)


def _chains(source: Source) -> tuple[tuple[Chain, ...], NotUnderstood | None]:
    try:
        return tuple(read_chains(source.text)), None
    except NotUnderstood as error:
        return (), error


def _premises(chains: Sequence[Chain]) -> tuple[Relation, ...]:
    """Plain conditions on a number in the same sentence: γ > 1."""
    found = []
    for chain in chains:
        if len(chain.signs) == 1 and chain.signs[0].text in ("<", ">", "≤", "≥") and len(chain.sides[0]) == 1:
            try:
                left, right = parse(chain.sides[0]), parse(chain.sides[1])
            except NotUnderstood:
                continue
            found.append(Relation(left=left, sign=chain.signs[0].text, right=right))
    return tuple(found)


def _fitting(chains: Sequence[Chain], problem: Problem, stay: Stay) -> tuple[Question | None, tuple[Question, ...]]:
    """The question whose symbols fit a formula best, and others that fit nearly as well.

    The question before stays unless another fits clearly better.
    """
    expressions = [side for chain in chains for side in map(_readable, chain.sides) if side is not None]
    if not expressions:
        return stay.question, ()
    scores = fit(expressions, problem, stay)
    near = tuple(question for score, question in scores if score >= scores[0][0] - _STAY)
    chosen = stay.question if stay.question in near else scores[0][1]
    return chosen, tuple(question for question in near if question is not chosen)[:_ALTERNATIVES]


def _readable(side: Sequence[Token]) -> Expression | None:
    try:
        return parse(side)
    except NotUnderstood:
        return None


def _introduced(chains: Sequence[Chain]) -> set[Symbol]:
    """Symbols that a formula defines, and the bare letters on the other side: the q and t of q = t(k_a + k_b)."""
    found: set[Symbol] = set()
    for chain in chains:
        left = _readable(chain.sides[0])
        if isinstance(left, Symbol) and chain.signs[0].text == "=":
            right = _readable(chain.sides[1])
            found.add(left)
            found |= {symbol for symbol in symbols(right) if not symbol.subscripts} if right is not None else set()
    return found


def _judges(items: Sequence[_Item], problem: Problem, is_strict: bool) -> dict[str, QuestionJudge]:
    judges: dict[str, QuestionJudge] = {}
    for item in items:
        for question in (item.question, *item.alternatives):
            if question is not None and item.is_answer and question.id not in judges:
                judge = QuestionJudge(problem=problem, question=question, is_strict=is_strict)
                judge.prepare(
                    [
                        other.formula
                        for other in items
                        if question in (other.question, *other.alternatives) and other.is_answer
                    ]
                )
                judges[question.id] = judge
    return judges


# -- verdicts ----------------------------------------------------------------------------------------------------------
def _judged(document: Document, item: _Item, judges: Mapping[str, QuestionJudge]) -> list[SheetStep]:
    if item.error is not None:
        return _unread(document, item)
    if not item.is_answer:
        given = Finding(kind="true", reason="the question, restated")
        steps = [_recognised(chain, k, given) for chain in item.formula.chains for k in range(len(chain.signs))]
    elif item.question is None:
        unknown = Finding(kind="not understood", reason="no question of the problem fits this formula")
        steps = [
            _recognised(chain, k, unknown, "step") for chain in item.formula.chains for k in range(len(chain.signs))
        ]
    else:
        _inherit(judges, item)
        steps = judges[item.question.id].judge(item.formula)
        if any(step.finding.is_false for step in steps):
            steps = _rescued(steps, item, judges)
    return [_sheet_step(document, item, step) for step in steps]


def _rescued(steps: list[JudgedStep], item: _Item, judges: Mapping[str, QuestionJudge]) -> list[JudgedStep]:
    """Where it is open which question a step answers, it is refuted only if it fails under every one that fits.

    A step about what the document itself has defined is not open: another question would put its own meaning in.
    """
    assert item.question is not None
    defined = judges[item.question.id].defined_in(item.formula)
    for other in () if defined and not item.is_lumped else item.alternatives:
        others = judges[other.id].judge(item.formula)
        steps = [
            second if _saves(first, second, item.is_lumped) else first
            for first, second in zip(steps, others, strict=True)
        ]
    return steps


def _saves(first: JudgedStep, second: JudgedStep, is_lumped: bool) -> bool:
    """Whether a second judge's word counts: that the step is true, or, within one question, that it is true with a chance."""
    if not first.finding.is_false or second.kind in ("definition", "given"):
        return False
    is_chance = is_lumped and second.finding.probability is not None
    return is_chance or (second.finding.is_true and not any(ANY_NUMBER in note for note in second.finding.notes))


def _inherit(judges: Mapping[str, QuestionJudge], item: _Item) -> None:
    """What the document has defined goes on: scales everywhere, the rest from one part of a question to the next.

    Without headings there are no parts, and everything goes on.
    """
    assert item.question is not None
    judge = judges[item.question.id]
    for other in judges.values():
        is_sibling = other.question.path[:2] == judge.question.path[:2]
        for key, meaning in other.scope.own.items():
            is_part = is_sibling or not (item.is_under_heading or key in other.designs)
            is_scale = meaning.tends == "infinity" and meaning.formula is None
            is_open = key not in judge.question.setting.symbols or (is_part and judge.question.design is None)
            if other is not judge and key not in judge.scope.own and (is_part or is_scale) and is_open:
                judge.scope = judge.scope.with_meaning(meaning)


def _recognised(chain: Chain, place: int, finding: Finding, kind: str = "given") -> JudgedStep:
    sign = chain.signs[place]
    start = chain.start if place == 0 else sign.start
    right = chain.sides[place + 1]
    return JudgedStep(
        kind=kind,
        finding=finding,
        start=start,
        end=right[-1].end if right else sign.end,  # type: ignore[arg-type]
        sign=sign.text,
        sign_start=sign.start,
    )


def _unread(document: Document, item: _Item) -> list[SheetStep]:
    """A formula that cannot even be cut into tokens: as many undecided steps as it has relation signs."""
    assert item.error is not None
    finding = Finding(kind="not understood", reason=str(item.error))
    return [
        _sheet_step(
            document,
            item,
            JudgedStep(kind="step", finding=finding, start=0, end=len(item.source.text), sign=sign, sign_start=offset),
        )
        for offset, sign in relation_signs(item.source.text)
    ]


def _command(document: Document, place: Place) -> str:
    """The command that judges one line again."""
    return f"regard verify {shlex.quote(document.path)} --line {place.line}"


_STATUS: dict[str, Status] = {
    "true": "holds",
    "approximate": "holds",
    "false": "refuted",
    "ill-shaped": "refuted",
    "unknown": "undecided",
    "not understood": "undecided",
}


def _sheet_step(document: Document, item: _Item, step: JudgedStep) -> SheetStep:
    finding = step.finding
    status = _STATUS[finding.kind]
    start, sign_offset = item.source.raw_offset(step.start), item.source.raw_offset(step.sign_start)
    end = max(item.source.raw_offset(step.end - 1) + 1, start + 1)
    source = item.source.text[step.start : step.end]
    place = document.place(sign_offset)
    verdict = StepVerdict(
        id="",
        statement=" ".join(source.split()),
        status=status,
        outcome=_outcome(step, status),
        method=finding.method or "recognised",
        reason="; ".join(part for part in (finding.reason, *finding.notes) if part),
        value=finding.value,
        bound=finding.bound,
        probability=finding.probability,
        seed=0,
        counterexample=finding.counterexample if status == "refuted" else None,
        where=place,
        kind=step.kind,
        source=source,
        question=item.question.id if item.question else None,
        reproduce=_command(document, place),
    )
    return SheetStep(verdict=verdict, start=start, end=end)


def _outcome(step: JudgedStep, status: Status) -> str:
    finding = step.finding
    if status == "refuted":
        return "ill-shaped" if finding.kind == "ill-shaped" else "refuted"
    if status == "undecided":
        if finding.probability is not None:
            return "true with a probability"
        if finding.is_after_slip:
            return "after a slip"
        return "supposition" if step.is_supposed else "not understood"
    if step.kind in ("given", "definition"):
        return step.kind
    if finding.probability is not None:
        return "holds with probability"
    if finding.kind == "approximate":
        return "≈ is meant" if finding.is_loose else "holds in the limit"
    return "holds"


def _chosen(document: Document, problem: Problem, regions: Sequence[_Region]) -> Iterator[tuple[Question, int, Chosen]]:
    """The answer to each choice question, in its own section or in running prose, and where it stands."""
    asked = [question for question in problem.questions if question.choice is not None]
    for question in asked:
        assert question.choice is not None
        own = [region for region in regions if region.question is question and region.is_answer]
        for region in own:
            chosen = find_choice(document.prose[region.body : min(region.end, region.body + 4000)], question.choice)
            if chosen is not None:
                yield question, region.body + chosen.offset, chosen
                break
        if not own:
            found = find_choice_by_cue(document.prose, question.choice)
            if found is not None:
                yield question, found.offset, found


def _choices(document: Document, problem: Problem, regions: Sequence[_Region]) -> list[SheetStep]:
    """The yes and no answers, each judged against the problem's."""
    steps = []
    for question, start, chosen in _chosen(document, problem, regions):
        is_right = chosen.answer == question.choice.answer
        steps.append(
            SheetStep(
                start=start,
                end=start + len(chosen.words),
                verdict=StepVerdict(
                    id="",
                    statement=f"{question.title} — {chosen.words}",
                    status="holds" if is_right else "refuted",
                    outcome="right choice" if is_right else "wrong choice",
                    method="the problem's answer, backed by its claim",
                    reason=f"the answer is {question.choice.answer}; see the claim {question.claims[0]}"
                    if question.claims
                    else None,
                    counterexample=None
                    if is_right
                    else question.choice.why or f"regard claims --explain {question.claims[0]}",
                    where=document.place(start),
                    kind="choice",
                    source=chosen.words,
                    question=question.id,
                    seed=0,
                    reproduce=_command(document, document.place(start)),
                ),
            )
        )
    return steps


def _numbered(steps: Sequence[SheetStep]) -> list[SheetStep]:
    numbered, counter = [], Counter()
    for step in steps:
        question = step.verdict.question or "?"
        counter[question] += 1
        numbered.append(replace(step, verdict=replace(step.verdict, id=f"{question}/{counter[question]}")))
    return numbered


def _rows(
    document: Document, problem: Problem, regions: Sequence[_Region], items: Sequence[_Item], steps: Sequence[SheetStep]
) -> tuple:
    rows = []
    for question in problem.questions:
        verdicts = [step.verdict for step in steps if step.verdict.question == question.id]
        answered = [region for region in regions if region.question is question and region.is_answer]
        judged = [verdict for verdict in verdicts if verdict.kind not in ("given",)]
        text = "".join(document.prose[region.body : region.end] for region in answered)
        has_image = any(region.start <= image.start < region.end for region in answered for image in document.images)
        words = re.sub(r"[\W_\ufffc]", "", text)
        if judged:
            state = "judged"
        elif has_image:
            state = "image, not read"
        elif len(words) > 3:
            state = "prose, not judged"
        else:
            state = "unanswered"
        counts = Counter(verdict.status for verdict in verdicts)
        rows.append(
            QuestionRow(
                id=question.id,
                title=question.title,
                state=state,
                points=question.points,
                counts=dict(counts),
                claims=question.claims,
            )
        )
    return tuple(rows)
