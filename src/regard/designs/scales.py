"""The same queries at other scales: the best scale, the one needed, and the limit of reliability."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from regard.analysis.engines import certified_root
from regard.core.errors import RegardError
from regard.core.estimate import Estimate
from regard.designs.experiment import Experiment
from regard.designs.report import ScaleFinding, Scales

# The largest coefficients tried: from queries that attend almost evenly to ones that attend only to the best key.
_SOFTEST, _SHARPEST, _DOUBLINGS = 0.25, 1024.0, 12
# A scale that stands for the limit.
_FAR = 1e12
_ROUGH_DRAWS = 1_000
_TOLERANCE = 5e-3
# How near, on a logarithmic scale, the approximation comes to the best scale.
_NEAR = 0.15
_MAX_TRIES = 4
# Queries this many times shorter than the shortest tried attend evenly to all keys.
_EVEN = 1e6


@dataclass(frozen=True, kw_only=True)
class ScaleSearch:
    """The search over scales of one design; `unit` names the scale and `written` is its value in the design."""

    experiment: Experiment
    unit: str
    written: float

    def run(self) -> Scales | None:
        """What was found, None if all queries are zero."""
        steepest = max(abs(x) for row in self.experiment.design.coefficients.values() for x in row)
        if steepest == 0:
            return None
        grid = [_SOFTEST * (_SHARPEST / _SOFTEST) ** (k / _DOUBLINGS) / steepest for k in range(_DOUBLINGS + 1)]
        rough = [self.experiment.approximate(factor, draws=_ROUGH_DRAWS) for factor in grid]
        errors, chances = zip(*rough, strict=True)
        low = min(range(len(grid)), key=errors.__getitem__)
        farthest = self._finding(grid[-1], self._error(grid[-1]))
        best = None
        if 0 < low < len(grid) - 1:
            step = math.log(grid[1] / grid[0])
            best = self._best(math.log(grid[low]) + step * _vertex(errors[low - 1 : low + 2]))
        if best is not None and best.found.value >= farthest.found.value:
            # The errors are below the rounding of the approximation, and still falling.
            best = None
        needed = self._needed(grid, errors, best)
        return Scales(
            unit=self.unit,
            written=self.written,
            best=best,
            farthest=farthest,
            is_rising=errors[-1] >= errors[0],
            needed=needed,
            is_always_enough=all(error <= self.experiment.epsilon**2 for error in errors),
            most_often=self._most_often(dict(zip(grid, chances, strict=True)), best, needed),
            ceiling=self._ceiling(steepest),
        )

    def _most_often(
        self, chances: Mapping[float, float], best: ScaleFinding | None, needed: ScaleFinding | None
    ) -> ScaleFinding:
        """The scale, of those tried, at which the output is near most often; the one written wins a tie."""
        likely = max(chances, key=chances.__getitem__)
        found = [finding.scale / self.written for finding in (best, needed) if finding is not None]
        tried = [(factor, self._probability(factor)) for factor in (1.0, likely, *found)]
        return self._finding(*max(tried, key=lambda pair: pair[1].value))

    def _ceiling(self, steepest: float) -> Estimate:
        """The probability at a very large scale, its interval widened by how far it may still be from the limit."""
        far = self._probability(_FAR / steepest)
        noise = max(self.experiment.keys.noise.values(), default=0.0)
        short = 10 * (1 + math.log(self.experiment.keys.n)) / (_FAR * math.sqrt(noise)) if noise > 0 else 0.0
        return replace(far, lower=max(far.lower - short, 0.0), upper=min(far.upper + short, 1.0))

    def _error(self, factor: float) -> Estimate:
        return self.experiment.scaled(factor).answer(self.experiment.squared_error)

    def _probability(self, factor: float) -> Estimate:
        return self.experiment.scaled(factor).answer(self.experiment.within)

    def _finding(self, factor: float, found: Estimate, bounds: tuple[float, float] | None = None) -> ScaleFinding:
        lower, upper = (None, None) if bounds is None else (bound * self.written for bound in bounds)
        return ScaleFinding(scale=factor * self.written, found=found, lower=lower, upper=upper)

    def _best(self, rough: float) -> ScaleFinding:
        """The least error near e^rough; the scale is enclosed if the error is certainly larger on both sides."""
        factor, error = math.exp(rough), self._error(math.exp(rough))
        for _ in range(_MAX_TRIES):
            sides = [(side, self._error(side)) for side in (factor * math.exp(-_NEAR), factor * math.exp(_NEAR))]
            step = _vertex([sides[0][1].value, error.value, sides[1][1].value])
            known = [*sides, (factor, error)]
            factor *= math.exp(_NEAR * step)
            error = self._error(factor)
            lower = [side for side, each in known if side < factor and each.lower > error.upper]
            upper = [side for side, each in known if side > factor and each.lower > error.upper]
            if lower and upper:
                return self._finding(factor, error, (max(lower), min(upper)))
        return self._finding(factor, error)

    def _needed(self, grid: list[float], errors: tuple[float, ...], best: ScaleFinding | None) -> ScaleFinding | None:
        """The smallest scale at which the root mean square error is at most epsilon."""
        goal = self.experiment.epsilon**2
        reached = [factor for factor, error in zip(grid, errors, strict=True) if error <= goal]
        if best is not None and best.found.value <= goal:
            reached.append(best.scale / self.written)
        if not reached:
            return None
        high = min(reached)
        below = [factor for factor in grid if factor < high]
        if not below:
            even = self._error(0.0)
            return self._finding(0.0, even) if even.upper <= goal else self._crossing(high / _EVEN, high, goal)
        return self._crossing(below[-1], high, goal)

    def _crossing(self, low: float, high: float, goal: float) -> ScaleFinding | None:
        def excess(factor: float) -> Estimate:
            return self._error(factor) - goal

        try:
            found = certified_root(excess, low, high, tolerance=_TOLERANCE * low)
            return self._finding(found.value, self._error(found.upper), (found.lower, found.upper))
        except RegardError:
            # Sampled or too close to decide: use the crossing of the sampled curve.
            factor = _bisected(lambda place: excess(place).value, low, high)
            return self._finding(factor, self._error(factor))


def _vertex(values: Sequence[float]) -> float:
    """Where the parabola through (−1, y₀), (0, y₁), (1, y₂) is least, clipped to [−1.5, 1.5].

    >>> _vertex([4.0, 1.0, 0.0])
    1.0
    """
    before, here, after = values
    bend = before - 2 * here + after
    return min(max((before - after) / (2 * bend), -1.5), 1.5) if bend > 0 else math.copysign(1.5, before - after)


def _bisected(function: Callable[[float], float], low: float, high: float) -> float:
    """A root of a function that is positive at the low end but not at the high end."""
    while high / low > 1 + _TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return high
