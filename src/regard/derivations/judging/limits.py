"""Relations in the limit: the regime is driven over several decades, and the error must vanish or the gap must grow.

Vanishing noise goes first (α = β⁻⁸, so that β√α → 0); balls have no largest exponent, so nothing overflows.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import arb

from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.derivations.judging.findings import Finding, ill_shaped
from regard.derivations.judging.instances import QUANTILES, Instance
from regard.derivations.judging.relations import Instances, spell
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.judging.values import (
    BALLS,
    FLOATS,
    ORDERS,
    Arithmetic,
    IllShaped,
    Value,
    first_draws,
    show_entry,
)
from regard.derivations.notation.tokens import NotUnderstood

StatesAt = Callable[[np.ndarray], np.ndarray]
SCALES = (8.0, 32.0, 128.0, 2048.0)
_SMALL = 0.05
_FURTHER = 1000
_FEWEST_STAGES = 3
_NOTHING = 1e-12
_ROUNDING = 1e-60
_INFINITE, _HUGE = arb("inf"), 1e300
_CLOSE = 0.02
_LIKELY = 0.9
_FAR = 20
_SUBDIVISIONS = 5
_FAR_OUT = 40.0


def decide_limit(instances: Instances, *, is_particular: bool = False, arithmetic: Arithmetic = BALLS) -> Finding:
    """Whether the two sides agree in the limit of the regime, and with which probability where a symbol is random.

    At particular values of a scale nothing vanishes any more; being close is then enough.
    """
    findings = []
    for instance in _drives(instances):
        try:
            errors = _patient_errors(instances, instance, arithmetic)
        except IllShaped as error:
            return ill_shaped(error, notes=error.notes)
        success, worst = errors.vanish, errors.shown.max(axis=1)
        if is_particular and worst[-1] <= _CLOSE:
            return _approximate(f"True to within {worst[-1]:.1e} at the given values", value=float(worst[-1]))
        if not success.all():
            by_chance = decide_by_chance(instances) if success.any() else None
            return by_chance or _refuted_limit(instances, errors)
        findings.append(_in_the_limit(instances, errors))
        if _is_close_elsewhere(instances):
            break
    return findings[0]


def _is_close_elsewhere(instances: Instances) -> bool:
    """True if the sides are close on other draws of a larger instance at an ordinary scale, in floats."""
    driven = driven_to(instances, SCALES[1:2])
    instance = instances.base(larger=1, seed=5, num_draws=len(QUANTILES), driven=driven)
    for pair in instances.pairs(instance, FLOATS):
        left, right = (side.array for side in pair.aligned())
        gaps, sizes = np.abs(left - right).max(axis=(1, 2)), np.abs(left).max(axis=(1, 2))
        scale = 1.0 if pair.left.is_zero or pair.right.is_zero else sizes
        if not np.all(gaps <= _SMALL * scale):
            return False
    return True


def _in_the_limit(instances: Instances, errors: "LimitErrors") -> Finding:
    """True in the limit, as the worst errors of all draws show; left open where rounding hides how they end."""
    worst = errors.shown.max(axis=1)
    if not vanishes(worst):
        raise NotUnderstood("The error is too small to see whether it vanishes.")
    finite = worst[np.isfinite(worst)]
    assert finite[-1] <= _SMALL, "the evidence contradicts the verdict"
    reason = f"True as {_limit(instances)} (error {_evidence(instances, worst, errors.scales)})"
    return _approximate(reason, value=float(finite[-1]))


def _approximate(reason: str, *, value: float | None = None, probability: float | None = None) -> Finding:
    return Finding(kind="approximate", reason=reason, method="limit", value=value, probability=probability)


def decide_by_chance(instances: Instances) -> Finding | None:
    """A relation that holds in some draws: likely true, or open; None if it hardly ever holds, or for other reasons."""
    probability = chance(instances)
    if probability is None or probability <= 1 - _LIKELY:
        return None
    is_order = instances.relation.sign in ORDERS
    if is_order and (probability >= 1 or chance(replace(instances, scope=instances.scope.reseeded())) != probability):
        return None
    if probability >= _LIKELY:
        return _approximate(f"True with probability {probability:.6g}", probability=probability)
    reason = f"True only with probability {probability:.6g}"
    return Finding(kind="unknown", reason=reason, method="limit", probability=probability)


def _limit(instances: Instances) -> str:
    """The regime in words: β → ∞, α → 0."""
    meanings = instances.scope.meanings
    ends = ((name, "∞" if meanings[name].tends == "infinity" else "0") for name in instances.regime)
    return ", ".join(f"{spell(name)} → {end}" for name, end in ends)


def _stages(instances: Instances, scales: tuple[float, ...] = SCALES) -> list[str]:
    """Each stage of the drive by one symbol of the regime, a growing one if there is one: β = 8, 32, 128, 2048."""
    meanings = instances.scope.meanings
    name = min(instances.regime, key=lambda name: meanings[name].tends != "infinity")
    first, *others = driven_to(instances, scales)[name]
    return [f"{spell(name)} = {first:.4g}", *(f"{value:.4g}" for value in others)]


def _evidence(instances: Instances, errors: np.ndarray, scales: tuple[float, ...]) -> str:
    """The error stage by stage, as far as it takes to see where it goes: 0.02 at β = 8, 2e-7 at 32, 1e-27 at 128."""
    num_shown = 1 + next((k for k, error in enumerate(errors) if error <= _NOTHING), len(errors) - 1)
    if num_shown == len(errors) and (errors[2] <= _SMALL or not math.isfinite(errors[-1])):
        num_shown = 3
    stages = zip(_stages(instances, scales)[:num_shown], errors[:num_shown], strict=True)
    return ", ".join(f"{error:.1g} at {stage}" for stage, error in stages)


def _refuted_limit(instances: Instances, errors: "LimitErrors") -> Finding:
    failed = [column for column in errors.shown.T[~errors.vanish] if np.isfinite(column[:_FEWEST_STAGES]).all()]
    if not failed:
        raise NotUnderstood("The limit is beyond what can be computed.")
    evidence = _evidence(instances, failed[0], errors.scales)
    reason = f"The error does not vanish as {_limit(instances)} (it is {evidence})"
    failure = Finding(kind="false", reason=reason, method="limit")
    return replace(failure, shown_by=partial(_shown, failure, instances))


def _shown(failure: Finding, instances: Instances) -> Finding:
    """The failure at a large but ordinary scale, and how large it is: on the first inputs where it is plain."""
    driven = driven_to(instances, SCALES[1:2])
    shown = []
    for seed, is_plain in ((3, True), (4, True), (5, True), (3, False), (5, False)):
        instance = instances.base(seed=seed, num_draws=1, driven=driven, is_plain=is_plain)
        pair = next(instances.pairs(instance, BALLS))
        left, right = pair.aligned()
        gap, size, place = _widest_gap(left, right)
        where = instances.in_words(instance, pair.indices) or "always"
        counterexample = f"{where}: {show_entry(left, right, place)}"
        shown.append(replace(failure, counterexample=counterexample, value=gap if math.isfinite(gap) else None))
        if gap > _SMALL * size:
            return shown[-1]
    return shown[0]


def _widest_gap(left: Value, right: Value) -> tuple[float, float, tuple[int, ...]]:
    """The widest gap between entries of the first draw, the size of what stands there, and its place."""
    lefts, rights = first_draws(left, right)
    gaps = {place: _upper(abs(lefts[place] - rights[place])) for place in np.ndindex(*lefts.shape)}
    place = max(gaps, key=gaps.__getitem__)
    return gaps[place], _upper(lefts[place]), place


# -- growth ------------------------------------------------------------------------------------------------------------
def decide_growth(instances: Instances) -> Finding:
    """Whether the left side outgrows the right without bound, in difference or in ratio."""
    leads = (_least_leads(instances, instance) for instance in _drives(instances))
    differences = next((differences for differences, ratios in leads if not _grows(differences, ratios)), None)
    if differences is None:
        return Finding(kind="true", reason=f"Grows without bound as {_limit(instances)}", method="limit")
    stages = _stages(instances)
    first, last = (f"{differences[stage]:.4g} at {stages[stage]}" for stage in (0, -1))
    return Finding(
        kind="false",
        reason=f"Does not grow without bound as {_limit(instances)}",
        method="limit",
        counterexample=f"the difference is {first} and {last}",
    )


def _least_leads(instances: Instances, instance: Instance) -> tuple[list[float], list[float]]:
    """At each stage the least difference and the least logarithm of the ratio, over all draws."""
    differences, ratios = [math.inf] * len(SCALES), [math.inf] * len(SCALES)
    for pair in instances.pairs(instance, BALLS):
        left, right = (side.array for side in pair.aligned())
        for k in range(max(len(left), len(right))):
            x, y, stage = left[k % len(left), 0, 0], right[k % len(right), 0, 0], k // instance.num_draws
            if stage < _FEWEST_STAGES and not (x.is_finite() and y.is_finite()):
                raise NotUnderstood("The limit is beyond what can be computed.")
            differences[stage] = min(differences[stage], _lower(x - y))
            ratios[stage] = min(ratios[stage], _log_ratio(x, y))
    return differences, ratios


def _lower(ball: Any) -> float:
    return float(ball.lower()) if ball.is_finite() else -math.inf


def _log_ratio(x: Any, y: Any) -> float:
    if not bool(x > 0) or not bool(y > 0):
        return -math.inf if not y.is_zero() or not bool(x > 0) else math.inf
    return float((x / y).log().lower())


def _grows(*leads: list[float]) -> bool:
    """True if a lead of one kind or the other grows from stage to stage, and far."""
    finite = [list(itertools.takewhile(math.isfinite, lead)) for lead in leads]
    return any(len(lead) >= _FEWEST_STAGES and lead[-1] > _FAR and lead[-1] > lead[-2] > lead[-3] for lead in finite)


# -- drives ------------------------------------------------------------------------------------------------------------
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


def _drive(instances: Instances, scales: tuple[float, ...] = SCALES) -> Instance:
    """The instance in which the regime is driven, with enough draws to meet each part of a random symbol's law."""
    is_random = any(meaning.is_random_number for meaning in instances.scope.meanings.values())
    num_draws = len(QUANTILES) if is_random else 2
    return instances.base(seed=3, num_draws=num_draws, driven=driven_to(instances, scales))


