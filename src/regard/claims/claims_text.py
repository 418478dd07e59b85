"""The verdicts of `regard claims` in a terminal: one line each, the counterexample below what is refuted."""

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.core.verdict import ClaimVerdict, count_statuses
from regard.render.terminal import ALARM, SIGNS, STYLES, plural, quantity, say, spelled


def show_verdicts(console: Console, groups: Mapping[str, Sequence[ClaimVerdict]], *, noun: str) -> None:
    """Prints each group's title, one line per verdict, and how many verdicts have each status."""
    verdicts = [verdict for group in groups.values() for verdict in group]
    columns = zip(*(_cells(console, verdict) for verdict in verdicts), strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    for title, group in groups.items():
        say(console, title, style="bold")
        for verdict in group:
            _show_line(console, verdict, widths)
    console.print()
    counts = " · ".join(f"{number} {status}" for status, number in count_statuses(verdicts).items())
    say(console, f"{plural(len(verdicts), noun)}: {counts}")
    surprises = [verdict.id for verdict in verdicts if not verdict.is_as_expected]
    if surprises:
        say(console, f"{plural(len(surprises), 'unexpected verdict')}: {', '.join(surprises)}", style=ALARM)


def _cells(console: Console, verdict: ClaimVerdict) -> list[str]:
    cells = (verdict.id, verdict.status, quantity(verdict.value, verdict.bound))
    return [spelled(cell, console.encoding) for cell in cells]


def _show_line(console: Console, verdict: ClaimVerdict, widths: Sequence[int]) -> None:
    style = STYLES[verdict.status] if verdict.is_as_expected else ALARM
    line = Text.assemble("  ", (spelled(SIGNS[verdict.status], console.encoding), style), " ")
    for cell, width, cell_style in zip(_cells(console, verdict), widths, ("", style, ""), strict=True):
        line.append(cell, style=cell_style).append(" " * (width + 2 - cell_len(cell)))
    line.append(_fitted(_methods(verdict), console.width - line.cell_len, console.encoding), style="dim")
    line.rstrip()
    console.print(line, no_wrap=True, overflow="crop", crop=True)
    for text, note_style in _notes(verdict):
        say(console, text, style=note_style, indent=6)


def _notes(verdict: ClaimVerdict) -> Iterable[tuple[str, str]]:
    """What belongs below the line: an unexpected verdict with its reason, and the counterexample."""
    if not verdict.is_as_expected:
        yield f"the catalog expects {verdict.expected}. {verdict.reason or ''}", ALARM
    elif verdict.status == "undecided" and verdict.reason:
        yield verdict.reason, STYLES["undecided"]
    if verdict.counterexample:
        yield verdict.counterexample, "dim"


def _methods(verdict: ClaimVerdict) -> list[str]:
    """The methods that gave evidence, the deciding ones first."""
    deciding_first = sorted(verdict.evidence, key=lambda item: item.status != verdict.status)
    return list(dict.fromkeys(item.route for item in deciding_first)) or [""]


def _fitted(methods: Sequence[str], width: int, encoding: str) -> str:
    """The methods by name; if that is too long, the first one and how many more there are."""
    full, ellipsis = spelled(" + ".join(methods), encoding), spelled("…", encoding)
    short = spelled(f"{methods[0]} +{len(methods) - 1}", encoding) if len(methods) > 1 else full
    cut = short[: max(width - len(ellipsis), 0)] + ellipsis
    return next((text for text in (full, short, cut) if cell_len(text) <= width), "")
