"""Drives: the regime pushed over several decades, stage by stage, and the errors seen on the way.

Vanishing noise goes first (α = β⁻⁸, so that β√α → 0); balls have no largest exponent, so nothing overflows.
"""

import itertools
import math
from typing import Any

import numpy as np
from flint import arb

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.draws import QUANTILES
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.relations import Instances
from regard.derivations.judging.values import IllShaped, Value

SCALES = (8.0, 32.0, 128.0, 2048.0)
_SMALL = 0.05
_ROUNDING = 1e-60
_INFINITE = arb("inf")


def driven_to(instances: Instances, scales: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Each symbol that tends somewhere, stage by stage; several scales grow side by side at different speeds."""
    driven: dict[str, tuple[float, ...]] = {}
    meanings = instances.scope.meanings
    growing = sorted(name for name, meaning in meanings.items() if meaning.tends == "infinity")
    for place, name in enumerate(growing):
        driven[name] = tuple(scale * (1 + place / 7) for scale in scales)
    for name, meaning in meanings.items():
        if meaning.tends == "zero":
            driven[name] = tuple(scale**-8 for scale in scales)
    return driven


def drive(instances: Instances, scales: tuple[float, ...] = SCALES) -> Instance:
    """The instance in which the regime is driven, with enough draws to meet each part of a random symbol's law."""
    is_random = any(meaning.is_random_number for meaning in instances.scope.meanings.values())
    num_draws = len(QUANTILES) if is_random else 2
    return instances.base(seed=3, num_draws=num_draws, driven=driven_to(instances, scales))


def errors_on(instances: Instances, instance: Instance) -> np.ndarray:
    """The error at each stage (row) and draw (column), the worst over indices; a draw that breaks a premise has none.

    Errors are relative to the left side, save against 0 and, in an =, while the sides stay of ordinary size.
    """
    absolute = np.zeros(instance.num_stages * instance.num_draws)
    relative, sizes, is_absolute = absolute.copy(), absolute.copy(), False
    for pair in instances.pairs(instance, BALLS):
        is_absolute |= _is_nothing(pair.left) or _is_nothing(pair.right)
        for table, found in zip((absolute, relative, sizes), _gaps_and_sizes(*pair.aligned()), strict=True):
            np.maximum(table, found, out=table)
    is_ordinary = 1.0 <= sizes.reshape(instance.num_stages, -1)[-1].max() <= 1e30
    worst = absolute if is_absolute or (instances.relation.sign == "=" and is_ordinary) else relative
    worst[~instances.premises_hold(instance)] = 0.0
    return worst.reshape(instance.num_stages, instance.num_draws)


def _is_nothing(value: Value) -> bool:
    """True for a literal 0, and for what is 0 in every draw at every stage: μ_aᵀμ_b."""
    return value.is_zero or all(ball.contains(0) and upper(ball) <= _ROUNDING for ball in value.array.flat)


def _gaps_and_sizes(left: Value, right: Value) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each draw the absolute error, the relative error, and the size of the left side."""
    gaps = [_bound(balls) for balls in left.array - right.array]
    sizes = [_largest(balls) for balls in BALLS.absolute(left.array)] * (len(gaps) // len(left.array))
    relative = np.array([_ratio(gap, size) for gap, size in zip(gaps, sizes, strict=True)])
    return np.array([upper(gap) for gap in gaps]), relative, np.array([upper(size) for size in sizes])


def upper(ball: Any) -> float:
    """The largest magnitude in a ball, infinite where it has none."""
    return float(ball.abs_upper()) if ball.is_finite() else math.inf


def _ratio(gap: Any, size: Any) -> float:
    """A gap over a size, also where both are beyond floats."""
    return upper(gap / size) if bool(size > 0) else upper(gap)


def _bound(balls: np.ndarray) -> Any:
    """The largest magnitude in some balls, infinite where one has none."""
    return max(ball.abs_upper() if ball.is_finite() else _INFINITE for ball in balls.flat)


def _largest(balls: np.ndarray) -> Any:
    """The ball that is certainly the largest, or one that is not finite."""
    largest = balls.flat[0]
    for ball in balls.flat:
        if not ball.is_finite():
            return ball
        largest = ball if bool(ball > largest) else largest
    return largest


def stay_apart(instances: Instances) -> bool:
    """True if the sides are still apart at the end of the drive, in every draw: then nothing vanishes."""
    try:
        errors = errors_on(instances, drive(instances, SCALES[-1:]))
    except IllShaped:
        return True
    return bool(np.all(np.isfinite(errors) & (errors > _SMALL)))


def vanishes(errors: np.ndarray) -> bool:
    """True if a sequence of errors goes to zero; NaN and infinity never do."""
    finite = list(itertools.takewhile(math.isfinite, errors))
    if len(finite) < 3:
        return False
    last, first = finite[-1], max(finite[0], finite[1])
    is_small = last <= _SMALL and last <= 0.15 * first and finite[-1] <= finite[-2] <= finite[-3]
    return bool(last <= 1e-12 or is_small)
