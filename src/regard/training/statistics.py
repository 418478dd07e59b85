"""What a few seeds can tell: intervals of means, paired differences, and tests corrected for their number."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from scipy.stats import binom, t

from regard.render.charts import IntervalRow
from regard.render.terminal import quantity

_MOST_COUNTED = 10_000


@dataclass(frozen=True, kw_only=True)
class MeanInterval:
    """A mean and the half-width of its confidence interval, infinite if there is only one value.

    >>> str(MeanInterval(mean=0.1234, half_width=0.02, count=5)), str(mean_interval([0.5]))
    ('0.123 ± 0.02', '0.5 (one value)')
    """

    mean: float
    half_width: float
    count: int

    @property
    def lower(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def upper(self) -> float:
        """The upper end."""
        return self.mean + self.half_width

    def row(self, name: str, *, scale: float = 1.0, status: str = "") -> IntervalRow:
        """The interval, times `scale`, as a row of a figure."""
        value, lower, upper = (scale * number for number in (self.mean, self.lower, self.upper))
        return IntervalRow(name=name, value=value, lower=lower, upper=upper, status=status)

    def __str__(self) -> str:
        return f"{self.mean:.3g} (one value)" if math.isinf(self.half_width) else quantity(self.mean, self.half_width)


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """The mean and the standard deviation of values, such as paired differences, for Student's t-test."""

    mean: float
    deviation: float
    count: int

    @property
    def p_value(self) -> float:
        """The two-sided p-value of no difference."""
        return _two_sided_p(self._score, self.count) if self.count > 1 and self.mean else 1.0

    def interval(self, alpha: float) -> MeanInterval:
        """The interval that misses the true difference with probability `alpha`."""
        half_width = math.inf
        if self.count > 1:
            half_width = float(t.isf(alpha / 2, self.count - 1)) * self.deviation / math.sqrt(self.count)
        return MeanInterval(mean=self.mean, half_width=half_width, count=self.count)

    def decisive_count(self, alpha: float) -> int | None:
        """The least n with |mean| > t·s/√n: the number of pairs that would decide with the same mean and s.

        None beyond 10,000. Plan for more: at this n, a true difference of this size is found only half of the time.

        >>> PairedDifference(mean=2.0, deviation=3.0, count=5).decisive_count(0.05)
        12
        """
        if self.mean == 0 or _two_sided_p(self._score, _MOST_COUNTED) >= alpha:
            return None
        counts = range(_MOST_COUNTED)
        return bisect_left(counts, True, lo=2, key=lambda count: _two_sided_p(self._score, count) < alpha)

    @property
    def _score(self) -> float:
        return math.inf if self.deviation == 0 else abs(self.mean) / self.deviation


def mean_interval(values: Sequence[float], *, alpha: float = 0.05, resolution: float = 0.0) -> MeanInterval:
    """mean ± t·s/√n over independent values, each known to the nearest multiple of `resolution`.

    The deviation s is at least r/√12, that of rounding to a multiple of r: equal values are no proof of certainty.
    """
    if not values:
        raise ValueError("There are no values to average. Give at least one.")
    return _summary(values, resolution / math.sqrt(12)).interval(alpha)


def paired_difference(first: Sequence[float], second: Sequence[float], *, resolution: float = 0.0) -> PairedDifference:
    """The differences first − second, pair by pair.

    Accuracies on m questions are known to the nearest 1/m. Such a `resolution` r keeps the deviation from falling below
    r/√6, that of two roundings.
    """
    differences = [x - y for x, y in zip(first, second, strict=True)]
    return _summary(differences, resolution / math.sqrt(6))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> tuple[int, int, float]:
    """How many questions only the first gets right, how many only the second, and McNemar's exact two-sided p-value.

    If both were equally good, each question on which they differ would be a coin toss.

    >>> mcnemar([True] * 6 + [False], [False] * 6 + [False])
    (6, 0, 0.03125)
    """
    only_first = sum(x and not y for x, y in zip(first, second, strict=True))
    only_second = sum(y and not x for x, y in zip(first, second, strict=True))
    tail = binom.cdf(min(only_first, only_second), only_first + only_second, 0.5)
    return only_first, only_second, min(1.0, 2 * float(tail))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the k-th smallest of m p-values times m − k + 1, made non-decreasing, at most 1.

    If nothing differs, any of the corrected values falls below α with probability at most α. scipy has no such test.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.arange(len(p_values), 0, -1) * np.asarray(p_values)[order])
    return np.minimum(corrected, 1.0).tolist()


def holm_levels(p_values: Sequence[float], alpha: float) -> list[float]:
    """The level that Holm's procedure compares each p-value with; once it stops, the level where it stopped."""
    levels, level, has_stopped = [0.0] * len(p_values), 0.0, False
    for rank, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        level = level if has_stopped else alpha / (len(p_values) - rank)
        has_stopped = has_stopped or p_values[number] > level
        levels[number] = level
    return levels


def _summary(values: Sequence[float], least: float) -> PairedDifference:
    """The mean and the deviation of values; the deviation is at least `least`."""
    deviation = max(stdev(values), least) if len(values) > 1 else math.nan
    return PairedDifference(mean=fmean(values), deviation=deviation, count=len(values))


def _two_sided_p(score: float, count: int) -> float:
    """P(|T| ≥ score·√n) for Student's T with n − 1 degrees of freedom."""
    return 2 * float(t.sf(score * math.sqrt(count), count - 1))
