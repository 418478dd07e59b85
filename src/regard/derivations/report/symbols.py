"""What each symbol of a document was taken to be where no problem says it, in a terminal."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from regard.derivations.context.declarations import SymbolRow, symbol_rows
from regard.derivations.context.formulas import read_formulas
from regard.derivations.reading.files import declarations_beside, read
from regard.render.terminal import say


def _cells(row: SymbolRow) -> tuple[str, str, str]:
    return f"line {row.line}", row.symbol, row.taken_as


def show_symbols(console: Console, paths: Iterable[str]) -> None:
    """The symbols of some documents: from which line on, what each was taken to be, and why."""
    for path in map(Path, paths):
        document = replace(read(path), declarations=declarations_beside(path))
        rows = symbol_rows(document, read_formulas(document))
        widths = [max((len(text) for text in column), default=0) for column in zip(*map(_cells, rows), strict=True)]
        say(console, f"{path}: {len(rows)} symbols" if rows else f"{path}: no symbols found")
        for row in rows:
            cells = (text.ljust(width) for text, width in zip(_cells(row), widths, strict=True))
            say(console, f"  {'  '.join(cells)}  {row.why}")
