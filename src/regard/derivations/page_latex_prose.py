r"""The prose of a LaTeX file, as far as a reader needs it: sections, lists, emphasis. The rest is shown as written."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.derivations.page_slots import Slots
from regard.derivations.step_cards import noted

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


@dataclass(frozen=True, kw_only=True)
class LatexBlock:
    """A paragraph, a list item (with its label) or a heading (with its level, from 2)."""

    text: str
    level: int = 0
    label: str | None = None

    def html(self, slots: Slots) -> str:
        """The block with its margin notes and its slots filled."""
        shown = html.escape(self.text)
        for pattern, replacement in _STYLES * 2:  # twice, for emphasis in emphasis
            shown = pattern.sub(replacement, shown)
        filled = slots.fill_escaped(shown)
        if self.level:
            shown = f"<h{self.level}>{filled}</h{self.level}>"
        elif self.label is not None:
            shown = f'<p class="item"><span class="bullet">{slots.fill(self.label) or "•"}</span> {filled}</p>'
        else:
            shown = f"<p>{filled}</p>"
        return noted(slots.margin(self.text), shown)


def latex_blocks(text: str, slots: Slots) -> Iterator[LatexBlock]:
    """The blocks of a file's body in order, each display a block of its own."""
    body = _BODY.search(text)
    shown = _COMMENT.sub("", body[1] if body else text)
    place, label = 0, None
    for opener in _OPENER.finditer(shown):
        yield from _paragraphs(shown[place : opener.start()], label, slots)
        place, label = opener.end(), None
        if opener["level"]:
            yield LatexBlock(text=opener["title"], level=_LEVELS[opener["level"]])
        elif opener[0].startswith("\\item"):
            label = opener["label"] or ""
    yield from _paragraphs(shown[place:], label, slots)


def _paragraphs(text: str, label: str | None, slots: Slots) -> Iterator[LatexBlock]:
    for place, part in enumerate(slots.split(_DROPPED.sub(" ", text))):
        yield LatexBlock(text=part, label=label if place == 0 else None)
