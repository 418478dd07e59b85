"""The catalogue itself: what could be decided, before anything is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from regard.render.terminal import say


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One claim as the catalogue lists it."""

    id: str
    statement: str
    settings: str
    is_myth: bool


def show_listing(console: Console, groups: Mapping[str, Sequence[Entry]]) -> None:
    """Prints every entry under its section: the id, the statement, and the numbers that --set can change."""
    for title, entries in groups.items():
        say(console, title, style="bold")
        for entry in entries:
            console.print(Text.assemble("  ", (entry.id, "green"), ("  myth" if entry.is_myth else "", "magenta")))
            say(console, entry.statement, indent=6)
            if entry.settings:
                say(console, entry.settings, style="dim", indent=6)
