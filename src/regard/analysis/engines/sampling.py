"""Sampling in blocks: bounded memory, results that depend on the seed but not on the number of threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np

from regard.analysis.engines.draws import Draws
from regard.analysis.engines.plans import Plan, plan_for
from regard.analysis.engines.questions import Quantile, Question, check_question
from regard.analysis.engines.tally import Tally
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.analysis.scenarios.limits import readable_bytes
from regard.core.errors import InputError
from regard.core.estimate import Estimate
from regard.core.random_streams import stream

Sampler = Callable[[np.random.Generator, int, Deviation | None], Draws]

_FEWEST_DRAWS = 100
_MOST_KEPT_VALUES = 10**7
_RAREST_CONDITION = 1e-4
_MOST_NUMBERS = 10**12
_NUMBERS_PER_SECOND = 5e7
_NUMBERS_PER_BLOCK = 2**20
_MOST_DRAWS_PER_BLOCK = 2**13
_FEWEST_BLOCKS_PER_TASK = 4
_MOST_TASKS = 256

Part = Tally | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Run:
    """Size and seed of a sampling run; `numbers_per_draw` sets the length of its blocks and tells its cost."""

    method: str
    draws: int
    seed: int
    confidence: float
    numbers_per_draw: int
    threads: int = 2

    def __post_init__(self) -> None:
        if self.draws < _FEWEST_DRAWS:
            raise InputError(f"{self.draws} draws give no honest interval. Ask for at least {_FEWEST_DRAWS}.")
        if not 0 < self.confidence < 1:
            raise InputError(f"The confidence {self.confidence} must lie strictly between 0 and 1.")
        total = self.draws * self.numbers_per_draw
        if total > _MOST_NUMBERS:
            hours = total / _NUMBERS_PER_SECOND / 3600
            raise InputError(
                f"{self.draws} draws of {self.numbers_per_draw} numbers each would take about {hours:.3g} hours; "
                f"Regard stops at {_MOST_NUMBERS:.0e} numbers. Ask for fewer draws or keys."
            )

    @property
    def block_size(self) -> int:
        """Draws in a block; their random numbers fit in a processor's cache."""
        return min(max(_NUMBERS_PER_BLOCK // self.numbers_per_draw, 1), _MOST_DRAWS_PER_BLOCK)

    @property
    def tasks(self) -> tuple[range, ...]:
        """Blocks in stretches for a thread to do one after the other, the same for any number of threads."""
        num_blocks = -(-self.draws // self.block_size)
        step = max(_FEWEST_BLOCKS_PER_TASK, num_blocks // _MOST_TASKS)
        return tuple(range(start, min(start + step, num_blocks)) for start in range(0, num_blocks, step))

    def draws_in(self, block: int) -> int:
        """Draws in a block: all blocks are equal, the last takes what is left."""
        return min(self.block_size, self.draws - block * self.block_size)


def estimates(
    law: LogitLaw, questions: Sequence[Question], sampler: Sampler, centre: Draws, run: Run
) -> tuple[Estimate, ...]:
    """Answers from one run for each condition; questions with the same condition share their draws."""
    for question in questions:
        _check(question, law, run)
    found: dict[int, Estimate] = {}
    for given in dict.fromkeys(question.given for question in questions):
        places = [place for place, question in enumerate(questions) if question.given == given]
        plans = [plan_for(questions[place], law, centre) for place in places]
        found |= zip(places, _answers(plans, sampler, given, run), strict=True)
    return tuple(found[place] for place in range(len(questions)))


def _check(question: Question, law: LogitLaw, run: Run) -> None:
    """Refuses what the law does not have, what happens too rarely to sample, and more values than fit."""
    check_question(question, law)
    if question.given is not None:
        chance = question.given.probability(law.own_variance(question.given.group))
        if chance < _RAREST_CONDITION:
            raise InputError(
                f"The condition {question.given} has probability {_shown(chance)}, too rare to wait for in a sample. "
                f"Give one that holds more often than {_RAREST_CONDITION:g}, or keys that are random in one direction "
                "only: what is certified may be as rare as it likes."
            )
    if isinstance(question, Quantile) and run.draws > _MOST_KEPT_VALUES:
        raise InputError(
            f"A quantile keeps every draw, and {run.draws} of them would need {readable_bytes(24 * run.draws)}. "
            f"Ask for at most {_MOST_KEPT_VALUES} draws."
        )


def _shown(chance: float) -> str:
    """A probability, never zero where it only is too small for a double."""
    return f"{chance:.2g}" if chance else "below 1e-300"


def _answers(plans: Sequence[Plan], sampler: Sampler, given: Deviation | None, run: Run) -> list[Estimate]:
    def one_block(block: int) -> list[Part]:
        draws = sampler(stream(run.seed, run.method, "block", block), run.draws_in(block), given)
        columns = (plan.columns(draws) for plan in plans)
        return [rows[0] if plan.keeps_values else Tally.of(rows) for plan, rows in zip(plans, columns, strict=True)]

    def one_task(blocks: range) -> list[Part]:
        return reduce(_merged, map(one_block, blocks))

    if run.threads == 1 or len(run.tasks) == 1:
        parts = reduce(_merged, map(one_task, run.tasks))
    else:
        with ThreadPoolExecutor(max_workers=run.threads) as pool:
            parts = reduce(_merged, pool.map(one_task, run.tasks))
    return [_estimate(plan, part, run) for plan, part in zip(plans, parts, strict=True)]


def _merged(left: list[Part], right: list[Part]) -> list[Part]:
    """Neighbouring stretches of draws as one, always in their order, whichever thread finished first."""
    return [_joined(x, y) for x, y in zip(left, right, strict=True)]


def _joined(left: Part, right: Part) -> Part:
    if isinstance(left, Tally):
        assert isinstance(right, Tally)
        return left.merged(right)
    assert isinstance(right, np.ndarray)
    return np.concatenate([left, right])


def _estimate(plan: Plan, part: Part, run: Run) -> Estimate:
    value, low, high = plan.interval(part, run.confidence)
    return Estimate(
        value=value, lower=low, upper=high, method=run.method, confidence=run.confidence, draws=run.draws, seed=run.seed
    )
