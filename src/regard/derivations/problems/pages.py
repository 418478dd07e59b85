"""Problems in a terminal: which there are, what one asks, and what is wrong with one."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from regard.render.terminal import ALARM, say, spelled


@dataclass(frozen=True, kw_only=True)
class ProblemEntry:
    """A problem in the list."""

    name: str
    title: str
    num_questions: int
    points: float


@dataclass(frozen=True, kw_only=True)
class QuestionEntry:
    """What one question asks."""

    id: str
    title: str
    setting: str
    points: float
    asks: tuple[str, ...]
    given: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SymbolEntry:
    """What one symbol means."""

    name: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class ProblemPage:
    """A problem laid open: its questions, and the symbols of each setting."""

    name: str
    title: str
    source: str
    questions: tuple[QuestionEntry, ...]
    settings: tuple[tuple[str, tuple[SymbolEntry, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """Something wrong with a problem file, and on which line, if that is known."""

    line: int | None
    message: str


def counted(number: float, what: str) -> str:
    """The number with its noun.

    >>> counted(1, "point"), counted(2.5, "point")
    ('1 point', '2.5 points')
    """
    return f"{number:g} {what}{'' if number == 1 else 's'}"


def show_list(console: Console, entries: Sequence[ProblemEntry]) -> None:
    """Prints a line for each problem."""
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        lead = Text(entry.name.ljust(width + 2), style="green")
        say(
            console,
            f"{entry.title} ({counted(entry.num_questions, 'question')}, {counted(entry.points, 'point')})",
            lead=lead,
        )


def show_problem(console: Console, page: ProblemPage) -> None:
    """Prints the questions, then the symbols of each setting that they use."""
    say(console, f"{page.name}: {page.title}", style="bold")
    if page.source:
        say(console, page.source, style="dim")
    for question in page.questions:
        console.print()
        points = f"  ({counted(question.points, 'point')})" if question.points else ""
        say(console, f"{question.title}{points}", lead=Text(f"{question.id}  ", style="green"))
        for text in (*question.asks, *(f"given: {text}" for text in question.given)):
            say(console, text, indent=6)
        tail = f"; claims: {', '.join(question.claims)}" if question.claims else ""
        say(console, f"symbols: {question.setting}{tail}", style="dim", indent=6)
    for name, symbols in page.settings:
        console.print()
        say(console, f"Symbols of {name}", style="bold")
        width = max((len(symbol.name) for symbol in symbols), default=0)
        for symbol in symbols:
            say(console, symbol.meaning, lead=Text(f"  {symbol.name.ljust(width + 2)}"))


def show_complaints(console: Console, file: str, complaints: Sequence[Complaint]) -> None:
    """Prints a line for each complaint, never broken, as compilers do; or that there is none."""
    for complaint in complaints:
        place = f"{file}:{complaint.line}: " if complaint.line else f"{file}: "
        console.print(Text(spelled(f"{place}{complaint.message}", console.encoding), style=ALARM), soft_wrap=True)
    if not complaints:
        line = spelled(f"{file}: nothing is wrong with it", console.encoding)
        console.print(Text(line, style="green"), soft_wrap=True)
