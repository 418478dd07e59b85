"""How the one random direction is spread, in ball arithmetic: along a stretch of a normal law, or on a few points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import acb, arb, ctx

# Balls, real or complex: the arithmetic of both is the same.
Ball = Any
Integrand = Callable[[Sequence[Ball]], Ball]


@dataclass(frozen=True, kw_only=True)
class Atoms:
    """Finitely many deviations, each with its probability; one of them if nothing is random."""

    points: tuple[tuple[arb, arb], ...]

    def expectation(self, integrand: Integrand, curves: Sequence[Callable[[Ball], Ball]], _: float) -> acb:
        """Σ_k p_k f(curves(δ_k)), whatever the tolerance."""
        values = [acb(mass) * integrand([curve(place) for curve in curves]) for mass, place in self.points]
        return sum(values, acb(0))


@dataclass(frozen=True, kw_only=True)
class NormalStretch:
    """A deviation δ ~ N(0, variance) that is known to lie between two bounds."""

    variance: arb
    lower: float = -math.inf
    upper: float = math.inf

    def mass(self, low: float | arb, high: float | arb) -> arb:
        """P(low ≤ δ ≤ high) before conditioning, from the tails that lose no digits.

        Φ(high/√v) − Φ(low/√v)
        """
        if low >= high:
            return arb(0)
        if low >= 0:
            return (self._tail(low) - self._tail(high)) / 2
        if high <= 0:
            return (self._tail(-high) - self._tail(-low)) / 2
        return 1 - (self._tail(-low) + self._tail(high)) / 2

    def expectation(self, integrand: Integrand, curves: Sequence[Callable[[Ball], Ball]], tolerance: float) -> acb:
        """E[f(curves(δ)) | lower ≤ δ ≤ upper], for curves with values in [0, 1].

        A real pair travels as one complex integrand f + i·g. Where the density has become negligible the curves are
        replaced by the whole of [0, 1], so the enclosure covers the tails that are not integrated.
        """
        nearest = min(max(0.0, self.lower), self.upper)
        low, high = self._window(nearest)
        halved = acb(1 / (2 * self.variance))
        # Dividing the density by its peak on the stretch keeps rare conditions away from zero.
        peak = acb(nearest) * nearest * halved

        def weighted(place: acb, _: bool) -> acb:
            # The curves have poles only. Dividing by a ball that holds zero gives a ball that is not finite,
            # which is what acb.integral wants to see where the integrand may not be analytic.
            return integrand([curve(place) for curve in curves]) * (peak - place * place * halved).exp()

        peak_density = (-peak.real).exp() / (2 * arb.pi() * self.variance).sqrt()
        whole = self.mass(self.lower, self.upper)
        goal = arb(tolerance) * (whole / peak_density).mid()
        body = acb.integral(weighted, acb(low), acb(high), rel_tol=arb(tolerance), abs_tol=goal)
        beyond = self.mass(self.lower, low) + self.mass(high, self.upper)
        anything = integrand([acb(arb(0.5, 0.5)) for _ in curves])
        return (body * peak_density + anything * beyond) / whole

    def _window(self, nearest: float) -> tuple[float, float]:
        """Bounds beyond which the density is below 2^−precision of its peak on the stretch."""
        variance = float(self.variance.mid())
        reach = math.sqrt(nearest**2 + 2 * variance * ctx.prec * math.log(2))
        return max(self.lower, -reach), min(self.upper, reach)

    def _tail(self, place: float | arb) -> arb:
        """erfc(place/√(2v)), twice the probability beyond a place; digits are kept where it is not negative."""
        if abs(place) == math.inf:
            return arb(0 if place > 0 else 2)
        return (arb(place) / (2 * self.variance).sqrt()).erfc()


Spread = Atoms | NormalStretch
