"""The course's random keys at a claim's parameters: what the routes of the random-key claims share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from regard.analysis.engines import Estimate, Question, certified, monte_carlo
from regard.analysis.scenarios import QueryDesign, course_keys
from regard.claims._comparisons import Measured, agreement
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

KEYS = Parameter(name="n", default=10, lower=3, is_integer=True)
BETA = Parameter(name="beta", default=20.0, lower=0, is_open=True)
SIGMA2 = Parameter(name="sigma2", default=0.5, lower=0, is_open=True)
COURSE = ("orthonormal means", "k_a = γμ_a with γ ~ N(1, σ²), the other keys at their means (α → 0 first)")

# A scale at which softmax is a step for all purposes; steps get no sharper in float64 beyond it.
FAR = 1e15
# Below, P(γ < 0) = Φ(−1/σ) leaves the range of balls' exponents; above, the sign of γ is a coin toss for all purposes.
_SMALLEST_NOISE, _LARGEST_NOISE = 1e-9, 1e15

# A correct engine's interval misses in one run out of a billion.
_CONFIDENCE = 1 - 1e-9
_DRAWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Number of keys, scale of the queries and variance of γ, within what floats can carry.

    >>> str(Setting.of(SimpleNamespace(n=10, beta=1e300, sigma2=0.5)))
    'n = 10, β = 1e+15, σ² = 0.5'
    """

    n: int
    beta: float
    sigma2: float

    @classmethod
    def of(cls, at: SimpleNamespace, *, beta: float | None = None) -> "Setting":
        """The claim's parameters, or the same at another scale."""
        scale = at.beta if beta is None else beta
        noise = min(max(at.sigma2, _SMALLEST_NOISE), _LARGEST_NOISE)
        return cls(n=at.n, beta=min(scale, FAR), sigma2=noise)

    @property
    def sigma(self) -> float:
        """Standard deviation of γ."""
        return math.sqrt(self.sigma2)

    @property
    def step_error(self) -> float:
        """10(1 + log n)/(βσ): room for what a softmax at this scale is short of a step at γ = 0.

        The step of a head is at most log(n−1)/β away and some 1/β wide, and the density of γ is below 1/(2σ).
        """
        return 10 * (1 + math.log(self.n)) / (self.beta * self.sigma)

    def certified(
        self, design: Callable[[float], QueryDesign], questions: Sequence[Question], *, is_normalised: bool = False
    ) -> tuple[Estimate, ...]:
        """Enclosures of the answers."""
        keys = course_keys(n=self.n, sigma2=self.sigma2, is_normalised=is_normalised)
        return certified.answers(keys.logits(design(self.beta)), questions)

    def sampled(
        self, design: Callable[[float], QueryDesign], questions: Sequence[Question], *, seed: int, draws: int = _DRAWS
    ) -> tuple[Estimate, ...]:
        """The answers from draws of the logits."""
        law = course_keys(n=self.n, sigma2=self.sigma2).logits(design(self.beta))
        return monte_carlo.answers(law, questions, draws=draws, seed=seed, confidence=_CONFIDENCE)

    def __str__(self) -> str:
        return f"n = {self.n:.12g}, β = {self.beta:g}, σ² = {self.sigma2:g}"


def route_of(estimate: Estimate) -> str:
    """The name of the route that an estimate came by."""
    return estimate.method.replace("_", " ")


def compared(what: str, *, claimed: float, found: Estimate, at: object, slack: float = 0.0) -> Evidence:
    """Whether the claimed number lies within an estimate's interval, widened by the slack."""
    radius = max(found.upper - found.value, found.value - found.lower)
    # A claimed number is itself rounded to a double.
    tolerance = radius + slack + 2 * math.ulp(abs(found.value))
    measured = Measured(value=found.value, tolerance=tolerance)
    outcome = agreement(what, claimed=claimed, measured=measured, at=str(at), route=route_of(found))
    # How far the claimed number may be off is no error of the value.
    return replace(outcome, bound=radius)


def ordered(what: str, *, smaller: Estimate, larger: Estimate, at: object) -> Evidence:
    """Whether one estimate is below another for sure; undecided if their intervals meet."""
    route, shown = route_of(larger), f"{smaller.value:.9g} and {larger.value:.9g}"
    if smaller.upper < larger.lower:
        return Evidence(route=route, status="holds", detail=f"{what}: {shown} at {at}", value=larger.value)
    if larger.upper < smaller.lower:
        return Evidence(
            route=route,
            status="refuted",
            detail=f"{what}: fails at {at}",
            value=larger.value,
            counterexample=f"{at}: {what} fails, the two sides are {shown}",
        )
    return Evidence(route=route, status="undecided", detail=f"{what}: {shown} at {at} are too close to tell")
