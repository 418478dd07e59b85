"""Random keys and query designs, and the law of the logits that follows: all that attention sees of them.

The course's scenario has orthonormal means, one key of uncertain length, and queries built from the means.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.core.errors import DomainError, InputError

if TYPE_CHECKING:
    from regard.analysis.gaussian_keys import KeySpace

Row = Sequence[float]

_MIN_KEYS = 3


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A condition on a key: its deviation along its own mean lies between two bounds.

    lower ≤ δ ≤ upper,  δ = μᵀ(k − μ)/‖μ‖²

    In the course k_a = γμ_a, so δ = γ − 1 and "γ > 0" is `Deviation(group="a", lower=-1)`.

    >>> str(Deviation(group="a", lower=-1.0)), str(Deviation(group="b", lower=-0.5, upper=1.0))
    ('γ_a ≥ 0', '0.5 ≤ γ_b ≤ 2')
    """

    group: str
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InputError(
                f"No deviation of {self.group!r} lies between {self.lower} and {self.upper}. "
                "Give a lower bound that is not above the upper one."
            )

    def probability(self, variance: float) -> float:
        """The probability of the condition in floating point.

        P = Φ(upper/√variance) − Φ(lower/√variance)

        >>> round(Deviation(group="a", upper=-1.0).probability(0.5), 10)
        0.0786496035
        """
        if variance == 0:
            return float(self.lower <= 0 <= self.upper)
        low, high = (bound / math.sqrt(2 * variance) for bound in (self.lower, self.upper))
        if high < 0:
            low, high = -high, -low
        return (math.erfc(low) - math.erfc(high)) / 2

    def __str__(self) -> str:
        low, high, length = 1 + self.lower, 1 + self.upper, f"γ_{self.group}"
        if math.isinf(low) and math.isinf(high):
            return f"any {length}"
        if math.isinf(low) or math.isinf(high):
            return f"{length} ≥ {low:g}" if math.isinf(high) else f"{length} ≤ {high:g}"
        return f"{low:g} ≤ {length} ≤ {high:g}"


GAMMA_POSITIVE = Deviation(group="a", lower=-1.0)
"""The key a points along its mean, not against it: γ > 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitLaw:
    """Logits of independent keys, in groups of keys that are identical in law.

    A key of group g has, under head h, the logit

        z_h = means[g, h] + Σ_r directions[g, h, r] · δ_r,   δ_r ~ N(0, variances[g, r]) independent

    δ_0 is the key's deviation along its own mean, the subject of a `Deviation`. Keys of a group in `normalized`
    lie on the line of their mean and are divided by their norm: δ_0 becomes sign(1 + δ_0) − 1.

    The numbers are nested tuples, since certified answers need no arrays.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    means: Sequence[Row]
    directions: Sequence[Sequence[Row]]
    variances: Sequence[Row]
    normalized: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for field in ("means", "directions", "variances"):
            numbers = _frozen(getattr(self, field))
            if not all(map(math.isfinite, _leaves(numbers))):
                raise InputError(f"`{field}` has entries that are not finite. Logits need finite means and spreads.")
            object.__setattr__(self, field, numbers)

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
        """Number of independent directions in which the logits of a key may be random."""
        return len(self.variances[0])

    def random_columns(self, group: int, heads: Sequence[int]) -> list[int]:
        """The directions in which a logit of the group is random under one of these heads."""
        rows = [self.directions[group][head] for head in heads]
        varying = (column for column, variance in enumerate(self.variances[group]) if variance > 0)
        return [column for column in varying if any(row[column] != 0 for row in rows)]

    def index(self, group: str) -> int:
        """The position of a group among the names."""
        if group not in self.names:
            raise InputError(f"No key is named {group!r}; this law has {', '.join(self.names)}. Use one of those.")
        return self.names.index(group)

    def own_variance(self, group: str) -> float:
        """Variance of δ_0, the deviation of a key along its own mean."""
        return self.variances[self.index(group)][0] if self.rank else 0.0

    def check_condition(self, given: Deviation) -> None:
        """Raises an InputError for a condition that is ambiguous or has probability zero."""
        group = self.index(given.group)
        if self.counts[group] > 1:
            raise InputError(
                f"{given.group!r} stands for {self.counts[group]} keys, so a condition on its deviation is ambiguous. "
                "Give the key in question a name of its own."
            )
        variance = self.own_variance(given.group)
        never = not given.lower <= 0 <= given.upper if variance == 0 else given.lower == given.upper
        if never:
            length = f"γ_{given.group}"
            why = f"{length} ~ N(1, {variance:g}) is never a single number" if variance else f"{length} is always 1"
            raise InputError(
                f"The condition {given} has probability zero: {why}. Give a condition that {length} can meet, or make "
                "the length of that key random."
            )


