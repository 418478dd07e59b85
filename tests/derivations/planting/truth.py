"""Whether a step is really true: both sides evaluated with numpy in many worlds, and along the way to the limit."""

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np

from derivations.planting.terms import Symbol, Term
from derivations.planting.values import Misfit, Unknown, World, evaluate
from derivations.planting.worlds import Subject

Truth = Literal["true", "limit", "false", "unclear"]
Pair = Callable[[World], tuple[np.ndarray, np.ndarray]]
NUM_DRAWS = 6
_EQUAL, _VANISHED, _STAYS = 1e-9, 1e-6, 0.02


def truth_of(left: Term, sign: str, right: Term, subject: Subject) -> Truth:
    """`true` in every world; `limit` if only in the limit; `false` in every world and in no limit; else `unclear`."""
    return truth_of_pair(lambda world: (evaluate(left, world), _like(right, left, world)), sign, subject)


def truth_of_pair(pair: Pair, sign: str, subject: Subject) -> Truth:
    worlds, rows = _worlds(subject)
    try:
        with np.errstate(all="ignore"):
            if sign in ("<", ">"):
                return _order(pair, sign, [*worlds, *(world for row in rows for world in row)])
            gaps = [_gap(*pair(world))[1] for world in worlds]
            ways = [_way([_gap(*pair(world)) for world in row]) for row in rows]
    except Misfit:
        return "false"
    except Unknown:
        return "unclear"
    return _together(gaps, ways, is_exact_needed=sign == "=" or not rows)


@cache
def _worlds(subject: Subject) -> tuple[list[World], list[list[World]]]:
    rng = np.random.default_rng(20240229)
    return [subject.draw(rng) for _ in range(NUM_DRAWS)], subject.drive(rng)


def _like(term: Term, other: Term, world: World) -> np.ndarray:
    """An I that stands alone is as large as the other side."""
    if isinstance(term, Symbol) and term.name == "I":
        value = evaluate(other, world)
        if value.ndim == 2 and value.shape[0] == value.shape[1]:
            return np.eye(len(value))
    return evaluate(term, world)


def _order(pair: Pair, sign: str, worlds: list[World]) -> Truth:
    sides = [pair(world) for world in worlds]
    holds = {bool(left < right if sign == "<" else left > right) for left, right in sides if left != right}
    return "unclear" if len(holds) != 1 else "true" if holds == {True} else "false"


def _gap(left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """The largest difference, as it is and against the larger side."""
    if left.shape != right.shape and left.ndim and right.ndim:
        raise Misfit(f"{left.shape} = {right.shape}")
    if left.shape != right.shape and not any(side.ndim == 0 and side == 0 for side in (left, right)):
        raise Misfit(f"{left.shape} = {right.shape}")
    gap = float(np.max(np.abs(left - right)))
    size = float(max(np.max(np.abs(left)), np.max(np.abs(right))))
    return gap, gap / size if size > 1e-12 else gap


def _way(gaps: list[tuple[float, float]]) -> str:
    """Whether the gap vanishes on the way to the limit, stays (as it is and against the sides), or neither is plain."""
    if not np.all(np.isfinite(gaps)):
        return "unclear"
    if min(gaps[-1]) <= _VANISHED:
        return "vanishes"
    stays = all(gap >= _STAYS and gap >= 0.7 * before for before, gap in zip(gaps[0], gaps[-1], strict=True))
    return "stays" if stays else "unclear"


def _together(gaps: list[float], ways: list[str], *, is_exact_needed: bool) -> Truth:
    if all(gap <= _EQUAL for gap in gaps):
        return "true"
    if not all(gap > 1e-4 for gap in gaps):
        return "unclear"
    if set(ways) == {"vanishes"}:
        return "limit" if is_exact_needed else "true"
    return "false" if set(ways) <= {"stays"} else "unclear"
