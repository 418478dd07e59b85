"""A class in a terminal: one line a document, then how many there are of each kind."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.core.verdict import STATUSES
from regard.render.terminal import ALARM, STYLES, say, spelled

INFERRED = "inferred"
_WIDEST_NAME = 48


@dataclass(frozen=True, kw_only=True)
class DocumentRow:
    """What is said of one document in one line; `outcome` is "judged", or why it was not."""

    file: str
    outcome: str
    reason: str | None
    problem: str | None
    is_guessed: bool
    counts: Mapping[str, int]
    understood: float
    score: float
    max_score: float


def show_rows(console: Console, rows: Sequence[DocumentRow], *, is_brief: bool) -> None:
    """Prints the class, or, of a single document that was shown before, only what was not said of it yet."""
    if not is_brief:
        show_class(console, rows)
    guessed = {row.problem for row in rows if row.is_guessed and row.problem}
    if named := sorted(guessed - {INFERRED}):
        say(console, f"Judged as {', '.join(named)}: a guess. `--problem NAME` says what is answered.", style="dim")
    if INFERRED in guessed:
        say(
            console,
            "No shipped problem fits, so symbols were read off the text. `--problem FILE` gives them a meaning.",
        )


def show_class(console: Console, rows: Sequence[DocumentRow]) -> None:
    """Prints a line for each document and the totals."""
    names = [_name(console, row.file) for row in rows]
    width = max(map(cell_len, names), default=0)
    for row, name in zip(rows, names, strict=True):
        line = Text(name + " " * (width + 2 - cell_len(name)))
        if row.outcome == "judged":
            _add_counts(line, row)
            console.print(line, soft_wrap=True)
        else:
            say(console, f"{row.outcome}: {row.reason}", style=ALARM, lead=line)
    console.print()
    _show_totals(console, rows)


def _name(console: Console, file: str) -> str:
    """The name on one line, with its end kept if it is too long."""
    name = " ".join(spelled(file, console.encoding).split())
    ellipsis = spelled("…", console.encoding)
    return name if len(name) <= _WIDEST_NAME else ellipsis + name[-_WIDEST_NAME + len(ellipsis) :]


def _add_counts(line: Text, row: DocumentRow) -> None:
    for status in STATUSES:
        number = row.counts[status]
        if status != "proved" or number:
            line.append(f"{number:4} {status}", style=STYLES[status] if number else "dim")
    line.append(f"  {int(row.understood * 100 + 1e-9):3} % understood")
    if row.max_score:
        line.append(f"  {row.score:g} of {row.max_score:g} points")


def _show_totals(console: Console, rows: Sequence[DocumentRow]) -> None:
    outcomes = Counter(row.outcome for row in rows)
    told = " · ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    steps = " · ".join(f"{sum(row.counts[status] for row in rows)} {status}" for status in STATUSES)
    say(console, f"{len(rows)} documents: {told}", style="bold")
    say(console, f"{sum(sum(row.counts.values()) for row in rows)} steps: {steps}", style="bold")
