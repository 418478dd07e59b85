"""The course's random keys at a claim's parameters: what the claims about random keys share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.analysis.closed_forms.random_keys import ceiling_score, reliability_score
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines import Estimate, Question, certified, direct, monte_carlo
from regard.analysis.scenarios import QueryDesign, course_keys
from regard.claims._evidence import Evidence, agreement
from regard.claims._figures import around, guide_at, smoothed
from regard.claims.claim import Method, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Guide, Series

PARAMETERS = (
    integer("n", 10, lower=3),
    real("beta", 20.0, lower=0, is_open=True),
    real("sigma2", 0.5, lower=0, is_open=True),
)
CONDITIONS = ("orthonormal means", "k_a = γμ_a with γ ~ N(1, σ²), the other keys at their means (α → 0 first)")

# At this scale softmax is a step for all practical purposes; beyond it steps get no sharper in float64.
FAR = 1e15
# Below, P(γ < 0) = Φ(−1/σ) leaves the range of the balls' exponents; above, the sign of γ is practically a coin toss.
_SMALLEST_NOISE, _LARGEST_NOISE = 1e-9, 1e15

# A correct engine's interval misses the truth in one run out of a billion.
_CONFIDENCE = 1 - 1e-9
_DRAWS, _DIRECT_DRAWS = 10_000, 5000
# The direct engine draws whole keys, so their number and width cost time; the certified engine covers every n.
_MOST_DIRECT_KEYS = 10

SCALE_AXIS = Axis(label="scale β", is_log=True)
# Each point of a curve is an enclosure that takes milliseconds.
NUM_POINTS = 14

DesignAtScale = Callable[[float], QueryDesign]


@dataclass(frozen=True, kw_only=True)
class CourseSetting:
    """Number of keys, scale of the queries and variance of γ, clipped to what floats can represent.

    >>> str(CourseSetting.of(Settings(n=10, beta=1e300, sigma2=0.5)))
    'n = 10, β = 1e+15, σ² = 0.5'
    """

    n: int
    beta: float
    sigma2: float

    @classmethod
    def of(cls, at: Settings, *, beta: float | None = None) -> "CourseSetting":
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
        """10(1 + log n)/(βσ): an allowance for how far softmax at this scale is from a step at γ = 0.

        The step of a head is at most log(n−1)/β away and about 1/β wide, and the density of γ is below 1/(2σ).
        """
        return 10 * (1 + math.log(self.n)) / (self.beta * self.sigma)

    @property
    def relative_step_error(self) -> float:
        """The same relative to a limit: near γ = 0 the density of γ changes by a factor e within σ²."""
        return self.step_error * (1 + 1 / self.sigma)

    def certified(
        self, design: DesignAtScale, questions: Sequence[Question], *, is_normalized: bool = False
    ) -> tuple[Estimate, ...]:
        """Certified enclosures of the answers."""
        keys = course_keys(n=self.n, sigma2=self.sigma2, is_normalized=is_normalized)
        return certified.answers(keys.logits(design(self.beta)), questions)

    def sampled(
        self, design: DesignAtScale, questions: Sequence[Question], *, seed: int, draws: int = _DRAWS
    ) -> tuple[Estimate, ...]:
        """The answers from draws of the logits."""
        law = course_keys(n=self.n, sigma2=self.sigma2).logits(design(self.beta))
        return monte_carlo.answers(law, questions, draws=draws, seed=seed, confidence=_CONFIDENCE)

    def sampled_directly(
        self, design: DesignAtScale, questions: Sequence[Question], *, seed: int, is_normalized: bool
    ) -> tuple[Estimate, ...]:
        """The answers from draws of whole keys, divided by their norms if asked for."""
        keys = course_keys(n=self.n, sigma2=self.sigma2, is_normalized=is_normalized)
        lookup = keys.in_key_space(design(self.beta))
        return direct.answers(lookup, questions, draws=_DIRECT_DRAWS, seed=seed, confidence=_CONFIDENCE)

    @property
    def with_few_keys(self) -> "CourseSetting":
        """The same with as many keys as can be drawn directly."""
        return replace(self, n=min(self.n, _MOST_DIRECT_KEYS))

    def __str__(self) -> str:
        return f"n = {self.n:.12g}, β = {self.beta:g}, σ² = {self.sigma2:g}"


def compared(what: str, *, claimed: float, found: Estimate, at: object, slack: float = 0.0) -> Evidence:
    """Whether the claimed number lies within an estimate's interval, widened by the slack."""
    radius = max(found.upper - found.value, found.value - found.lower)
    # A claimed number is itself rounded to a double.
    tolerance = radius + slack + 2 * math.ulp(abs(found.value))
    outcome = agreement(what, claimed=claimed, found=found.value, tolerance=tolerance, at=str(at))
    # The slack is an allowance for the claimed number, not an error of the value.
    return replace(outcome, bound=radius)


