"""The prose of a document as HTML blocks; whatever the document holds, only our own markup comes out.

Raw HTML is shown as text, images are named and not loaded, links are shown and lead nowhere.
"""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from regard.report.html.latex_prose import latex_blocks
from regard.report.html.slots import Slots
from regard.report.html.steps import classes, closing, noted, opening

__all__ = ["prose_html"]

_ALIGNMENTS = {"text-align:right": "align-right", "text-align:center": "align-center", "text-align:left": "align-left"}


def prose_html(text: str, kind: str, slots: Slots) -> str:
    """The text, with its slots filled, as a run of blocks."""
    if kind in ("markdown", "notebook"):
        return _markdown(text, slots)
    if kind == "latex":
        return "".join(_block(block.html(slots), block.text, slots, is_heading=block.level > 0) for block in latex_blocks(text))
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    return "".join(_block(_paragraph(part, slots), part, slots) for part in paragraphs)


def _paragraph(text: str, slots: Slots) -> str:
    return noted(slots.margin(text), f'<p class="lines">{slots.fill(text)}</p>')


def _block(inner: str, text: str, slots: Slots, *, is_heading: bool = False) -> str:
    found = classes(slots.marks_in(text))
    name = " ".join(part for part in ("block", "heading" if is_heading else "", found) if part)
    return f'<div class="{name}">{inner}</div>\n'


def _markdown(text: str, slots: Slots) -> str:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["code", "reference"])
    reader.renderer = _Renderer(slots)
    tokens = _prepared(reader.parse(text), slots)
    blocks: list[list[Token]] = [[]]
    for token in tokens:
        blocks[-1].append(token)
        if token.level == 0 and token.nesting <= 0:
            blocks.append([])
    return "".join(
        _block(
            reader.renderer.render(block, reader.options, {}),
            "".join(token.content for token in block),
            slots,
            is_heading=block[0].type == "heading_open",
        )
        for block in blocks
        if block
    )


def _prepared(tokens: Sequence[Token], slots: Slots) -> Sequence[Token]:
    """The tokens without attributes of the document's making, each paragraph and table with its margin notes."""
    table = 0
    for place, token in enumerate(tokens):
        token.attrs = _safe_attributes(token)
        token.hidden = False
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        if token.type in ("paragraph_open", "heading_open"):
            token.meta["notes"] = tokens[place + 2].meta["notes"] = slots.margin(tokens[place + 1].content)
        if token.type == "table_open":
            table = place
        if token.type == "table_close":
            inside = "".join(cell.content for cell in tokens[table:place])
            token.meta["notes"] = tokens[table].meta["notes"] = slots.margin(inside)
    return tokens


def _safe_attributes(token: Token) -> dict[str, str | int | float]:
    if token.type == "ordered_list_open" and str(token.attrs.get("start", "")).isdigit():
        return {"start": int(token.attrs["start"])}
    alignment = _ALIGNMENTS.get(str(token.attrs.get("style", "")))
    return {"class": alignment} if alignment else {}


class _Renderer(RendererHTML):
    """Renders tokens with their slots filled."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self._slots.fill(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{self._slots.fill(tokens[idx].content)}</code>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        content = tokens[idx].content
        return noted(self._slots.margin(content), f"<pre><code>{self._slots.fill(content)}</code></pre>\n")

    code_block = fence

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        name = self._slots.plain(str(token.attrs.get("src", "")))
        return f'<span class="picture"><b>Image, not read</b> {self._slots.fill(token.content)} <i>{name}</i></span>'

    def paragraph_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"{opening(tokens[idx].meta.get('notes', ''))}<{tokens[idx].tag}>"

    def paragraph_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</{tokens[idx].tag}>{closing(tokens[idx].meta.get('notes', ''))}\n"

    heading_open, heading_close = paragraph_open, paragraph_close

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'{opening(tokens[idx].meta.get("notes", ""))}<div class="table"><table>'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</table></div>{closing(tokens[idx].meta.get('notes', ''))}\n"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<span class="link">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</span>"
