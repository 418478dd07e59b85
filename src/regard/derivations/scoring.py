"""The row of each question: what became of it, and which of its parts earned points; docs/grading.md has the rules.

Points are for reaching the goal. A question's points are split over its parts by weight: its design, its choice, and
each step that it requires or asks to show.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath

from regard.derivations.context.attainment import AnswerGraph, Attained, is_own
from regard.derivations.context.designs import open_symbol
from regard.derivations.context.formulas import StatedRelation, plain
from regard.derivations.context.placing import Region, answers_to, region_at
from regard.derivations.context.review import ReviewedStep, is_foreign
from regard.derivations.judging.judge import decide
from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Expression, Number, Symbol, outer_symbols
from regard.derivations.notation.tokens import GREEK, RELATIONS
from regard.derivations.problems.problem import Design, Problem, Question, RequiredStep
from regard.derivations.reading.delimiters import CJK
from regard.derivations.reading.document import Document
from regard.derivations.reading.hidden import hidden_text
from regard.derivations.results import (
    DocumentReport,
    GradedPart,
    PartOutcome,
    PersonReason,
    Placed,
    QuestionRow,
    QuestionState,
    Role,
    StepVerdict,
    SubmittedFile,
)

_MIN_LETTERS = 4
_ENOUGH_LETTERS = 40  # words that may hold an answer
_NOT_A_LETTER = re.compile(r"[\W_\ufffc]")
_LETTERS_PER_CHARACTER = 3  # a Chinese character says as much as several letters
_LEAST_FIRST: tuple[QuestionState, ...] = ("unanswered", "prose, not judged", "image, not read", "judged")
_OUTCOMES: dict[Attained, PartOutcome] = {
    Attained.DERIVED: "reached",
    Attained.STATED: "only stated",
    Attained.POSSIBLE: "open",
    Attained.CONTRADICTED: "open",
    Attained.OPEN: "open",
    Attained.REFUTED: "refuted",
    Attained.MISSING: "missing",
}
_UNREAD = ("not understood", "depends_on_unread")
GradedStep = tuple[StepVerdict, ReviewedStep | None]


@dataclass(frozen=True, kw_only=True)
class JudgedDocument:
    """A document with its regions, and its verdicts in reading order, each with the step that it is about."""

    document: Document
    problem: Problem
    regions: Sequence[Region]
    steps: Sequence[GradedStep]

    def rows(self) -> tuple[QuestionRow, ...]:
        """A row for every question of the problem, in its order."""
        return tuple(
            _Answer(judged=self, question=question, steps=self._steps_for(question)).row()
            for question in self.problem.questions
        )

    def _steps_for(self, question: Question) -> list[GradedStep]:
        """The steps of an answer; those of another part in the same setting, if no heading opens this one."""
        own = [step for step in self.steps if step[0].question == question.id]
        if own or not question.required_steps or answers_to(question, self.regions):
            return own
        near = (q for q in self.problem.questions if q.path[:2] == question.path[:2])
        parts = [q.id for q in near if q.setting is question.setting]
        return [step for step in self.steps if step[0].question in parts and step[0].role is Role.ASSERTION]

    @cached_property
    def is_foreign(self) -> bool:
        """True if the words are in a language whose denials and conditions are not read."""
        return is_foreign(self.document.prose)

    @cached_property
    def open_symbols(self) -> set[str]:
        """The symbols that some question leaves open."""
        designs = (question.design for question in self.problem.questions)
        return {name for design in designs if design is not None for name in design.symbols}

    @cached_property
    def hidden(self) -> list[int]:
        """Where hidden text begins."""
        return [place.start for place in hidden_text(self.document)]

    @cached_property
    def images(self) -> tuple[str, ...]:
        """The pictures, of which none is read: in the document, and beside it if nothing in it refers to them."""
        document = self.document
        shown = {PurePath(image.file).stem for image in document.images}
        inside = (f"{image.file or 'an image'} ({document.place(image.start).in_words})" for image in document.images)
        return (*inside, *(name for name in document.images_beside if PurePath(name).stem not in shown))

    @cached_property
    def questions_in_images(self) -> set[str]:
        """The questions that a picture may answer: those of its place, or all if nothing says what it is about."""
        found, everything = set[str](), {question.id for question in self.problem.questions}
        if len(self.images) > len(self.document.images):
            return everything
        for image in self.document.images:
            region = region_at(self.regions, image.start)
            if region.is_answer and not region.is_unknown:
                found |= {question.id for question in region.questions} or everything
        return found

    @cached_property
    def redefines_signs(self) -> bool:
        """True if the document gives a command of mathematics another meaning: \\renewcommand{\\approx}{\\neq}."""
        known = {*GREEK.values(), *RELATIONS}
        return any(
            macro.name in known and macro.body.strip() != f"\\var{macro.name[1:]}" for macro in self.document.macros
        )


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The answer to one question."""

    judged: JudgedDocument
    question: Question
    steps: Sequence[GradedStep]

    # -- the row -----------------------------------------------------------------------------------------------------
    def row(self) -> QuestionRow:
        state = self._state
        is_excused = self.question.is_optional and state == "unanswered"
        row = QuestionRow(
            id=self.question.id,
            title=self.question.title,
            state=state,
            points=0.0 if is_excused else float(self.question.points),
            placed=self._placed,
            counts=dict(Counter(verdict.status for verdict, _ in self.steps)),
            claims=self.question.claims,
        )
        if state != "unanswered":
            return self._with_reasons(row)
        row = replace(row, parts=() if is_excused else self._parts)
        may_be_in_image = row.points and self.question.id in self.judged.questions_in_images
        return _left_to_a_person(row, (PersonReason.IMAGE,)) if may_be_in_image else row

    def _with_reasons(self, row: QuestionRow) -> QuestionRow:
        reasons = tuple(dict.fromkeys(self._distrust()))
        parts = self._parts
        if reasons:
            return _left_to_a_person(replace(row, parts=parts), reasons)
        if missing := tuple(dict.fromkeys(self._why_missing(parts))):
            reasons = missing
            parts = tuple(self._left_open(part, missing) for part in parts)
        parts = tuple(map(self._before_a_person, parts))
        return replace(
            row,
            parts=parts,
            score=round(sum(part.score for part in parts), 2),
            pending=round(sum(part.pending for part in parts), 2),
            reasons=reasons,
        )

    def _left_open(self, part: GradedPart, reasons: Sequence[PersonReason]) -> GradedPart:
        """A part that was not found may stand in what could not be read, and its derivation in an image."""
        is_lost = part.outcome == "missing" and reasons != (PersonReason.UNDECIDED,)
        is_lost |= part.outcome == "only stated" and PersonReason.IMAGE in reasons
        return replace(part, pending=part.points - part.score) if is_lost else part

    def _before_a_person(self, part: GradedPart) -> GradedPart:
        earned = round(part.score + self.question.pending * part.pending, 2)
        return replace(part, score=earned, pending=round(part.pending * (1 - self.question.pending), 2))

    @cached_property
    def _regions(self) -> list[Region]:
        return answers_to(self.question, self.judged.regions)

    @property
    def _placed(self) -> Placed:
        if self._regions:
            return Placed.BY_HEADING
        return Placed.BY_FORMULAS if self.steps else Placed.NOWHERE

    @cached_property
    def _state(self) -> QuestionState:
        if any(verdict.kind != "given" for verdict, _ in self.steps):
            return "judged"
        if self._has_image:
            return "image, not read"
        return "prose, not judged" if self._num_letters >= _MIN_LETTERS else "unanswered"

    @property
    def _has_image(self) -> bool:
        images = self.judged.document.images
        return any(region.start <= image.start < region.end for region in self._regions for image in images)

    @cached_property
    def _num_letters(self) -> int:
        text = "".join(self.judged.document.prose[region.body : region.end] for region in self._regions)
        letters = _NOT_A_LETTER.sub("", text)
        return len(letters) + (_LETTERS_PER_CHARACTER - 1) * len(CJK.findall(letters))

    # -- why a person must look --------------------------------------------------------------------------------------
    def _distrust(self) -> Iterator[PersonReason]:
        """What makes nothing in the answer certain."""
        if any(region.start <= place < region.end for region in self._regions for place in self.judged.hidden):
            yield PersonReason.HIDDEN
        if self.judged.is_foreign:
            yield PersonReason.LANGUAGE
        if self.judged.redefines_signs or any(map(self._redefines, self._found)):
            yield PersonReason.REDEFINED
        if self._has_several_answers:
            yield PersonReason.SEVERAL
        if any(item.placement.region.is_doubted for item in self._found):
            yield PersonReason.HEADING
        if self._is_only_tried:
            yield PersonReason.TRIED

    def _why_missing(self, parts: Sequence[GradedPart]) -> Iterator[PersonReason]:
        """Where a part that was not found may stand, or why one is undecided."""
        is_lacking = any(part.outcome not in ("reached", "refuted") for part in parts)
        if is_lacking and self.question.id in self.judged.questions_in_images:
            yield PersonReason.IMAGE
        if any(part.outcome == "missing" for part in parts):
            is_worded = self._num_letters >= _ENOUGH_LETTERS or (self._state != "judged" and not self._has_image)
            if is_worded or any(part.kind == "words" for part in parts):
                yield PersonReason.WORDS
            if any(verdict.outcome in _UNREAD for verdict, _ in self.steps):
                yield PersonReason.UNREAD
        if any(part.outcome == "open" for part in parts):
            yield PersonReason.UNDECIDED

    @property
    def _is_only_tried(self) -> bool:
        """True if no design is asserted (if q were …), nor that one would reach the goal (with q = …, c ≈ …)."""
        steps, design = [item.step for item in self._designs], self.question.design
        if design is None or not any(step.finding.is_true for step in steps):
            return False
        states = (self._graph.stated(goal).state for goal in read_chains(design.goal))
        return all(step.is_tentative for step in steps) and any(state is not Attained.STATED for state in states)

    @cached_property
    def _found(self) -> list[ReviewedStep]:
        return [item for _, item in self.steps if item is not None]

    def _redefines(self, item: ReviewedStep) -> bool:
        """True if a step gives a symbol of the question another meaning, or keeps the scale of a design small."""
        step, stated = item.step, item.step.stated
        if stated is None or step.role not in (Role.DEFINITION, Role.SUPPOSITION, Role.ASSERTION):
            return False
        left, base = plain(stated.left), Scope(setting=self.question.setting)
        meaning = base.find(left).meaning if isinstance(left, Symbol) and base.declares(left) else None
        if meaning is None or meaning.variance is not None or meaning.name in self.judged.open_symbols:
            return False
        if meaning.tends is not None:
            is_of_design = any(design.formula.sentence == item.formula.sentence for design in self._designs)
            return meaning.tends == "infinity" and is_of_design and _keeps_small(stated)
        if step.role is not Role.DEFINITION and not step.is_introduced and (step.is_tentative or step.role.is_claim):
            return False
        right = plain(stated.right)
        is_asked = step.is_introduced and (left, right) in self._asked
        if stated.sign != "=" or right is None or not all(is_own(symbol, base) for symbol in outer_symbols(right)):
            return False
        return is_asked or decide(Sides(left=stated.left, sign="=", right=stated.right), base).is_false

    @cached_property
    def _asked(self) -> set[tuple[Expression | None, Expression | None]]:
        """Both sides of every relation that the question asks for."""
        chains = (chain for step in self.question.required_steps for way in step.any_of for chain in read_chains(way))
        return {(plain(chain.sides[0]), plain(chain.sides[1])) for chain in chains}

    @property
    def _has_several_answers(self) -> bool:
        """True if an open symbol gets several designs of which only some reach the goal, or both choices are made."""
        if any(verdict.outcome == "both choices" for verdict, _ in self.steps):
            return True
        outcomes: dict[str | None, set[bool]] = {}
        for item in self._designs:
            outcomes.setdefault(self._designed(item), set()).add(item.step.finding.is_true)
        return any(len(found) > 1 for found in outcomes.values())

    @cached_property
    def _designs(self) -> list[ReviewedStep]:
        return [item for _, item in self._design_steps if item is not None]

    @cached_property
    def _design_steps(self) -> list[GradedStep]:
        """The designs; one up to a factor (q ∝ k_a + k_b) is none of its own beside another of the same symbol."""
        found = [step for step in self.steps if step[0].role is Role.DESIGN]
        full = {self._designed(item) for _, item in found if item is not None and not _is_proportion(item)}
        return [
            (verdict, item)
            for verdict, item in found
            if item is None or not (_is_proportion(item) and verdict.is_doubtful and self._designed(item) in full)
        ]

    def _designed(self, item: ReviewedStep) -> str | None:
        """The open symbol that a step fills in."""
        stated = item.step.stated
        left = None if stated is None else plain(stated.left)
        return open_symbol(left, self.question, Scope(setting=self.question.setting))

    # -- parts -------------------------------------------------------------------------------------------------------
    @cached_property
    def _parts(self) -> tuple[GradedPart, ...]:
        """What the question asks for, and what it earned; where nothing can be checked, the words."""
        question = self.question
        weights = [part.weight for part in (question.design, question.choice, *question.required_steps) if part]
        if not weights:
            return (GradedPart(kind="words", asked=question.title, points=question.points),)
        unit = question.points / sum(weights)
        parts, bare = [], []
        if question.design is not None:
            parts.append(self._design_part(question.design, unit * question.design.weight))
            bare.append(1.0)
        if question.choice is not None:
            parts.append(self._choice_part(unit * question.choice.weight))
            bare.append(1.0)
        underived: list[Chain] = []
        for step in question.required_steps:
            parts.append(self._step_part(step, unit * step.weight, underived))
            bare.append(step.bare)
            if parts[-1].outcome != "reached":
                underived += (chain for way in step.any_of for chain in read_chains(way))
        return tuple(self._less_slips(parts, place, share) for place, share in enumerate(bare))

    def _less_slips(self, parts: Sequence[GradedPart], place: int, bare: float) -> GradedPart:
        """A part without what a refuted step on its way costs; what a doubtful one may cost is left to a person."""
        part, slip = parts[place], self.question.slip
        less = min(part.score, bare * part.points) if slip is None else part.score * (1 - slip)
        if less == part.score:
            return part
        if place in self._owners(parts, self._is_slip):
            return replace(part, score=less, outcome="after a refuted step")
        if bare < 1 and place in self._owners(parts, self._is_doubt):
            return replace(part, score=less, pending=part.pending + part.score - less, outcome="open")
        return part

    def _owners(self, parts: Sequence[GradedPart], is_one: Callable[[int], bool]) -> Iterator[int]:
        """The part that each such step belongs to: the next one that is reached after it, or the last one."""
        numbers = {verdict.id: number for number, (verdict, _) in enumerate(self.steps)}
        earned = sorted((numbers[part.step], place) for place, part in enumerate(parts) if part.score and part.step)
        for number in filter(is_one, range(len(self.steps)) if earned else ()):
            yield next((place for end, place in earned if number <= end), earned[-1][1])

    def _is_slip(self, number: int) -> bool:
        verdict, _ = self.steps[number]
        return verdict.status == "refuted" and verdict.kind == "step"

    def _is_doubt(self, number: int) -> bool:
        verdict, _ = self.steps[number]
        return verdict.is_doubtful and verdict.kind == "step" and number not in self._graph.left_out

    def _design_part(self, design: Design, points: float) -> GradedPart:
        part = GradedPart(kind="design", asked=design.goal, points=points)
        found = [verdict for verdict, _ in self._design_steps]
        for verdict in found:
            if verdict.status == "refuted":
                return replace(part, outcome="refuted", step=verdict.id)
        symbols = set(map(self._designed, self._designs))
        if not found or len(symbols) < len(design.symbols):
            return part
        for verdict in found:
            if verdict.status == "undecided":
                return replace(part, outcome="open", pending=points, step=verdict.id)
        return replace(part, outcome="reached", score=points, step=found[-1].id)

    def _choice_part(self, points: float) -> GradedPart:
        part = GradedPart(kind="choice", asked=self.question.title, points=points)
        for verdict in (verdict for verdict, _ in self.steps if verdict.role is Role.CHOICE):
            if verdict.status == "holds":
                return replace(part, outcome="reached", score=points, step=verdict.id)
            is_refuted = verdict.status == "refuted"
            return replace(
                part,
                outcome="refuted" if is_refuted else "open",
                pending=0.0 if is_refuted else points,
                step=verdict.id,
            )
        return part

    def _step_part(self, required: RequiredStep, points: float, underived: Sequence[Chain]) -> GradedPart:
        ways = [self._way(required, way, points, underived) for way in required.any_of]
        return max(ways, key=lambda part: (part.score, part.pending))

    def _way(self, required: RequiredStep, way: str, points: float, underived: Sequence[Chain]) -> GradedPart:
        """A part as far as one way leads to it; several relations share its points."""
        chains, graph = read_chains(way), self._graph
        found = [graph.stated(chain) if required.bare == 1 else graph.derived(chain, underived) for chain in chains]
        shares = [_share(each.state, required, is_case=len(found) > 1) for each in found]
        is_open = [_OUTCOMES[each.state] == "open" and not share for each, share in zip(found, shares, strict=True)]
        worst = next((each for each, share in zip(found, shares, strict=True) if share < 1), found[-1])
        number = next((each.step for each in found if each.step is not None), None)
        return GradedPart(
            kind="step",
            asked=way,
            points=points,
            score=points * sum(shares) / len(found),
            pending=points * sum(is_open) / len(found),
            outcome="reached" if min(shares) == 1 else _OUTCOMES[worst.state],
            step=None if number is None else self.steps[number][0].id,
        )

    @cached_property
    def _graph(self) -> AnswerGraph:
        numbered = [(number, item) for number, (_, item) in enumerate(self.steps) if item is not None]
        return AnswerGraph(self.question, numbered)


