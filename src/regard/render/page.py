"""The page that every HTML report shares: one self-contained file, light and dark, on screen and on paper.

The page loads nothing: styles and scripts are inline, and the content security policy allows nothing else.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from regard.render.formulas import scripted

_UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SCRIPT = re.compile("<script>.*?</script>", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report: title, main part and margin as HTML; `styles` and `scripts` name additional assets.

    A browser loads the page again every `refresh` seconds, if that is given.
    """

    title: str
    main: str
    margin: str = ""
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()
    language: str = "en"
    refresh: int | None = None


@cache
def asset(name: str) -> str:
    """The text of a shared asset or, as in `claims/claims.css`, of one in a capability's `assets`."""
    capability, _, file = name.rpartition("/")
    package = resources.files(f"regard.{capability}" if capability else "regard.render")
    return package.joinpath("assets", file).read_text(encoding="utf-8").strip()


def icon(name: str) -> str:
    """An icon from `icons.svg`, invisible to screen readers: put its meaning into words beside it."""
    return f'<svg class="icon" aria-hidden="true"><use href="#icon-{name}"></use></svg>'


def render_page(page: Page) -> str:
    """The complete HTML file."""
    style = "\n".join(asset(name) for name in ("shell.css", *page.styles, "print.css"))
    script = "\n".join(asset(name) for name in ("shell.js", *page.scripts))
    text = asset("shell.html")
    parts = {
        "language": html.escape(page.language),
        "policy": html.escape(content_policy(style, script)),
        "refresh": "" if page.refresh is None else f'<meta http-equiv="refresh" content="{page.refresh}">\n',
        "title": html.escape(page.title),
        "style": style,
        "icons": asset("icons.svg"),
        "margin": page.margin,
        "main": page.main,
        "script": script,
    }
    filled = re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], text)
    return printable(filled) + "\n"


def notebook_frame(page: str, *, title: str, height: int = 600, has_scripts: bool = False) -> str:
    """A page in a frame of its own, so that it and a notebook do not change each other's styles.

    Without `has_scripts` nothing runs in it; with it, what runs cannot reach the notebook.
    """
    shown, allowed = (page, "allow-scripts") if has_scripts else (_SCRIPT.sub("", page), "")
    # Without a base of its own, a link to a place in the page would load the notebook into the frame. It comes before
    # the policy, which forbids any.
    shown = shown.replace("<meta http-equiv", '<base href="about:srcdoc"><meta http-equiv', 1)
    return (
        f'<iframe title="{html.escape(title)}" sandbox="{allowed}" width="100%" height="{height}" '
        f'style="border: 1px solid #8884; border-radius: 6px" srcdoc="{html.escape(shown)}"></iframe>'
    )


def render_table(rows: Iterable[Sequence[str]], columns: Sequence[str] = ()) -> str:
    """A table of plain text with indices, perhaps with headings; the first cell of each row is its name."""
    headings = "".join(f'<th scope="col">{html.escape(column)}</th>' if column else "<td></td>" for column in columns)
    body = "".join(
        f'<tr><th scope="row">{scripted(name)}</th>{"".join(f"<td>{scripted(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    head = f"<thead><tr>{headings}</tr></thead>" if headings else ""
    return f'<div class="table"><table>{head}<tbody>{body}</tbody></table></div>'


def render_statuses(rows: Iterable[tuple[str, str]]) -> str:
    """A list of verdicts: the status of each, and what was decided."""
    items = "".join(f'<li class="{status}"><b>{status}</b> {scripted(text)}</li>' for status, text in rows)
    return f'<ul class="verdicts">{items}</ul>'


def printable(text: str) -> str:
    """The text with a replacement character for each character that XML and HTML cannot contain.

    >>> printable("a\\x00b")
    'a\N{REPLACEMENT CHARACTER}b'
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def content_policy(style: str, script: str) -> str:
    """The content security policy of a page that contains this style and this script and loads nothing."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
