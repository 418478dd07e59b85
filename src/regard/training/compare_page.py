"""A comparison of trainings as a page."""

import html
import math
from collections.abc import Iterable, Sequence

from regard.render.charts import IntervalRow, draw_intervals
from regard.render.figures import Axis
from regard.render.page import Page, render_page
from regard.training.compared import ComparisonReport
from regard.training.train_compare_text import variant_cells


def render_comparison(report: ComparisonReport) -> str:
    """The file's whole text."""
    decided = sum(pair.verdict.status == "holds" for pair in report.pairs)
    outcome = f"{decided} of {len(report.pairs)} differences hold"
    columns = ("", "right, mean over seeds", "pooled, Wilson 95 %", "by seed", "steps")
    told = f"{report.data}; {report.num_questions} questions {report.questions}."
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p><h1>Trainings compared</h1>'
        f"<p>{html.escape(told)}</p></header>"
        f'<section id="ways"><h2>Each way</h2>{_ways(report)}'
        f"{table(columns, (variant_cells(variant) for variant in report.variants))}"
        f"<p>Commonest answer: {html.escape(str(report.majority))}.</p></section>"
        f'<section id="pairs"><h2>Each pair</h2>{_pairs(report)}<p>{html.escape(report.assurance)}</p>'
        f"{_verdicts(report)}</section>"
    )
    return render_page(
        Page(
            title=f"Trainings compared: {outcome}",
            main=main,
            margin=f'<p>{html.escape(outcome)}.</p><ul class="contents"><li><a href="#ways">Each way</a></li>'
            '<li><a href="#pairs">Each pair</a></li></ul>',
            styles=("document.css", "charts.css", "intervals.css"),
        )
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a heading for each column, and each row's first cell as its name."""
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _ways(report: ComparisonReport) -> str:
    rows = [
        IntervalRow(
            name=variant.name,
            value=100 * variant.mean.mean,
            lower=100 * (variant.pooled.lower if math.isinf(variant.mean.half) else variant.mean.lower),
            upper=100 * (variant.pooled.upper if math.isinf(variant.mean.half) else variant.mean.upper),
            points=[100 * share for share in variant.shares],
        )
        for variant in report.variants
    ]
    meaning = "Student's over seeds" if report.num_seeds > 1 else "Wilson's over questions, since there is one seed"
    return draw_intervals(
        rows,
        Axis(label="% right", lower=0.0, upper=100.0),
        title="Questions answered right",
        caption=f"Small dots are seeds; the 95 % interval is {meaning}. The dotted line is the commonest answer.",
        at=100 * report.majority.value,
    )


def _pairs(report: ComparisonReport) -> str:
    rows = [
        IntervalRow(
            name=f"{pair.gap.better} − {pair.gap.worse}",
            value=100 * pair.gap.difference.mean,
            lower=100 * pair.gap.difference.lower,
            upper=100 * pair.gap.difference.upper,
            status=pair.verdict.status,
        )
        for pair in report.pairs
    ]
    if not rows:
        return ""
    return draw_intervals(
        rows,
        Axis(label="points"),
        title="Differences",
        caption="Paired by seed, with the interval of the corrected test: what leaves out zero is decided.",
        at=0.0,
    )


def _verdicts(report: ComparisonReport) -> str:
    items = "".join(
        f'<li class="{verdict.status}"><b>{verdict.status}</b> {html.escape(verdict.reason or "")}</li>'
        for verdict in report.verdicts
    )
    return f'<ul class="verdicts">{items}</ul>'
