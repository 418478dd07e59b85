"""The whole page as one file's text, and how it is shown in a notebook."""

import base64
import gzip
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard import __version__
from regard.claims.explanation import Explanation
from regard.core.files import write_atomically
from regard.derivations.judged import JudgedDocument
from regard.explorer.claims_data import claim_entries
from regard.explorer.joining import join_modules
from regard.explorer.sheet import sheet_parts
from regard.explorer.templates import fill, page_file, with_formulas
from regard.render.page import asset, content_policy

_PARTS = ("copy", "swing", "shuffle", "positions", "verdicts", "sheet")
_STYLES = ("shell.css", "document.css", "steps.css", "charts.css", "claims/claims.css")
_OWN_STYLES = ("page.css", "controls.css", "parts.css")


@dataclass(frozen=True, kw_only=True)
class ExplorerPage:
    """One self-contained HTML page; in a notebook it shows itself in a frame of this height in pixels."""

    html: str = field(repr=False)
    height: int = 860

    def write(self, path: Path) -> None:
        """Puts the page into a file."""
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="Attention, by hand" width="100%" height="{self.height}" '
            f'style="border: 1px solid #8884; border-radius: 6px" srcdoc="{html.escape(self.html)}"></iframe>'
        )


def build_page(explanations: Sequence[Explanation], document: JudgedDocument) -> ExplorerPage:
    """The page with these claims as its verdicts and this document as the derivation that is judged."""
    style = "\n".join([*(asset(name) for name in _STYLES), *(page_file(name).strip() for name in _OWN_STYLES)])
    script = "\n".join([f"{{{asset('shell.js')}}}", join_modules("main.js", page_file)])
    inside = sheet_parts(document)
    parts = "\n".join(fill(with_formulas(page_file(f"parts/{name}.html")), inside) for name in _PARTS)
    return ExplorerPage(
        html=fill(
            page_file("index.html"),
            {
                "policy": html.escape(content_policy(style, script)),
                "version": __version__,
                "style": style,
                "icons": asset("icons.svg"),
                "parts": parts,
                "claims": _packed(claim_entries(explanations)),
                "script": script,
            },
        )
    )


def _packed(entries: Sequence[Mapping[str, object]]) -> str:
    """The entries as JSON, compressed; the same entries always give the same text."""
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
