"""Relations in the limit: the regime is driven over several decades, and the error must vanish or the gap must grow."""

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.chances import chance
from regard.derivations.judging.drives import SCALES, drive, driven_to, errors_on, upper, vanishes
from regard.derivations.judging.findings import Finding, ill_shaped
from regard.derivations.judging.relations import Instances
from regard.derivations.judging.values import IllShaped, Value
from regard.derivations.judging.wording import show_entry, sizes_in_words, spell

_CLOSE = 0.02
_LIKELY = 0.9
_FAR = 20


def decide_limit(instances: Instances, *, is_particular: bool = False) -> Finding:
    """Whether the two sides agree in the limit of the regime, and with which probability where a symbol is random.

    At particular values of a scale nothing vanishes any more; being close is then enough.
    """
    try:
        table = errors_on(instances, drive(instances))
    except IllShaped as error:
        return ill_shaped(error)
    success = np.array([vanishes(column) for column in table.T])
    worst = table.max(axis=1)
    if is_particular and worst[-1] <= _CLOSE:
        return _approximate(f"the error is {worst[-1]:.1e}", value=float(worst[-1]))
    if success.all():
        return _approximate(f"the error vanishes in the limit: {_falls(worst)}", value=float(worst[-1]))
    by_chance = _by_chance(instances) if success.any() else None
    return by_chance or _not_so(instances, table[:, ~success][:, 0])


def _approximate(reason: str, *, value: float | None = None, probability: float | None = None) -> Finding:
    return Finding(kind="approximate", reason=reason, method="limit", value=value, probability=probability)


def _by_chance(instances: Instances) -> Finding | None:
    """A relation that is so in some draws: likely, or open; None if it hardly ever is."""
    probability = chance(instances)
    if probability is None or probability <= 1 - _LIKELY:
        return None
    if probability >= _LIKELY:
        return _approximate(f"it is so with probability {probability:.6g}", probability=probability)
    reason = f"it is so with probability {probability:.6g} only"
    return Finding(kind="unknown", reason=reason, method="limit", probability=probability)


def _falls(errors: np.ndarray) -> str:
    return ", ".join(f"{error:.1e} at {scale:g}" for scale, error in zip(SCALES[:3], errors[:3], strict=True))


def _not_so(instances: Instances, errors: np.ndarray) -> Finding:
    return Finding(
        kind="false",
        reason=f"the error does not vanish: {_falls(errors)}",
        method="limit",
        shown_by=partial(_counterexample, instances),
    )


def _counterexample(instances: Instances) -> tuple[str, float | None]:
    """The failure shown at a large but ordinary scale, and how large it is."""
    driven = driven_to(instances, SCALES[1:2])
    instance = instances.base(seed=3, num_draws=1, driven=driven, is_plain=True)
    left, right = next(instances.pairs(instance, BALLS)).aligned()
    gap, place = max(_gaps(left, right), key=lambda row: row[0])
    regime = ", ".join(f"{spell(name)} = {driven[name][0]:.3g}" for name in instances.regime)
    where = "; ".join(part for part in (sizes_in_words(instance), regime) if part)
    return f"{where}: {show_entry(left, right, place)}", gap if math.isfinite(gap) else None


def _gaps(left: Value, right: Value) -> list[tuple[float, tuple[int, ...]]]:
    """The gap at every entry of the first draw."""
    shape = max(left.shape, right.shape)
    lefts, rights = (np.broadcast_to(side.array[0], shape) for side in (left, right))
    return [(upper(abs(lefts[place] - rights[place])), place) for place in np.ndindex(*shape)]


# -- growth ------------------------------------------------------------------------------------------------------------
def decide_growth(instances: Instances) -> Finding:
    """Whether the left side outgrows the right without bound, in difference or in ratio."""
    differences, ratios = _least_leads(instances)
    if _grows(differences) or _grows(ratios):
        reason = "it grows without bound in the regime"
        return Finding(kind="true", reason=reason, method="limit", value=differences[-1])
    first, last = (f"{differences[stage]:.4g} at {SCALES[stage]:g}" for stage in (0, -1))
    return Finding(
        kind="false",
        reason="it does not grow without bound in the regime",
        method="limit",
        counterexample=f"the difference is {first} and {last}",
    )


def _least_leads(instances: Instances) -> tuple[list[float], list[float]]:
    """At each stage the least difference and the least logarithm of the ratio, over the draws that are meant."""
    instance = drive(instances)
    differences, ratios = [math.inf] * len(SCALES), [math.inf] * len(SCALES)
    is_meant = instances.premises_hold(instance)
    for pair in instances.pairs(instance, BALLS):
        left, right = (side.array for side in pair.aligned())
        for k in range(max(len(left), len(right))):
            if is_meant[k]:
                x, y, stage = left[k % len(left), 0, 0], right[k % len(right), 0, 0], k // instance.num_draws
                differences[stage] = min(differences[stage], _lower(x - y))
                ratios[stage] = min(ratios[stage], _log_ratio(x, y))
    return differences, ratios


def _lower(ball: Any) -> float:
    return float(ball.lower()) if ball.is_finite() else -math.inf


def _log_ratio(x: Any, y: Any) -> float:
    if not bool(x > 0) or not bool(y > 0):
        return -math.inf if not y.is_zero() or not bool(x > 0) else math.inf
    return float((x / y).log().lower())


def _grows(values: list[float]) -> bool:
    finite = list(itertools.takewhile(math.isfinite, values))
    return len(finite) >= 3 and finite[-1] > _FAR and finite[-1] > finite[-2] > finite[-3]
