"""Laws that are random in one direction only: every weight is then affine in one sigmoid per head.

If one key alone is random and its logit is m + x·δ under a head, that head gives it

    s(δ) = 1/(1 + exp(offset − x·δ)),   offset = log Σ_{j≠r} e^{m_j} − m_r

and gives any other key j the share p_j (1 − s(δ)), p = softmax of the fixed logits.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import acb, arb, ctx

from regard.analysis.engines.enclosures import exact_ball
from regard.analysis.engines.questions import Quantity, coefficient
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.errors import NotCertifiable

# Balls, real or complex: both have the same arithmetic.
Ball = Any
Integrand = Callable[[Sequence[Ball]], Ball]

_WIDE = 2.0**-10


@dataclass(frozen=True, kw_only=True)
class DiscreteSpread:
    """Finitely many deviations, as pairs of probability and deviation; a single one if nothing is random."""

    points: tuple[tuple[arb, arb], ...]

    def expectation(self, integrand: Integrand, curves: Sequence[Callable[[Ball], Ball]], _: float) -> acb:
        """Σ_k p_k f(curves(δ_k)), at any tolerance."""
        values = [acb(mass) * integrand([curve(place) for curve in curves]) for mass, place in self.points]
        return sum(values, acb(0))


@dataclass(frozen=True, kw_only=True)
class NormalSpread:
    """A deviation δ ~ N(0, variance), conditioned on lying between two bounds."""

    variance: arb
    lower: float = -math.inf
    upper: float = math.inf

    def mass(self, low: float | arb, high: float | arb) -> arb:
        """P(low ≤ δ ≤ high) before conditioning, computed from the tails that lose no digits.

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

        Two real integrands f and g are integrated at once as f + i·g. Where the density is negligible, the curves are
        replaced by the whole of [0, 1], so that the enclosure covers the tails that are not integrated.
        """
        nearest = min(max(0.0, self.lower), self.upper)
        low, high = self._window(nearest)
        halved = acb(1 / (2 * self.variance))
        # Dividing the density by its peak between the bounds keeps rare conditions away from zero.
        peak = acb(nearest) * nearest * halved

        def weighted(place: acb, _: bool) -> acb:
            # The curves have no singularities but poles. Dividing by a ball that contains zero gives a ball that is not
            # finite, which is what acb.integral expects where the integrand may not be analytic.
            return integrand([curve(place) for curve in curves]) * (peak - place * place * halved).exp()

        peak_density = (-peak.real).exp() / (2 * arb.pi() * self.variance).sqrt()
        whole = self.mass(self.lower, self.upper)
        goal = arb(tolerance) * (whole / peak_density).mid()
        body = acb.integral(weighted, acb(low), acb(high), rel_tol=arb(tolerance), abs_tol=goal)
        beyond = self.mass(self.lower, low) + self.mass(high, self.upper)
        anything = integrand([acb(arb(0.5, 0.5)) for _ in curves])
        return (body * peak_density + anything * beyond) / whole

    def _window(self, nearest: float) -> tuple[float, float]:
        """Bounds beyond which the density is below 2^−precision of its peak."""
        variance = float(self.variance.mid())
        reach = math.sqrt(nearest**2 + 2 * variance * ctx.prec * math.log(2))
        return max(self.lower, -reach), min(self.upper, reach)

    def _tail(self, place: float | arb) -> arb:
        """erfc(place/√(2v)): twice the probability beyond a place; no digits are lost if the place is not negative."""
        if abs(place) == math.inf:
            return arb(0 if place > 0 else 2)
        return (arb(place) / (2 * self.variance).sqrt()).erfc()


Spread = DiscreteSpread | NormalSpread


@dataclass(frozen=True, kw_only=True)
class Sigmoid:
    """A head's weight on the random key: 1/(1 + exp(offset − slope·δ)); one if there is no other key."""

    offset: arb | None
    slope: arb

    def __call__(self, deviation: Ball) -> Ball:
        """The weight at a deviation, real or complex; not finite on a ball that may contain a pole."""
        if self.offset is None:
            return arb(1)
        exponent = self.offset - self.slope * deviation
        if exponent.imag == 0 and exponent.real.rad() > _WIDE:
            # The exponential of a wide ball would reach below zero, but the sigmoid is monotone.
            return _logistic(exponent.real.lower()).union(_logistic(exponent.real.upper()))
        return _logistic(exponent)

    def place(self, share: arb) -> arb | float | None:
        """The deviation at which the weight has this value, ±∞ for values it never takes, None if that is uncertain."""
        if self.offset is None:
            return None
        rest = 1 - share
        if share > 0 and rest > 0:
            return (self.offset + (share / rest).log()) / self.slope
        if share <= 0 or rest <= 0:
            return math.inf if (self.slope > 0) == bool(rest <= 0) else -math.inf
        return None

    def limit(self, *, at_plus: bool) -> arb:
        """Value at δ = ±∞."""
        return arb(1) if (self.slope > 0) == at_plus else arb(0)


