"""What routes of evidence share: putting parts together, comparing a claimed number with a measured one."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from flint import arb, ctx

from regard.core.verdict import Evidence, Status

# The first of these that any part has is the status of the whole.
_WEAKEST_FIRST: tuple[Status, ...] = ("refuted", "undecided", "holds", "proved")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A number that a route found, and how far its own error may have moved it."""

    value: float
    tolerance: float


def all_parts(route: str, parts: Iterable[Evidence]) -> Evidence:
    """One route's evidence for a statement of several parts: as strong as the weakest part.

    >>> part = Evidence(route="algebra", status="proved", detail="the weight")
    >>> all_parts("algebra", [part, Evidence(route="algebra", status="holds", detail="the limit")]).status
    'holds'
    """
    parts = tuple(parts)
    status = min(parts, key=lambda part: _WEAKEST_FIRST.index(part.status)).status
    deciding = parts if status in ("holds", "proved") else [part for part in parts if part.status == status]
    first = next((part for part in deciding if part.value is not None), deciding[0])
    detail = "; ".join(dict.fromkeys(part.detail for part in deciding))
    counterexample = next((part.counterexample for part in deciding if part.counterexample), None)
    return Evidence(
        route=route,
        status=status,
        detail=detail,
        value=first.value,
        bound=first.bound,
        counterexample=counterexample,
        is_of_smaller_case=first.is_of_smaller_case,
    )


def of_smaller_case(evidence: Evidence, *, tried: float, asked: float) -> Evidence:
    """The evidence, marked if its route tried a smaller number of keys, tokens or dimensions than was asked for."""
    return replace(evidence, is_of_smaller_case=tried < asked)


def agreement(what: str, *, claimed: float, measured: Measured, at: str, route: str) -> Evidence:
    """Whether a measured number is the claimed one to within its tolerance; NaN on either side is a disagreement.

    The counterexample gives the place, the measured number and the claimed one.
    """
    found, tolerance = measured.value, measured.tolerance
    gap = abs(found - claimed)
    if gap <= tolerance and math.isfinite(tolerance):
        return Evidence(
            route=route, status="holds", detail=f"{what} agrees to {gap:.1e} at {at}", value=found, bound=tolerance
        )
    return Evidence(
        route=route,
        status="refuted",
        value=found,
        bound=tolerance,
        detail=f"{what} is {found:.6g}, not {claimed:.6g}",
        counterexample=f"{at}: {what} = {found:.12g}, the statement says {claimed:.12g}",
    )


def settled(proof: Evidence, *, claimed: bool, is_so: bool, shown: str) -> Evidence:
    """The proof that a yes/no question has the answer `is_so`, turned against a statement that claims the contrary."""
    if proof.status != "proved" or claimed == is_so:
        return proof
    detail = f"{proof.detail}; the statement says otherwise"
    return replace(proof, status="refuted", detail=detail, counterexample=shown)


def universality(shown: str, *, claimed: bool, differs: bool, route: str, certain: Status) -> Evidence:
    """What one case says about "these two are always equal" (claimed) or "not always" (not claimed).

    A difference refutes the one and shows the other, as surely as the case is `certain`; equality proves neither.
    """
    if differs:
        return Evidence(
            route=route,
            status="refuted" if claimed else certain,
            detail=f"a difference: {shown}",
            counterexample=shown if claimed else None,
        )
    return Evidence(route=route, status="holds" if claimed else "undecided", detail=f"no difference: {shown}")


def in_balls(form: Callable[..., Any], *arguments: float, precision: int = 128) -> float:
    """The closed form in ball arithmetic, rounded to a float: no overflow on the way, NaN if nothing is certain.

    >>> in_balls(lambda x: 1 / (1 + (-x).exp()), -2000.0)
    0.0
    """
    with ctx.workprec(precision):
        value = arb(form(*map(arb, arguments)))
        is_certain = value.is_finite() and float(value.rad()) <= 1e-15 * max(1.0, abs(float(value.mid())))
        return float(value.mid()) if is_certain else math.nan
