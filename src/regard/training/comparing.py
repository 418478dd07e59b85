"""Ways of training held against each other: by seed, on the same questions, corrected for how many pairs there are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regard.core.axes import Bool
from regard.core.errors import InputError
from regard.core.verdict import Verdict
from regard.training.compared import Gap, PairResult, VariantResult, points
from regard.training.examining import share
from regard.training.intervals import Interval
from regard.training.statistics import decisive_count, difference_by_question, holm, mean_interval, paired

DOUBT = 0.05
"""The chance that any pair of a comparison is called different by luck."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What one way of training gave: for each seed, which of the same questions were answered right."""

    recipe: str
    positions: str
    steps: int
    right: Bool[np.ndarray, "seed question"]

    @property
    def shares(self) -> list[float]:
        """The share of right answers by seed."""
        return self.right.mean(axis=1).tolist()


def variant_name(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The recipe or the positions, whichever tells it from the others; both if both vary.

    >>> one = Outcome(recipe="fast", positions="rotary", steps=1, right=np.ones((1, 1), bool))
    >>> variant_name(one, [one, Outcome(recipe="fast", positions="none", steps=1, right=np.ones((1, 1), bool))])
    'rotary'
    """
    recipes, positions = ({getattr(each, part) for each in outcomes} for part in ("recipe", "positions"))
    if len(recipes) == 1:
        return outcome.positions
    return outcome.recipe if len(positions) == 1 else f"{outcome.recipe} {outcome.positions}"


def summarise(outcomes: Sequence[Outcome]) -> list[VariantResult]:
    """Each way on its own."""
    return [
        VariantResult(
            name=variant_name(outcome, outcomes),
            recipe=outcome.recipe,
            positions=outcome.positions,
            steps=outcome.steps,
            shares=outcome.shares,
            mean=mean_interval(outcome.shares, doubt=DOUBT, resolution=1 / outcome.right.shape[1]),
            pooled=share(int(outcome.right.sum()), outcome.right.size),
        )
        for outcome in outcomes
    ]


def compare_outcomes(
    outcomes: Sequence[Outcome], *, against: str | None = None, reproduce: str | None = None
) -> list[PairResult]:
    """Every pair that differs in one thing, or every other way against the one that is named."""
    pairs = [_ordered(first, second) for first, second in _pairs(outcomes, against)]
    measured = [paired(b.shares, w.shares, resolution=1 / b.right.shape[1]) for b, w in pairs]
    is_one_seed = bool(outcomes) and outcomes[0].right.shape[0] == 1
    by_question = [difference_by_question(b.right.ravel().tolist(), w.right.ravel().tolist()) for b, w in pairs]
    chances = [tossed[2] if is_one_seed else each.chance for each, tossed in zip(measured, by_question, strict=True)]
    corrected, doubts = holm(chances), _doubts(chances)
    gaps = [
        Gap(
            better=variant_name(pairs[number][0], outcomes),
            worse=variant_name(pairs[number][1], outcomes),
            difference=Interval(mean=each.mean, half=each.half(doubts[number]), count=each.count),
            chance=chances[number],
            corrected=corrected[number],
            needed=None if is_one_seed else decisive_count(each.mean, each.spread, doubt=doubts[number]),
            only_better=by_question[number][0],
            only_worse=by_question[number][1],
        )
        for number, each in enumerate(measured)
    ]
    return [PairResult(gap=gap, verdict=_verdict(gap, reproduce)) for gap in gaps]


def _pairs(outcomes: Sequence[Outcome], against: str | None) -> list[tuple[Outcome, Outcome]]:
    if against is None:
        return [
            (first, second)
            for first, second in combinations(outcomes, 2)
            if first.recipe == second.recipe or first.positions == second.positions
        ]
    names = [variant_name(outcome, outcomes) for outcome in outcomes]
    if against not in names:
        raise InputError(f"Nothing here is called {against!r}. Compare with one of: {', '.join(names)}.")
    chosen = outcomes[names.index(against)]
    return [(outcome, chosen) for outcome in outcomes if outcome is not chosen]


def _ordered(first: Outcome, second: Outcome) -> tuple[Outcome, Outcome]:
    """The one that was seen to be better comes first; the tests are two-sided, so looking first costs nothing."""
    return (first, second) if first.right.sum() >= second.right.sum() else (second, first)


def _doubts(chances: Sequence[float]) -> list[float]:
    """The level that Holm's procedure held each chance to; those it never came to have the one where it stopped."""
    count, levels, is_going = len(chances), [0.0] * len(chances), True
    level = DOUBT / max(count, 1)
    for place, number in enumerate(sorted(range(count), key=chances.__getitem__)):
        if is_going:
            level = DOUBT / (count - place)
            is_going = chances[number] <= level
        levels[number] = level
    return levels


def _verdict(gap: Gap, reproduce: str | None) -> Verdict:
    difference = gap.difference
    is_one_seed = difference.count == 1
    is_decided = not is_one_seed and gap.corrected <= DOUBT
    return Verdict(
        id=f"{_slug(gap.better)}-beats-{_slug(gap.worse)}",
        statement=f"{gap.better} answers more questions than {gap.worse}",
        status="holds" if is_decided else "undecided",
        method="McNemar's exact test" if is_one_seed else "paired by seed, Student's t, Holm",
        reason=_at_one_seed(gap) if is_one_seed else _over_seeds(gap, is_decided=is_decided),
        value=difference.mean,
        bound=None if math.isinf(difference.half) else difference.half,
        probability=gap.corrected,
        reproduce=reproduce,
    )


def _over_seeds(gap: Gap, *, is_decided: bool) -> str:
    apart = f"{points(gap.difference.mean)} ± {points(gap.difference.half)} points"
    if is_decided:
        return f"{gap.better} is better by {apart} ({gap.difference.count} seeds, paired; {_chances(gap)})"
    enough = "more than 10,000" if gap.needed is None else f"about {gap.needed}"
    return (
        f"{gap.better} − {gap.worse}: undecided at {gap.difference.count} seeds ({apart}, {_chances(gap)}); "
        f"{enough} would decide if it stayed so"
    )


def _at_one_seed(gap: Gap) -> str:
    return (
        f"{gap.better} − {gap.worse} is {points(gap.difference.mean)} points at one seed, and nothing can be decided "
        f"across seeds from one. Of these two models alone, {gap.better} is right where the other is wrong on "
        f"{gap.only_better} questions and wrong where it is right on {gap.only_worse} (McNemar: {_chances(gap)})"
    )


def _chances(gap: Gap) -> str:
    return f"p = {gap.chance:.2g}, {gap.corrected:.2g} corrected"


def _slug(name: str) -> str:
    return name.replace(" ", "-")
