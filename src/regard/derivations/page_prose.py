"""The prose of a document as HTML blocks; whatever the document holds, only our own markup comes out.

Raw HTML is shown as text, images are named and not loaded, links are shown and lead nowhere.
"""

from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from regard.derivations.page_latex_prose import latex_blocks
from regard.derivations.page_slots import Slots
from regard.derivations.step_cards import classes, closing, noted, opening

_ALIGNMENTS = {"text-align:right": "align-right", "text-align:center": "align-center", "text-align:left": "align-left"}


def prose_html(text: str, kind: str, slots: Slots) -> str:
    """The text, with its slots filled, as a run of blocks."""
    if kind in ("markdown", "notebook"):
        return _markdown(text, slots)
    if kind == "latex":
        return "".join(
            _block(block.html(slots), block.text, slots, is_heading=block.level > 0)
            for block in latex_blocks(text, slots)
        )
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    return "".join(_block(_paragraph(part, slots), part, slots) for part in paragraphs)


def _paragraph(text: str, slots: Slots) -> str:
    return noted(slots.margin(text), f'<p class="lines">{slots.fill(text)}</p>')


def _block(inner: str, text: str, slots: Slots, *, is_heading: bool = False) -> str:
    found = classes(slots.marks_in(text))
    name = " ".join(part for part in ("block", "heading" if is_heading else "", found) if part)
    return f'<div class="{name}">{inner}</div>\n'


def _markdown(text: str, slots: Slots) -> str:
    reader = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False})
    reader.enable(["table", "strikethrough"]).disable(["code", "reference"])
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
        self.rules |= {name: _rule(shape, slots) for name, shape in _SHAPES.items()}


def _rule(shape: Callable[[Token, Slots], str], slots: Slots) -> Callable[..., str]:
    return lambda tokens, place, *_: shape(tokens[place], slots)


def _text(token: Token, slots: Slots) -> str:
    return slots.fill(token.content)


def _code(token: Token, slots: Slots) -> str:
    return f"<code>{slots.fill(token.content)}</code>"


def _code_block(token: Token, slots: Slots) -> str:
    return noted(slots.margin(token.content), f"<pre><code>{slots.fill(token.content)}</code></pre>\n")


def _image(token: Token, slots: Slots) -> str:
    name = slots.plain(str(token.attrs.get("src", "")))
    return f'<span class="picture"><b>Image, not read</b> {slots.fill(token.content)} <i>{name}</i></span>'


def _opened(token: Token, _: Slots) -> str:
    return f"{opening(token.meta.get('notes', ''))}<{token.tag}>"


def _closed(token: Token, _: Slots) -> str:
    return f"</{token.tag}>{closing(token.meta.get('notes', ''))}\n"


def _table_opened(token: Token, _: Slots) -> str:
    return f'{opening(token.meta.get("notes", ""))}<div class="table"><table>'


def _table_closed(token: Token, _: Slots) -> str:
    return f"</table></div>{closing(token.meta.get('notes', ''))}\n"


_SHAPES: Mapping[str, Callable[[Token, Slots], str]] = {
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
