"""Judged documents in a terminal: each step that needs attention with its source line and carets, then the counts."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.core.verdict import STATUSES
from regard.derivations.report import (
    counts_in_words,
    headline,
    images_in_words,
    ineffective_comments,
    nothing_found,
    percent,
    plural,
    remarks,
    state_in_words,
)
from regard.derivations.report.excerpt import ExcerptLine, excerpt
from regard.derivations.results import INFERRED, DocumentReport, Standing, StepVerdict, worst_standing
from regard.render.terminal import ALARM, STYLES, say, spelled

Shown = Literal["refuted", "undecided", "all"]
_STANDING_STYLES: Mapping[Standing, str] = {
    "refuted": "bold red",
    "undecided": "bold yellow",
    "ignored": "dim",
    "holds": "green",
    "proved": "green",
    "given": "dim",
}
_SIGNS: Mapping[Standing, str] = {
    "refuted": "✗",
    "undecided": "?",
    "ignored": "–",
    "holds": "✓",
    "proved": "✓",
    "given": "·",
}
_COMMANDS = ("help", "reproduce")
_MAX_WIDTH = 120
_MIN_WIDTH = 24
_MAX_NAME = 48
_MOST_OPEN = 12  # undecided steps with a line of their own
_SOURCE_WIDTH = 32


# -- one document ------------------------------------------------------------------------------------------------------
def show_document(
    console: Console, report: DocumentReport, *, shown: Shown = "refuted", has_questions: bool = True
) -> None:
    """Prints the refuted steps with their evidence, a line per undecided one, a row per question and the counts.

    With `shown="all"` every step is printed with its source and evidence; with "refuted", no undecided one.
    """
    claims = {row.id: row.claims for row in report.questions}
    explained: set[str] = set()
    for verdict in report.verdicts:
        if verdict.standing != "refuted" and shown != "all":
            continue
        helpful = [claim for claim in claims.get(verdict.question or "", ())[:1] if claim not in explained]
        explained.update(helpful)
        _show_step(console, report, verdict, helpful)
    if shown == "undecided":
        _show_open(console, report.file, [each for each in report.verdicts if each.standing == "undecided"])
    if has_questions and report.questions and report.problem != INFERRED:
        _show_questions(console, report)
    number = len(report.verdicts)
    if number:
        counts = f"{plural(number, 'step')}: {counts_in_words(report.verdicts)}"
        share = "" if report.understood is None else f" ({percent(report.understood)} understood)"
        say(console, counts + share, style="bold")
    else:
        say(console, nothing_found(report), style="bold")
    for remark in filter(None, (images_in_words(report), ineffective_comments(report))):
        say(console, _one_line(remark))
    if report.problem != INFERRED and report.document is not None and report.document.declares_symbols:
        say(console, "It declares symbols of its own, which have no effect: the problem says what its symbols mean.")


def _show_step(console: Console, report: DocumentReport, verdict: StepVerdict, claims: Iterable[str]) -> None:
    """Prints the verdict, the place, the source with carets, and the evidence."""
    style = _STANDING_STYLES[verdict.standing]
    lead = Text(spelled(f"{verdict.standing}[{_one_line(verdict.id)}]: ", console.encoding), style=style)
    say(console, _one_line(headline(verdict)), style="bold", indent=4, lead=lead)
    numbered = [(_line_number(line, report, verdict), line) for line in _excerpt(console, report, verdict)]
    margin = max((len(number) for number, _ in numbered), default=1)
    place = str(verdict.where) if verdict.where else report.file
    arrow = Text(" " * margin + "--> ", style="blue")
    console.print(arrow + Text(_one_line(spelled(place, console.encoding))), soft_wrap=True)
    bar = Text(f"{' ' * margin} |", style="blue")
    _print(console, bar)
    for number, line in numbered:
        gutter = Text(f"{number:>{margin}} |" if line.number else "...", style="blue")
        _print(console, gutter + Text(f" {line.text}" if line.number else ""))
        if line.carets:
            _print(console, bar + Text(f" {line.carets}", style=style))
    for name, text in _evidence(verdict, claims):
        label = Text.assemble(" " * margin, (" = ", "blue"), (f"{name}: ", "bold"))
        if name in _COMMANDS:  # commands are copied, so they stay on one line
            _print(console, label + Text(spelled(_one_line(text), console.encoding)))
        else:
            say(console, _one_line(text), lead=label)
    console.print()


def _show_open(console: Console, file: str, verdicts: Collection[StepVerdict]) -> None:
    """Prints a line per undecided step, those that look wrong first, and how many more there are."""
    if not verdicts:
        return
    say(console, f"Undecided in {_one_line(file)}:")
    listed = sorted(verdicts, key=lambda verdict: not verdict.is_doubtful)[:_MOST_OPEN]
    places = [_one_line(spelled(_place(verdict, file), console.encoding)) for verdict in listed]
    width = max(map(cell_len, places))
    for verdict, place in zip(listed, places, strict=True):
        source = _cut(_one_line(spelled(verdict.source, console.encoding)), _SOURCE_WIDTH, console.encoding)
        line = Text.assemble((spelled(_SIGNS["undecided"], console.encoding), _STANDING_STYLES["undecided"]), " ")
        line.append(set_cell_size(place, width + 2), style="blue")
        line.append(set_cell_size(source, _SOURCE_WIDTH + 2), style="dim")
        notes = remarks(verdict) if verdict.is_doubtful else ()
        say(console, _one_line("; ".join((headline(verdict), *notes))), lead=line)
    if more := len(verdicts) - len(listed):
        say(console, f"{plural(more, 'more step')} undecided. Use --all to see every step.", style="dim")
    console.print()


def _place(verdict: StepVerdict, file: str) -> str:
    """Where a step is in its file: 10:24."""
    return str(verdict.where or "").removeprefix(file).lstrip(":, ")


def _excerpt(console: Console, report: DocumentReport, verdict: StepVerdict) -> tuple[ExcerptLine, ...]:
    text = report.document.text if report.document else ""
    width = max(min(console.width, _MAX_WIDTH) - len(str(text.count("\n") + 1)) - 3, _MIN_WIDTH)
    return excerpt(text, *verdict.span, width=width, encoding=console.encoding)


def _line_number(line: ExcerptLine, report: DocumentReport, verdict: StepVerdict) -> str:
    """The line's number in the file, in its cell of a notebook; a text that was put right has only the step's line."""
    if line.number is None:
        return "..."
    if report.document is None or not report.document.stored_lines:
        return str(line.number)
    if report.document.cells:
        return str(report.document.place(report.document.lines[line.number - 1].start).cell_line)
    start, end = verdict.span
    is_one_line = "\n" not in report.document.text[start:end]
    return str(verdict.where.line) if verdict.where and is_one_line else ""


def _evidence(verdict: StepVerdict, claims: Iterable[str]) -> Iterator[tuple[str, str]]:
    if verdict.counterexample:
        yield "counterexample", verdict.counterexample
    for remark in remarks(verdict):
        yield "note", remark
    if verdict.standing != "refuted":
        return
    for claim in claims:
        yield "help", f"regard claims --explain {claim}"
    if verdict.reproduce:
        yield "reproduce", verdict.reproduce


def _show_questions(console: Console, report: DocumentReport) -> None:
    """Prints one row per question: its steps, or its state and the claims that bear on it."""
    rows = [(row, report.verdicts_on(row.id)) for row in report.questions]
    cells = [
        (row.id, row.title, counts_in_words(verdicts, separator=" · ") or state_in_words(row)) for row, verdicts in rows
    ]
    texts = [[spelled(_one_line(cell), console.encoding) for cell in columns] for columns in cells]
    id_width, title_width, result_width = (max(map(cell_len, column)) for column in zip(*texts, strict=True))
    room = max(min(console.width, _MAX_WIDTH) - id_width - result_width - 6, _MIN_WIDTH)
    for (row, verdicts), (name, title, result) in zip(rows, texts, strict=True):
        standing = worst_standing(verdicts)
        style = _STANDING_STYLES[standing]
        line = Text.assemble((spelled(_SIGNS[standing], console.encoding), style), " ", (name, "bold"))
        line.pad_right(id_width + 4 - line.cell_len)
        line.append(set_cell_size(_cut(title, room, console.encoding), min(title_width, room) + 2))
        line.append(result, style=style.removeprefix("bold "))
        console.print(line, soft_wrap=True)
        if row.claims and not verdicts and row.state != "unanswered":
            say(console, f"see {', '.join(row.claims)}", style="dim", indent=id_width + 4)
    console.print()


def _cut(text: str, width: int, encoding: str) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    ellipsis = spelled("…", encoding)
    return text if cell_len(text) <= width else set_cell_size(text, width - len(ellipsis)).rstrip() + ellipsis


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


# -- many documents ----------------------------------------------------------------------------------------------------
def show_class(console: Console, reports: Iterable[DocumentReport]) -> None:
    """Prints a line per document and the totals; reports are read once and not kept."""
    rows: list[tuple[str, Text, bool]] = []
    outcomes: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for report in reports:
        rows.append((_short_name(console, report.file), _summary(report), report.outcome == "judged"))
        outcomes[report.outcome] += 1
        steps.update(report.counts)
    width = max((cell_len(name) for name, _, _ in rows), default=0) + 2
    for name, summary, is_judged in rows:
        lead = Text(name + " " * (width - cell_len(name)))
        if is_judged:
            console.print(lead + summary, soft_wrap=True)
        else:
            say(console, summary.plain, style=ALARM, lead=lead)
    console.print()
    documents = " · ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    statuses = " · ".join(f"{steps[status]} {status}" for status in STATUSES)
    say(console, f"{plural(len(rows), 'document')}: {documents}", style="bold")
    say(console, f"{plural(sum(steps.values()), 'step')}: {statuses}", style="bold")


def _short_name(console: Console, file: str) -> str:
    """The name on one line, without its beginning if it is too long."""
    name = _one_line(spelled(file, console.encoding))
    ellipsis = spelled("…", console.encoding)
    return name if len(name) <= _MAX_NAME else ellipsis + name[-_MAX_NAME + len(ellipsis) :]


def _summary(report: DocumentReport) -> Text:
    if report.outcome != "judged":
        return Text(f"{report.outcome}: {report.reason}")
    line, counts = Text(), report.counts
    for status in STATUSES:
        if status != "proved" or counts[status]:
            line.append(f"{counts[status]:4} {status}", style=STYLES[status] if counts[status] else "dim")
    line.append(f"  {percent(report.understood):>5} understood" if report.verdicts else f"  {nothing_found(report)}")
    if report.max_score:
        pending = f", {report.pending:g} for a person" if report.pending else ""
        line.append(f"  {report.score:g} of {report.max_score:g} points{pending}")
    return line


def show_guesses(console: Console, problems: Collection[str]) -> None:
    """Prints which problems were guessed from the documents, and how to set them."""
    named = sorted(set(problems) - {INFERRED})
    if named:
        say(console, f"Guessed the assignment: {', '.join(named)}. Use --problem NAME to set it.", style="dim")
    if INFERRED in problems:
        text = (
            "No shipped problem fits; the symbols were inferred from the document. Use --problem FILE to define them."
        )
        say(console, text, style="dim")
