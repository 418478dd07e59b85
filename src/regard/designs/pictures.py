"""The curves that show a design: how its coefficient spreads, and what its scale does."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.analysis.scenarios import one_head, two_heads
from regard.designs.asking import Bench
from regard.designs.designed import Scales
from regard.render.figures import Axis, Chart, Figure, Guide, Series

_DRAWS, _BINS = 100_000, 50
_CURVE_DRAWS, _POINTS = 20_000, 41
_SOFTEST, _SHARPEST = 0.25, 512.0


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """What the figures of one design need."""

    bench: Bench
    target: Mapping[str, float]
    epsilon: float
    scales: Scales | None
    beta: float | None

    def draw(self) -> tuple[Figure, ...]:
        """The spread of v_a's coefficient; the error and the chance of being near against the scale."""
        spread = (self._spread(),)
        return spread if self.scales is None else (*spread, self._error(self.scales), self._chance(self.scales))

    def _rivals(self) -> dict[str, Bench]:
        """The design itself, and the course's designs at the same β where there is one."""
        rivals = {"this design": self.bench}
        if self.beta is not None and self.beta > 0:
            for name, build in (("one head β(μ_a+μ_b)", one_head), ("two heads βμ_a, βμ_b", two_heads)):
                other = self.bench.instead(build(self.beta))
                if _rows(other) != _rows(self.bench):
                    rivals[name] = other
        return rivals

    def _spread(self) -> Chart:
        edges = np.linspace(0, 1, _BINS + 1)
        series = []
        for place, (name, bench) in enumerate(self._rivals().items()):
            shares = bench.histogram("a", _BINS, draws=_DRAWS)
            density = [share * _BINS for share in shares]
            style = "bars" if place == 0 else "line" if place == 1 else "dashed"
            x = edges if style == "bars" else (edges[:-1] + edges[1:]) / 2
            y = [*density, density[-1]] if style == "bars" else density
            series.append(Series(label=name, x=x.tolist(), y=y, style=style))
        return Chart(
            title="How v_a's coefficient in c spreads",
            caption=f"{self._how(_DRAWS)} A steady design is one narrow peak at the target.",
            x=Axis(label="coefficient of v_a", lower=0, upper=1),
            y=Axis(label="density", lower=0),
            series=series,
            guides=[Guide(at=self.target.get("a", 0.0), label="target", is_vertical=True)],
        )

    @cached_property
    def _factors(self) -> list[float]:
        steepest = max(abs(x) for row in self.bench.design.coefficients.values() for x in row)
        ratio = (_SHARPEST / _SOFTEST) ** (1 / (_POINTS - 1))
        grid = [_SOFTEST * ratio**k / steepest for k in range(_POINTS)]
        return [factor for factor in grid if math.isfinite(factor)]

    @cached_property
    def _glances(self) -> dict[str, list[tuple[float, float]]]:
        """For each rival the error and the chance of being near at every scale."""
        return {
            name: [bench.glance(factor, self.target, self.epsilon, draws=_CURVE_DRAWS) for factor in self._factors]
            for name, bench in self._rivals().items()
        }

    def _curves(self, which: int, scales: Scales) -> list[Series]:
        return [
            Series(
                label=name,
                x=[factor * scales.written for factor in self._factors],
                y=[glance[which] for glance in glances],
                style="line" if place == 0 else "dashed",
            )
            for place, (name, glances) in enumerate(self._glances.items())
        ]

    def _how(self, draws: int) -> str:
        """Where the curves come from."""
        if all(bench.look() is not None for bench in self._rivals().values()):
            return "Computed along the one random length."
        return f"{draws} draws of the keys, the same at every scale."

    def _axis(self, scales: Scales) -> Axis:
        return Axis(label="β" if scales.unit == "beta" else "factor on the queries", is_log=True)

    def _error(self, scales: Scales) -> Chart:
        guides = [Guide(at=scales.written, label="as written", is_vertical=True)]
        if scales.best is not None:
            guides.append(Guide(at=scales.best.scale, label="least", is_vertical=True))
        return Chart(
            title="Expected squared error against the scale",
            caption=f"E‖c − target‖². {self._how(_CURVE_DRAWS)}",
            x=self._axis(scales),
            y=Axis(label="E‖c − target‖²", lower=0),
            series=self._curves(0, scales),
            guides=guides,
        )

    def _chance(self, scales: Scales) -> Chart:
        return Chart(
            title=f"How often the output is within {self.epsilon:g} of the target",
            caption=f"The ceiling is the limit for ever longer queries: {scales.ceiling.value:.6g}.",
            x=self._axis(scales),
            y=Axis(label=f"P(‖c − target‖ ≤ {self.epsilon:g})", lower=0, upper=1),
            series=self._curves(1, scales),
            guides=[
                Guide(at=scales.ceiling.value, label="ceiling"),
                Guide(at=scales.written, label="as written", is_vertical=True),
            ],
        )


def _rows(bench: Bench) -> dict[str, tuple[float, ...]]:
    return {name: row for name, row in bench.design.coefficients.items() if any(row)}