def engine_methods(
    design: DesignAtScale,
    questions: Callable[[Trial], Sequence[Question]],
    compare: Callable[[Trial, CourseSetting, tuple[Estimate, ...]], list[Evidence]],
    *,
    scales: tuple[float | None, ...] = (None,),
) -> dict[str, Method]:
    """Two methods that compare the claim with an engine's answers: enclosures at all scales, and draws at the first.

    The scale None is the claim's own.
    """

    def by_enclosure(trial: Trial) -> list[Evidence]:
        settings = [CourseSetting.of(trial.at, beta=scale) for scale in scales]
        answers = [(setting, setting.certified(design, questions(trial))) for setting in settings]
        return [part for setting, found in answers for part in compare(trial, setting, found)]

    def by_sampling(trial: Trial) -> list[Evidence]:
        setting = CourseSetting.of(trial.at, beta=scales[0])
        return compare(trial, setting, setting.sampled(design, questions(trial), seed=trial.seed))

    return {"certified": by_enclosure, "monte carlo": by_sampling}


def ordered(what: str, *, smaller: Estimate, larger: Estimate, at: object) -> Evidence:
    """Whether one estimate is certainly below another; undecided if their intervals overlap."""
    shown = f"{smaller.value:.9g} and {larger.value:.9g}"
    if smaller.upper < larger.lower:
        return Evidence(status="holds", detail=f"{what}: {shown} at {at}", value=larger.value)
    if larger.upper < smaller.lower:
        against = f"{at}: {what} fails, the two sides are {shown}"
        return Evidence(status="refuted", detail=f"{what}: fails at {at}", value=larger.value, counterexample=against)
    return Evidence(status="undecided", detail=f"{what}: {shown} at {at} are too close to tell apart")


def certified_curves(
    at: Settings, scales: np.ndarray, design: DesignAtScale, questions: Sequence[Question]
) -> np.ndarray:
    """The certified answers, one row per question and one column per scale."""
    found = [CourseSetting.of(at, beta=float(scale)).certified(design, questions) for scale in scales]
    return np.array([[answer.value for answer in row] for row in found]).T


def smooth_series(label: str, scales: np.ndarray, values: np.ndarray) -> Series:
    """A smooth line through certified values."""
    x, y = smoothed(scales, values)
    return Series(label=label, x=x, y=y)


def reliability_chart(at: Settings, *, epsilon: float, ns: Sequence[int]) -> Chart:
    """P(w_a ≥ 1−ε) for head 1 against the scale, for several numbers of keys."""
    scales, sigma = around(at.beta, 2.0, 2000.0, 140), CourseSetting.of(at).sigma
    ceiling = float(normal_cdf(ceiling_score(sigma)))

    def chance(n: int) -> np.ndarray:
        return normal_cdf(reliability_score(scales, copy_margin(epsilon, float(n)), sigma))

    return Chart(
        title="No scale gets past the ceiling",
        caption=f"How often head 1 gives a at least {1 - epsilon:g}, σ² = {at.sigma2:g}. A larger scale helps, but "
        f"only up to the probability that the key points along its mean at all, Φ(1/σ) = {ceiling:.4f}.",
        x=SCALE_AXIS,
        y=Axis(label=f"P(w_a ≥ {1 - epsilon:g})", lower=0.0, upper=1.05),
        series=[Series(label=f"n = {n:g}", x=scales, y=chance(n)) for n in ns],
        guides=(Guide(at=ceiling, label=f"Φ(1/σ) = {ceiling:.3f}"), *guide_at(at.beta, f"β = {at.beta:g}", scales)),
    )
