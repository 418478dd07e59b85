"""The report on a design as a page, as a frame in a notebook, and its plots."""

import html
import math
from dataclasses import dataclass
from functools import cached_property

from regard.analysis.scenarios import one_head, two_heads
from regard.designs.experiment import Experiment
from regard.designs.report import DesignReport, Head, Scales
from regard.designs.terminal import output_rows, scale_rows, setting_line, weight_rows, written_sum
from regard.render.charts import draw_figure
from regard.render.figures import Axis, Chart, Figure, Guide, Series
from regard.render.formulas import scripted
from regard.render.mathml import typeset
from regard.render.page import Page, notebook_frame, render_page, render_statuses, render_table

_TITLE = "A query, evaluated"
_DRAWS, _BINS = 100_000, 50
_CURVE_DRAWS, _POINTS = 20_000, 41
_SOFTEST, _SHARPEST = 0.25, 512.0


def render_design(report: DesignReport) -> str:
    """The page: each head's weights, the output, the scales, and the plots."""
    heads = "".join(_head(place, head) for place, head in enumerate(report.heads, start=1))
    target = typeset(written_sum(report.output.target, "v", is_latex=True), is_display=False)
    curves = "".join(draw_figure(figure) for figure in report.figures)
    scales = ""
    if report.scales is not None:
        rows = scale_rows(report.scales, report.output.epsilon)
        scales = f"<h2>The same queries at other scales</h2>{render_table(rows)}"
    main = (
        f'<header class="head"><p class="problem">{scripted(setting_line(report))}</p><h1>{_TITLE}</h1></header>{heads}'
        f'<section id="output"><h2>The output</h2><p>c compared with the target {target}</p>'
        f"{render_table(output_rows(report))}{scales}</section>"
        f'<section id="curves"><h2>Plots</h2><div class="charts">{curves}</div></section>'
    )
    page = Page(
        title=_TITLE, main=main, margin=_margin(report), styles=("document.css", "charts.css", "designs/design.css")
    )
    return render_page(page)


def design_frame(report: DesignReport) -> str:
    """The page as a notebook shows it."""
    return notebook_frame(render_design(report), title=_TITLE)


def _head(place: int, head: Head) -> str:
    means = written_sum(head.coefficients, r"\mu", is_latex=True)
    query = typeset(f"q_{{{place}}} = {means}", is_display=False)
    return (
        f'<section id="head-{place}"><h2>Head {place}</h2><p>{query} <code>{html.escape(head.source)}</code></p>'
        f"{render_table(weight_rows(head), ('key', 'mean weight', 'variance'))}</section>"
    )


def _margin(report: DesignReport) -> str:
    verdicts = render_statuses((verdict.status, verdict.statement) for verdict in report.verdicts)
    heads = "".join(f'<li><a href="#head-{place}">Head {place}</a></li>' for place in range(1, len(report.heads) + 1))
    links = f'{heads}<li><a href="#output">The output</a></li><li><a href="#curves">Plots</a></li>'
    return f'{verdicts}<ul class="contents">{links}</ul>'


# -- plots -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class DesignFigures:
    """The plots of one design: how its coefficient spreads, and what its scale does."""

    experiment: Experiment
    scales: Scales | None
    beta: float | None

    def draw(self) -> tuple[Figure, ...]:
        """The spread of v_a's coefficient; the error and the probability of being near against the scale."""
        spread = (self._spread(),)
        return spread if self.scales is None else (*spread, self._error(self.scales), self._probability(self.scales))

    @cached_property
    def _compared(self) -> dict[str, Experiment]:
        """The design itself, and the course's designs at the same β if it has one."""
        compared = {"this design": self.experiment}
        if self.beta is not None and self.beta > 0:
            for name, build in (("one head β(μ_a+μ_b)", one_head), ("two heads βμ_a, βμ_b", two_heads)):
                other = self.experiment.with_design(build(self.beta))
                if _rows(other) != _rows(self.experiment):
                    compared[name] = other
        return compared

    def _spread(self) -> Chart:
        edges = [place / _BINS for place in range(_BINS + 1)]
        middles = [(place + 0.5) / _BINS for place in range(_BINS)]
        series = []
        for place, (name, experiment) in enumerate(self._compared.items()):
            shares = experiment.histogram("a", _BINS, draws=_DRAWS)
            density = [share * _BINS for share in shares]
            style = "bars" if place == 0 else "line" if place == 1 else "dashed"
            x = edges if style == "bars" else middles
            y = [*density, density[-1]] if style == "bars" else density
            series.append(Series(label=name, x=x, y=y, style=style))
        return Chart(
            title="How v_a's coefficient in c spreads",
            caption=f"{self._origin(_DRAWS)} A stable design has one narrow peak at the target.",
            x=Axis(label="coefficient of v_a", lower=0, upper=1),
            y=Axis(label="density", lower=0),
            series=series,
            guides=[Guide(at=self.experiment.target.get("a", 0.0), label="target", is_vertical=True)],
        )

    @cached_property
    def _factors(self) -> list[float]:
        steepest = max(abs(x) for row in self.experiment.design.coefficients.values() for x in row)
        ratio = (_SHARPEST / _SOFTEST) ** (1 / (_POINTS - 1))
        grid = [_SOFTEST * ratio**k / steepest for k in range(_POINTS)]
        return [factor for factor in grid if math.isfinite(factor)]

    @cached_property
    def _estimates(self) -> dict[str, list[tuple[float, float]]]:
        """For each design compared, the error and the probability of being near at every scale."""
        return {
            name: [other.approximate(factor, draws=_CURVE_DRAWS) for factor in self._factors]
            for name, other in self._compared.items()
        }

    def _curves(self, which: int, scales: Scales) -> list[Series]:
        return [
            Series(
                label=name,
                x=[factor * scales.written for factor in self._factors],
                y=[estimate[which] for estimate in estimates],
                style="line" if place == 0 else "dashed",
            )
            for place, (name, estimates) in enumerate(self._estimates.items())
        ]

    def _origin(self, draws: int) -> str:
        if all(experiment.grid() is not None for experiment in self._compared.values()):
            return "Computed by integrating over the one random length."
        return f"{draws} draws of the keys, the same at every scale."

    def _axis(self, scales: Scales) -> Axis:
        return Axis(label="β" if scales.unit == "beta" else "factor on the queries", is_log=True)

    def _error(self, scales: Scales) -> Chart:
        guides = [Guide(at=scales.written, label="as written", is_vertical=True)]
        if scales.best is not None:
            guides.append(Guide(at=scales.best.scale, label="least", is_vertical=True))
        return Chart(
            title="Expected squared error against the scale",
            caption=f"E‖c − target‖². {self._origin(_CURVE_DRAWS)}",
            x=self._axis(scales),
            y=Axis(label="E‖c − target‖²", lower=0),
            series=self._curves(0, scales),
            guides=guides,
        )

    def _probability(self, scales: Scales) -> Chart:
        epsilon = self.experiment.epsilon
        return Chart(
            title=f"How often the output is within {epsilon:g} of the target",
            caption=f"The ceiling is the limit as the scale grows without bound: {scales.ceiling.value:.6g}.",
            x=self._axis(scales),
            y=Axis(label=f"P(‖c − target‖ ≤ {epsilon:g})", lower=0, upper=1),
            series=self._curves(1, scales),
            guides=[
                Guide(at=scales.ceiling.value, label="ceiling"),
                Guide(at=scales.written, label="as written", is_vertical=True),
            ],
        )


def _rows(experiment: Experiment) -> dict[str, tuple[float, ...]]:
    return {name: row for name, row in experiment.design.coefficients.items() if any(row)}
