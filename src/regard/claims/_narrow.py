"""How narrow a head may be for a task over n keys: the form that such claims put on trial, and how it is weighed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.claims._comparisons import settled
from regard.claims.claim import Trial
from regard.core.verdict import Evidence


@dataclass(frozen=True, kw_only=True)
class Width:
    """The least head width that does the task for n keys; the margin that is enough for 1−ε, or that is needed."""

    least: Callable[[int], int]
    enough: Callable[[Any, Any], Any] | None = None
    needed: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The true least width, a head of that width that does the task, and why a narrower one does not."""

    width: int
    can: str
    cannot: str


def weighed(trial: Trial, *, can: Evidence, cannot: Evidence, shown: Shown) -> list[Evidence]:
    """Proofs that one width is enough and the one below is not, held against the claimed least width."""
    claimed = trial.form.least(trial.at.n)
    said = f"the statement says that width {claimed:.12g}"
    return [
        settled(can, claimed=claimed <= shown.width, is_so=True, shown=f"{shown.can}; {said} is needed"),
        settled(cannot, claimed=claimed >= shown.width, is_so=True, shown=f"{shown.cannot}; {said} is enough"),
    ]


def tried_out(trial: Trial, *, n: int, weight: float, wanted: float, shown: Shown) -> Evidence:
    """The least of the weights that a narrow head was to make large, held against what is wanted of it."""
    claimed, at = trial.form.least(n), f"{shown.can}: the least of the weights is {weight:.9g}"
    if not weight >= wanted:
        return Evidence(
            route="brute force",
            status="refuted",
            detail="a weight is too small",
            value=weight,
            counterexample=f"{at}, and {wanted:.9g} is wanted",
        )
    if claimed > shown.width:
        return Evidence(
            route="brute force",
            status="refuted",
            detail=at,
            value=weight,
            counterexample=f"{at}; the statement says that width {claimed} is needed",
        )
    status = "holds" if claimed == shown.width else "undecided"
    return Evidence(route="brute force", status=status, detail=at, value=weight)
