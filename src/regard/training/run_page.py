"""A run as one page: what it was, its curves, what it knows."""

import html
from collections.abc import Sequence

from regard.render.charts import draw_figure
from regard.render.figures import Axis, Chart, Guide, Series
from regard.render.page import Page, render_page
from regard.training.trained import Course, RunReport


def render_run(report: RunReport) -> str:
    """The file's whole text."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in report.settings
    )
    known = "" if report.knows is None else f"{report.knows.value:.1%} of the held-out questions"
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p>'
        f"<h1>{html.escape(report.recipe)}</h1><p>{html.escape(report.about)}</p></header>"
        + "".join(draw_figure(chart) for chart in _charts(report))
        + f'<table class="settings">{rows}</table>'
    )
    return render_page(
        Page(
            title=f"{report.recipe}: {known or 'a training'}",
            main=main,
            margin=_margin(report),
            styles=("document.css", "charts.css", "training/run.css"),
        )
    )


def _charts(report: RunReport) -> list[Chart]:
    if not _labelled(report, "loss"):
        return []
    charts = [
        Chart(
            title="Loss",
            caption="Nats for each predicted token; the line is the mean over the last fiftieth of the run.",
            x=Axis(label="step"),
            y=Axis(label="loss"),
            series=tuple(
                Series(label=label, x=[s for s, _ in course.losses], y=smoothed([v for _, v in course.losses]))
                for label, course in _labelled(report, "loss")
            ),
        )
    ]
    if report.alone:
        charts.append(
            Chart(
                title="Held-out questions answered right",
                caption="About people whose questions were never shown" + _more_of_caption(report),
                x=Axis(label="step", lower=0),
                y=Axis(label="share right", lower=0, upper=1),
                series=_shares(report),
                guides=_guides(report),
            )
        )
    return charts


def _labelled(report: RunReport, alone: str) -> list[tuple[str, Course]]:
    """Each member's course, under its number if there are several; one whose metrics are lost has none."""
    several = len(report.courses) > 1
    numbered = enumerate(report.courses, start=1)
    return [(f"member {number}" if several else alone, course) for number, course in numbered if course.losses]


def _shares(report: RunReport) -> tuple[Series, ...]:
    """What each member knew; the only one with its interval."""
    series = [
        Series(label=label, x=[step for step, _ in course.held_out], y=[each.value for _, each in course.held_out])
        for label, course in _labelled(report, "exact match")
        if course.held_out
    ]
    if len(report.courses) == 1:
        steps, known = series[0].x, [each for _, each in report.courses[0].held_out]
        series.append(Series(label="lower", x=steps, y=[each.lower for each in known], style="dashed"))
        series.append(Series(label="upper", x=steps, y=[each.upper for each in known], style="dashed"))
    return tuple(series)


def _more_of_caption(report: RunReport) -> str:
    if len(report.courses) == 1:
        return "; dashed: Wilson's 95 % interval."
    return "." if report.together is None else f". Asked together after the last step: {report.together}."


def _guides(report: RunReport) -> tuple[Guide, ...]:
    known = (("commonest answer", report.majority), ("together", report.together))
    return tuple(Guide(at=share.value, label=label) for label, share in known if share is not None)


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