def _is_proportion(item: ReviewedStep) -> bool:
    return item.step.stated is not None and item.step.stated.sign == "∝"


def _keeps_small(stated: StatedRelation) -> bool:
    """True if a relation keeps its left side from growing: β = 0, β → 0, β < 1."""
    right = plain(stated.right)
    if not isinstance(right, Number):
        return False
    return stated.sign in ("→", "≪", "<", "≤") or (stated.sign == "=" and right.value <= 0)


def _share(state: Attained, required: RequiredStep, *, is_case: bool) -> float:
    """The share that a relation earns; one of several cases need only be possible."""
    if state is Attained.DERIVED or (state is Attained.POSSIBLE and is_case):
        return 1.0
    return required.bare if state is Attained.STATED else 0.0


# -- submissions of several files --------------------------------------------------------------------------------------
def merge_reports(reports: Sequence[DocumentReport], *, file: str, ignored: Sequence[str] = ()) -> DocumentReport:
    """One report for a submission of several files, each of which it names.

    A question that several files answer differently needs a person, and so does one that only an unreadable file may
    answer.
    """
    judged = [report for report in reports if report.outcome == "judged"]
    files = tuple(
        SubmittedFile(name=each.file, outcome=each.outcome, reason=each.reason, num_steps=sum(each.counts.values()))
        for each in reports
    )
    whole = replace(
        (judged or reports)[0],
        file=file,
        files=(*files, *(SubmittedFile(name=name, outcome="ignored") for name in ignored)),
        seconds=sum(report.seconds for report in reports),
        num_ineffective_comments=sum(report.num_ineffective_comments for report in reports),
        images=tuple(f"{image} of {PurePath(report.file).name}" for report in judged for image in report.images),
        document=None,
    )
    if not judged:
        return whole
    rows: dict[str, QuestionRow] = {}
    for row in (row for report in judged for row in report.questions):
        rows[row.id] = _merged(rows[row.id], row) if row.id in rows else row
    questions = tuple(rows.values())
    if len(judged) < len(reports):
        questions = tuple(_perhaps_in_another_file(row) for row in questions)
    return replace(whole, verdicts=tuple(verdict for each in judged for verdict in each.verdicts), questions=questions)


def _merged(first: QuestionRow, second: QuestionRow) -> QuestionRow:
    """The row of the file that answers the question; of two answers, neither is certain unless both earn the same."""
    less, more = sorted((first, second), key=lambda row: (_LEAST_FIRST.index(row.state), bool(row.reasons)))
    if less.state == "unanswered" or (less.state == "prose, not judged" and more.state == "judged"):
        return more
    if (less.score, less.pending) == (more.score, more.pending):
        return more
    return _left_to_a_person(more, (*less.reasons, *more.reasons, PersonReason.SEVERAL))


def _perhaps_in_another_file(row: QuestionRow) -> QuestionRow:
    return _left_to_a_person(row, (PersonReason.FILE,)) if row.state == "unanswered" and row.points else row


def _left_to_a_person(row: QuestionRow, reasons: Sequence[PersonReason]) -> QuestionRow:
    parts = tuple(replace(part, score=0.0, pending=part.points) for part in row.parts)
    return replace(row, score=0.0, pending=row.points, parts=parts, reasons=tuple(dict.fromkeys(reasons)))
