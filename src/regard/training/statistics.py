"""What a few seeds can tell: intervals of means, paired differences, and tests that count how often they are asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from flint import arb

from regard.training.intervals import Interval

_MOST_COUNTED = 10_000


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Differences of pairs: their mean, their spread, and the chance of a mean so large if there is no difference."""

    mean: float
    spread: float
    count: int
    chance: float

    def half(self, doubt: float) -> float:
        """t·s/√n: half the interval that misses the true difference with probability `doubt`."""
        if self.count < 2:
            return math.inf
        return student_quantile(1 - doubt / 2, self.count - 1) * self.spread / math.sqrt(self.count)


def student_tail(t: float, freedom: int) -> float:
    """P(|T| ≥ t) = I_x(ν/2, ½) with x = ν/(ν + t²), for Student's T with ν degrees of freedom.

    >>> round(student_tail(12.7062047, 1), 6), student_tail(0.0, 5), student_tail(math.inf, 3)
    (0.05, 1.0, 0.0)
    """
    if math.isinf(t):
        return 0.0
    ratio = arb(freedom) / (freedom + arb(t) ** 2)
    return float(ratio.beta_lower(arb(freedom) / 2, 0.5, regularized=True).mid())


@cache
def student_quantile(level: float, freedom: int) -> float:
    """The t that Student's T with ν degrees of freedom stays below with probability `level`, at least ½.

    >>> round(student_quantile(0.975, 2), 4), round(student_quantile(0.975, 1000), 4)
    (4.3027, 1.9623)
    """
    if not 0.5 <= level < 1:
        raise ValueError(f"{level} is no level of a two-sided interval. Give one from 0.5 up to, not including, 1.")
    doubt, low, high = 2 * (1 - level), 0.0, 1.0
    while student_tail(high, freedom) > doubt:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, freedom) > doubt else (low, middle)
    return high


def mean_interval(values: Sequence[float], *, doubt: float = 0.05, resolution: float = 0.0) -> Interval:
    """mean ± t·s/√n over independent values, each known to the nearest multiple of `resolution`.

    The spread s is at least r/√12, what rounding to a multiple of r leaves: values that agree are no certainty.

    >>> one = mean_interval([0.5])
    >>> one.mean, one.half
    (0.5, inf)
    """
    count = len(values)
    if not count:
        raise ValueError("No values have no mean. Give at least one.")
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean=mean, half=math.inf, count=count)
    spread = max(_spread(values), resolution / math.sqrt(12))
    half = student_quantile(1 - doubt / 2, count - 1) * spread / math.sqrt(count)
    return Interval(mean=mean, half=half, count=count)


def paired(first: Sequence[float], second: Sequence[float], *, resolution: float = 0.0) -> Paired:
    """The differences first − second, pair by pair, by Student's t.

    Shares of m questions are known to the nearest 1/m. Such a `resolution` r keeps the spread from falling below r/√6,
    what two roundings leave.
    """
    differences = [x - y for x, y in zip(first, second, strict=True)]
    count, mean = len(differences), math.fsum(differences) / len(differences)
    if count < 2:
        return Paired(mean=mean, spread=math.nan, count=count, chance=1.0)
    spread = max(_spread(differences), resolution / math.sqrt(6))
    if spread == 0:
        return Paired(mean=mean, spread=0.0, count=count, chance=1.0 if mean == 0 else 0.0)
    return Paired(
        mean=mean, spread=spread, count=count, chance=student_tail(abs(mean) / spread * math.sqrt(count), count - 1)
    )


def decisive_count(mean: float, spread: float, *, doubt: float = 0.05) -> int | None:
    """The least n with |mean| > t·s/√n: how many pairs decide if mean and spread stay as they are; None beyond 10,000.

    More may be needed: at this n, a difference that is really so large is found every other time.

    >>> decisive_count(2.0, 3.0), decisive_count(0.0, 1.0)
    (12, None)
    """
    if mean == 0:
        return None
    score = math.inf if spread == 0 else abs(mean) / spread

    def decides(count: int) -> bool:
        return student_tail(score * math.sqrt(count), count - 1) < doubt

    if not decides(_MOST_COUNTED):
        return None
    low, high = 1, _MOST_COUNTED
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def difference_by_question(first: Sequence[bool], second: Sequence[bool]) -> tuple[int, int, float]:
    """How many questions only the first answers, how many only the second, and McNemar's exact two-sided chance.

    If both were alike, each question that they differ on would be a toss of a coin.

    >>> difference_by_question([True] * 6 + [False], [False] * 6 + [False])
    (6, 0, 0.03125)
    """
    pairs = list(zip(first, second, strict=True))
    only_first, only_second = sum(x and not y for x, y in pairs), sum(y and not x for x, y in pairs)
    tosses, fewer = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(tosses, k) for k in range(fewer + 1))
    return only_first, only_second, min(1.0, float(2 * tail / 2**tosses))


def holm(chances: Sequence[float]) -> list[float]:
    """Each chance corrected for how many there are, so that one false alarm among all is as rare as the level says.

    The k-th smallest of m is multiplied by m − k + 1, and none becomes smaller than the one before it.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, reached = [0.0] * len(chances), 0.0
    for place, number in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        reached = max(reached, min(1.0, (len(chances) - place) * chances[number]))
        corrected[number] = reached
    return corrected


def _spread(values: Sequence[float]) -> float:
    """√(Σ(x − x̄)²/(n−1))."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
