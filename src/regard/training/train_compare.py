"""`regard train compare`: ways of training, several seeds each, and what can be told apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import InputError
from regard.training.compared import ComparisonReport
from regard.training.comparing import DOUBT, Outcome, compare_outcomes, summarise
from regard.training.contest import Contest, Entry, run_contest
from regard.training.data.reading import Question, read_questions
from regard.training.examining import share
from regard.training.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What to compare, where the runs lie, what is asked of them, and how many train at a time."""

    contest: Contest
    out: Path
    test: Path | None = None
    against: str | None = None
    jobs: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= 1024:
            raise InputError(f"{self.jobs} runs can't train at a time. Give --jobs 1 or more.")

    def asked(self) -> tuple[Question, ...]:
        """The questions that decide."""
        asked = self.contest.material.held_out if self.test is None else read_questions(self.test)
        if not asked:
            raise InputError("No question is held out, so there is nothing to compare by. Give --test FILE.")
        return asked


def compare(
    request: CompareRequest, progress: Callable[[int, int], None], *, reproduce: str | None = None
) -> ComparisonReport:
    """Trains what is missing, asks every run the same questions, and judges each pair."""
    contest, asked = request.contest, request.asked()
    right = run_contest(contest, request.out, asked, jobs=request.jobs, progress=progress)
    outcomes = _outcomes(request.out, right)
    commonest = contest.material.commonest_answer
    return ComparisonReport(
        folder=str(request.out),
        data=", ".join(contest.material.sources),
        questions="held out of the training questions" if request.test is None else str(request.test),
        num_questions=len(asked),
        num_seeds=contest.num_seeds,
        doubt=DOUBT,
        majority=share(sum(question.answer == commonest for question in asked), len(asked)),
        variants=summarise(outcomes),
        pairs=compare_outcomes(outcomes, against=request.against, reproduce=reproduce),
    )


def kept(request: CompareRequest) -> str:
    """What there is of a comparison that was stopped, and how it goes on."""
    entries = request.contest.entries()
    done = sum(RunFolder(request.out / entry.folder_name).is_finished for entry in entries)
    return (
        f"{done} of {len(entries)} runs are finished and kept in {request.out}; the same command goes on with the rest."
    )


def _outcomes(out: Path, right: Sequence[tuple[Entry, np.ndarray]]) -> list[Outcome]:
    """The answers of each way, seed by seed."""
    ways: dict[tuple[str, str], list[tuple[Entry, np.ndarray]]] = {}
    for entry, answers in right:
        ways.setdefault((entry.recipe.name, entry.positions), []).append((entry, answers))
    return [
        Outcome(
            recipe=recipe,
            positions=positions,
            steps=RunFolder(out / seeds[0][0].folder_name).plan().steps,
            right=np.stack([answers for _, answers in seeds]),
        )
        for (recipe, positions), seeds in ways.items()
    ]
