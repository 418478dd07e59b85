"""A scenario of random keys, and the evaluation of designs in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from regard.analysis.engines import (
    ConditionProbability,
    Mean,
    Quantile,
    TotalVariance,
    Variance,
    certified,
    coefficient,
    weight,
)
from regard.analysis.scenarios import CourseKeys, LogitLaw, QueryDesign, one_head, read_noise
from regard.core.errors import DomainError, InputError
from regard.core.estimate import Estimate
from regard.designs.experiment import Experiment, Sampling
from regard.designs.expressions import ExpressionReader, read_condition
from regard.designs.report import DesignReport, Head, KeyWeight, Output, Scales, verdicts_on
from regard.designs.scales import ScaleSearch

if TYPE_CHECKING:
    from regard.render.figures import Figure

HALF_AND_HALF = "(v_a+v_b)/2"
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_HISTOGRAM_DRAWS, _BINS = 20_000, 20

Numeric = float | int | str | Fraction


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What the output should be.

    Args:
        target: the output that is wanted, such as "(v_a+v_b)/2".
        epsilon: the distance from it that counts as near.
        require: how often the output must be near; a design that certainly misses this is refuted.
    """

    target: str = HALF_AND_HALF
    epsilon: float = 0.1
    require: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < inf:
            raise DomainError(f"ε = {self.epsilon:g} must be positive and finite. Use for example 0.1.")
        if self.require is not None and not 0 < self.require <= 1:
            raise DomainError(f"A probability of {self.require} cannot be required. Use one in (0, 1].")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Random keys around orthonormal means: k_j ~ N(μ_j, αI + noise_j μ_j μ_jᵀ), with orthonormal values v_j.

    Args:
        n: the number of keys.
        norm_noise: the variance of a key's length along its mean, by key: {"a": 0.5} or "a=0.5".
        alpha: the variance of isotropic noise on every key.
        qk_norm: True to divide every key by its norm; the query keeps its length, which is the gain.
        given: a condition on a key's length, such as "gamma>0".
        sampling: how to sample what cannot be certified.

    >>> report = Scenario(n=10, norm_noise={"a": 0.5}).design("beta*(mu_a+mu_b)", beta=20)
    >>> f"{report.output.coefficient_variance.value:.12f}"
    '0.222018627920'
    """

    n: int = 10
    norm_noise: Mapping[str, float] | str = field(default_factory=dict)
    alpha: float = 0.0
    qk_norm: bool = False
    given: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    keys: CourseKeys = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        noise = read_noise(self.norm_noise) if isinstance(self.norm_noise, str) else dict(self.norm_noise)
        keys = CourseKeys(n=self.n, noise=noise, alpha=self.alpha, is_normalized=self.qk_norm)
        object.__setattr__(self, "norm_noise", noise)
        object.__setattr__(self, "keys", keys)

    def design(self, *heads: str, demand: Demand | None = None, **scalars: Numeric) -> DesignReport:
        """The report on these queries; `scalars` are the values of the letters in them, except n."""
        return _Evaluation(
            scenario=self, heads=heads, demand=demand or Demand(), scalars=_exact(scalars, self.n)
        ).report()


def _exact(scalars: Mapping[str, Numeric], n: int) -> dict[str, Fraction]:
    """The letters with their values, exactly as their decimal digits say."""
    values: dict[str, Fraction] = {"n": Fraction(n)}
    for name, number in scalars.items():
        if name == "n":
            raise InputError("n is the number of keys. Set it in the scenario only.")
        try:
            values[name] = number if isinstance(number, Fraction) else Fraction(str(number))
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise InputError(f"{name} = {number} is not a finite number. Write it in digits, such as 20.") from error
    return values


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """The evaluation of one design in one scenario."""

    scenario: Scenario
    heads: Sequence[str]
    demand: Demand
    scalars: Mapping[str, Fraction]

    def report(self) -> DesignReport:
        """The report with everything in it."""
        target = ExpressionReader(vector="v", scalars=self.scalars).coefficients(self.demand.target)
        rows = self._rows(self.scalars)
        experiment = self._experiment(rows, target)
        output, scales = self._output(experiment), self._scales(experiment, rows)
        return DesignReport(
            heads=self._heads(experiment, rows),
            setting=self._setting(),
            given=self.scenario.given,
            chance=self._chance(experiment),
            output=output,
            scales=scales,
            require=self.demand.require,
            verdicts=verdicts_on(output, self.demand.target, self.demand.require),
            histogram=self._histogram(experiment),
            draw_figures=lambda: self._figures(experiment, scales),
        )

    def _figures(self, experiment: Experiment, scales: Scales | None) -> "tuple[Figure, ...]":
        from regard.designs.page import DesignFigures

        beta = float(self.scalars["beta"]) if "beta" in self.scalars else None
        return DesignFigures(experiment=experiment, scales=scales, beta=beta).draw()

    def _rows(self, scalars: Mapping[str, Fraction]) -> list[dict[str, float]]:
        if not self.heads:
            raise InputError('No head is given. Add one, for example --head "beta*(mu_a+mu_b)" --beta 20.')
        reader = ExpressionReader(vector="mu", scalars=scalars)
        return [reader.coefficients(head) for head in self.heads]

    def _experiment(self, rows: Sequence[Mapping[str, float]], target: Mapping[str, float]) -> Experiment:
        scenario, keys = self.scenario, self.scenario.keys
        given = None if scenario.given is None else read_condition(scenario.given, keys.noise, self.scalars)
        # Sorted, and without zeros, so that equivalent expressions draw the same keys.
        asked = {key for row in rows for key, factor in row.items() if factor != 0}
        named = dict.fromkeys(("a", "b", *sorted({*target, *asked})))
        design = QueryDesign(coefficients={key: tuple(row.get(key, 0.0) for row in rows) for key in named})
        experiment = Experiment(
            keys=keys,
            design=design,
            given=given,
            sampling=scenario.sampling,
            target=target,
            epsilon=self.demand.epsilon,
        )
        if given is not None:
            _lengths(experiment).check_condition(given)
        return experiment

    def _chance(self, experiment: Experiment) -> Estimate | None:
        given = experiment.given
        return None if given is None else certified.answer(_lengths(experiment), ConditionProbability(of=given))

    def _heads(self, experiment: Experiment, rows: Sequence[Mapping[str, float]]) -> tuple[Head, ...]:
        questions = [
            ask(of=weight(key, head))
            for head in range(len(rows))
            for key, _ in experiment.groups
            for ask in (Mean, Variance)
        ]
        found = iter(experiment.answers(questions))
        return tuple(
            Head(
                source=source,
                coefficients=row,
                weights=tuple(
                    KeyWeight(key=key, count=count, mean=next(found), variance=next(found))
                    for key, count in experiment.groups
                ),
            )
            for source, row in zip(self.heads, rows, strict=True)
        )

    def _output(self, experiment: Experiment) -> Output:
        error, within, mean, variance, total, *quantiles = experiment.answers(
            [
                experiment.squared_error,
                experiment.within,
                Mean(of=coefficient("a")),
                Variance(of=coefficient("a")),
                TotalVariance(),
                *(Quantile(of=coefficient("a"), level=level) for level in _LEVELS),
            ]
        )
        return Output(
            target=experiment.target,
            epsilon=experiment.epsilon,
            squared_error=error,
            within=within,
            coefficient_mean=mean,
            coefficient_variance=variance,
            total_variance=total,
            variance_ratio=self._ratio(experiment, variance),
            quantiles=dict(zip(_LEVELS, quantiles, strict=True)),
        )

    def _ratio(self, experiment: Experiment, variance: Estimate) -> Estimate | None:
        """The variance of one head β(μ_a+μ_b) over that of this design, None if there is no such number."""
        beta = self.scalars.get("beta")
        if beta is None or beta < 0:
            return None
        single = experiment.with_design(one_head(float(beta))).answer(Variance(of=coefficient("a")))
        try:
            return single / variance
        except ZeroDivisionError:
            return None

    def _scales(self, experiment: Experiment, rows: list[dict[str, float]]) -> Scales | None:
        beta = self.scalars.get("beta", Fraction(0))
        doubled = self._rows({**self.scalars, "beta": 2 * beta}) if beta > 0 else []
        is_beta = doubled == [{key: 2 * x for key, x in row.items()} for row in rows]
        unit, written = ("beta", float(beta)) if is_beta else ("factor", 1.0)
        return ScaleSearch(experiment=experiment, unit=unit, written=written).run()

    def _histogram(self, experiment: Experiment) -> list[tuple[float, float, float]]:
        """The probability of v_a's coefficient in each twentieth of [0, 1]."""
        shares = experiment.histogram("a", _BINS, draws=_HISTOGRAM_DRAWS)
        return [(place / _BINS, (place + 1) / _BINS, share) for place, share in enumerate(shares)]

    def _setting(self) -> dict[str, object]:
        scenario = self.scenario
        return {
            "n": scenario.n,
            "norm_noise": dict(scenario.keys.noise),
            "alpha": scenario.alpha,
            "qk_norm": scenario.qk_norm,
            "scalars": {name: float(number) for name, number in self.scalars.items() if name != "n"},
        }


def _lengths(experiment: Experiment) -> LogitLaw:
    """The law before normalization, in which conditions on lengths have their probability."""
    return replace(experiment.keys, is_normalized=False).logits(experiment.design)
