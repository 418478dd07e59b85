"""Answers by sampling logits: any law, bounded memory, an interval at a stated confidence."""

from collections.abc import Sequence

import numpy as np

from regard.axes import Float
from regard.engines.law_arrays import LawArrays
from regard.engines.logit_sampler import noiseless, numbers_per_draw, sample
from regard.engines.quantities import Quantity
from regard.engines.questions import Question
from regard.engines.sampling import Run, estimates
from regard.engines.streams import stream
from regard.estimate import Estimate
from regard.scenarios import Deviation, LogitLaw

__all__ = ["answer", "answers", "values"]


def answer(
    law: LogitLaw, question: Question, *, draws: int = 100_000, seed: int = 0, confidence: float = 0.999
) -> Estimate:
    """The answer up to sampling error, with an interval that is right with probability `confidence`.

    >>> from regard.engines import Mean, weight
    >>> from regard.scenarios import course_keys, one_head
    >>> answer(course_keys(n=10).logits(one_head(5.0)), Mean(of=weight("a")), seed=1).contains(0.494699341579)
    True
    """
    return answers(law, [question], draws=draws, seed=seed, confidence=confidence)[0]


def answers(
    law: LogitLaw, questions: Sequence[Question], *, draws: int = 100_000, seed: int = 0, confidence: float = 0.999
) -> tuple[Estimate, ...]:
    """Several answers from the same draws; each interval on its own has the stated confidence."""
    arrays = LawArrays.of(law)
    run = Run(
        method="monte_carlo", draws=draws, seed=seed, confidence=confidence, numbers_per_draw=numbers_per_draw(arrays)
    )
    return estimates(law, questions, lambda *block: sample(arrays, *block), noiseless(arrays), run)


def values(
    law: LogitLaw, quantity: Quantity, *, draws: int = 20_000, seed: int = 0, given: Deviation | None = None
) -> Float[np.ndarray, " draw"]:
    """Independent draws of a quantity, for a histogram."""
    quantity.heads(law)
    if given is not None:
        law.check_condition(given)
    return sample(LawArrays.of(law), stream(seed, "monte_carlo", "values"), draws, given).values(quantity, law)
