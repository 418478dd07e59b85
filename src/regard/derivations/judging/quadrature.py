"""One-dimensional integrals by double-exponential quadrature, in balls; two steps must agree, or nothing is decided.

A change of variable x(v) makes the integrand fall off so fast at both ends that the plain sum h Σ f(x(v_k)) x'(v_k)
converges at a double-exponential rate for analytic f. The sum with twice the step uses every other node.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from flint import arb, ctx

from regard.derivations.judging.values import Value
from regard.derivations.notation.tokens import NotUnderstood

Domain = Literal["unit", "half", "line"]
_AGREEMENT, _ROUNDING = 1e-14, 1e-18
_PRECISION = 320


@dataclass(frozen=True, kw_only=True)
class _Substitution:
    """x(v) with its derivative, the range of v and the step, which are powers of two so that nodes are exact."""

    place: Callable[[arb], arb]
    slope: Callable[[arb], arb]
    lowest: int
    highest: int
    num_steps: int  # per unit of v


def _half_pi() -> arb:
    return arb.pi() / 2


# To (0, 1), (0, ∞) and (−∞, ∞): the first for integrands that fall off exponentially, the second for powers.
_SUBSTITUTIONS: dict[Domain, tuple[_Substitution, ...]] = {
    "unit": (
        _Substitution(
            place=lambda v: 1 / (1 + (-2 * _half_pi() * v.sinh()).exp()),
            slope=lambda v: _half_pi() * v.cosh() / (2 * (_half_pi() * v.sinh()).cosh() ** 2),
            lowest=-4,
            highest=4,
            num_steps=16,
        ),
    ),
    "half": (
        _Substitution(
            place=lambda v: (v - (-v).exp()).exp(),
            slope=lambda v: (v - (-v).exp()).exp() * (1 + (-v).exp()),
            lowest=-5,
            highest=6,
            num_steps=16,
        ),
        _Substitution(
            place=lambda v: (_half_pi() * v.sinh()).exp(),
            slope=lambda v: (_half_pi() * v.sinh()).exp() * _half_pi() * v.cosh(),
            lowest=-5,
            highest=5,
            num_steps=32,
        ),
    ),
    "line": (
        _Substitution(place=lambda v: v, slope=lambda _: arb(1), lowest=-14, highest=14, num_steps=4),
        _Substitution(place=lambda v: v, slope=lambda _: arb(1), lowest=-40, highest=40, num_steps=4),
        _Substitution(
            place=lambda v: (_half_pi() * v.sinh()).sinh(),
            slope=lambda v: (_half_pi() * v.sinh()).cosh() * _half_pi() * v.cosh(),
            lowest=-5,
            highest=5,
            num_steps=32,
        ),
    ),
}


@lru_cache(maxsize=16)
def _nodes(domain: Domain, number: int) -> list[tuple[arb, arb]]:
    rule = _SUBSTITUTIONS[domain][number]
    with ctx.workprec(_PRECISION):
        places = [
            arb(k) / rule.num_steps for k in range(rule.lowest * rule.num_steps, rule.highest * rule.num_steps + 1)
        ]
        return [(rule.place(v), rule.slope(v) / rule.num_steps) for v in places]


def integral(at: Callable[[arb], Value], domain: Domain) -> Value:
    """∫ f(x) dx over (0, 1), (0, ∞) or (−∞, ∞), each entry a ball around it; `at` gives f at one x, in balls."""
    for number in range(len(_SUBSTITUTIONS[domain])):
        found = _summed(at, _nodes(domain, number))
        if found is not None:
            return found
    raise NotUnderstood("This integral does not converge, or not to a number that is sure.")


def over_interval(
    at: Callable[[np.ndarray], Value],
    ends: tuple[np.ndarray | None, np.ndarray | None],
    middle: np.ndarray,
    width: np.ndarray,
) -> Value:
    """∫ f(x) dx between two ends, None for infinite ones; `middle` and `width` say where f is on an endless interval.

    What has a corner on the whole line is taken to have it at zero: |x|, max(x, 0).
    """
    lower, upper = ends
    domain: Domain = "half"
    if lower is not None and upper is not None:
        middle, width, domain = lower, upper - lower, "unit"
    elif lower is None and upper is None:
        domain = "line"
    elif lower is not None:
        middle = lower
    elif upper is not None:
        middle, width = upper, -width
    size = np.abs(width) if domain == "half" else width
    try:
        return integral(lambda node: Value(at(middle + width * node).array * size), domain)
    except NotUnderstood:
        if domain != "line":
            raise
    zero = 0 * middle
    below, above = (over_interval(at, part, middle, width) for part in ((None, zero), (zero, None)))
    return Value(below.array + above.array)


def _summed(at: Callable[[arb], Value], nodes: list[tuple[arb, arb]]) -> Value | None:
    """The sum over all nodes where that over every other one agrees with it, else None."""
    sums: list[Any] = [0, 0]
    scale: Any = 0
    for number, term in enumerate(_terms(at, nodes)):
        sums[number % 2] = sums[number % 2] + term
        scale = scale + np.abs(term)
    found, coarser = sums[0] + sums[1], 2 * sums[0]
    gaps = np.abs(found - coarser)
    pairs = zip(gaps.flat, scale.flat, strict=True)
    if not all(bool(gap <= _AGREEMENT * size) for gap, size in pairs):
        return None
    radius = np.frompyfunc(lambda gap, size: arb(0, gap.upper() + _ROUNDING * size.upper()), 2, 1)
    return Value(found + radius(gaps, scale))


def _terms(at: Callable[[arb], Value], nodes: list[tuple[arb, arb]]) -> Iterator[np.ndarray]:
    for place, weight in nodes:
        value = at(place)
        if value.is_identity:
            raise NotUnderstood("The size of this matrix is not known.")
        yield value.array * weight
