"""A class as one page: a row for each document, with a link to its own page."""

import html
from collections.abc import Sequence
from urllib.parse import quote

from regard.derivations.class_list import DocumentRow
from regard.render.page import Page, render_page

_COLUMNS = ("document", "refuted", "undecided", "hold", "read", "points")


def render_class(rows: Sequence[tuple[DocumentRow, str]]) -> str:
    """The page; each row comes with the path of its document's page, relative to this one."""
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    body = "".join(_row(row, page) for row, page in rows)
    table = f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    title = f"{len(rows)} document{'' if len(rows) == 1 else 's'}"
    return render_page(Page(title=title, main=f"<h1>{title}</h1>{table}", margin=_margin([row for row, _ in rows])))


def _margin(rows: Sequence[DocumentRow]) -> str:
    judged = [row for row in rows if row.outcome == "judged"]
    lines = [f"{len(judged)} judged", f"{len(rows) - len(judged)} could not be judged"]
    lines += [f"{sum(row.counts['refuted'] > 0 for row in judged)} with something refuted"]
    lines += [f"{sum(row.counts['refuted'] for row in judged)} steps refuted"]
    return "".join(f"<p>{line}</p>" for line in lines)


def _row(row: DocumentRow, page: str) -> str:
    name = html.escape(page.removesuffix(".html"))
    if row.outcome != "judged":
        told = html.escape(f"{row.outcome}: {row.reason}")
        return f'<tr><th scope="row">{name}</th><td colspan="{len(_COLUMNS) - 1}">{told}</td></tr>'
    counts = row.counts
    cells = (counts["refuted"], counts["undecided"], counts["holds"] + counts["proved"])
    numbers = "".join(f"<td>{number}</td>" for number in cells)
    link = f'<a href="{html.escape(quote(page))}" title="{html.escape(row.file)}">{name}</a>'
    share = f"<td>{int(row.understood * 100 + 1e-9)} %</td>"
    return f'<tr><th scope="row">{link}</th>{numbers}{share}<td>{row.score:g} of {row.max_score:g}</td></tr>'
