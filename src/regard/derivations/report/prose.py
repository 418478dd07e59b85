"""The prose of a judged document as HTML blocks; whatever the document holds, only our own markup comes out.

Raw HTML is shown as text, images are named but not loaded, links are shown but lead nowhere.
"""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from regard.derivations.reading.document import DocumentKind
from regard.derivations.report.marks import SlottedText, standing_classes

_ALIGNMENTS = {"text-align:right": "align-right", "text-align:center": "align-center", "text-align:left": "align-left"}
_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_DROPPED = re.compile(
    r"\\(?:maketitle|noindent|centering|newpage|clearpage|bigskip|medskip|smallskip|par|tableofcontents)(?![A-Za-z])"
    r"|\\(?:label|vspace\*?|hspace\*?|usepackage|documentclass|title|author|date)(?:\[[^\]\n]{0,200}\])?\{[^{}]{0,200}\}"
    r"|\\(?:begin|end)\{[A-Za-z]{0,40}\*?\}(?:\[[^\]\n]{0,200}\])?"
)
_OPENER = re.compile(
    r"\\(?P<level>(?:sub){0,2}section|paragraph|part|chapter)\*?\s*\{(?P<title>(?:[^{}]|\{[^{}]{0,200}\}){0,400})\}"
    r"|\\item(?:\s*\[(?P<label>[^\]\n]{0,80})\])?|\n[ \t]*\n"
)
_LEVELS = {"part": 2, "chapter": 2, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_STYLES = (
    (re.compile(r"\\textbf\s*\{([^{}]*)\}"), r"<strong>\1</strong>"),
    (re.compile(r"\\(?:emph|textit|textsl)\s*\{([^{}]*)\}"), r"<em>\1</em>"),
    (re.compile(r"\\texttt\s*\{([^{}]*)\}"), r"<code>\1</code>"),
    (re.compile(r"\\(?:underline|textrm|text|mbox)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\\\(?:\[[^\]\n]{0,20}\])?"), "<br>"),
    (re.compile(r"\\(?:ldots|dots)(?![A-Za-z])"), "…"),
    (re.compile(r"\\([%$#_{}])|\\(&amp;)"), r"\1\2"),
    (re.compile(r"---"), "—"),
    (re.compile(r"(?<!-)--(?!-)"), "–"),
    (re.compile(r"``"), "\N{LEFT DOUBLE QUOTATION MARK}"),
    (re.compile(r"&#x27;&#x27;"), "\N{RIGHT DOUBLE QUOTATION MARK}"),
    (re.compile(r"~"), "\N{NO-BREAK SPACE}"),
)


def prose_html(document: SlottedText, kind: DocumentKind) -> str:
    """The text, with its slots filled, as a run of blocks."""
    if kind in ("markdown", "notebook"):
        return _markdown(document)
    if kind == "latex":
        return "".join(
            _block(_latex_block(block, document), block.text, document, is_heading=block.level > 0)
            for block in _latex_blocks(document)
        )
    paragraphs = [part.strip("\n") for part in document.text.split("\n\n") if part.strip()]
    return "".join(
        _block(_noted(document.margin_notes(part), f'<p class="lines">{document.fill(part)}</p>'), part, document)
        for part in paragraphs
    )


def _block(inner: str, text: str, document: SlottedText, *, is_heading: bool = False) -> str:
    classes = ("block", "heading" if is_heading else "", standing_classes(document.steps_in(text)))
    return f'<div class="{" ".join(filter(None, classes))}">{inner}</div>\n'


def _noted(notes: str, inner: str) -> str:
    """A block with its margin notes, if it has any; they come first so that they can float beside its top."""
    return f"{_before(notes)}{inner}{_after(notes)}"


def _before(notes: str) -> str:
    return f'<div class="noted">{notes}' if notes else ""


def _after(notes: str) -> str:
    return "</div>" if notes else ""


# -- Markdown ----------------------------------------------------------------------------------------------------------
def _markdown(document: SlottedText) -> str:
    reader = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False})
    reader.enable(["table", "strikethrough"]).disable(["code", "reference"])
    reader.renderer = _Renderer(document)
    tokens = _prepared(reader.parse(document.text), document)
    blocks: list[list[Token]] = [[]]
    for token in tokens:
        blocks[-1].append(token)
        if token.level == 0 and token.nesting <= 0:
            blocks.append([])
    return "".join(
        _block(
            reader.renderer.render(block, reader.options, {}),
            "".join(token.content for token in block),
            document,
            is_heading=block[0].type == "heading_open",
        )
        for block in blocks
        if block
    )


