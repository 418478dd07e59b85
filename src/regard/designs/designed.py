"""A design that has been evaluated: what terminals, pages and JSON show of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.core.estimate import Estimate
from regard.core.verdict import Verdict

if TYPE_CHECKING:
    from regard.render.figures import Figure


def enclosed(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """A number with its enclosure under one name, null where there is none.

    >>> enclosed("mean", Estimate(value=0.5, lower=0.4, upper=0.6, method="certified"))
    {'mean': 0.5, 'mean_lower': 0.4, 'mean_upper': 0.6}
    """
    if estimate is None:
        return {name: None, f"{name}_lower": None, f"{name}_upper": None}
    return {name: estimate.value, f"{name}_lower": estimate.lower, f"{name}_upper": estimate.upper}


def _sureness(estimate: Estimate) -> dict[str, Any]:
    """How a number was found, and how sure it is."""
    return {name: getattr(estimate, name) for name in ("method", "confidence", "draws", "seed")}


@dataclass(frozen=True, kw_only=True)
class KeyWeight:
    """The weight that a head gives one key; `count` keys are alike."""

    key: str
    count: int
    mean: Estimate
    variance: Estimate

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        numbers = {**enclosed("mean", self.mean), **enclosed("variance", self.variance)}
        return {"count": self.count, **numbers, **_sureness(self.mean)}


@dataclass(frozen=True, kw_only=True)
class Head:
    """A query as it was typed, as a sum of means, and the weights that it gives."""

    source: str
    coefficients: Mapping[str, float]
    weights: tuple[KeyWeight, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        weights = {weight.key: weight.to_dict() for weight in self.weights}
        return {"query": self.source, "coefficients": dict(self.coefficients), "weights": weights}


@dataclass(frozen=True, kw_only=True)
class Output:
    """The distribution of c around the target, for orthonormal values."""

    target: Mapping[str, float]
    epsilon: float
    squared_error: Estimate
    within: Estimate
    coefficient_mean: Estimate
    coefficient_variance: Estimate
    total_variance: Estimate
    variance_ratio: Estimate | None
    quantiles: Mapping[float, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        numbers = ("squared_error", "within", "coefficient_mean", "coefficient_variance", "total_variance")
        row: dict[str, Any] = {"target": dict(self.target), "epsilon": self.epsilon}
        for name in (*numbers, "variance_ratio"):
            row |= enclosed(name, getattr(self, name))
        levels = [{"level": level, **enclosed("value", found)} for level, found in self.quantiles.items()]
        return {**row, **_sureness(self.squared_error), "quantiles": levels}


@dataclass(frozen=True, kw_only=True)
class ScaleFinding:
    """A scale and what is found there; `lower` and `upper` enclose the scale itself where that is certain."""

    scale: float
    found: Estimate
    lower: float | None = None
    upper: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        bounds = {"scale": self.scale, "scale_lower": self.lower, "scale_upper": self.upper}
        return {**bounds, **enclosed("value", self.found), **_sureness(self.found)}


@dataclass(frozen=True, kw_only=True)
class Scales:
    """What another scale of all heads would give; scales are values of `unit`.

    `best` has the least squared error (None: it only falls, or only rises, as far as was looked), `needed` is the
    smallest at which the root of it is at most epsilon (None: no scale; zero if queries of length zero will do, and
    `is_always_enough` if every scale that was tried will), `most_often` comes within epsilon most often, and `ceiling`
    is the chance of that as the scale grows without bound.
    """

    unit: str
    written: float
    best: ScaleFinding | None
    farthest: ScaleFinding
    is_rising: bool
    needed: ScaleFinding | None
    is_always_enough: bool
    most_often: ScaleFinding
    ceiling: Estimate

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        findings = {name: getattr(self, name) for name in ("best", "farthest", "needed", "most_often")}
        rows = {name: None if found is None else found.to_dict() for name, found in findings.items()}
        known = {name: getattr(self, name) for name in ("unit", "written", "is_rising", "is_always_enough")}
        sure = {f"ceiling_{name}": value for name, value in _sureness(self.ceiling).items()}
        return {**known, **rows, **enclosed("ceiling", self.ceiling), **sure}


@dataclass(frozen=True, kw_only=True)
class DesignReport:
    """All that was found out about a design; shows itself in a notebook."""

    heads: tuple[Head, ...]
    setting: Mapping[str, Any]
    given: str | None
    chance: Estimate | None
    output: Output
    scales: Scales | None
    verdicts: tuple[Verdict, ...]
    histogram: Sequence[tuple[float, float, float]]
    draw_figures: "Callable[[], tuple[Figure, ...]]" = field(default=tuple, repr=False, compare=False)

    @cached_property
    def figures(self) -> "tuple[Figure, ...]":
        """Curves that are computed when first looked at."""
        return self.draw_figures()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        condition = None if self.given is None else {"text": self.given, **enclosed("probability", self.chance)}
        return {
            "setting": dict(self.setting),
            "given": condition,
            "heads": [head.to_dict() for head in self.heads],
            "output": self.output.to_dict(),
            "scale": None if self.scales is None else self.scales.to_dict(),
        }

    def _repr_html_(self) -> str:
        from regard.designs.design_page import design_frame

        return design_frame(self)
