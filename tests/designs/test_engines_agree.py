"""A hundred random designs: what is certified, what logits give and what whole keys give are the same numbers.

Every sampled interval is right with probability 1 − 1e-8. A hundred designs with six questions each by two engines are
1200 intervals, so a correct program fails here in one of about 80 000 seeds; the seed is fixed.
"""

import numpy as np
import pytest

from overlap import overlap
from regard.analysis.engines import (
    Mean,
    Probability,
    SquaredError,
    Variance,
    Within,
    certified,
    coefficient,
    direct,
    monte_carlo,
    weight,
)
from regard.analysis.scenarios import CourseKeys, Deviation, QueryDesign
from regard.core.errors import NotCertifiable

CONFIDENCE = 1 - 1e-8
NUM_DESIGNS = 100


def random_case(number: int) -> tuple[CourseKeys, QueryDesign, Deviation | None]:
    """Keys, queries and a condition; every other case has one random direction, so that it can be certified."""
    rng = np.random.default_rng([7, number])
    names = ["a", "b", "c"][: rng.integers(2, 4)]
    heads = int(rng.integers(1, 4))
    coefficients = {name: tuple(rng.normal(scale=6, size=heads).round(3)) for name in names}
    is_certifiable = number % 2 == 0
    noise = {"a": float(rng.uniform(0.05, 1))} | ({} if is_certifiable else {"b": float(rng.uniform(0.05, 1))})
    alpha = 0.0 if is_certifiable else float(rng.choice([0.0, 0.01, 0.1]))
    is_normalized = alpha == 0 and bool(rng.integers(2))
    keys = CourseKeys(n=int(rng.integers(4, 9)), noise=noise, alpha=alpha, is_normalized=is_normalized)
    given = Deviation(group="a", lower=-1.0) if rng.integers(2) else None
    return keys, QueryDesign(coefficients=coefficients), given


@pytest.mark.parametrize("number", range(NUM_DESIGNS))
def test_engines_agree_on_random_designs(number):
    keys, design, given = random_case(number)
    target = {"a": 0.5, "b": 0.5}
    questions = [
        Mean(of=weight("a"), given=given),
        Variance(of=coefficient("b"), given=given),
        SquaredError(target=target, given=given),
        Within(target=target, radius=0.45, given=given),
        Probability(of=coefficient("a"), at_least=0.3, given=given),
        Mean(of=coefficient("other"), given=given),
    ]
    law = keys.logits(design)
    sampled = monte_carlo.answers(law, questions, draws=4_000, seed=number, confidence=CONFIDENCE)
    whole = direct.answers(keys.in_key_space(design), questions, draws=4_000, seed=number, confidence=CONFIDENCE)
    try:
        reference = certified.answers(law, questions)
    except NotCertifiable:
        # Those with one random direction, half of all, must be certified.
        assert number % 2 == 1
        reference = sampled
    for question, certain, *others in zip(questions, reference, sampled, whole, strict=True):
        for other in others:
            assert overlap(other, certain), (question, certain, other)


def test_a_wrong_number_would_be_noticed():
    keys, design, given = random_case(0)
    question = SquaredError(target={"a": 0.5, "b": 0.5}, given=given)
    right = certified.answer(keys.logits(design), question)
    sampled = monte_carlo.answer(keys.logits(design), question, draws=4_000, confidence=CONFIDENCE)
    assert not overlap(sampled, right + 0.1)
