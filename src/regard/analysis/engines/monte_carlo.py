"""Answers by sampling logits: any law, bounded memory, an interval at a stated confidence."""

from collections.abc import Sequence

import numpy as np

from regard.analysis.engines.law_arrays import LawArrays
from regard.analysis.engines.logit_sampler import noiseless, numbers_per_draw, sample
from regard.analysis.engines.quantities import Quantity
from regard.analysis.engines.questions import Question
from regard.analysis.engines.sampling import Run, estimates
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.axes import Float
from regard.core.estimate import Estimate
from regard.core.random_streams import stream


def answer(
    law: LogitLaw, question: Question, *, draws: int = 100_000, seed: int = 0, confidence: float = 0.999
) -> Estimate:
    """The answer up to sampling error, with an interval that is right with probability `confidence`.

    >>> from regard.analysis.engines import Mean, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
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
