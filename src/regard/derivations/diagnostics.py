"""A judged document in a terminal: each step that needs a look with its source line and carets, then every question."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.derivations.excerpt import ExcerptLine, excerpt
from regard.derivations.judged import (
    JudgedDocument,
    Mark,
    QuestionState,
    Standing,
    headline,
    notes,
    standing,
    tally,
    tally_in_words,
    worst,
)
from regard.render.terminal import say, spelled

Shown = Literal["refuted", "undecided", "all"]
_SHOWN: Mapping[Shown, tuple[Standing, ...]] = {
    "refuted": ("refuted",),
    "undecided": ("refuted", "undecided"),
    "all": ("refuted", "undecided", "holds", "proved", "given"),
}
_STYLES: Mapping[Standing, str] = {
    "refuted": "bold red",
    "undecided": "bold yellow",
    "holds": "green",
    "proved": "green",
    "given": "dim",
}
_SIGNS: Mapping[Standing, str] = {"refuted": "✗", "undecided": "?", "holds": "✓", "proved": "✓", "given": "·"}
_WORDS: Mapping[Standing, str] = {
    "proved": "proved",
    "holds": "hold",
    "refuted": "refuted",
    "undecided": "undecided",
    "given": "given",
}
_WIDEST = 120
_NARROWEST = 24


def show_judged(console: Console, document: JudgedDocument, *, shown: Shown = "refuted") -> None:
    """Prints the diagnostics, a row for each question and the counts."""
    show_diagnostics(console, document, shown=shown)
    show_questions(console, document)
    show_tally(console, document)


def show_diagnostics(console: Console, document: JudgedDocument, *, shown: Shown = "refuted") -> None:
    """Prints each step that stands as `shown` asks: where it is, what is the matter, and what shows it."""
    claims = {question.id: question.claims for question in document.questions}
    explained: set[str] = set()
    for mark in document.marks:
        if standing(mark.verdict) not in _SHOWN[shown]:
            continue
        helpful = [claim for claim in claims.get(mark.verdict.question or "", ())[:1] if claim not in explained]
        explained.update(helpful)
        _Diagnostic(console=console, document=document, mark=mark).show(helpful)


@dataclass(frozen=True, kw_only=True)
class _Diagnostic:
    """One step on its way to the console."""

    console: Console
    document: JudgedDocument
    mark: Mark

    def show(self, claims: Iterable[str]) -> None:
        """Prints the header, the place, the source with carets, and what is known."""
        verdict, console = self.mark.verdict, self.console
        stands = standing(verdict)
        lead = Text(spelled(f"{_one_line(stands)}[{_one_line(verdict.id)}]: ", console.encoding), style=_STYLES[stands])
        say(console, _one_line(headline(verdict)), style="bold", indent=4, lead=lead)
        lines = self._lines()
        margin = max((len(self._number(line)) for line in lines), default=1)
        place = str(verdict.where) if verdict.where else self.document.path
        arrow = Text(" " * margin + "--> ", style="blue")
        console.print(arrow + Text(_one_line(spelled(place, console.encoding))), soft_wrap=True)
        self._show_source(lines, margin)
        for name, text in self._facts(claims):
            self._show_fact(name, _one_line(text), margin)
        console.print()

    def _lines(self) -> tuple[ExcerptLine, ...]:
        width = max(min(self.console.width, _WIDEST) - len(str(self.document.text.count("\n") + 1)) - 3, _NARROWEST)
        mark = self.mark
        return excerpt(self.document.text, mark.start, mark.end, width=width, encoding=self.console.encoding)

    def _number(self, line: ExcerptLine) -> str:
        """The line's number in the file; in a notebook only the line of the step's sign is known."""
        if line.number is None:
            return "..."
        if self.document.kind != "notebook":
            return str(line.number)
        where = self.mark.verdict.where
        is_one_line = "\n" not in self.document.text[self.mark.start : self.mark.end]
        return str(where.line) if where and is_one_line else ""

    def _show_source(self, lines: Iterable[ExcerptLine], margin: int) -> None:
        style = _STYLES[standing(self.mark.verdict)]
        bar = Text(f"{' ' * margin} |", style="blue")
        self._print(bar)
        for line in lines:
            gutter = Text(f"{self._number(line):>{margin}} |" if line.number else "...", style="blue")
            self._print(gutter + Text(f" {line.text}" if line.number else ""))
            if line.carets:
                self._print(bar + Text(f" {line.carets}", style=style))

    def _show_fact(self, name: str, text: str, margin: int) -> None:
        label = Text.assemble(" " * margin, (" = ", "blue"), (f"{name}: ", "bold"))
        if name in ("help", "reproduce"):  # commands are copied, so they stay on one line
            self._print(label + Text(spelled(text, self.console.encoding)))
        else:
            say(self.console, text, lead=label)

    def _print(self, line: Text) -> None:
        line.rstrip()
        self.console.print(line, soft_wrap=True)

    def _facts(self, claims: Iterable[str]) -> Iterator[tuple[str, str]]:
        verdict = self.mark.verdict
        if verdict.counterexample:
            yield "counterexample", verdict.counterexample
        for note in notes(verdict):
            yield "note", note
        if standing(verdict) != "refuted":
            return
        for claim in claims:
            yield "help", f"regard claims --explain {claim}"
        if verdict.reproduce:
            yield "reproduce", verdict.reproduce


def show_questions(console: Console, document: JudgedDocument) -> None:
    """Prints one row a question: how it stands, its counts, and the claims that bear on what was not judged."""
    if document.is_part or not document.questions:
        return
    rows = [_row(document, question) for question in document.questions]
    texts = [[spelled(_one_line(cell), console.encoding) for cell in (row.id, row.title, row.told)] for row in rows]
    widest_id, widest_title, widest_told = (max(map(cell_len, column)) for column in zip(*texts, strict=True))
    room = max(min(console.width, _WIDEST) - widest_id - widest_told - 6, _NARROWEST)
    for row, (name, title, told) in zip(rows, texts, strict=True):
        line = Text.assemble((spelled(_SIGNS[row.stands], console.encoding), _STYLES[row.stands]), " ", (name, "bold"))
        line.pad_right(widest_id + 4 - line.cell_len)
        line.append(set_cell_size(_cut(title, room, console.encoding), min(widest_title, room) + 2))
        line.append(told, style=_STYLES[row.stands].removeprefix("bold "))
        console.print(line, soft_wrap=True)
        if row.claims:
            say(console, f"see {', '.join(row.claims)}", style="dim", indent=widest_id + 4)
    console.print()


@dataclass(frozen=True, kw_only=True)
class _Row:
    id: str
    title: str
    told: str
    stands: Standing
    claims: tuple[str, ...]


def _row(document: JudgedDocument, question: QuestionState) -> _Row:
    marks = document.marks_of(question.id)
    counts = tally(marks)
    told = " · ".join(f"{counts[name]} {word}" for name, word in _WORDS.items() if counts[name])
    is_open = not marks and question.state != "unanswered"
    return _Row(
        id=question.id,
        title=question.title,
        told=told or question.state,
        stands=worst(marks),
        claims=question.claims if is_open else (),
    )


def _cut(text: str, width: int, encoding: str) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    ellipsis = spelled("…", encoding)
    return text if cell_len(text) <= width else set_cell_size(text, width - len(ellipsis)).rstrip() + ellipsis


def show_tally(console: Console, document: JudgedDocument) -> None:
    """Prints the counts: how many steps, how they stand, and which share could be read."""
    number = len(document.marks)
    counts = f"{number} step{'' if number == 1 else 's'}: {tally_in_words(document.marks)}"
    say(console, f"{counts} ({_percent(document.understood)} understood)", style="bold")


def _percent(share: float) -> str:
    """A share in per cent, rounded down so that only all is 100 %."""
    return f"{int(share * 100 + 1e-9)} %"


def _one_line(text: str) -> str:
    """The text with every blank and break as one space."""
    return " ".join(text.split())