def _prepared(tokens: Sequence[Token], document: SlottedText) -> Sequence[Token]:
    """The tokens without the document's own attributes; each paragraph and table has its margin notes."""
    table = 0
    for place, token in enumerate(tokens):
        token.attrs = _safe_attributes(token)
        token.hidden = False
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        if token.type in ("paragraph_open", "heading_open"):
            notes = document.margin_notes(tokens[place + 1].content)
            token.meta["notes"] = tokens[place + 2].meta["notes"] = notes
        if token.type == "table_open":
            table = place
        if token.type == "table_close":
            notes = document.margin_notes("".join(cell.content for cell in tokens[table:place]))
            token.meta["notes"] = tokens[table].meta["notes"] = notes
    return tokens


def _safe_attributes(token: Token) -> dict[str, str | int | float]:
    if token.type == "ordered_list_open" and str(token.attrs.get("start", "")).isdigit():
        return {"start": int(token.attrs["start"])}
    alignment = _ALIGNMENTS.get(str(token.attrs.get("style", "")))
    return {"class": alignment} if alignment else {}


class _Renderer(RendererHTML):
    """Renders tokens with their slots filled."""

    def __init__(self, document: SlottedText) -> None:
        super().__init__()
        self.rules |= {name: _rule(render, document) for name, render in _RENDERERS.items()}


def _rule(render: Callable[[Token, SlottedText], str], document: SlottedText) -> Callable[..., str]:
    return lambda tokens, place, *_: render(tokens[place], document)


def _text(token: Token, document: SlottedText) -> str:
    return document.fill(token.content)


def _code(token: Token, document: SlottedText) -> str:
    return f"<code>{document.fill(token.content)}</code>"


def _code_block(token: Token, document: SlottedText) -> str:
    code = f"<pre><code>{document.fill(token.content)}</code></pre>\n"
    return _noted(document.margin_notes(token.content), code)


def _image(token: Token, document: SlottedText) -> str:
    name = document.plain(str(token.attrs.get("src", "")))
    return f'<span class="picture"><b>Image, not read</b> {document.fill(token.content)} <i>{name}</i></span>'


def _opened(token: Token, _: SlottedText) -> str:
    return f"{_before(token.meta.get('notes', ''))}<{token.tag}>"


def _closed(token: Token, _: SlottedText) -> str:
    return f"</{token.tag}>{_after(token.meta.get('notes', ''))}\n"


def _table_opened(token: Token, _: SlottedText) -> str:
    return f'{_before(token.meta.get("notes", ""))}<div class="table"><table>'


def _table_closed(token: Token, _: SlottedText) -> str:
    return f"</table></div>{_after(token.meta.get('notes', ''))}\n"


_RENDERERS: Mapping[str, Callable[[Token, SlottedText], str]] = {
    "text": _text,
    "code_inline": _code,
    "fence": _code_block,
    "code_block": _code_block,
    "image": _image,
    "paragraph_open": _opened,
    "paragraph_close": _closed,
    "heading_open": _opened,
    "heading_close": _closed,
    "table_open": _table_opened,
    "table_close": _table_closed,
    "link_open": lambda _, __: '<span class="link">',
    "link_close": lambda _, __: "</span>",
}


# -- LaTeX: sections, lists and emphasis; the rest is shown as written -------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _LatexBlock:
    """A paragraph, a list item (with its label) or a heading (with its level, from 2)."""

    text: str
    level: int = 0
    label: str | None = None


def _latex_blocks(document: SlottedText) -> Iterator[_LatexBlock]:
    """The blocks of a file's body in order, each displayed formula a block of its own."""
    body = _BODY.search(document.text)
    text = _COMMENT.sub("", body[1] if body else document.text)
    place, label = 0, None
    for opener in _OPENER.finditer(text):
        yield from _paragraphs(text[place : opener.start()], label, document)
        place, label = opener.end(), None
        if opener["level"]:
            yield _LatexBlock(text=opener["title"], level=_LEVELS[opener["level"]])
        elif opener[0].startswith("\\item"):
            label = opener["label"] or ""
    yield from _paragraphs(text[place:], label, document)


def _paragraphs(text: str, label: str | None, document: SlottedText) -> Iterator[_LatexBlock]:
    for place, part in enumerate(document.split_at_displays(_DROPPED.sub(" ", text))):
        yield _LatexBlock(text=part, label=label if place == 0 else None)


def _latex_block(block: _LatexBlock, document: SlottedText) -> str:
    styled = html.escape(block.text)
    for pattern, replacement in _STYLES * 2:  # twice, for emphasis in emphasis
        styled = pattern.sub(replacement, styled)
    filled = document.fill_escaped(styled)
    if block.level:
        shown = f"<h{block.level}>{filled}</h{block.level}>"
    elif block.label is not None:
        shown = f'<p class="item"><span class="bullet">{document.fill(block.label) or "•"}</span> {filled}</p>'
    else:
        shown = f"<p>{filled}</p>"
    return _noted(document.margin_notes(block.text), shown)
