"""The course's scenario: orthonormal means, one key of uncertain length, queries built from the means."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.analysis.scenarios.deviation import Deviation
from regard.analysis.scenarios.limits import require_memory
from regard.analysis.scenarios.logit_law import LogitLaw
from regard.core.errors import DomainError, InputError

if TYPE_CHECKING:
    from regard.analysis.scenarios.gaussian_keys import Lookup

GAMMA_POSITIVE = Deviation(group="a", lower=-1.0)
"""The key a points along its mean, not against it: γ > 0."""

_SMALLEST_N = 3


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
            raise InputError(f"The design {rows} does not give each key one coefficient a head. Give equal lengths.")
        if not all(math.isfinite(x) for row in rows.values() for x in row):
            raise DomainError(f"The design {rows} has coefficients that are not finite, so its logits are undefined.")

    @property
    def num_heads(self) -> int:
        """Number of queries."""
        return len(next(iter(self.coefficients.values())))

    def row(self, name: str) -> tuple[float, ...]:
        """Coefficients of one key's mean in every query; zero for a key that the design does not name."""
        return self.coefficients.get(name, (0.0,) * self.num_heads)


def one_head(beta: float) -> QueryDesign:
    """One query that asks for a and b at once: q = β(μ_a + μ_b)."""
    scale = _scale(beta)
    return QueryDesign(coefficients={"a": (scale,), "b": (scale,)})


def two_heads(beta: float) -> QueryDesign:
    """One query for a and one for b: q_1 = βμ_a, q_2 = βμ_b."""
    scale = _scale(beta)
    return QueryDesign(coefficients={"a": (scale, 0.0), "b": (0.0, scale)})


def identical_heads(beta: float) -> QueryDesign:
    """The same query twice: q_1 = q_2 = β(μ_a + μ_b)."""
    scale = _scale(beta)
    return QueryDesign(coefficients={"a": (scale, scale), "b": (scale, scale)})


def _scale(beta: float) -> float:
    if not 0 <= beta < math.inf:
        raise DomainError(f"β = {beta} is no scale of a query: it must be finite and not negative.")
    return float(beta)


@dataclass(frozen=True, kw_only=True)
class CourseKeys:
    """Keys around orthonormal means, named ones uncertain along their mean, all isotropically noisy.

    k_j ~ N(μ_j, αI + noise_j μ_j μ_jᵀ)

    With `is_normalised` every key is divided by its norm; as α → 0 this leaves sign(γ_j) μ_j.
    """

    n: int
    noise: Mapping[str, float]
    alpha: float = 0.0
    is_normalised: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", dict(self.noise))
        if not isinstance(self.n, int) or self.n < _SMALLEST_N:
            raise DomainError(
                f"n = {self.n}: there must be the keys a, b and at least one other, so n ≥ {_SMALLEST_N}. "
                "Give a larger whole n."
            )
        for what, variance in (*((f"σ²_{name}", value) for name, value in self.noise.items()), ("α", self.alpha)):
            if not 0 <= variance < math.inf:
                raise DomainError(f"{what} = {variance} is no variance: it must be finite and not negative.")

    def names(self, design: QueryDesign) -> tuple[str, ...]:
        """Keys that go by a name of their own: a, b, and any other in the noise or the design."""
        named = tuple(dict.fromkeys(("a", "b", *self.noise, *design.coefficients)))
        if "other" in named or len(named) > self.n:
            raise InputError(
                f"{len(named)} keys are named ({', '.join(named)}) among n = {self.n}, and 'other' names the rest. "
                "Raise n or name fewer keys."
            )
        return named

    def logits(self, design: QueryDesign) -> LogitLaw:
        """The law of the logits, at no cost in n.

        E z_j^h = x_j^h,  Cov(z_j^h, z_j^g) = noise_j x_j^h x_j^g + α q_hᵀq_g

        >>> law = course_keys(n=10).logits(one_head(20.0))
        >>> law.names, law.counts, law.directions, law.variances
        (('a', 'b', 'other'), (1, 1, 8), (((20.0,),), ((20.0,),), ((0.0,),)), ((0.5,), (0.0,), (0.0,)))
        """
        if self.is_normalised and self.alpha > 0:
            raise DomainError(
                f"With α = {self.alpha} normalised keys have no Gaussian logits; only the limit α → 0 is a sign. "
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
            normalised=frozenset(self.noise) if self.is_normalised else frozenset(),
        )

    def in_key_space(self, design: QueryDesign, *, width: int | None = None) -> "Lookup":
        """The same scenario with keys of a given width (n unless told), for the direct engine."""
        import numpy as np

        from regard.analysis.scenarios.gaussian_keys import GaussianKeys, Lookup

        width = self.n if width is None else width
        if width < self.n:
            raise InputError(f"{self.n} orthonormal means do not fit in width {width}. Give width ≥ n.")
        require_memory(
            2 * self.n * width,
            what=f"{self.n} keys of width {width}",
            instead="Use `logits(design)`: the law of the logits needs no key space.",
        )
        named = self.names(design)
        names = (*named, *("other" for _ in range(self.n - len(named))))
        means, factors = np.eye(self.n, width), np.zeros((self.n, width, 1))
        for place, name in enumerate(named):
            factors[place, place, 0] = math.sqrt(self.noise.get(name, 0.0))
        queries = np.zeros((design.num_heads, width))
        queries[:, : len(named)] = np.array([design.row(name) for name in named]).T
        noise = np.full(self.n, self.alpha)
        keys = GaussianKeys(means=means, noise=noise, factors=factors, names=names, is_normalised=self.is_normalised)
        return Lookup(keys=keys, queries=queries)

    def _spread(self, name: str, design: QueryDesign) -> list[tuple[tuple[float, ...], float]]:
        """Directions of a key's logits with their variances: along its own mean first, then the isotropic rest."""
        own = design.row(name), self.noise.get(name, 0.0) + self.alpha
        rest = [row for other, row in design.coefficients.items() if other != name]
        if not self.alpha or not rest:
            return [own]
        from regard.analysis.scenarios.factor import isotropic_directions

        found = isotropic_directions(rest, whose=f"the noise of {name!r}")
        return [own, *((tuple(direction), self.alpha * variance) for direction, variance in found)]


def course_keys(*, n: int, sigma2: float = 0.5, alpha: float = 0.0, is_normalised: bool = False) -> CourseKeys:
    """The course's keys: only a is uncertain along its mean, k_a ≈ γμ_a with γ ~ N(1, σ²)."""
    return CourseKeys(n=n, noise={"a": sigma2}, alpha=alpha, is_normalised=is_normalised)


def read_noise(text: str) -> dict[str, float]:
    """Noise of named keys as it is typed on a command line.

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
            raise InputError(f"{part!r} is not a key's noise. Write it as name=variance, for example a=0.5.")
    return noise
