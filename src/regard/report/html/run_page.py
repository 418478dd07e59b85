"""A run as one page: what it was, its curves, what it knows."""

import html
from collections.abc import Sequence

from regard.report.figures import Axis, Chart, Rule, Series
from regard.report.html.charts import draw
from regard.report.html.shell import Page, render_page
from regard.report.trained import RunReport

__all__ = ["render_run"]


def render_run(report: RunReport) -> str:
    """The file's whole text."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in report.settings
    )
    known = "" if report.knows is None else f"{report.knows.value:.1%} of the held-out questions"
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p>'
        f"<h1>{html.escape(report.recipe)}</h1><p>{html.escape(report.about)}</p></header>"
        + "".join(draw(chart) for chart in _charts(report))
        + f'<table class="settings">{rows}</table>'
    )
    return render_page(
        Page(
            title=f"{report.recipe}: {known or 'a training'}",
            main=main,
            margin=_margin(report),
            styles=("document.css", "charts.css", "run.css"),
        )
    )


def _charts(report: RunReport) -> list[Chart]:
    charts = [
        Chart(
            title="Loss",
            caption="Nats for each predicted token; the line is the mean over the last fiftieth of the run.",
            x=Axis(label="step"),
            y=Axis(label="loss"),
            series=(Series(label="loss", x=[s for s, _ in report.losses], y=smoothed([v for _, v in report.losses])),),
        )
    ]
    if report.held_out:
        steps = [step for step, _ in report.held_out]
        charts.append(
            Chart(
                title="Held-out questions answered right",
                caption="About people whose questions were never shown; dashed: Wilson's 95 % interval.",
                x=Axis(label="step", lower=0),
                y=Axis(label="share right", lower=0, upper=1),
                series=(
                    Series(label="exact match", x=steps, y=[each.value for _, each in report.held_out]),
                    Series(label="lower", x=steps, y=[each.lower for _, each in report.held_out], style="dashed"),
                    Series(label="upper", x=steps, y=[each.upper for _, each in report.held_out], style="dashed"),
                ),
                rules=() if report.majority is None else (Rule(at=report.majority.value, label="commonest answer"),),
            )
        )
    return charts


def smoothed(values: Sequence[float]) -> list[float]:
    """Running means over a fiftieth of the values."""
    width = max(1, len(values) // 50)
    return [sum(values[max(0, n - width + 1) : n + 1]) / (n + 1 - max(0, n - width + 1)) for n in range(len(values))]


def _margin(report: RunReport) -> str:
    lines = [("tokens", f"{report.tokens:,}"), ("steps", f"{report.steps:,}"), ("seconds", f"{report.seconds:.0f}")]
    if report.knows is not None:
        lines.insert(0, ("held out", f"{report.knows.value:.1%}"))
    items = "".join(f"<li>{html.escape(name)}: <strong>{html.escape(value)}</strong></li>" for name, value in lines)
    return f"<h2>Run</h2><ul>{items}</ul>"
