"""Moments of streams of numbers, merged block by block, and the intervals that follow from them."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from regard.core.axes import Float

Interval = tuple[float, float, float]

# Sums over a block lose at most this share of the largest value a draw can have.
_ROUNDING = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Number of draws seen, their mean, and the sum of outer products around it."""

    count: int
    mean: Float[np.ndarray, " column"]
    scatter: Float[np.ndarray, "column column"]

    @classmethod
    def of(cls, columns: Float[np.ndarray, "column draw"]) -> "Tally":
        """The tally of one block."""
        mean = columns.mean(axis=1)
        centred = columns - mean[:, None]
        return cls(count=columns.shape[1], mean=mean, scatter=centred @ centred.T)

    def merged(self, other: "Tally") -> "Tally":
        """The tally of both blocks together (Chan's formula, which loses no digits)."""
        count = self.count + other.count
        gap = other.mean - self.mean
        scatter = self.scatter + other.scatter + np.outer(gap, gap) * (self.count * other.count / count)
        return Tally(count=count, mean=self.mean + gap * (other.count / count), scatter=scatter)


def smooth_interval(
    tally: Tally, value: float, gradient: Float[np.ndarray, " column"], *, span: float, confidence: float
) -> Interval:
    """A smooth function of means is normal around its value: the delta method.

    value ± (z √(gradientᵀ Cov gradient / N) + span·log(2/(1 − confidence))/N)

    The second term allows for what N draws cannot have seen: an event of that probability that moves the
    value by up to `span`.
    """
    variance = float(gradient @ tally.scatter @ gradient) / tally.count
    unseen = span * (math.log(2 / (1 - confidence)) / tally.count + _ROUNDING)
    half = _normal_quantile(confidence) * math.sqrt(max(variance, 0.0) / tally.count) + unseen
    return value, value - half, value + half


def wilson_interval(tally: Tally, *, confidence: float) -> Interval:
    """Wilson's interval for a proportion, never empty even when no draw or every draw succeeds.

    (p + z²/2N ± z √(p(1−p)/N + z²/4N²)) / (1 + z²/N)
    """
    share, count = float(tally.mean[0]), tally.count
    z_squared = _normal_quantile(confidence) ** 2
    middle = share + z_squared / (2 * count)
    half = math.sqrt(z_squared * (share * (1 - share) / count + z_squared / (4 * count**2)))
    stretch = 1 + z_squared / count
    low, high = (middle - half) / stretch, (middle + half) / stretch
    return share, max(0.0, min(share, low)), min(1.0, max(share, high))


def order_interval(values: Float[np.ndarray, " draw"], level: float, *, reach: float, confidence: float) -> Interval:
    """A quantile lies between two order statistics, whose ranks follow from the binomial law of the draws below it."""
    ordered = np.sort(values)
    count = len(ordered)
    slack = _normal_quantile(confidence) * math.sqrt(count * level * (1 - level)) + 1
    low_rank, high_rank = math.floor(count * level - slack), math.ceil(count * level + slack)
    low = float(ordered[low_rank - 1]) if low_rank >= 1 else -reach
    high = float(ordered[high_rank - 1]) if high_rank <= count else reach
    value = float(ordered[math.ceil(count * level) - 1])
    allowance = _ROUNDING * reach
    return value, low - allowance, high + allowance


def _normal_quantile(confidence: float) -> float:
    """z with P(|ξ| ≤ z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
