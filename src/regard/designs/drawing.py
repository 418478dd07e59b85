"""What a design gives in draws: answers with intervals, and the draws themselves."""

from collections.abc import Sequence

import numpy as np

from regard.analysis.engines import Quantity, Question, direct, monte_carlo
from regard.analysis.engines.monte_carlo import LawArrays, numbers_per_draw
from regard.core.axes import Float
from regard.core.errors import InputError
from regard.core.estimate import Estimate
from regard.designs.asking import FEWEST_DRAWS, Bench

# A draw of whole keys costs n times as much as a draw of logits.
_DIRECT_SHARE = 10
# A design is asked about so often: its heads, its output, and a score of scales.
_RUNS = 25
_NUMBERS_PER_SECOND = 5e7
_LONGEST_WAIT = 1800.0
_MOST_DRAWS = 10**7


def answers(bench: Bench, questions: Sequence[Question]) -> tuple[Estimate, ...]:
    """Sampled answers: from logits where their law is known, else from whole keys."""
    _require_patience(bench)
    draws, seed, confidence = bench.sampling.draws, bench.sampling.seed, bench.sampling.confidence
    if bench.has_law:
        return monte_carlo.answers(bench.law, questions, draws=draws, seed=seed, confidence=confidence)
    lookup, draws = bench.keys.in_key_space(bench.design), -(-draws // _DIRECT_SHARE)
    return direct.answers(lookup, questions, draws=draws, seed=seed, confidence=confidence)


def values(bench: Bench, quantity: Quantity, *, draws: int) -> Float[np.ndarray, " draw"]:
    """Draws of a quantity."""
    seed, given = bench.sampling.seed, bench.given
    if bench.has_law:
        return monte_carlo.values(bench.law, quantity, draws=draws, seed=seed, given=given)
    lookup = bench.keys.in_key_space(bench.design)
    return direct.values(lookup, quantity, draws=-(-draws // _DIRECT_SHARE), seed=seed, given=given)


def histogram(bench: Bench, quantity: Quantity, num_bins: int, *, draws: int) -> list[float]:
    """The share of the draws in each part of [0, 1]."""
    found = np.clip(values(bench, quantity, draws=draws), 0, 1)
    counts, _ = np.histogram(found, bins=num_bins, range=(0, 1))
    return (counts / len(found)).tolist()


def _require_patience(bench: Bench) -> None:
    """Refuses a design whose draws would take longer than anybody waits, before the first of them."""
    n, draws = bench.keys.n, bench.sampling.draws
    if bench.has_law:
        numbers, what = draws * numbers_per_draw(LawArrays.of(bench.law)), "draws of all logits"
    else:
        numbers, what = draws // _DIRECT_SHARE * n * n, f"draws of whole keys, {n} numbers each,"
    seconds = _RUNS * numbers / _NUMBERS_PER_SECOND
    if seconds > _LONGEST_WAIT:
        fewer = min(int(draws * _LONGEST_WAIT / seconds), _MOST_DRAWS)
        raise InputError(
            f"n = {n} noisy keys need {draws} {what} at some {_RUNS} scales, about {seconds / 3600:.3g} hours. "
            + (f"Give --draws {fewer}, or fewer keys." if fewer >= FEWEST_DRAWS else "Give fewer keys.")
        )
