"""Relations in the limit: the regime is driven over several decades, and the error must vanish.

Vanishing noise goes first (α = β⁻⁸, so that β√α → 0); balls have no largest exponent, so nothing overflows.
"""

import itertools
import math
from typing import Any

import numpy as np
from flint import arb

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.instances import QUANTILES, Instance
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.relations import Instances, show, spell
from regard.derivations.judging.values import IllShaped, Value, same_shape
from regard.derivations.problems.model import SymbolMeaning
from regard.theory.arithmetic import normal_cdf

__all__ = ["decide_growth", "decide_limit", "regime_of"]

_CLOSE = 0.02
SCALES = (8.0, 32.0, 128.0, 512.0, 2048.0)


def regime_of(instances: Instances) -> tuple[str, ...]:
    """The symbols in the relation that tend somewhere."""
    meanings = instances.scope.meanings
    reached = instances.scope.reach(instances.relation.left, instances.relation.right)
    return tuple(sorted(name for name in reached if name in meanings and meanings[name].tends))


def _driven(instances: Instances, scales: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
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


def _num_draws(instances: Instances) -> int:
    """Enough draws to meet each part of a random symbol's law; two where nothing is random but the numbers of the instance."""
    is_random = any(meaning.is_random_number for meaning in instances.scope.meanings.values())
    return len(QUANTILES) if is_random else 2


def _drive(instances: Instances) -> Instance:
    """The instance in which the regime is driven."""
    return instances.base(seed=3, num_draws=_num_draws(instances), driven=_driven(instances, SCALES))


def _errors(instances: Instances, instance: Instance) -> np.ndarray:
    """The error at each stage (row) and draw (column), the worst over indices; a draw that breaks a premise has none.

    Errors are relative to the left side, save against a literal 0 and, in an =, while the sides stay of ordinary size.
    """
    absolute = np.zeros(instance.num_stages * instance.num_draws)
    relative, sizes, is_absolute = absolute.copy(), absolute.copy(), False
    for _, left, right, _ in instances.pairs(instance, BALLS):
        left_side, right_side = same_shape(left, right)
        is_absolute |= left.is_zero or right.is_zero
        for table, found in zip((absolute, relative, sizes), _gaps_and_sizes(left_side, right_side), strict=True):
            np.maximum(table, found, out=table)
    ordinary = 1.0 <= sizes.reshape(instance.num_stages, -1)[-1].max() <= 1e30
    worst = absolute if is_absolute or (instances.relation.sign == "=" and ordinary) else relative
    worst[~instances.premises_hold(instance)] = 0.0
    return worst.reshape(instance.num_stages, instance.num_draws)


def _gaps_and_sizes(left: Value, right: Value) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each draw the absolute error, the relative error, and the size of the left side."""
    gap = BALLS.absolute(left.array - right.array)
    size = BALLS.absolute(left.array + right.array * 0)
    rows = []
    for k in range(gap.shape[0]):
        sizes = size[k % size.shape[0]]
        rows.append((max(map(_upper, gap[k].flat)), _ratio(gap[k], sizes), max(map(_upper, sizes.flat))))
    absolute, relative, largest = (np.array(column) for column in zip(*rows, strict=True))
    return absolute, relative, largest


def _upper(ball: Any) -> float:
    return float(arb(ball.abs_upper())) if ball.is_finite() else math.inf


def _ratio(gap: np.ndarray, size: np.ndarray) -> float:
    """The largest gap over the largest size, also where both are beyond floats."""
    top, bottom = gap.flat[0], size.flat[0]
    for x in gap.flat:
        top = x if bool(x > top) else top
    for x in size.flat:
        bottom = x if bool(x > bottom) else bottom
    return _upper(top / bottom) if bool(bottom > 0) else _upper(top)


def _vanishes(errors: list[float]) -> bool:
    """True if a sequence of errors goes to zero; NaN and infinity never do."""
    errors = list(itertools.takewhile(math.isfinite, errors))
    if len(errors) < 3:
        return False
    last, first = errors[-1], max(errors[0], errors[1])
    is_small = last <= 0.05 and last <= 0.15 * first and errors[-1] <= errors[-2] <= errors[-3]
    return bool(last <= 1e-12 or is_small)


def decide_limit(instances: Instances, *, is_particular: bool = False) -> Finding:
    """Whether the two sides agree in the limit of the regime, and with which probability where a symbol is random.

    At particular values of a scale nothing vanishes any more; being close is then enough.
    """
    try:
        table = _errors(instances, _drive(instances))
    except IllShaped as error:
        return Finding(
            kind="ill-shaped", reason=f"the shapes do not fit: {error}", method="shapes", counterexample=str(error)
        )
    success = np.array([_vanishes(list(column)) for column in table.T])
    worst = table.max(axis=1)
    if is_particular and worst[-1] <= _CLOSE:
        return Finding(
            kind="approximate", reason=f"the error is {worst[-1]:.1e}", method="limit", value=float(worst[-1])
        )
    if success.all():
        return Finding(
            kind="approximate",
            reason=f"the error vanishes in the limit: {_falls(worst)}",
            method="limit",
            value=float(worst[-1]),
        )
    if success.any():
        probability = _probability(instances)
        if probability is not None and 0.1 < probability < 0.9:
            return Finding(
                kind="unknown",
                reason=f"it is so with probability {probability:.6g} only",
                method="limit",
                probability=probability,
            )
        if probability is not None and probability >= 0.9:
            return Finding(
                kind="approximate",
                reason=f"it is so with probability {probability:.6g}",
                method="limit",
                probability=probability,
            )
    return _not_so(instances, table[:, ~success][:, 0])


def _falls(errors: np.ndarray) -> str:
    return ", ".join(f"{error:.1e} at {scale:g}" for scale, error in zip(SCALES[:3], errors[:3], strict=True))


def _not_so(instances: Instances, errors: np.ndarray) -> Finding:
    """The failure shown at a large but ordinary scale."""
    scale = SCALES[1]
    instance = instances.base(seed=3, num_draws=1, driven=_driven(instances, (scale,)), is_plain=True)
    _, left, right, _ = next(iter(instances.pairs(instance, BALLS)))
    left, right = same_shape(left, right)
    gap, x, y, entry = max(_gaps(left, right), key=lambda row: row[0])
    regime = ", ".join(f"{spell(name)} = {instance.driven[name][0]:.3g}" for name in regime_of(instances))
    sizes = ", ".join(f"{name} = {size}" for name, size in instance.sizes.items())
    where = "; ".join(part for part in (sizes, regime) if part)
    return Finding(
        kind="false",
        reason=f"the error does not vanish: {_falls(errors)}",
        method="limit",
        counterexample=f"{where}: the left side is {show(x)}, the right side {show(y)}{entry}",
        value=gap if math.isfinite(gap) else None,
    )


def _gaps(left: Value, right: Value) -> list[tuple[float, Any, Any, str]]:
    shape = max(left.shape, right.shape)
    lefts, rights = (np.broadcast_to(side.array[0], shape) for side in (left, right))
    rows = []
    for place in np.ndindex(*shape):
        entry = "" if shape == (1, 1) else f" (entry {place[0] + 1},{place[1] + 1})"
        rows.append((_upper(abs(lefts[place] - rights[place])), lefts[place], rights[place], entry))
    return rows


def _probability(instances: Instances) -> float | None:
    """The probability, over the one random scalar, that the relation holds in the limit; found by bisection at its edges."""
    random = [meaning for meaning in instances.scope.meanings.values() if meaning.is_random_number]
    if len(random) != 1:
        return None
    symbol = random[0]
    grid = np.linspace(-4.01, 4.03, 12)
    states = _hold_at(instances, symbol, grid)
    edges = [
        _edge(instances, symbol, grid[k], grid[k + 1], states[k])
        for k in range(len(grid) - 1)
        if states[k] != states[k + 1]
    ]
    total, is_inside, start = 0.0, bool(states[0]), -math.inf
    for edge in [*edges, math.inf]:
        if is_inside:
            total += float(normal_cdf(min(edge, 40.0))) - (0.0 if math.isinf(start) else float(normal_cdf(start)))
        start, is_inside = edge, not is_inside
    return total


def _hold_at(instances: Instances, symbol: SymbolMeaning, points: np.ndarray) -> list[bool]:
    """Whether the relation holds in the limit with the random symbol that many standard deviations from its mean."""
    values = symbol.mean + math.sqrt(symbol.variance or 1.0) * points
    scales = tuple(1000 * scale for scale in SCALES)
    instance = instances.base(
        seed=3, num_draws=len(points), driven=_driven(instances, scales), drawn={symbol.name: tuple(values)}
    )
    return [_vanishes(list(column)) for column in _errors(instances, instance).T]


def _edge(instances: Instances, symbol: SymbolMeaning, low: float, high: float, before: bool) -> float:
    """Where the relation stops or begins to hold, between two points, to about 1e-6."""
    for _ in range(5):
        points = np.linspace(low, high, 13)
        states = _hold_at(instances, symbol, points[1:-1])
        changes = [k for k, state in enumerate(states) if state != before]
        place = changes[0] if changes else len(states)
        low, high = float(points[place]), float(points[place + 1])
    return (low + high) / 2


def decide_growth(instances: Instances) -> Finding:
    """Whether the left side outgrows the right without bound (≫; ≪ is the same with sides swapped)."""
    instance = _drive(instances)
    differences, ratios = [math.inf] * len(SCALES), [math.inf] * len(SCALES)
    is_meant = instances.premises_hold(instance)
    for _, left, right, _ in instances.pairs(instance, BALLS):
        left, right = same_shape(left, right)
        for k in range(max(left.array.shape[0], right.array.shape[0])):
            x, y = left.array[k % left.array.shape[0], 0, 0], right.array[k % right.array.shape[0], 0, 0]
            stage = k // instance.num_draws
            if not is_meant[k]:
                continue
            differences[stage] = min(differences[stage], _lower(x - y))
            ratios[stage] = min(ratios[stage], _log_ratio(x, y))
    if _grows(differences) or _grows(ratios):
        return Finding(
            kind="true", reason="it grows without bound in the regime", method="limit", value=differences[-1]
        )
    return Finding(
        kind="false",
        reason="it does not grow without bound in the regime",
        method="limit",
        counterexample=f"the difference is {differences[0]:.4g} at {SCALES[0]:g} and {differences[-1]:.4g} at {SCALES[-1]:g}",
    )


def _lower(ball: Any) -> float:
    return float(ball.lower()) if ball.is_finite() else -math.inf


def _log_ratio(x: Any, y: Any) -> float:
    if not bool(x > 0) or not bool(y > 0):
        return -math.inf if not y.is_zero() or not bool(x > 0) else math.inf
    return float((x / y).log().lower())


def _grows(values: list[float]) -> bool:
    values = list(itertools.takewhile(math.isfinite, values))
    return len(values) >= 3 and values[-1] > 20 and values[-1] > values[-2] > values[-3]