def _logistic(exponent: Ball) -> Ball:
    """1/(1 + exp(exponent)), in the form whose exponential is small, so that no false pole appears."""
    if exponent.real > 0:
        small = (-exponent).exp()
        return small / (1 + small)
    return 1 / (1 + exponent.exp())


@dataclass(frozen=True, kw_only=True)
class Affine:
    """constant + Σ_k slopes_k · s_k over the random sigmoids."""

    constant: arb
    slopes: tuple[arb, ...]

    def __call__(self, shares: Sequence[Ball]) -> Ball:
        """The value where the sigmoids have these values."""
        return sum((slope * share for slope, share in zip(self.slopes, shares, strict=True)), self.constant)

    def derivative(self, shares: Sequence[Ball], rates: Sequence[Ball]) -> Ball:
        """The derivative where the sigmoids change at these rates."""
        del shares
        return sum((slope * rate for slope, rate in zip(self.slopes, rates, strict=True)), arb(0))

    def polynomial(self) -> tuple[arb, arb, arb]:
        """Coefficients of 1, s and s², where one sigmoid varies."""
        return self.constant, self.slopes[0], arb(0)

    def plus(self, other: "Affine", factor: arb) -> "Affine":
        """self + factor·other."""
        slopes = tuple(mine + factor * theirs for mine, theirs in zip(self.slopes, other.slopes, strict=True))
        return Affine(constant=self.constant + factor * other.constant, slopes=slopes)


@dataclass(frozen=True, kw_only=True)
class SquaredDistance:
    """Σ_g counts_g · gaps_g², the gaps affine in the sigmoids."""

    counts: tuple[int, ...]
    gaps: tuple[Affine, ...]

    def __call__(self, shares: Sequence[Ball]) -> Ball:
        """The value where the sigmoids have these values."""
        gaps = [gap(shares) for gap in self.gaps]
        return sum((count * gap * gap for count, gap in zip(self.counts, gaps, strict=True)), arb(0))

    def derivative(self, shares: Sequence[Ball], rates: Sequence[Ball]) -> Ball:
        """Σ_g 2 counts_g · gaps_g · gaps_g′."""
        terms = zip(self.counts, self.gaps, strict=True)
        return sum((2 * count * gap(shares) * gap.derivative(shares, rates) for count, gap in terms), arb(0))

    def polynomial(self) -> tuple[arb, arb, arb]:
        """Coefficients of 1, s and s², where one sigmoid varies."""
        terms = [(count, gap.constant, gap.slopes[0]) for count, gap in zip(self.counts, self.gaps, strict=True)]
        zero = arb(0)
        return (
            sum((count * start * start for count, start, _ in terms), zero),
            sum((2 * count * start * slope for count, start, slope in terms), zero),
            sum((count * slope * slope for count, _, slope in terms), zero),
        )


Curve = Affine | SquaredDistance


@dataclass(frozen=True, kw_only=True)
class _HeadWeights:
    """The weights under a head: the random key's sigmoid, and the other keys' fixed shares of the rest."""

    sigmoid: Sigmoid
    shares: tuple[arb, ...]
    place: int | None  # among the sigmoids that vary


@dataclass(frozen=True, kw_only=True)
class OneDirectionLaw:
    """A law along its only random direction: the sigmoids that vary, and the spread of δ."""

    law: LogitLaw
    group: int
    spread: Spread
    sigmoids: tuple[Sigmoid, ...]
    classes: dict[int, _HeadWeights]
    fixed: arb  # the deviation of heads that do not vary

    def affine(self, quantity: Quantity) -> Affine:
        """The quantity as a function of the sigmoids; identical heads count as one."""
        heads, group = quantity.heads(self.law), self.law.index(quantity.group)
        kinds = {id(self.classes[head]): self.classes[head] for head in heads}
        counts = Counter(id(self.classes[head]) for head in heads)
        total = Affine(constant=arb(0), slopes=tuple(arb(0) for _ in self.sigmoids))
        for key, count in counts.items():
            total = total.plus(self._weight(group, kinds[key]), exact_ball(Fraction(count, len(heads))))
        return total

    def coefficients(self) -> tuple[tuple[int, Affine], ...]:
        """The number of keys of each group, and the coefficient of one key's value in c."""
        return tuple(
            (count, self.affine(coefficient(name))) for name, count in zip(self.law.names, self.law.counts, strict=True)
        )

    def squared_distance(self, target: Sequence[arb]) -> SquaredDistance:
        """‖c − Σ_i target_i v_i‖² for orthonormal values, one target per group."""
        counts, each = zip(*self.coefficients(), strict=True)
        gaps = [Affine(constant=one.constant - aim, slopes=one.slopes) for one, aim in zip(each, target, strict=True)]
        return SquaredDistance(counts=counts, gaps=tuple(gaps))

    def _weight(self, group: int, heads: _HeadWeights) -> Affine:
        share = heads.shares[group]
        sign = 1 if group == self.group else -1
        if heads.place is None:
            fixed = heads.sigmoid(self.fixed)
            return Affine(constant=fixed if sign == 1 else share * (1 - fixed), slopes=(arb(0),) * len(self.sigmoids))
        slopes = tuple(sign * share if k == heads.place else arb(0) for k in range(len(self.sigmoids)))
        return Affine(constant=arb(0) if sign == 1 else share, slopes=slopes)


