"""The report on a design, which the terminal, the page and the JSON show, and its verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.core.estimate import Estimate
from regard.core.verdict import Status, Verdict

if TYPE_CHECKING:
    from regard.render.figures import Figure


def enclosed(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """A number and the bounds of its interval as JSON fields, null where there is none.

    >>> enclosed("mean", Estimate(value=0.5, lower=0.4, upper=0.6, method="certified"))
    {'mean': 0.5, 'mean_lower': 0.4, 'mean_upper': 0.6}
    """
    if estimate is None:
        return {name: None, f"{name}_lower": None, f"{name}_upper": None}
    return {name: estimate.value, f"{name}_lower": estimate.lower, f"{name}_upper": estimate.upper}


def _provenance(estimate: Estimate) -> dict[str, Any]:
    """How a number was found, and with what confidence."""
    return {name: getattr(estimate, name) for name in ("method", "confidence", "draws", "seed")}


@dataclass(frozen=True, kw_only=True)
class KeyWeight:
    """The weight that a head gives one key; `count` keys have the same law."""

    key: str
    count: int
    mean: Estimate
    variance: Estimate

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        numbers = {**enclosed("mean", self.mean), **enclosed("variance", self.variance)}
        return {"count": self.count, **numbers, **_provenance(self.mean)}


@dataclass(frozen=True, kw_only=True)
class Head:
    """A query as typed and as a sum of means, and the weights it gives."""

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
        return {**row, **_provenance(self.squared_error), "quantiles": levels}


@dataclass(frozen=True, kw_only=True)
class ScaleFinding:
    """A scale and what was found there; `lower` and `upper` enclose the scale itself where that is certain."""

    scale: float
    found: Estimate
    lower: float | None = None
    upper: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        bounds = {"scale": self.scale, "scale_lower": self.lower, "scale_upper": self.upper}
        return {**bounds, **enclosed("value", self.found), **_provenance(self.found)}


@dataclass(frozen=True, kw_only=True)
class Scales:
    """What the same queries would give at other scales; a scale is a value of β or a factor, as `unit` says.

    `best` has the least squared error (None if the error only falls or only rises over the scales tried). `needed` is
    the smallest scale whose root mean square error is at most epsilon (None if there is none, 0 if queries of length
    zero will do; `is_always_enough` if every scale tried will do). `most_often` comes within epsilon most often, and
    `ceiling` is the probability of that as the scale grows without bound.
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
        sure = {f"ceiling_{name}": value for name, value in _provenance(self.ceiling).items()}
        return {**known, **rows, **enclosed("ceiling", self.ceiling), **sure}


@dataclass(frozen=True, kw_only=True)
class DesignReport:
    """All that was found out about a design; shows itself in a notebook.

    Args:
        heads: each query with the mean and variance of its weights.
        setting: the scenario, and the letters that have a value.
        given: the condition that the keys satisfy.
        chance: the probability of that condition.
        output: how far the output is from the target, and how it varies.
        scales: what the same queries would give at other scales.
        require: the probability of being near the target that was required.
        verdicts: on the error, and on the probability of being near.
        histogram: the distribution of v_a's coefficient, as rows of lower end, upper end and probability.
        draw_figures: computes the plots.
    """

    heads: tuple[Head, ...]
    setting: Mapping[str, Any]
    given: str | None
    chance: Estimate | None
    output: Output
    scales: Scales | None
    require: float | None
    verdicts: tuple[Verdict, ...]
    histogram: Sequence[tuple[float, float, float]]
    draw_figures: "Callable[[], tuple[Figure, ...]]" = field(default=tuple, repr=False, compare=False)

    @cached_property
    def figures(self) -> "tuple[Figure, ...]":
        """The plots, computed when first used."""
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
        from regard.designs.page import design_frame

        return design_frame(self)


# -- verdicts ----------------------------------------------------------------------------------------------------------
def verdicts_on(output: Output, target: str, require: float | None) -> tuple[Verdict, ...]:
    """The error and the probability of being near the target; where one is required, whether it is reached."""
    facts = [
        _fact("squared-error", f"E‖c − {target}‖² = {output.squared_error.value:.12g}", output.squared_error),
        _reliability(output, target, require),
    ]
    if output.variance_ratio is not None:
        ratio = output.variance_ratio
        statement = f"one head β(μ_a+μ_b) gives v_a's coefficient {ratio.value:.12g} times the variance"
        facts.append(_fact("variance-ratio", statement, ratio))
    return tuple(facts)


def _fact(name: str, statement: str, found: Estimate, *, status: Status | None = None, reason: str = "") -> Verdict:
    """A number with a certain enclosure is `proved`, one with a confidence interval `holds`."""
    sampled = f"{found.draws} draws, {found.confidence:.4%} confidence" if found.confidence is not None else ""
    basis = sampled or "enclosed with interval arithmetic"
    return Verdict(
        id=name,
        statement=statement,
        status=status or ("proved" if found.is_certain else "holds"),
        method=found.method,
        reason=reason or f"{found.enclosure}, {basis}",
        value=found.value,
        bound=max(found.upper - found.value, found.value - found.lower),
        seed=found.seed,
    )


def _reliability(output: Output, target: str, require: float | None) -> Verdict:
    found, event = output.within, f"P(‖c − {target}‖ ≤ {output.epsilon:g})"
    if require is None:
        return _fact("within", f"{event} = {found.value:.12g}", found)
    status, reason = None, ""
    if found.upper < require:
        status, reason = "refuted", f"it is {found.value:.6g}, in {found.enclosure}"
    elif found.lower < require:
        status, reason = "undecided", f"{require:g} lies in {found.enclosure}, so this is too close to call"
    return _fact("within", f"{event} ≥ {require:g}", found, status=status, reason=reason)
