"""A run as an HTML page: its settings, its learning curves, and what its model knows."""

import html
from collections.abc import Sequence

from regard.render.charts import draw_figure
from regard.render.figures import Axis, Chart, Guide, Series
from regard.render.page import Page, render_page
from regard.training.report import LearningCurve, RunReport


def render_run(report: RunReport) -> str:
    """The text of the page."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in report.settings
    )
    accuracy = report.accuracy
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p>'
        f"<h1>{html.escape(report.recipe)}</h1><p>{html.escape(report.about)}</p></header>"
        + "".join(draw_figure(chart) for chart in _charts(report))
        + f'<table class="settings">{rows}</table>'
    )
    finding = "a training" if accuracy is None else f"{accuracy.value:.1%} of the held-out questions"
    return render_page(
        Page(
            title=f"{report.recipe}: {finding}",
            main=main,
            margin=_margin(report),
            styles=("document.css", "charts.css", "training/run.css"),
        )
    )


def _charts(report: RunReport) -> list[Chart]:
    losses = tuple(
        Series(label=label, x=[step for step, _ in curve.losses], y=_smoothed([loss for _, loss in curve.losses]))
        for label, curve in _labelled(report, "loss")
    )
    if not losses:
        return []
    charts = [
        Chart(
            title="Loss",
            caption="Nats per predicted token, averaged over the last fiftieth of the run.",
            x=Axis(label="step"),
            y=Axis(label="loss"),
            series=losses,
        )
    ]
    if report.alone:
        charts.append(
            Chart(
                title="Held-out questions answered correctly",
                caption="About people whose questions were never shown" + _end_of_caption(report),
                x=Axis(label="step", lower=0),
                y=Axis(label="fraction correct", lower=0, upper=1),
                series=_accuracy_series(report),
                guides=_guides(report),
            )
        )
    return charts


def _labelled(report: RunReport, label: str) -> list[tuple[str, LearningCurve]]:
    """Each member's curve, labelled with its number if there are several; curves without metrics are left out."""
    several = len(report.curves) > 1
    numbered = enumerate(report.curves, start=1)
    return [(f"member {number}" if several else label, curve) for number, curve in numbered if curve.losses]


def _accuracy_series(report: RunReport) -> tuple[Series, ...]:
    """The accuracy of each member; with its interval if there is only one."""
    series = [
        Series(label=label, x=[step for step, _ in curve.held_out], y=[each.value for _, each in curve.held_out])
        for label, curve in _labelled(report, "exact match")
        if curve.held_out
    ]
    if len(report.curves) == 1:
        steps, known = series[0].x, [each for _, each in report.curves[0].held_out]
        series.append(Series(label="lower", x=steps, y=[each.lower for each in known], style="dashed"))
        series.append(Series(label="upper", x=steps, y=[each.upper for each in known], style="dashed"))
    return tuple(series)


def _end_of_caption(report: RunReport) -> str:
    if len(report.curves) == 1:
        return "; dashed: Wilson's 95 % interval."
    return "." if report.together is None else f". All members together after the last step: {report.together}."


def _guides(report: RunReport) -> tuple[Guide, ...]:
    known = (("most common answer", report.baseline), ("together", report.together))
    return tuple(Guide(at=accuracy.value, label=label) for label, accuracy in known if accuracy is not None)


def _smoothed(values: Sequence[float]) -> list[float]:
    """Running means over a fiftieth of the values."""
    width = max(1, len(values) // 50)
    return [sum(values[max(0, n - width + 1) : n + 1]) / (n + 1 - max(0, n - width + 1)) for n in range(len(values))]


def _margin(report: RunReport) -> str:
    lines = [("tokens", f"{report.tokens:,}"), ("steps", f"{report.steps:,}"), ("seconds", f"{report.seconds:.0f}")]
    if report.accuracy is not None:
        lines.insert(0, ("held out", f"{report.accuracy.value:.1%}"))
    items = "".join(f"<li>{html.escape(name)}: <strong>{html.escape(value)}</strong></li>" for name, value in lines)
    return f"<h2>Run</h2><ul>{items}</ul>"