def along_one_direction(law: LogitLaw, heads: Sequence[int], *, given: Deviation | None) -> OneDirectionLaw:
    """The law under these heads, or NotCertifiable if it is random in several directions."""
    group, column, variance = _random_direction(law, heads, given)
    slopes = [0.0 if column is None else row[column] for row in law.directions[group]]
    spread = _spread(law, group, variance, given if column == 0 else None)
    is_still = isinstance(spread, DiscreteSpread) and len(spread.points) == 1
    classes: dict[tuple[float, ...], _HeadWeights] = {}
    sigmoids: list[Sigmoid] = []
    by_head: dict[int, _HeadWeights] = {}
    for head in heads:
        logits = (*(row[head] for row in law.means), slopes[head])
        if logits not in classes:
            sigmoid, shares = _sigmoid(law, group, logits)
            varies = logits[-1] != 0 and sigmoid.offset is not None and not is_still
            classes[logits] = _HeadWeights(sigmoid=sigmoid, shares=shares, place=len(sigmoids) if varies else None)
            sigmoids += [sigmoid] if varies else []
        by_head[head] = classes[logits]
    fixed = spread.points[0][1] if isinstance(spread, DiscreteSpread) else arb(0)
    return OneDirectionLaw(law=law, group=group, spread=spread, sigmoids=tuple(sigmoids), classes=by_head, fixed=fixed)


def _sigmoid(law: LogitLaw, group: int, logits: tuple[float, ...]) -> tuple[Sigmoid, tuple[arb, ...]]:
    """The random key's sigmoid under one head, and what share of the rest one key of each group gets."""
    *means, slope = logits
    # If nothing is random, the key singled out may have twins in its own group.
    counts = [count - (place == group) for place, count in enumerate(law.counts)]
    others = [(mean, count) for mean, count in zip(means, counts, strict=True) if count]
    if not others:
        return Sigmoid(offset=None, slope=arb(0)), (arb(1),)
    top = max(mean for mean, _ in others)
    total = sum((count * (arb(mean) - top).exp() for mean, count in others), arb(0))
    shares = tuple(arb(1) if place == group else (arb(mean) - top).exp() / total for place, mean in enumerate(means))
    offset = total.log() + (arb(top) - arb(means[group]))
    return Sigmoid(offset=offset, slope=arb(slope)), shares


def _random_direction(law: LogitLaw, heads: Sequence[int], given: Deviation | None) -> tuple[int, int | None, arb]:
    """Group, column and variance of the only direction in which the logits of these heads are random."""
    moving = [law.random_columns(group, heads) for group in range(len(law.names))]
    groups = [group for group, columns in enumerate(moving) if columns]
    if not groups:
        return 0, None, arb(0)
    group, columns = groups[0], moving[groups[0]]
    conditioned = given is not None and law.index(given.group) == group and 0 in columns and len(columns) > 1
    if len(groups) > 1 or law.counts[group] > 1 or conditioned:
        raise NotCertifiable(_too_random(law, moving, given if conditioned else None))
    lead = [Fraction(law.directions[group][head][columns[0]]) for head in heads]
    pivot = next(place for place, x in enumerate(lead) if x)
    variance = arb(0)
    for column in columns:
        direction = [Fraction(law.directions[group][head][column]) for head in heads]
        if any(x * lead[pivot] != y * direction[pivot] for x, y in zip(direction, lead, strict=True)):
            raise NotCertifiable(_too_random(law, moving, None))
        variance += arb(law.variances[group][column]) * exact_ball((direction[pivot] / lead[pivot]) ** 2)
    return group, columns[0], variance


def _too_random(law: LogitLaw, moving: Sequence[Sequence[int]], given: Deviation | None) -> str:
    random = [
        f"{count} × {name!r} in {len(columns)}"
        for name, count, columns in zip(law.names, law.counts, moving, strict=True)
        if columns
    ]
    condition = f", and the condition {given} picks one of them" if given else ""
    return (
        f"These logits are random in several directions ({', '.join(random)}){condition}; "
        "the certified engine integrates over one. Use monte_carlo.answer."
    )


def _spread(law: LogitLaw, group: int, variance: arb, given: Deviation | None) -> Spread:
    """The law of δ: normal between the bounds of the condition, or the two signs of a normalized key."""
    if variance == 0:
        return DiscreteSpread(points=((arb(1), arb(0)),))
    applies = given is not None and given.group == law.names[group]
    low, high = (given.lower, given.upper) if given is not None and applies else (-math.inf, math.inf)
    stretch = NormalSpread(variance=variance, lower=low, upper=high)
    if law.names[group] not in law.normalized:
        return stretch
    if low >= -1 or high <= -1:
        return DiscreteSpread(points=((arb(1), arb(0 if low >= -1 else -2)),))
    whole = stretch.mass(low, high)
    forward, backward = stretch.mass(-1.0, high) / whole, stretch.mass(low, -1.0) / whole
    return DiscreteSpread(points=((forward, arb(0)), (backward, arb(-2))))
