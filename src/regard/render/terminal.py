"""Text in a terminal: wrapped paragraphs, rounded numbers, catalog listings, in whatever encoding it has."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from regard.core.verdict import Status

SIGNS: Mapping[Status, str] = {"proved": "✓", "holds": "≈", "refuted": "✗", "undecided": "?"}
STYLES: Mapping[Status, str] = {"proved": "green", "holds": "cyan", "refuted": "magenta", "undecided": "yellow"}
ALARM = "bold red"
_ASCII = {
    "✓": "+", "✗": "x", "≈": "~", "≠": "!=", "≤": "<=", "≥": ">=", "±": "+-", "−": "-", "–": "-", "—": "-", "·": "*",
    "→": "->", "⇒": "=>", "⟺": "<=>", "↦": "->", "∞": "inf", "√": "sqrt", "‖": "||", "∈": " in ", "∑": "sum", "×": "x",
    "′": "'", "″": "''",
    "⟨": "<", "⟩": ">", "…": "...", "’": "'", "‘": "'", "“": '"', "”": '"', "∂": "d", "∇": "grad ", "∫": "int",
    "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")", "≡": "==", "∝": "~", "∀": "for all ", "⊙": "(*)", "⊗": "(x)",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CatalogEntry:
    """One claim or law as `--list` shows it; `tag` stands beside the id, `settings` below the statement."""

    id: str
    statement: str
    settings: str = ""
    tag: str = ""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Lets the command line end quietly; rich would exit with a code that means something else here."""
        raise BrokenPipeError


def open_console(*, is_for_errors: bool = False) -> Console:
    """A console on standard output or standard error, in color only where the terminal supports it."""
    return _Console(stderr=is_for_errors, highlight=False, markup=False, emoji=False)


def say(console: Console, text: str, *, style: str = "", indent: int = 0, lead: Text | None = None) -> None:
    """Prints a paragraph, wrapped to the console's width and spelled in its encoding; `lead` fills the first indent.

    A lead that would fill half of each line is wrapped with the text.
    """
    paragraph = Text(spelled(text, console.encoding), style=style)
    lead = Text() if lead is None else lead
    if lead.cell_len > console.width // 2:
        paragraph, lead = lead + paragraph, Text()
    else:
        indent = max(indent, lead.cell_len)
        lead.pad_right(indent - lead.cell_len)
    for line in paragraph.wrap(console, max(console.width - indent, 20)):
        line.rstrip()
        console.print(lead + line, soft_wrap=True)
        lead = Text(" " * indent)


def status_label(console: Console, status: Status) -> Text:
    """The sign and name of a status, to start a paragraph with."""
    return Text(f"{spelled(SIGNS[status], console.encoding)} {status}  ", style=STYLES[status])


def show_columns(console: Console, rows: Iterable[Sequence[str]], *, has_header: bool = True) -> None:
    """Prints rows in aligned columns; a header is dim."""
    cells = [[spelled(cell, console.encoding) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(Text(f"  {line}".rstrip(), style="dim" if has_header and not number else ""), soft_wrap=True)


def show_listing(console: Console, groups: Mapping[str, Sequence[CatalogEntry]]) -> None:
    """Prints the entries of each section: id, statement and settings."""
    for title, entries in groups.items():
        say(console, title, style="bold")
        for entry in entries:
            console.print(Text.assemble("  ", (entry.id, "green"), (f"  {entry.tag}" if entry.tag else "", "magenta")))
            say(console, entry.statement, indent=6)
            if entry.settings:
                say(console, entry.settings, style="dim", indent=6)


def quantity(value: float | None, bound: float | None, *, digits: int = 6) -> str:
    """The value, to one digit beyond the first that its error bound makes uncertain, and the bound.

    >>> quantity(0.22201862792, 1e-14), quantity(0.4969, 0.003), quantity(1.0, None)
    ('0.222019 ± 1e-14', '0.4969 ± 0.003', '1')
    """
    if value is None:
        return ""
    if bound is None or not math.isfinite(value) or not math.isfinite(bound):
        return _rounded(value, digits)
    known = digits if bound == 0 or value == 0 else _exponent(value) - _exponent(bound) + 2
    return f"{_rounded(value, min(max(known, 1), digits))} ± {_rounded(bound, 1)}"


def percent(share: float, digits: int = 0) -> str:
    """The share in percent: `99 %`.

    >>> percent(0.985, digits=1)
    '98.5 %'
    """
    return f"{100 * share:.{digits}f} %"


def plural(number: int, noun: str) -> str:
    """The number with its noun: `1 claim`, `2 claims`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _exponent(number: float) -> int:
    return math.floor(math.log10(abs(number)))


def _rounded(number: float, digits: int) -> str:
    text = f"{number:.0f}" if 1 <= abs(number) < 1e6 and digits <= _exponent(number) else f"{number:.{digits}g}"
    return re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", text)


def spelled(text: str, encoding: str) -> str:
    """The text in characters that the encoding has, without control characters that could steer the terminal.

    >>> spelled("β ≥ ½, so a_a → ½", "ascii")
    'beta >= 1/2, so a_a -> 1/2'
    >>> spelled("β ≥ ½", "utf-8")
    'β ≥ ½'
    """
    return "".join(_spelled_character(character, encoding) for character in text)


def _spelled_character(character: str, encoding: str) -> str:
    if character.isascii():
        return character if character.isprintable() or character in "\n\t" else "?"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs"):
        return "?"
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return _in_ascii(character)
    return character


def _in_ascii(character: str) -> str:
    name = unicodedata.name(character, "")
    if character in _ASCII:
        return _ASCII[character]
    if name.startswith("GREEK"):
        letter = name.split(" LETTER ")[-1].split(" WITH ")[0].removeprefix("FINAL ").split()[-1]
        return letter.capitalize() if "CAPITAL" in name else letter.lower()
    if name.startswith("COMBINING"):
        return ""
    simple = unicodedata.normalize("NFKD", character).replace("\N{FRACTION SLASH}", "/")
    simple = "".join(part for part in simple if not unicodedata.combining(part)).replace("\N{MINUS SIGN}", "-")
    is_raised = "SUPERSCRIPT" in name or name.startswith("MODIFIER LETTER")
    mark = "^" if is_raised else "_" if "SUBSCRIPT" in name else ""
    return mark + simple if simple.isascii() else "?"
