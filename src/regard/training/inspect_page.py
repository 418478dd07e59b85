"""What a model's heads look at and read, as a page."""

import html

from regard.render.charts import IntervalRow, draw_intervals
from regard.render.figures import Axis
from regard.render.heat_maps import draw_attention_map
from regard.render.page import Page, render_page
from regard.training.compare_page import table
from regard.training.inspected import InspectionReport
from regard.training.train_inspect_text import head_cells


def render_inspection(report: InspectionReport) -> str:
    """The file's whole text."""
    reading = [each.name for each in report.heads if each.verdict.status == "holds"]
    outcome = f"{', '.join(reading)} read the name" if reading else "no head is seen to read the name"
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.run)}</p><h1>What the heads read</h1>'
        f"<p>{html.escape(report.population)}.</p></header>{_heads(report)}{_maps(report)}"
    )
    return render_page(
        Page(
            title=f"{report.run}: {outcome}",
            main=main,
            margin=_margin(report),
            styles=("document.css", "charts.css", "intervals.css", "training/inspect.css"),
        )
    )


def _heads(report: InspectionReport) -> str:
    drops = [
        IntervalRow(
            name=each.name,
            value=each.drop.mean,
            lower=each.drop.lower,
            upper=each.drop.upper,
            status=each.verdict.status,
        )
        for each in report.heads
    ]
    shares = [
        IntervalRow(name=each.name, value=each.share.mean, lower=each.share.lower, upper=each.share.upper)
        for each in report.heads
    ]
    reads = draw_intervals(
        drops,
        Axis(label="nats that the right answer loses"),
        title="What each head's look at the name is worth",
        caption=f"The name's keys are hidden from one head at a time; intervals hold together with 95 %. The dotted "
        f"line is the least that counts, {report.least:g}. All heads at once: {report.all_heads}.",
        at=report.least,
    )
    looks = draw_intervals(
        shares,
        Axis(label="share of attention", lower=0.0, upper=1.0),
        title="How much each head looks at the name",
        caption=f"From the position that answers, mean over {report.num_questions} questions. The dotted line is what "
        "an even look would give. Looking is not reading.",
        at=report.even_share,
    )
    columns = ("head", "attention to the name", "drop, nats", "reads the answer from the name")
    return f'<section id="heads"><h2>Heads</h2>{reads}{looks}{table(columns, head_cells(report))}</section>'


def _maps(report: InspectionReport) -> str:
    shown = report.shown
    layers = "".join(
        f'<h3>Layer {layer}</h3><div class="maps">'
        + "".join(
            draw_attention_map(weights, shown.tokens, (shown.first, shown.end), title=f"layer {layer} head {head}")
            for head, weights in enumerate(heads, start=1)
        )
        + "</div>"
        for layer, heads in enumerate(shown.weights, start=1)
    )
    answer = f"{shown.answer} ({shown.probability:.0%} sure)"
    return (
        f'<section id="maps"><h2>One question</h2><p><q>{html.escape(shown.question)}</q> {html.escape(answer)}</p>'
        f"<p>Rows look at columns; the frame marks the name.</p>{layers}</section>"
    )


def _margin(report: InspectionReport) -> str:
    verdicts = "".join(
        f'<li class="{each.verdict.status}"><b>{each.verdict.status}</b> {html.escape(each.verdict.statement)}</li>'
        for each in report.heads
    )
    links = '<li><a href="#heads">Heads</a></li><li><a href="#maps">One question</a></li>'
    return f'<ul class="contents">{links}</ul><ul class="verdicts">{verdicts}</ul>'
