"""A whole document: every formula in its place and its sentence, judged in reading order, refutations reviewed last."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from regard.derivations.context.appeal import LastSide
from regard.derivations.context.clauses import Clause, read_clauses
from regard.derivations.context.declarations import SectionSymbols, declare_sections
from regard.derivations.context.environment import form_of
from regard.derivations.context.formulas import (
    Formula,
    JudgedStep,
    Sentence,
    plain,
    read_formulas,
    read_sentences,
    step_at,
)
from regard.derivations.context.placing import Placement, Region, place_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.context.review import ReviewedStep, reviewed
from regard.derivations.context.steps import FormulaInContext, QuestionJudge
from regard.derivations.judging.findings import NoteKind, OpenBecause, not_understood, true
from regard.derivations.notation.signs import relation_signs, unread_signs
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Number, Symbol
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import Document, by_start
from regard.derivations.results import INFERRED, Role

_ELSEWHERE = "elsewhere"
_BARE_CELL = re.compile(r"\|\s*-?\d+(?:\.\d+)?\s*\|")


def judge_steps(
    document: Document, problem: Problem, regions: Sequence[Region], *, is_strict: bool
) -> list[ReviewedStep]:
    """Every step of a document, with its formula and its place."""
    formulas = read_formulas(document)
    judge = _DocumentJudge(
        document=document,
        problem=problem,
        formulas=formulas,
        placements=_placements(formulas, problem, regions),
        sentences=read_sentences(document, formulas),
        is_strict=is_strict,
    )
    return reviewed(document, list(judge.steps()), formulas)


def _placements(formulas: Sequence[Formula], problem: Problem, regions: Sequence[Region]) -> list[Placement]:
    if problem.name != INFERRED:
        return place_formulas(formulas, problem, regions)
    whole = Region(start=0, body=0, end=0)
    return [Placement(question=problem.questions[0], region=whole) for _ in formulas]


@dataclass(kw_only=True)
class _DocumentJudge:
    document: Document
    problem: Problem
    formulas: Sequence[Formula]
    placements: Sequence[Placement]
    sentences: dict[int, Sentence]
    is_strict: bool
    _judges: dict[str, QuestionJudge] = field(init=False, default_factory=dict)
    _heading: int = field(init=False, default=0)
    _clauses: dict[tuple[int, str], list[Clause]] = field(init=False, default_factory=dict)

    def steps(self) -> Iterator[ReviewedStep]:
        """The steps in reading order, as they come out where they stand."""
        self._make_judges()
        self._enter(0)
        for formula, placement in zip(self.formulas, self.placements, strict=True):
            for step in self._judged(formula, placement):
                if step.is_spoken:
                    continue
                is_in_table = formula.start in self._in_rows
                yield ReviewedStep(formula=formula, placement=placement, step=step, is_in_table=is_in_table)

    @cached_property
    def _in_rows(self) -> set[int]:
        """Where formulas begin that share the row of a table with a value, or with a cell that relates nothing."""
        rows: dict[int, list[Formula]] = {}
        for formula in self.formulas:
            line = self.document.line_at(formula.start)
            if line.text.lstrip("> ").startswith("|"):
                rows.setdefault(line.number, []).append(formula)
        found = set[int]()
        for number, formulas in rows.items():
            is_bare = _BARE_CELL.search(self.document.lines[number - 1].text) is not None
            has_bare_cell = is_bare or not all(cell.chains for cell in formulas)
            for formula in formulas:
                is_beside_value = any(other is not formula and _is_value(other) for other in formulas)
                is_moved = bool(formula.chains) and formula.chains[0].is_moved
                if is_beside_value or (has_bare_cell and not is_moved):
                    found.add(formula.start)
        return found

    def _make_judges(self) -> None:
        """A judge for every question that has formulas, with its designs; one for what stands elsewhere."""
        outside = [f for f, place in zip(self.formulas, self.placements, strict=True) if place.question is None]
        inferred = infer_problem(outside)
        questions = {
            q.id: (self.problem, q)
            for place in self.placements
            for q in (place.question, *place.alternatives, *place.possible)
            if q
        }
        if outside:
            questions[_ELSEWHERE] = (inferred, inferred.questions[0])
        values: list[Chain] = []
        for name, (problem, question) in questions.items():
            judge = QuestionJudge(problem=problem, question=question, is_strict=self.is_strict, values=values)
            self._judges[name] = judge
        for name, (_, question) in questions.items():
            own = [
                self._in_context(formula, self._judges[name])
                for formula, place in zip(self.formulas, self.placements, strict=True)
                if place.region.is_answer and (place.question is question or question in place.alternatives)
            ]
            self._judges[name].prepare(own)
        self._clauses.clear()

    def _judge_of(self, question: Question | None) -> QuestionJudge:
        return self._judges[_ELSEWHERE if question is None else question.id]

    def _in_context(self, formula: Formula, judge: QuestionJudge) -> FormulaInContext:
        """A formula with the clauses of its chains; those of a sentence are read where its first formula stands."""
        sentence, key = self.sentences[formula.sentence], (formula.sentence, judge.question.id)
        if key not in self._clauses:
            self._clauses[key] = read_clauses(
                sentence.parts, form=lambda chain: form_of(chain, judge.scope), following=sentence.following
            )
        first = sentence.first_chain[id(formula)]
        clauses = self._clauses[key][first : first + len(formula.chains)]
        if self.document.is_struck(formula.start):
            clauses = [replace(clause, role=Role.STRUCK) for clause in clauses]
        return FormulaInContext(formula=formula, sentence=sentence, clauses=tuple(clauses))

    def _judged(self, formula: Formula, placement: Placement) -> list[JudgedStep]:
        """The steps of a formula, as many as it has relation signs."""
        if formula.error is not None:
            return _unread(formula)
        for each in self._judges.values():
            each.end_trial(formula.paragraph)
        self._end_section(formula)
        judge = self._judge_of(placement.question)
        self._inherit(judge, placement)
        placed = self._in_context(formula, judge)
        if not placement.region.is_answer:
            judge.take_prelude(formula)
            restated = true("The question, restated")
            chains = formula.chains
            return [step_at(chain, k, Role.GIVEN, restated) for chain in chains for k in range(len(chain.signs))]
        last = judge.last
        steps = judge.judge(placed)
        if any(step.finding.is_false for step in steps) and (placement.alternatives or placement.possible):
            steps = self._under_alternatives(steps, placed, placement, last)
        return [*steps, *_unread(formula)]

    def _end_section(self, formula: Formula) -> None:
        """Where only the document says what symbols mean, a heading ends what is stated again after it."""
        heading = bisect_right(self.document.headings, formula.start, key=by_start)
        if heading != self._heading:
            self._enter(heading)
        self._heading = heading

    def _enter(self, heading: int) -> None:
        if self.problem.name == INFERRED:
            for judge in self._judges.values():
                judge.enter_section(self._sections[heading])

    @cached_property
    def _sections(self) -> list[SectionSymbols]:
        return declare_sections(self.document, self.formulas)

    def _inherit(self, judge: QuestionJudge, placement: Placement) -> None:
        """What the document has defined carries over: scales everywhere, the rest from one part to the next.

        Without headings there are no parts, and everything carries over.
        """
        for other in (other for other in self._judges.values() if other is not judge):
            judge.inherit(other, is_continued=not placement.region.questions)

    def _under_alternatives(
        self, steps: list[JudgedStep], formula: FormulaInContext, placement: Placement, last: LastSide | None
    ) -> list[JudgedStep]:
        """If it is unclear which question a step answers, it is refuted only if it fails under every one that fits.

        What the author has defined means the same under another question.
        """
        judge = self._judge_of(placement.question)
        for other in (*placement.alternatives, *placement.possible):
            failed, kept = _failed_part(formula, steps)
            second = self._judges[other.id]
            author = judge.scope if placement.region.questions else judge.written_for(second)
            others = iter(second.judge_for(author, failed, last) if failed.clauses else ())
            is_part = placement.question is not None and other.path[:2] == placement.question.path[:2]
            pairs = [(step, step if is_kept else next(others)) for step, is_kept in zip(steps, kept, strict=True)]
            steps = [second if _prevails(first, second, is_part=is_part) else first for first, second in pairs]
        return steps


def _is_value(cell: Formula) -> bool:
    """True for a cell that gives a letter its value: γ = 1.7."""
    sides = [plain(side) for side in cell.chains[0].sides] if len(cell.chains) == 1 else []
    return len(sides) == 2 and isinstance(sides[0], Symbol) and isinstance(sides[1], Number)


def _failed_part(formula: FormulaInContext, steps: Sequence[JudgedStep]) -> tuple[FormulaInContext, list[bool]]:
    """The chains of a formula that have a false step or lead up to one, and for each step whether it is in none."""
    chains: list[tuple[Chain, Clause]] = []
    kept: list[bool] = []
    is_continued, place = False, len(steps)
    for chain, clause in reversed(list(zip(formula.formula.chains, formula.clauses, strict=True))):
        own = steps[place - len(chain.signs) : place]
        is_needed = is_continued or any(step.finding.is_false for step in own)
        place -= len(own)
        kept[:0] = [not is_needed] * len(own)
        chains[:0] = [(chain, clause)] if is_needed else []
        is_continued = is_needed and not chain.sides[0]
    part = replace(formula.formula, chains=tuple(chain for chain, _ in chains))
    return replace(formula, formula=part, clauses=tuple(clause for _, clause in chains)), kept


def _unread(formula: Formula) -> list[JudgedStep]:
    """An undecided step for each relation sign that no chain holds; for all, if there are no tokens at all."""
    source = formula.source.text
    finding = not_understood(formula.error or "This relation could not be read")
    is_read = formula.error is None
    offsets = unread_signs(source, formula.chains) if is_read else [offset for offset, _ in relation_signs(source)]
    return [
        JudgedStep(
            role=Role.ASSERTION, finding=finding, start=offset if is_read else 0, end=len(source), sign_start=offset
        )
        for offset in offsets
    ]


def _prevails(first: JudgedStep, second: JudgedStep, *, is_part: bool) -> bool:
    """Whether the finding under another question counts: true, wrong only after a slip, in another part a chance."""
    if first.role is Role.DESIGN is not second.role:
        return False
    if not first.finding.is_false or second.role in (Role.DEFINITION, Role.DECLARATION, Role.GIVEN):
        return False
    if second.finding.open_because is OpenBecause.AFTER_SLIP or (is_part and second.finding.probability is not None):
        return True
    return second.finding.is_true and not second.finding.has_note(NoteKind.ANY_NUMBER)
