"""Verdicts in a terminal: one line each, grouped, with the counterexample under what is refuted."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.core.verdict import ClaimVerdict, Status, Verdict, count
from regard.render.spelling import spelled

SIGNS: Mapping[Status, str] = {"proved": "✓", "holds": "≈", "refuted": "✗", "undecided": "?"}
STYLES: Mapping[Status, str] = {"proved": "green", "holds": "cyan", "refuted": "magenta", "undecided": "yellow"}
ALARM = "bold red"
_WIDEST_STATUS = max(map(len, SIGNS))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to the command line to end quietly; rich would exit with a code that means something else here."""
        raise BrokenPipeError


def open_console(*, is_for_errors: bool = False) -> Console:
    """A console on standard output, or standard error, that colours only where colour is welcome."""
    return _Console(stderr=is_for_errors, highlight=False, markup=False, emoji=False)


def say(console: Console, text: str, *, style: str = "", indent: int = 0, lead: Text | None = None) -> None:
    """Prints a paragraph, wrapped at the console's width and spelled in its encoding; `lead` fills the first indent."""
    paragraph = Text(spelled(text, console.encoding), style=style)
    lead = Text() if lead is None else lead
    indent = max(indent, lead.cell_len)
    lead.pad_right(indent - lead.cell_len)
    for line in paragraph.wrap(console, max(console.width - indent, 20)):
        line.rstrip()
        console.print(lead + line, soft_wrap=True)
        lead = Text(" " * indent)


def show_verdicts(console: Console, groups: Mapping[str, Sequence[Verdict]], *, what: str) -> None:
    """Prints each group's title and a line for each of its verdicts, then how many there are of each status."""
    verdicts = [verdict for group in groups.values() for verdict in group]
    columns = zip(*(_cells(console, verdict) for verdict in verdicts), strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    for title, group in groups.items():
        say(console, title, style="bold")
        for verdict in group:
            _show_line(console, verdict, widths)
    console.print()
    tally = " · ".join(f"{number} {status}" for status, number in count(verdicts).items())
    say(console, f"{_plural(len(verdicts), what)}: {tally}")
    astray = [verdict.id for verdict in verdicts if not verdict.is_as_it_should_be]
    if astray:
        say(console, f"{_plural(len(astray), 'verdict')} not as it should be: {', '.join(astray)}", style=ALARM)


def quantity(value: float | None, bound: float | None, *, digits: int = 6) -> str:
    """The value, to one digit beyond the first that its error bound makes uncertain, and the bound.

    >>> quantity(0.22201862792, 1e-14), quantity(0.4969, 0.003), quantity(1.0, None)
    ('0.222019 ± 1e-14', '0.4969 ± 0.003', '1')
    """
    if value is None:
        return ""
    if bound is None or not math.isfinite(value) or not math.isfinite(bound):
        return _rounded(value, digits)
    known = digits if bound == 0 or value == 0 else _power_of_ten(value) - _power_of_ten(bound) + 2
    return f"{_rounded(value, min(max(known, 1), digits))} ± {_rounded(bound, 1)}"


def _power_of_ten(number: float) -> int:
    return math.floor(math.log10(abs(number)))


def _plural(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rounded(number: float, digits: int) -> str:
    text = f"{number:.0f}" if 1 <= abs(number) < 1e6 and digits <= _power_of_ten(number) else f"{number:.{digits}g}"
    return re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", text)


def _cells(console: Console, verdict: Verdict) -> list[str]:
    cells = (verdict.id, verdict.status, quantity(verdict.value, verdict.bound))
    return [spelled(cell, console.encoding) for cell in cells]


def _show_line(console: Console, verdict: Verdict, widths: Sequence[int]) -> None:
    style = STYLES[verdict.status] if verdict.is_as_it_should_be else ALARM
    line = Text.assemble("  ", (spelled(SIGNS[verdict.status], console.encoding), style), " ")
    for cell, width, cell_style in zip(_cells(console, verdict), widths, ("", style, ""), strict=True):
        line.append(cell, style=cell_style).append(" " * (width + 2 - cell_len(cell)))
    line.append(_fitted(_routes(verdict), console.width - line.cell_len, console.encoding), style="dim")
    line.rstrip()
    console.print(line, no_wrap=True, overflow="crop", crop=True)
    for text, note_style in _notes(verdict):
        say(console, text, style=note_style, indent=6)


def _notes(verdict: Verdict) -> Iterable[tuple[str, str]]:
    """What must be said under the line: a surprise with its reason, and the counterexample."""
    if isinstance(verdict, ClaimVerdict) and not verdict.is_as_it_should_be:
        yield f"the catalogue expects {verdict.expected}. {verdict.reason or ''}", ALARM
    elif verdict.status == "undecided" and verdict.reason:
        yield verdict.reason, STYLES["undecided"]
    if verdict.counterexample:
        yield verdict.counterexample, "dim"


def _routes(verdict: Verdict) -> list[str]:
    """The routes of evidence, those that decided first."""
    if not isinstance(verdict, ClaimVerdict):
        return [verdict.method or ""]
    deciding_first = sorted(verdict.evidence, key=lambda item: item.status != verdict.status)
    return list(dict.fromkeys(item.route for item in deciding_first)) or [""]


def _fitted(routes: Sequence[str], width: int, encoding: str) -> str:
    """The routes by name; where that is too long the first of them, and how many more there are."""
    full, ellipsis = spelled(" + ".join(routes), encoding), spelled("…", encoding)
    short = spelled(f"{routes[0]} +{len(routes) - 1}", encoding) if len(routes) > 1 else full
    cut = short[: max(width - len(ellipsis), 0)] + ellipsis
    return next((text for text in (full, short, cut) if cell_len(text) <= width), "")
