"""An evaluated design as a page, and as a frame in a notebook."""

import html
from collections.abc import Iterable, Sequence

from regard.designs.design_text import number, output_rows, scale_rows, setting_line, weight_name, written_sum
from regard.designs.designed import DesignReport, Head
from regard.render.charts import draw_figure
from regard.render.mathml import typeset
from regard.render.page import Page, render_page

_TITLE = "A query, evaluated"


def render_design(report: DesignReport) -> str:
    """The page: each head's weights, the output, the scale, and the curves that show them."""
    heads = "".join(_head(place, head) for place, head in enumerate(report.heads, start=1))
    target = typeset(written_sum(report.output.target, "v", is_latex=True), is_display=False)
    curves = "".join(draw_figure(figure) for figure in report.figures)
    main = (
        f'<h1>{_TITLE}</h1><p class="setting">{html.escape(setting_line(report))}</p>{heads}'
        f'<section id="output"><h2>The output</h2><p>c against the target {target}</p>'
        f"{_table(output_rows(report))}{_scales(report)}</section>"
        f'<section id="curves"><h2>Seen</h2><div class="charts">{curves}</div></section>'
    )
    page = Page(title=_TITLE, main=main, margin=_margin(report), styles=("charts.css", "designs/design.css"))
    return render_page(page)


def design_frame(report: DesignReport) -> str:
    """The page in a frame of its own, so that a notebook's styles and the page's leave each other alone."""
    return (
        f'<iframe title="{_TITLE}" sandbox="allow-scripts" width="100%" height="900" frameborder="0" '
        f'srcdoc="{html.escape(render_design(report))}"></iframe>'
    )


def _head(place: int, head: Head) -> str:
    means = written_sum(head.coefficients, r"\mu", is_latex=True)
    query = typeset(f"q_{{{place}}} = {means}", is_display=False)
    rows = [(weight_name(weight), number(weight.mean), number(weight.variance)) for weight in head.weights]
    return (
        f'<section id="head-{place}"><h2>Head {place}</h2><p>{query} <code>{html.escape(head.source)}</code></p>'
        f"{_table(rows, columns=('key', 'mean weight', 'variance'))}</section>"
    )


def _scales(report: DesignReport) -> str:
    if report.scales is None:
        return ""
    rows = scale_rows(report.scales, report.output.epsilon)
    return f"<h2>The same queries, longer or shorter</h2>{_table(rows)}"


def _table(rows: Iterable[Sequence[str]], columns: Sequence[str] = ()) -> str:
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="table"><table>{top}<tbody>{body}</tbody></table></div>'


def _margin(report: DesignReport) -> str:
    verdicts = "".join(
        f'<li class="{verdict.status}"><b>{verdict.status}</b> {html.escape(verdict.statement)}</li>'
        for verdict in report.verdicts
    )
    heads = "".join(f'<li><a href="#head-{place}">Head {place}</a></li>' for place in range(1, len(report.heads) + 1))
    links = f'{heads}<li><a href="#output">The output</a></li><li><a href="#curves">Seen</a></li>'
    return f'<ul class="verdicts">{verdicts}</ul><ul class="contents">{links}</ul>'
