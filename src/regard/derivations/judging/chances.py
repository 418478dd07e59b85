"""The probability, over one random number, that a relation holds in the limit."""

import math

import numpy as np

from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.derivations.judging.drives import SCALES, driven_to, errors_on, vanishes
from regard.derivations.judging.relations import Instances
from regard.derivations.problems.model import SymbolMeaning

_ROUNDS = 5
_FAR_OUT = 40.0


def chance(instances: Instances) -> float | None:
    """The probability that the relation holds in the limit; None unless exactly one number is random.

    Where it begins or stops to hold is found on a grid, then by repeated subdivision.
    """
    random = [meaning for meaning in instances.scope.meanings.values() if meaning.is_random_number]
    if len(random) != 1:
        return None
    grid = np.linspace(-4.01, 4.03, 12)
    states = _hold_at(instances, random[0], grid)
    edges = [
        _edge(instances, random[0], (grid[k], grid[k + 1]), is_so_below=states[k])
        for k in range(len(grid) - 1)
        if states[k] != states[k + 1]
    ]
    return _mass(edges, is_so_first=states[0])


def _mass(edges: list[float], *, is_so_first: bool) -> float:
    """The standard normal's mass between edges, on every second stretch."""
    total, is_inside, start = 0.0, is_so_first, -math.inf
    for edge in [*edges, math.inf]:
        if is_inside:
            total += float(normal_cdf(min(edge, _FAR_OUT))) - (0.0 if math.isinf(start) else float(normal_cdf(start)))
        start, is_inside = edge, not is_inside
    return total


def _hold_at(instances: Instances, symbol: SymbolMeaning, points: np.ndarray) -> list[bool]:
    """Whether the relation holds in the limit with the random symbol that many standard deviations from its mean."""
    values = symbol.mean + math.sqrt(symbol.variance or 1.0) * points
    # Near an edge an error vanishes slowly, so the drive goes further; three stages are the fewest that tell.
    driven = driven_to(instances, tuple(1000 * scale for scale in SCALES[-3:]))
    instance = instances.base(seed=3, num_draws=len(points), driven=driven, drawn={symbol.name: tuple(values)})
    return [vanishes(column) for column in errors_on(instances, instance).T]


def _edge(instances: Instances, symbol: SymbolMeaning, between: tuple[float, float], *, is_so_below: bool) -> float:
    """Where the relation stops or begins to hold, between two points, to about 1e-6."""
    low, high = between
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, 13)
        states = _hold_at(instances, symbol, points[1:-1])
        place = next((k for k, state in enumerate(states) if state != is_so_below), len(states))
        low, high = float(points[place]), float(points[place + 1])
    return (low + high) / 2