def _frozen(numbers: Any) -> Any:
    return tuple(map(_frozen, numbers)) if isinstance(numbers, Sequence) else float(numbers)


def _leaves(numbers: Any) -> Iterator[float]:
    if not isinstance(numbers, tuple):
        yield numbers
        return
    for row in numbers:
        yield from _leaves(row)


@dataclass(frozen=True, kw_only=True)
class QueryDesign:
    """Queries as sums of the keys' means: q_h = Σ_j coefficients[j][h] · μ_j.

    >>> QueryDesign(coefficients={"a": (2.0, 0.0), "b": (0.0, 2.0)}).num_heads
    2
    """

    coefficients: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        rows = {name: tuple(float(x) for x in row) for name, row in self.coefficients.items()}
        object.__setattr__(self, "coefficients", rows)
        if len({len(row) for row in rows.values()}) != 1 or not next(iter(rows.values())):
            raise InputError(f"The design {rows} does not give each key one coefficient per head. Give equal lengths.")
        if not all(math.isfinite(x) for row in rows.values() for x in row):
            raise DomainError(f"The design {rows} has coefficients that are not finite. Give finite ones.")

    @property
    def num_heads(self) -> int:
        """Number of queries."""
        return len(next(iter(self.coefficients.values())))

    def row(self, name: str) -> tuple[float, ...]:
        """The coefficients of one key's mean in every query, zero for a key that the design does not name."""
        return self.coefficients.get(name, (0.0,) * self.num_heads)


def one_head(beta: float) -> QueryDesign:
    """One query for both a and b: q = β(μ_a + μ_b)."""
    scale = _scale(beta)
    return QueryDesign(coefficients={"a": (scale,), "b": (scale,)})


def two_heads(beta: float) -> QueryDesign:
    """One query for a and one for b: q_1 = βμ_a, q_2 = βμ_b."""
    scale = _scale(beta)
    return QueryDesign(coefficients={"a": (scale, 0.0), "b": (0.0, scale)})


def identical_heads(beta: float, *, num_heads: int = 2) -> QueryDesign:
    """The same query β(μ_a + μ_b) in every head."""
    row = (_scale(beta),) * num_heads
    return QueryDesign(coefficients={"a": row, "b": row})


def _scale(beta: float) -> float:
    if not 0 <= beta < math.inf:
        raise DomainError(f"β = {beta} is not a scale: it must be finite and not negative.")
    return float(beta)