def _drives(instances: Instances) -> Iterator[Instance]:
    """The drive, then one with other draws and larger sizes: what holds on the first may have held by luck."""
    yield _drive(instances)
    yield instances.base(larger=1, seed=5, num_draws=len(QUANTILES), driven=driven_to(instances, SCALES))


@dataclass(frozen=True, kw_only=True)
class LimitErrors:
    """The errors at each stage (row) and draw (column), the worst over indices.

    Against 0 only the absolute error counts, else the relative one; in an = both must vanish, unless the relative one
    is gone altogether: e^β + 1 = e^β may be meant as ≈, but β + 1 = β is not.
    """

    absolute: np.ndarray
    relative: np.ndarray
    is_against_zero: bool
    is_equality: bool
    scales: tuple[float, ...] = SCALES

    @property
    def shown(self) -> np.ndarray:
        """The errors that tell."""
        return self.absolute if self.is_against_zero else self.relative

    @cached_property
    def vanish(self) -> np.ndarray:
        """For each draw, whether the errors go to zero."""
        return np.array([self._vanishes(draw) for draw in range(self.shown.shape[1])])

    def _vanishes(self, draw: int) -> bool:
        errors = self.shown[:, draw]
        if not vanishes(errors) or not self.is_equality or self.is_against_zero:
            return vanishes(errors)
        return bool(errors[np.isfinite(errors)][-1] <= _NOTHING) or vanishes(self.absolute[:, draw])


