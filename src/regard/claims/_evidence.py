"""Evidence for claims: comparing a claimed number with a measured one, and weighing what several methods found."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.core.verdict import STATUSES, Evidence, Status

# The first of these that any part has is the status of the whole.
_WEAKEST_FIRST: tuple[Status, ...] = ("refuted", "undecided", "holds", "proved")


def combine(evidence: Iterable[Evidence]) -> tuple[Status, str]:
    """The status that several independent methods support together, and the reason for it.

    One counterexample refutes a claim, and one proof proves it; if there are both, one method is wrong and nothing is
    decided. A method that was inconclusive does not count against the others.
    """
    found = {status: [] for status in STATUSES}
    for item in evidence:
        found[item.status].append(item)
    if found["refuted"] and found["proved"]:
        clash = f"{found['proved'][0].method} proves it, {found['refuted'][0].method} refutes it"
        return "undecided", f"the methods contradict each other: {clash}"
    for status in ("refuted", "proved", "holds", "undecided"):
        if found[status]:
            return status, "; ".join(item.detail for item in found[status])
    return "undecided", "no method gave any evidence"


def conjunction(*parts: Evidence) -> Evidence:
    """One method's evidence for a statement of several parts: as strong as the weakest part.

    >>> parts = [Evidence(status="proved", detail="the weight"), Evidence(status="holds", detail="the limit")]
    >>> conjunction(*parts).status
    'holds'
    """
    status = min(parts, key=lambda part: _WEAKEST_FIRST.index(part.status)).status
    deciding = parts if status in ("holds", "proved") else [part for part in parts if part.status == status]
    first = next((part for part in deciding if part.value is not None), deciding[0])
    return replace(
        first,
        status=status,
        detail="; ".join(dict.fromkeys(part.detail for part in deciding)),
        counterexample=next((part.counterexample for part in deciding if part.counterexample), None),
    )


def smaller_case(found: Evidence | Iterable[Evidence], *, tried: float, asked: float) -> list[Evidence]:
    """The evidence, marked if the method tried fewer keys, tokens or dimensions than were asked for."""
    parts = [found] if isinstance(found, Evidence) else found
    return [replace(part, is_of_smaller_case=tried < asked) for part in parts]


def agreement(what: str, *, claimed: float, found: float, tolerance: float, at: str) -> Evidence:
    """Whether a measured number agrees with the claimed one to within the tolerance; NaN never agrees.

    A counterexample gives the place, the number found and the one claimed.
    """
    found, gap = float(found), abs(float(found) - claimed)
    if gap <= tolerance and math.isfinite(tolerance):
        return Evidence(status="holds", detail=f"{what} agrees to {gap:.1e} at {at}", value=found, bound=tolerance)
    return Evidence(
        status="refuted",
        value=found,
        bound=tolerance,
        detail=f"{what} is {found:.6g}, not {claimed:.6g}",
        counterexample=f"{at}: {what} = {found:.12g}, the statement says {claimed:.12g}",
    )


def worst_entry(
    what: str, *, claimed: np.ndarray, found: np.ndarray, tolerance: float, at: Callable[..., str]
) -> Evidence:
    """Whether two arrays agree to within a tolerance; the value is the largest gap, and NaN counts as the largest.

    `at` describes an entry, given its index.
    """
    claimed, found = np.broadcast_arrays(claimed, found)
    gaps = np.abs(found - claimed)
    index = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    gap = float(gaps[index])
    if gap <= tolerance:
        detail = f"{what} agrees to {gap:.1e} in {gaps.size} entries"
        return Evidence(status="holds", detail=detail, value=gap, bound=tolerance)
    sides = f"{what} = {float(found[index]):.12g}, the statement says {float(claimed[index]):.12g}"
    return Evidence(
        status="refuted",
        detail=f"{what} disagrees",
        value=gap,
        bound=tolerance,
        counterexample=f"{at(*map(int, index))}: {sides}",
    )


def yes_or_no(proof: Evidence, *, claimed: bool, truth: bool, counterexample: str) -> Evidence:
    """The proof that a yes/no question has the answer `truth`, turned against a statement that claims the opposite."""
    if proof.status != "proved" or claimed == truth:
        return proof
    detail = f"{proof.detail}; the statement says otherwise"
    return replace(proof, status="refuted", detail=detail, counterexample=counterexample)


def one_case(
    shown: str, *, agrees: bool, said: str, value: float | None = None, bound: float | None = None
) -> Evidence:
    """A case that supports the statement if it agrees, and otherwise is a counterexample to what the statement says.

    >>> one_case("T = 3: rank 3", agrees=False, said="at most 2").counterexample
    'T = 3: rank 3; the statement says at most 2'
    """
    if agrees:
        return Evidence(status="holds", detail=shown, value=value, bound=bound)
    against = f"{shown}; the statement says {said}"
    return Evidence(status="refuted", detail=shown, value=value, counterexample=against)


def from_one_case(shown: str, *, claimed: bool, differs: bool, certain: Status) -> Evidence:
    """What one case says about "these two are always equal" (claimed) or "not always" (not claimed).

    A difference refutes the first and shows the second, as surely as `certain` says; equality proves neither.
    """
    if differs:
        status, counterexample = ("refuted", shown) if claimed else (certain, None)
        return Evidence(status=status, detail=f"a difference: {shown}", counterexample=counterexample)
    return Evidence(status="holds" if claimed else "undecided", detail=f"no difference: {shown}")


def in_balls(form: Callable[..., Any], *arguments: float, precision: int = 128) -> float:
    """The closed form in ball arithmetic, rounded to a float: it never overflows, and is NaN if the ball is too wide.

    >>> in_balls(lambda x: 1 / (1 + (-x).exp()), -2000.0)
    0.0
    """
    with ctx.workprec(precision):
        value = arb(form(*map(arb, arguments)))
        is_certain = value.is_finite() and float(value.rad()) <= 1e-15 * max(1.0, abs(float(value.mid())))
        return float(value.mid()) if is_certain else math.nan