@dataclass(frozen=True, kw_only=True)
class CourseKeys:
    """Keys around orthonormal means: named ones uncertain along their mean, all with isotropic noise.

    k_j ~ N(μ_j, αI + noise_j μ_j μ_jᵀ)

    With `is_normalized`, every key is divided by its norm, which for α → 0 gives sign(γ_j) μ_j.
    """

    n: int
    noise: Mapping[str, float]
    alpha: float = 0.0
    is_normalized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", dict(self.noise))
        if not isinstance(self.n, int) or self.n < _MIN_KEYS:
            raise DomainError(
                f"n = {self.n}, but there are at least the keys a, b and another. Give a whole number n ≥ {_MIN_KEYS}."
            )
        for what, variance in (*((f"σ²_{name}", value) for name, value in self.noise.items()), ("α", self.alpha)):
            if not 0 <= variance < math.inf:
                raise DomainError(f"{what} = {variance} is not a variance: it must be finite and not negative.")

    def names(self, design: QueryDesign) -> tuple[str, ...]:
        """The keys with a name of their own: a, b, and any other in the noise or the design."""
        named = tuple(dict.fromkeys(("a", "b", *self.noise, *design.coefficients)))
        if "other" in named or len(named) > self.n:
            raise InputError(
                f"{len(named)} keys are named ({', '.join(named)}) among n = {self.n}, and 'other' names the rest. "
                "Raise n or name fewer keys."
            )
        return named

    def logits(self, design: QueryDesign) -> LogitLaw:
        """The law of the logits; its size does not depend on n.

        E z_j^h = x_j^h,  Cov(z_j^h, z_j^g) = noise_j x_j^h x_j^g + α q_hᵀq_g

        >>> law = course_keys(n=10).logits(one_head(20.0))
        >>> law.names, law.counts, law.directions, law.variances
        (('a', 'b', 'other'), (1, 1, 8), (((20.0,),), ((20.0,),), ((0.0,),)), ((0.5,), (0.0,), (0.0,)))
        """
        if self.is_normalized and self.alpha > 0:
            raise DomainError(
                f"With α = {self.alpha} normalized keys have no Gaussian logits; only the limit α → 0 is a sign. "
                "Take alpha=0, or sample `in_key_space` with the direct engine."
            )
        named = self.names(design)
        groups = named if len(named) == self.n else (*named, "other")
        counts = (*(1 for _ in named), self.n - len(named))[: len(groups)]
        spreads = [self._spread(name, design) for name in groups]
        rank = max(map(len, spreads))
        still = (0.0,) * design.num_heads, 0.0
        padded = [[*spread, *[still] * (rank - len(spread))] for spread in spreads]
        return LogitLaw(
            names=groups,
            counts=counts,
            means=[design.row(name) for name in groups],
            directions=[list(zip(*(direction for direction, _ in spread), strict=True)) for spread in padded],
            variances=[[variance for _, variance in spread] for spread in padded],
            normalized=frozenset(self.noise) if self.is_normalized else frozenset(),
        )

    def in_key_space(self, design: QueryDesign) -> "KeySpace":
        """The same scenario with explicit keys of width n, for the direct engine."""
        import numpy as np

        from regard.analysis.gaussian_keys import KeySpace, require_memory

        require_memory(
            3 * self.n * (self.n + 1),
            what=f"One draw of {self.n} keys of width {self.n}",
            instead="Use `logits(design)`: the law of the logits needs no key space.",
        )
        named = self.names(design)
        names = (*named, *("other" for _ in range(self.n - len(named))))
        return KeySpace(
            names=names,
            noise=np.array([self.noise.get(name, 0.0) for name in names]),
            alpha=self.alpha,
            queries=np.array([design.row(name) for name in names]).T,
            is_normalized=self.is_normalized,
        )

    def _spread(self, name: str, design: QueryDesign) -> list[tuple[tuple[float, ...], float]]:
        """The directions of a key's logits with their variances: first along its own mean, then the isotropic rest."""
        own = design.row(name), self.noise.get(name, 0.0) + self.alpha
        rest = [row for other, row in design.coefficients.items() if other != name]
        if not self.alpha or not rest:
            return [own]
        from regard.analysis.gaussian_keys import isotropic_directions

        found = isotropic_directions(rest)
        return [own, *((tuple(direction), self.alpha * variance) for direction, variance in found)]


def course_keys(*, n: int, sigma2: float = 0.5, alpha: float = 0.0, is_normalized: bool = False) -> CourseKeys:
    """The keys of the course: only a is uncertain along its mean, k_a ≈ γμ_a with γ ~ N(1, σ²)."""
    return CourseKeys(n=n, noise={"a": sigma2}, alpha=alpha, is_normalized=is_normalized)


def read_noise(text: str) -> dict[str, float]:
    """The noise of named keys as typed on the command line.

    >>> read_noise("a=0.5, b=0.1")
    {'a': 0.5, 'b': 0.1}
    """
    noise: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, separator, value = part.partition("=")
        try:
            noise[name.strip()] = float(value)
        except ValueError:
            separator = ""
        if not separator or not name.strip():
            raise InputError(f"{part!r} is not the noise of a key. Write name=variance, for example a=0.5.")
    return noise
