"""A whole document judged: every step a verdict, every question a row."""

from dataclasses import dataclass

from regard.core.verdict import StepVerdict
from regard.derivations.context.placing import place_formulas, regions_of
from regard.derivations.context.steps import judge_formula, judges_for
from regard.derivations.context.verdicts import SheetStep, choice_steps, formula_step, numbered, unclosed_steps
from regard.derivations.problems.problem import Problem
from regard.derivations.reading.document import Document
from regard.derivations.rows import QuestionRow, question_rows


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


def judge_document(document: Document, problem: Problem, *, is_strict: bool = False) -> Sheet:
    """The verdicts on a document under a problem; `is_strict` refutes an = that only holds in the limit."""
    regions = regions_of(document, problem)
    formulas = place_formulas(document, problem, regions)
    judges = judges_for(formulas, problem, is_strict=is_strict)
    steps = [formula_step(document, placed, step) for placed in formulas for step in judge_formula(placed, judges)]
    others = [*choice_steps(document, problem, regions), *unclosed_steps(document, regions)]
    ordered = numbered([*steps, *others])
    verdicts = [step.verdict for step in ordered]
    questions = question_rows(document, problem, regions, verdicts)
    return Sheet(document=document, problem=problem, steps=ordered, questions=questions)
