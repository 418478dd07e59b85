"""The page that every HTML report shares: one self-contained file, light and dark, on screen and on paper.

The page loads nothing: styles and scripts are inline, and the content security policy allows nothing else.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True, kw_only=True)
class StatusCount:
    """How many verdicts there are of one kind: the style sheet's class for its color, its icon, and its name."""

    tint: str
    icon: str
    name: str
    number: int


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


def render_counts(total: str, counts: Sequence[StatusCount], bars: Iterable[StatusCount]) -> str:
    """The total, as HTML, with a bar of the shares and a list of the counts."""
    rows = "".join(f'<li class="{each.tint}">{icon(each.icon)}<b>{each.number}</b> {each.name}</li>' for each in counts)
    body = f'<p class="total">{total}</p>{_bar(list(bars))}<ul>{rows}</ul>'
    return f'<section class="counts" aria-label="Counts">{body}</section>'


def _bar(counts: Sequence[StatusCount]) -> str:
    """The shares as a thin bar, in attributes alone: the page's policy allows no inline styles."""
    total = sum(each.number for each in counts) or 1
    parts, place = [], 0.0
    for each in counts:
        width = 100 * each.number / total
        if width:
            parts.append(f'<rect class="{each.tint}" x="{place:.2f}" y="0" width="{width:.2f}" height="4"></rect>')
        place += width
    return f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


def render_filter(choices: Iterable[tuple[str, str, bool]], *, search: str = "") -> str:
    """Buttons that show a part of the page: name, text and whether it would show anything; the first is chosen.

    `search` is the label of a search field, if there is one.
    """
    rows = "".join(
        f'<label><input type="radio" name="show" id="show-{name}"{"" if place else " checked"}'
        f"{'' if is_useful else ' disabled'}> {text}</label>"
        for place, (name, text, is_useful) in enumerate(choices)
    )
    field = f'<input type="search" id="search" aria-label="{search}" placeholder="Search (press /)">' if search else ""
    above = f'<p class="search">{field}</p>' if field else ""
    return f'{above}<fieldset class="filter"><legend>Show</legend>{rows}</fieldset>'


def render_legend(rows: Iterable[tuple[str, str, str]], *, keys: str = "", is_open: bool = False) -> str:
    """What the marks mean, a row for each: tint, icon and meaning; `keys` says which keys do what. Both are HTML."""
    items = "".join(f'<li class="{tint}">{icon(name)} <span>{meaning}</span></li>' for tint, name, meaning in rows)
    below = f'<p class="keys">{keys}</p>' if keys else ""
    opened = " open" if is_open else ""
    return f'<details class="legend"{opened}><summary>What the marks mean</summary><ul>{items}</ul>{below}</details>'


def render_facts(facts: Mapping[str, str | None]) -> str:
    """A list of facts by name, as text; those that are empty are left out."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{scripted(fact)}</dd></div>" for name, fact in facts.items() if fact)
    return f'<dl class="facts">{rows}</dl>'


def render_command(command: str) -> str:
    """A command to copy, broken only between its words; a browser would break --laws after a hyphen."""
    words = " ".join(f"<span>{html.escape(word)}</span>" for word in command.split(" "))
    button = '<button type="button" class="copy" hidden>Copy</button>'
    return f'<p class="reproduce"><code>{words}</code>{button}</p>'


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