def _patient_errors(instances: Instances, instance: Instance, arithmetic: Arithmetic) -> LimitErrors:
    """The errors on a drive, which goes further where some of them fall, but too slowly."""
    errors = _errors_on(instances, instance, arithmetic)
    failed = errors.shown[:, ~errors.vanish].T
    if not any(np.isfinite(column).all() and np.all(np.diff(column) < 0) for column in failed):
        return errors
    scales = tuple(_FURTHER * scale for scale in SCALES)
    further = replace(instance, driven=driven_to(instances, scales))
    patient = replace(_errors_on(instances, further, arithmetic), scales=scales)
    return patient if patient.vanish.all() else errors


def _errors_on(instances: Instances, instance: Instance, arithmetic: Arithmetic = BALLS) -> LimitErrors:
    absolute = np.zeros(instance.num_stages * instance.num_draws)
    relative, is_against_zero = absolute.copy(), False
    for pair in instances.pairs(instance, arithmetic):
        is_against_zero |= _is_nothing(pair.left) or _is_nothing(pair.right)
        gaps = _gaps_of_draws(*pair.aligned(), is_rounded=arithmetic.rounding is not None)
        for table, found in zip((absolute, relative), gaps, strict=True):
            np.maximum(table, found, out=table)
    return LimitErrors(
        absolute=absolute.reshape(instance.num_stages, instance.num_draws),
        relative=relative.reshape(instance.num_stages, instance.num_draws),
        is_against_zero=is_against_zero,
        is_equality=instances.relation.sign == "=",
    )


