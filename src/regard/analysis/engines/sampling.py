"""Answers from random draws: what to record in each draw, and the interval that follows from the records.

Draws come in blocks, so memory is bounded and results depend on the seed but not on the number of threads.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist
from typing import Any

import numpy as np

from regard.analysis.engines import questions as ask
from regard.analysis.engines.questions import Quantity, Question, check_question
from regard.analysis.gaussian_keys import readable_bytes
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.axes import Float
from regard.core.errors import InputError
from regard.core.estimate import Estimate
from regard.core.random_streams import stream

Interval = tuple[float, float, float]

# Sums over a block lose at most this share of the largest value a draw can have.
_ROUNDING = 1e-13
_MIN_DRAWS = 100
_MAX_KEPT_VALUES = 10**7
_MIN_CONDITION_PROBABILITY = 1e-4
_MAX_NUMBERS = 10**12
_NUMBERS_PER_SECOND = 5e7
_NUMBERS_PER_BLOCK = 2**20
_MAX_DRAWS_PER_BLOCK = 2**13
_MIN_BLOCKS_PER_TASK = 4
_MAX_TASKS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """The weights w_i^h of independent draws, as the few sums that questions need.

    `first` is the weight of a group's first key, `total` that of all its keys,
    `overlap` is Σ_i w_i^h w_i^g over all keys, and `deviation` is δ of each group that has a single key.
    """

    first: Float[np.ndarray, "group head draw"]
    total: Float[np.ndarray, "group head draw"]
    overlap: Float[np.ndarray, "head head draw"]
    deviation: Float[np.ndarray, "group draw"]

    def values(self, quantity: Quantity, law: LogitLaw) -> Float[np.ndarray, " draw"]:
        """The quantity in each draw."""
        weights = self.first[law.index(quantity.group)]
        return weights.mean(axis=0) if quantity.head is None else weights[quantity.head]

    def group_coefficients(self) -> Float[np.ndarray, "group draw"]:
        """Σ_{i∈g} c_i: the coefficients in the output, summed over each group."""
        return self.total.mean(axis=1)

    def squared_distances(
        self, target: Float[np.ndarray, " group"], counts: Float[np.ndarray, " group"]
    ) -> Float[np.ndarray, " draw"]:
        """‖c − Σ_i target_i v_i‖² for orthonormal values: Σ_i c_i² − 2 Σ_i target_i c_i + Σ_i target_i²."""
        squares = self.overlap.mean(axis=(0, 1))
        return squares - 2 * target @ self.group_coefficients() + float(counts @ target**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """The number of draws seen, their mean, and the sum of outer products around it."""

    count: int
    mean: Float[np.ndarray, " column"]
    scatter: Float[np.ndarray, "column column"]

    @classmethod
    def of(cls, columns: Float[np.ndarray, "column draw"]) -> "Moments":
        """The moments of one block."""
        mean = columns.mean(axis=1)
        centerd = columns - mean[:, None]
        return cls(count=columns.shape[1], mean=mean, scatter=centerd @ centerd.T)

    def merged(self, other: "Moments") -> "Moments":
        """The moments of both blocks together (Chan's formula, which loses no digits)."""
        count = self.count + other.count
        gap = other.mean - self.mean
        scatter = self.scatter + other.scatter + np.outer(gap, gap) * (self.count * other.count / count)
        return Moments(count=count, mean=self.mean + gap * (other.count / count), scatter=scatter)


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """Columns to record in each draw, and the interval at a given confidence that follows from their moments.

    With `keeps_values`, the only column is kept entirely, and the interval follows from its values.
    """

    columns: Callable[[Draws], Float[np.ndarray, "column draw"]]
    interval: Callable[[Any, float], Interval]
    keeps_values: bool = False


Sampler = Callable[[np.random.Generator, int, Deviation | None], Draws]
Record = Any  # Moments, or the values themselves


@dataclass(frozen=True, kw_only=True)
class SamplingRun:
    """Size and seed of a sampling run; `numbers_per_draw` determines the size of its blocks and its cost."""

    method: str
    draws: int
    seed: int
    confidence: float
    numbers_per_draw: int
    threads: int = 2

    def __post_init__(self) -> None:
        if self.draws < _MIN_DRAWS:
            raise InputError(f"{self.draws} draws are too few for an honest interval. Ask for at least {_MIN_DRAWS}.")
        if not 0 < self.confidence < 1:
            raise InputError(f"The confidence {self.confidence} must lie strictly between 0 and 1.")
        total = self.draws * self.numbers_per_draw
        if total > _MAX_NUMBERS:
            hours = total / _NUMBERS_PER_SECOND / 3600
            raise InputError(
                f"{self.draws} draws of {self.numbers_per_draw} numbers each would take about {hours:.3g} hours; "
                f"Regard stops at {_MAX_NUMBERS:.0e} numbers. Ask for fewer draws or keys."
            )

    @property
    def block_size(self) -> int:
        """Draws per block, such that their random numbers fit into the processor's cache."""
        return min(max(_NUMBERS_PER_BLOCK // self.numbers_per_draw, 1), _MAX_DRAWS_PER_BLOCK)

    @property
    def tasks(self) -> tuple[range, ...]:
        """Ranges of blocks, each for one thread; they do not depend on the number of threads."""
        num_blocks = -(-self.draws // self.block_size)
        step = max(_MIN_BLOCKS_PER_TASK, num_blocks // _MAX_TASKS)
        return tuple(range(start, min(start + step, num_blocks)) for start in range(0, num_blocks, step))

    def draws_in(self, block: int) -> int:
        """Draws in a block: all blocks are equal except the last, which takes the rest."""
        return min(self.block_size, self.draws - block * self.block_size)


def estimates(
    law: LogitLaw, questions: Sequence[Question], sampler: Sampler, center: Draws, run: SamplingRun
) -> tuple[Estimate, ...]:
    """The answers to several questions; those with the same condition share their draws."""
    for question in questions:
        _check(question, law, run)
    found: dict[int, Estimate] = {}
    for given in dict.fromkeys(question.given for question in questions):
        places = [place for place, question in enumerate(questions) if question.given == given]
        estimators = [estimator_for(questions[place], law, center) for place in places]
        found |= zip(places, _answers(estimators, sampler, given, run), strict=True)
    return tuple(found[place] for place in range(len(questions)))


def _check(question: Question, law: LogitLaw, run: SamplingRun) -> None:
    """Raises an InputError for what the law does not have, what is too rare to sample, and more values than fit."""
    check_question(question, law)
    if question.given is not None:
        probability = question.given.probability(law.own_variance(question.given.group))
        if probability < _MIN_CONDITION_PROBABILITY:
            raise InputError(
                f"The condition {question.given} has probability {probability:.2g}, which is too rare to sample. "
                f"Give a condition more probable than {_MIN_CONDITION_PROBABILITY:g}, or keys that are random in one "
                "direction only: certified answers have no such limit."
            )
    if isinstance(question, ask.Quantile) and run.draws > _MAX_KEPT_VALUES:
        raise InputError(
            f"A quantile keeps every draw, and {run.draws} draws would need {readable_bytes(24 * run.draws)}. "
            f"Ask for at most {_MAX_KEPT_VALUES} draws."
        )


def _answers(
    estimators: Sequence[Estimator], sampler: Sampler, given: Deviation | None, run: SamplingRun
) -> list[Estimate]:
    def one_block(block: int) -> list[Record]:
        draws = sampler(stream(run.seed, run.method, "block", block), run.draws_in(block), given)
        columns = ((estimator, estimator.columns(draws)) for estimator in estimators)
        return [rows[0] if estimator.keeps_values else Moments.of(rows) for estimator, rows in columns]

    def one_task(blocks: range) -> list[Record]:
        return reduce(_merged, map(one_block, blocks))

    if run.threads == 1 or len(run.tasks) == 1:
        parts = reduce(_merged, map(one_task, run.tasks))
    else:
        with ThreadPoolExecutor(max_workers=run.threads) as pool:
            parts = reduce(_merged, pool.map(one_task, run.tasks))
    return [_estimate(estimator, part, run) for estimator, part in zip(estimators, parts, strict=True)]


def _merged(left: list[Record], right: list[Record]) -> list[Record]:
    """Two neighbouring ranges of draws as one; the order never depends on which thread finished first."""
    return [x.merged(y) if isinstance(x, Moments) else np.concatenate([x, y]) for x, y in zip(left, right, strict=True)]


def _estimate(estimator: Estimator, part: Record, run: SamplingRun) -> Estimate:
    value, low, high = estimator.interval(part, run.confidence)
    return Estimate(
        value=value, lower=low, upper=high, method=run.method, confidence=run.confidence, draws=run.draws, seed=run.seed
    )


def smooth_interval(
    moments: Moments, value: float, gradient: Float[np.ndarray, " column"], *, span: float, confidence: float
) -> Interval:
    """The delta method: a smooth function of means is asymptotically normal around its value.

    value ± (z √(gradientᵀ Cov gradient / N) + span·log(2/(1 − confidence))/N)

    The second term allows for an event too rare for N draws to show, which could move the value by up to `span`.
    """
    variance = float(gradient @ moments.scatter @ gradient) / moments.count
    unseen = span * (math.log(2 / (1 - confidence)) / moments.count + _ROUNDING)
    half = _normal_quantile(confidence) * math.sqrt(max(variance, 0.0) / moments.count) + unseen
    return value, value - half, value + half


def wilson_interval(share: float, count: int, *, confidence: float) -> Interval:
    """Wilson's interval for a proportion, of positive length even if no draw or every draw succeeds.

    (p + z²/2N ± z √(p(1−p)/N + z²/4N²)) / (1 + z²/N)
    """
    z_squared = _normal_quantile(confidence) ** 2
    middle = share + z_squared / (2 * count)
    half = math.sqrt(z_squared * (share * (1 - share) / count + z_squared / (4 * count**2)))
    stretch = 1 + z_squared / count
    low, high = (middle - half) / stretch, (middle + half) / stretch
    return share, max(0.0, min(share, low)), min(1.0, max(share, high))


def order_interval(values: Float[np.ndarray, " draw"], level: float, *, confidence: float) -> Interval:
    """The two order statistics between which a quantile lies, by the binomial law of the number of draws below it."""
    ordered = np.sort(values)
    count = len(ordered)
    slack = _normal_quantile(confidence) * math.sqrt(count * level * (1 - level)) + 1
    low_rank, high_rank = math.floor(count * level - slack), math.ceil(count * level + slack)
    low = float(ordered[low_rank - 1]) if low_rank >= 1 else -1.0
    high = float(ordered[high_rank - 1]) if high_rank <= count else 1.0
    value = float(ordered[math.ceil(count * level) - 1])
    return value, low - _ROUNDING, high + _ROUNDING


def _normal_quantile(confidence: float) -> float:
    """z with P(|ξ| ≤ z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def estimator_for(question: Question, law: LogitLaw, center: Draws) -> Estimator:
    """The estimator for a question; `center` is the noiseless draw, around which second moments lose no digits."""
    match question:
        case ask.Mean(of=quantity):
            return _mean_of(lambda draws: draws.values(quantity, law), span=1.0)
        case ask.SquaredError(target=target):
            return _squared_error(np.array([target.get(name, 0.0) for name in law.names]), law)
        case ask.Within(target=target, radius=radius):
            targets, counts = np.array([target.get(name, 0.0) for name in law.names]), np.array(law.counts, dtype=float)
            return _share_of(lambda draws: _between(draws.squared_distances(targets, counts), -math.inf, radius**2))
        case ask.Variance(of=quantity):
            return _variance(quantity, law, center)
        case ask.TotalVariance():
            return _total_variance(law, center)
        case ask.Probability(of=quantity, at_least=low, at_most=high):
            return _share_of(lambda draws: _between(draws.values(quantity, law), low, high))
        case ask.ConditionProbability(of=event):
            group = law.index(event.group)
            return _share_of(lambda draws: _between(draws.deviation[group], event.lower, event.upper))
        case ask.Quantile(of=quantity, level=level):
            return Estimator(
                columns=lambda draws: draws.values(quantity, law)[None],
                interval=lambda values, confidence: order_interval(values, level, confidence=confidence),
                keeps_values=True,
            )


def _between(values: Float[np.ndarray, " draw"], low: float, high: float) -> Float[np.ndarray, " draw"]:
    return ((low <= values) & (values <= high)).astype(np.float64)


def _mean_of(values: Callable[[Draws], Float[np.ndarray, " draw"]], *, span: float) -> Estimator:
    return Estimator(
        columns=lambda draws: values(draws)[None],
        interval=lambda moments, confidence: smooth_interval(
            moments, float(moments.mean[0]), np.ones(1), span=span, confidence=confidence
        ),
    )


def _squared_error(target: Float[np.ndarray, " group"], law: LogitLaw) -> Estimator:
    counts = np.array(law.counts, dtype=np.float64)
    # The output has norm at most one, so it is at most this far from the target.
    span = (1 + math.sqrt(float(counts @ target**2))) ** 2
    return _mean_of(lambda draws: draws.squared_distances(target, counts), span=span)


def _share_of(indicator: Callable[[Draws], Float[np.ndarray, " draw"]]) -> Estimator:
    return Estimator(
        columns=lambda draws: indicator(draws)[None],
        interval=lambda moments, confidence: wilson_interval(
            float(moments.mean[0]), moments.count, confidence=confidence
        ),
    )


def _variance(quantity: Quantity, law: LogitLaw, center: Draws) -> Estimator:
    """E[Q²] − E[Q]², from Q and Q² around the center."""
    shift = float(center.values(quantity, law)[0])

    def columns(draws: Draws) -> Float[np.ndarray, "2 draw"]:
        x = draws.values(quantity, law) - shift
        return np.stack([x, x * x])

    def interval(moments: Moments, confidence: float) -> Interval:
        mean, square = (float(mean) for mean in moments.mean)
        gradient = np.array([-2 * mean, 1.0])
        found = smooth_interval(moments, square - mean * mean, gradient, span=1.0, confidence=confidence)
        return _at_least_zero(found)

    return Estimator(columns=columns, interval=interval)


def _total_variance(law: LogitLaw, center: Draws) -> Estimator:
    """tr Cov(c) = E‖c − m‖² − Σ_g (E Σ_{i∈g} (c_i − m_g))²/count_g for any fixed m, as keys of a group are alike."""
    counts = np.array(law.counts, dtype=np.float64)
    middle = center.group_coefficients()[:, 0] / counts

    def columns(draws: Draws) -> Float[np.ndarray, "column draw"]:
        gaps = draws.group_coefficients() - (middle * counts)[:, None]
        return np.vstack([draws.squared_distances(middle, counts), gaps])

    def interval(moments: Moments, confidence: float) -> Interval:
        distance, gaps = float(moments.mean[0]), moments.mean[1:]
        value = distance - float(gaps @ (gaps / counts))
        gradient = np.concatenate([[1.0], -2 * gaps / counts])
        # Two points of the simplex are at most √2 apart.
        return _at_least_zero(smooth_interval(moments, value, gradient, span=2.0, confidence=confidence))

    return Estimator(columns=columns, interval=interval)


def _at_least_zero(interval: Interval) -> Interval:
    value, below, above = (max(number, 0.0) for number in interval)
    return value, below, above
