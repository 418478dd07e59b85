"""A training as it goes on, and what came of it, in the terminal."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from regard.training.trained import Evaluation, Outlook, RunReport

_LEVELS = "▁▂▃▄▅▆▇█"


class TrainingDisplay:
    """Hears what a training tells: a bar with loss, speed and accuracy on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
        )
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("preparing", total=None, facts="")
        self._loss: float | None = None
        self._speeds: dict[int, float] = {}
        self._steps: dict[int, int] = {}
        self._members = 1
        self._known = ""

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def hear(self, message: dict[str, Any]) -> None:
        """Shows one message."""
        kind = message["kind"]
        if kind == "doing":
            self._say(message["text"])
        elif kind == "warning":
            self._console.print(Text(message["text"], style="yellow"))
        elif kind == "plan":
            self._members, self._speeds, self._steps = message["members"], {}, {}
            self._bar.update(self._task, total=message["steps"])
            self._say(f"{message['steps']} steps with {message['layout']}")
        elif kind in ("held out", "together"):
            self._known = f"held out {message['right'] / message['asked']:.1%}"
            who = "together" if kind == "together" else f"step {message['step']}{self._who(message)}"
            self._say(f"{who}: {message['right']} of {message['asked']} held-out questions right")
        elif kind == "step":
            self._step(message)

    def _step(self, message: dict[str, Any]) -> None:
        speed: float = message["tokens"] / message["seconds"]
        member: int = message.get("member", 0)
        self._loss = message["loss"] if self._loss is None else 0.9 * self._loss + 0.1 * message["loss"]
        self._speeds[member] = 0.9 * self._speeds.get(member, speed) + 0.1 * speed
        self._steps[member] = message["step"]
        facts = f"loss {self._loss:.3f}  {sum(self._speeds.values()):,.0f} tokens/s  {self._known}"
        self._bar.update(self._task, completed=min(self._steps.values()), description=message["stage"], facts=facts)

    def _who(self, message: dict[str, Any]) -> str:
        """Which member told it, where there are several."""
        return f", member {message['member'] + 1}" if self._members > 1 else ""

    def _say(self, text: str) -> None:
        self._bar.update(self._task, description=text if len(text) < 30 else "measuring")
        self._console.print(Text(text, style="dim"))


def show_run(console: Console, report: RunReport) -> None:
    """A finished run in a few lines."""
    console.print(Text(f"{report.recipe}: {report.about}" if report.about else report.recipe, style="bold"))
    for name, value in report.settings:
        console.print(f"  {name:<20} {value}", highlight=False)
    for number, course in enumerate(report.courses, start=1):
        name = "loss" if len(report.courses) == 1 else f"loss, member {number}"
        console.print(f"  {name:<20} {sparkline([loss for _, loss in course.losses])}", highlight=False)
    speed = report.tokens / report.seconds if report.seconds else 0.0
    console.print(
        f"  {'took':<20} {report.seconds:.0f} s for {report.tokens:,} tokens ({speed:,.0f} a second)", highlight=False
    )
    if report.knows is not None:
        console.print(f"  {'held-out questions':<20} {report.knows}", highlight=False)
    if len(report.alone) > 1:
        each = ", ".join(f"{share.value:.1%}" for share in report.alone)
        console.print(f"  {'each member alone':<20} {each}", highlight=False)
    if report.majority is not None:
        console.print(f"  {'commonest answer':<20} {report.majority}", highlight=False)
    console.print(f"  {'run':<20} {report.folder}", highlight=False)


def show_evaluation(console: Console, evaluation: Evaluation, *, wrong: int = 10) -> None:
    """How many answers were right, against the commonest one, and some that were not."""
    console.print(Text(f"Exact match {evaluation.exact_match}", style="bold"))
    console.print(f"always {evaluation.commonest_answer!r}: {evaluation.majority}", highlight=False)
    asked = f"{len(evaluation.answered)} questions in {evaluation.seconds:.1f} s"
    if evaluation.num_models > 1:
        asked += f", {evaluation.num_models} models asked together"
    console.print(asked, style="dim", highlight=False)
    missed = [each for each in evaluation.answered if not each.is_right][:wrong]
    if missed:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("question", "said", "sure", "right would be"):
            table.add_column(heading)
        for each in missed:
            table.add_row(Text(each.question), Text(each.prediction), f"{each.probability:.0%}", Text(each.answer))
        console.print(table)


def show_outlook(console: Console, outlook: Outlook) -> None:
    """What a training will take."""
    rows = [
        ("steps", f"{outlook.steps:,} at {outlook.step_seconds:.3f} s each"),
        ("time", f"{outlook.seconds / 60:.1f} minutes"),
        *([("members", f"{outlook.members}, side by side")] if outlook.members > 1 else []),
        ("processes × threads", f"{outlook.processes} × {outlook.threads}, {outlook.precision}"),
        ("tried", ", ".join(f"{layout}: {seconds:.3f} s" for layout, seconds in outlook.tried)),
        ("weights", f"{outlook.parameters:,}"),
        ("memory", f"about {outlook.bytes_needed / 2**30:.2f} GiB"),
        ("operations", f"{outlook.flops:.2g}"),
    ]
    for name, value in rows:
        console.print(f"{name:<20} {value}", highlight=False)


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """The course of some numbers in a line of blocks, with the first and the last one."""
    if not values:
        return "none"
    thinned = [values[number * len(values) // width] for number in range(width)] if len(values) > width else values
    low, high = min(thinned), max(thinned)
    span = (high - low) or 1.0
    blocks = "".join(_LEVELS[min(int((value - low) / span * len(_LEVELS)), len(_LEVELS) - 1)] for value in thinned)
    return f"{values[0]:.3f} {blocks} {values[-1]:.3f}"
