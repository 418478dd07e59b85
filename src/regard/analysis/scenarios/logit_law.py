"""The law of the logits: all that attention sees of random keys."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.analysis.scenarios.deviation import Deviation
from regard.core.errors import InputError

Row = Sequence[float]


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitLaw:
    """Logits of independent keys, in groups of keys that are identical in law.

    A key of group g has, under head h, the logit

        z_h = means[g, h] + Σ_r directions[g, h, r] · δ_r,   δ_r ~ N(0, variances[g, r]) independent

    δ_0 is the key's deviation along its own mean, the one that a `Deviation` speaks of. Keys of a group in `normalised`
    lie on the line of their mean and are divided by their norm: δ_0 becomes sign(1 + δ_0) − 1.

    The numbers are kept as nested tuples: certified answers need no arrays, and those who draw make their own.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    means: Sequence[Row]
    directions: Sequence[Sequence[Row]]
    variances: Sequence[Row]
    normalised: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "counts", tuple(int(count) for count in self.counts))
        for field in ("means", "directions", "variances"):
            object.__setattr__(self, field, _frozen(getattr(self, field)))
        self._check_groups()
        self._check_numbers()
        self._check_normalised()

    @property
    def num_keys(self) -> int:
        """Number of keys over all groups."""
        return sum(self.counts)

    @property
    def num_heads(self) -> int:
        """Number of heads, one query each."""
        return len(self.means[0])

    @property
    def rank(self) -> int:
        """Number of independent directions in which a key's logits may be random."""
        return len(self.variances[0])

    def random_columns(self, group: int, heads: Sequence[int]) -> list[int]:
        """The directions that make a logit of the group random under one of these heads."""
        rows = [self.directions[group][head] for head in heads]
        varying = (column for column, variance in enumerate(self.variances[group]) if variance > 0)
        return [column for column in varying if any(row[column] != 0 for row in rows)]

    def index(self, group: str) -> int:
        """Place of a group among the names."""
        if group not in self.names:
            raise InputError(f"No key is named {group!r}; this law has {', '.join(self.names)}. Use one of those.")
        return self.names.index(group)

    def own_variance(self, group: str) -> float:
        """Variance of δ_0, the deviation of a key along its own mean."""
        return self.variances[self.index(group)][0] if self.rank else 0.0

    def check_condition(self, given: Deviation) -> None:
        """Refuses a condition that speaks of several keys at once or that never happens."""
        group = self.index(given.group)
        if self.counts[group] > 1:
            raise InputError(
                f"{given.group!r} stands for {self.counts[group]} keys, so a condition on its deviation is ambiguous. "
                "Give the key that you mean a name of its own."
            )
        variance = self.own_variance(given.group)
        never = not given.lower <= 0 <= given.upper if variance == 0 else given.lower == given.upper
        if never:
            length = f"γ_{given.group}"
            why = f"{length} ~ N(1, {variance:g}) meets no single number" if variance else f"{length} is always 1"
            raise InputError(
                f"The condition {given} has probability zero: {why}. Give a condition that {length} can meet, or that "
                "key a random length."
            )

    def _check_groups(self) -> None:
        if not self.names or len(set(self.names)) != len(self.names):
            raise InputError(f"The group names {self.names} are empty or repeat. Give each group a name of its own.")
        if len(self.counts) != len(self.names) or any(count < 1 for count in self.counts):
            raise InputError(f"The counts {self.counts} do not give each of {self.names} at least one key.")

    def _check_numbers(self) -> None:
        num_groups = len(self.names)
        found = {field: _shape(getattr(self, field)) for field in ("means", "directions", "variances")}
        num_heads, rank = (found["means"] or (0,))[-1], (found["variances"] or (0,))[-1]
        wanted = {
            "means": (num_groups, num_heads),
            "directions": (num_groups, num_heads, rank),
            "variances": (num_groups, rank),
        }
        for field, shape in wanted.items():
            if found[field] != shape or num_heads == 0:
                raise InputError(
                    f"`{field}` has shape {found[field]}; {num_groups} groups under at least one head need "
                    f"(group, head) means, (group, head, rank) directions and (group, rank) variances."
                )
            if not all(map(math.isfinite, _leaves(getattr(self, field)))):
                raise InputError(f"`{field}` has entries that are not finite. Logits need finite means and spreads.")
        for name, row in zip(self.names, self.variances, strict=True):
            if min(row, default=0.0) < 0:
                raise InputError(f"Group {name!r} has the variance {min(row):g}; variances are not negative.")

    def _check_normalised(self) -> None:
        for name in self.normalised:
            group = self.index(name)
            along_mean = tuple(row[0] for row in self.directions[group]) == self.means[group]
            if not along_mean or any(self.random_columns(group, range(self.num_heads))[1:]):
                raise InputError(
                    f"Keys of {name!r} do not lie on the line of their mean, so dividing them by their norm does not "
                    "give a sign. Sample them in key space with the direct engine."
                )


def _frozen(numbers: Any) -> Any:
    """Nested sequences as nested tuples of floats."""
    return tuple(map(_frozen, numbers)) if isinstance(numbers, Sequence) else float(numbers)


def _shape(numbers: Any) -> tuple[int, ...] | None:
    """Lengths along every axis of nested tuples, None where rows differ in length."""
    if not isinstance(numbers, tuple):
        return ()
    shapes = {_shape(row) for row in numbers} or {()}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(numbers), *inner)


def _leaves(numbers: Any) -> Iterator[float]:
    if not isinstance(numbers, tuple):
        yield numbers
        return
    for row in numbers:
        yield from _leaves(row)
