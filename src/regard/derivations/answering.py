"""The formulas of a whole document judged, question by question; what one part defines goes on to the next."""

from collections.abc import Mapping, Sequence

from regard.derivations.formulas import JudgedStep, step_at
from regard.derivations.judging.findings import NoteKind, not_understood, true
from regard.derivations.placing import PlacedFormula
from regard.derivations.problems.model import Problem
from regard.derivations.signs import relation_signs
from regard.derivations.steps import QuestionJudge

Judges = Mapping[str, QuestionJudge]


def judges_for(formulas: Sequence[PlacedFormula], problem: Problem, *, is_strict: bool) -> Judges:
    """A judge for every question that a formula may answer, who has seen the designs among all of them."""
    judges: dict[str, QuestionJudge] = {}
    for question in (question for placed in formulas for question in placed.questions):
        if question.id not in judges:
            judges[question.id] = QuestionJudge(problem=problem, question=question, is_strict=is_strict)
            judges[question.id].prepare([other.formula for other in formulas if question in other.questions])
    return judges


def judge_formula(placed: PlacedFormula, judges: Judges) -> list[JudgedStep]:
    """The steps of a formula, as many as it has relation signs."""
    if placed.error is not None:
        return _unread(placed)
    chains = placed.formula.chains
    if not placed.is_answer:
        restated = true("the question, restated")
        return [step_at(chain, place, "given", restated) for chain in chains for place in range(len(chain.signs))]
    if placed.question is None:
        unknown = not_understood("no question of the problem fits this formula")
        return [step_at(chain, place, "step", unknown) for chain in chains for place in range(len(chain.signs))]
    judge = judges[placed.question.id]
    for each in judges.values():
        each.leave_aside(placed.formula.paragraph)
    _inherit(judge, judges, placed)
    steps = judge.judge(placed.formula)
    return _rescued(steps, placed, judges) if any(step.finding.is_false for step in steps) else steps


def _unread(placed: PlacedFormula) -> list[JudgedStep]:
    """A formula that cannot even be cut into tokens: as many undecided steps as it has relation signs."""
    source, finding = placed.source.text, not_understood(placed.error)
    return [
        JudgedStep(kind="step", finding=finding, start=0, end=len(source), sign=sign, sign_start=offset)
        for offset, sign in relation_signs(source)
    ]


def _inherit(judge: QuestionJudge, judges: Judges, placed: PlacedFormula) -> None:
    """What the document has defined goes on: scales everywhere, the rest from one part of a question to the next.

    Without headings there are no parts, and everything goes on.
    """
    for other in (other for other in judges.values() if other is not judge):
        is_sibling = other.question.path[:2] == judge.question.path[:2]
        for key, meaning in other.scope.own.items():
            is_part = is_sibling or not (placed.is_under_heading or key in other.designs)
            is_scale = meaning.tends == "infinity" and meaning.formula is None
            is_open = key not in judge.question.setting.symbols or (is_part and judge.question.design is None)
            is_written = meaning is not other.intended.own.get(key)
            if is_written and key not in judge.scope.own and (is_part or is_scale) and is_open:
                judge.scope = judge.scope.with_meaning(meaning)


def _rescued(steps: list[JudgedStep], placed: PlacedFormula, judges: Judges) -> list[JudgedStep]:
    """Where it is open which question a step answers, it is refuted only if it fails under every one that fits.

    A step about what the document itself has defined is not open: another question would put its own meaning in.
    """
    assert placed.question is not None
    if judges[placed.question.id].defines_part_of(placed.formula) and not placed.is_lumped:
        return steps
    for other in placed.alternatives:
        others = judges[other.id].second_opinion(placed.formula)
        steps = [
            second if _saves(first, second, is_lumped=placed.is_lumped) else first
            for first, second in zip(steps, others, strict=True)
        ]
    return steps


def _saves(first: JudgedStep, second: JudgedStep, *, is_lumped: bool) -> bool:
    """Whether a second judge's word counts: the step is true, or only wrong after a slip, or true with a chance."""
    if not first.finding.is_false or second.kind in ("definition", "given"):
        return False
    is_chance = is_lumped and second.finding.probability is not None
    if is_chance or second.finding.is_after_slip:
        return True
    return second.finding.is_true and not second.finding.has_note(NoteKind.ANY_NUMBER)