def _is_nothing(value: Value) -> bool:
    """True for a literal 0, and for what is 0 in every draw at every stage: μ_aᵀμ_b."""
    return value.is_zero or all(ball.contains(0) and _upper(ball) <= _ROUNDING for ball in value.array.flat)


def _gaps_of_draws(left: Value, right: Value, *, is_rounded: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each draw the absolute error, and the one relative to the left side; the least between rounded numbers."""
    gaps = [_bound(balls, is_rounded=is_rounded) for balls in left.array - right.array]
    sizes = [largest(balls) for balls in BALLS.absolute(left.array)] * (len(gaps) // len(left.array))
    relative = np.array([_ratio(gap, size) for gap, size in zip(gaps, sizes, strict=True)])
    return np.array([_upper(gap) for gap in gaps]), relative


def _upper(ball: Any) -> float:
    """The largest magnitude in a ball, infinite where it has none; what no float can hold is only huge."""
    return min(float(ball.abs_upper()), _HUGE) if ball.is_finite() else math.inf


def _ratio(gap: Any, size: Any) -> float:
    """A gap over a size, also where both are beyond floats; infinite where rounding hides the size."""
    if bool(size > 0):
        return _upper(gap / size)
    return _upper(gap) if size.is_zero() else math.inf


def _bound(balls: np.ndarray, *, is_rounded: bool) -> Any:
    """The largest magnitude in some balls (or the largest that is sure), infinite where one has none."""
    magnitudes = ((ball.abs_lower() if is_rounded else ball.abs_upper(), ball.is_finite()) for ball in balls.flat)
    return max(magnitude if is_finite else _INFINITE for magnitude, is_finite in magnitudes)


def largest(balls: np.ndarray) -> Any:
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
        errors = _errors_on(instances, _drive(instances, SCALES[-1:])).shown
    except IllShaped:
        return True
    return bool(np.all(np.isfinite(errors) & (errors > _SMALL)))


def vanishes(errors: np.ndarray) -> bool:
    """True if a sequence of errors goes to zero; NaN and infinity never do."""
    finite = list(itertools.takewhile(math.isfinite, errors))
    if len(finite) < _FEWEST_STAGES:
        return False
    last, first = finite[-1], max(finite[0], finite[1])
    is_falling = all(after < before or after <= _NOTHING for before, after in itertools.pairwise(finite[-3:]))
    return bool(is_falling and (last <= _NOTHING or (last <= _SMALL and last <= 0.15 * first)))


# -- chances -----------------------------------------------------------------------------------------------------------
def chance(instances: Instances) -> float | None:
    """The probability, given the premises, that the relation holds in the limit; None unless one number is random."""
    meanings = instances.scope.meanings
    random = [meanings[name] for name in instances.reached if name in meanings and meanings[name].is_random_number]
    if len(random) != 1:
        return None
    if not instances.relation.premises:
        return _probability(lambda points: _hold_at(instances, random[0], points))
    meant = _probability(lambda points: _meant_at(instances, random[0], points))
    both = _probability(lambda points: _hold_at(instances, random[0], points) & _meant_at(instances, random[0], points))
    return both / meant if meant else None


def _probability(states_at: StatesAt) -> float:
    """The mass of a standard normal where a state holds; its edges are found on a grid, then by subdivision."""
    grid = np.linspace(-4.01, 4.03, 12)
    states = states_at(grid)
    edges = [
        _edge(states_at, (grid[k], grid[k + 1]), holds_below=bool(states[k]))
        for k in range(len(grid) - 1)
        if states[k] != states[k + 1]
    ]
    return _mass(edges, holds_first=bool(states[0]))


def _mass(edges: list[float], *, holds_first: bool) -> float:
    """The standard normal's mass between edges, on every second stretch."""
    total, is_inside, start = 0.0, holds_first, -math.inf
    for edge in [*edges, math.inf]:
        if is_inside:
            total += float(normal_cdf(min(edge, _FAR_OUT))) - (0.0 if math.isinf(start) else float(normal_cdf(start)))
        start, is_inside = edge, not is_inside
    return total


def _hold_at(instances: Instances, symbol: SymbolMeaning, points: np.ndarray) -> np.ndarray:
    """Whether the relation holds in the limit with the random symbol that many standard deviations from its mean."""
    if instances.relation.sign in ORDERS:
        return _ordered_at(instances, symbol, points)
    # Near an edge an error vanishes slowly, so the drive goes further; three stages are the fewest that show a trend.
    driven = driven_to(instances, tuple(_FURTHER * scale for scale in SCALES[-3:]))
    return _errors_on(instances, _at_points(instances, symbol, points, driven)).vanish


def _ordered_at(instances: Instances, symbol: SymbolMeaning, points: np.ndarray) -> np.ndarray:
    """Whether an inequality holds at a large scale, point by point."""
    holds, order = np.ones(len(points), dtype=bool), ORDERS[instances.relation.sign]
    for pair in instances.pairs(_at_points(instances, symbol, points, driven_to(instances, SCALES[2:3])), BALLS):
        left, right = (np.broadcast_to(side.array, (len(points), *side.shape)) for side in pair.aligned())
        holds &= [all(map(order, x.flat, y.flat)) for x, y in zip(left, right, strict=True)]
    return holds


def _meant_at(instances: Instances, symbol: SymbolMeaning, points: np.ndarray) -> np.ndarray:
    """Whether the premises hold with the random symbol that many standard deviations from its mean."""
    instance = _at_points(instances, symbol, points, driven_to(instances, SCALES))
    return instances.leads(instance) > 0


def _at_points(
    instances: Instances, symbol: SymbolMeaning, points: np.ndarray, driven: dict[str, tuple[float, ...]]
) -> Instance:
    values = symbol.mean + math.sqrt(symbol.variance or 1.0) * points
    return instances.unconditional(seed=3, num_draws=len(points), driven=driven, drawn={symbol.name: tuple(values)})


def _edge(states_at: StatesAt, between: tuple[float, float], *, holds_below: bool) -> float:
    """Where the relation stops or begins to hold, between two points, to about 1e-6."""
    low, high = between
    for _ in range(_SUBDIVISIONS):
        points = np.linspace(low, high, 13)
        states = states_at(points[1:-1])
        place = next((k for k, state in enumerate(states) if state != holds_below), len(states))
        low, high = float(points[place]), float(points[place + 1])
    return (low + high) / 2
