"""What a run was and what its model knows, and how the terminal shows it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import TextColumn
from rich.text import Text

from regard.render.page import notebook_frame
from regard.render.progress import clock_time, progress_bar
from regard.render.terminal import percent, show_columns
from regard.training.evaluation import Accuracy, AnsweredQuestion, EvaluationReport
from regard.training.launching import MessageKind
from regard.training.planning import LayoutSpeed
from regard.training.recipe import RunPlan

_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_LEVELS = 40  # in a curve
_MOST_WRONG = 10  # answers that are shown


@dataclass(frozen=True, kw_only=True)
class TrainingEstimate:
    """What a training will take: its plan, the speed of the layouts tried, the chosen one first, and its memory."""

    plan: RunPlan
    speeds: Sequence[LayoutSpeed]
    bytes_needed: int


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The loss of one model, and its accuracy on the held-out questions, by step."""

    losses: Sequence[tuple[int, float]]
    held_out: Sequence[tuple[int, Accuracy]]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A run so far: its settings, a learning curve per member, and the accuracy of all members together.

    `steps` are those of one member, `tokens` those of all. `samples` are answers of the latest evaluation.
    """

    folder: str
    recipe: str
    about: str
    settings: Sequence[tuple[str, str]]
    curves: Sequence[LearningCurve]
    together: Accuracy | None
    baseline: Accuracy | None
    samples: Sequence[AnsweredQuestion]
    planned_steps: int
    steps: int
    tokens: int
    seconds: float

    @property
    def is_finished(self) -> bool:
        """Whether all steps are made."""
        return self.steps >= self.planned_steps

    @property
    def accuracy(self) -> Accuracy | None:
        """The accuracy of all members together on the held-out questions after the last step."""
        return self.together if len(self.curves) > 1 else next(iter(self.alone), None)

    @property
    def alone(self) -> list[Accuracy]:
        """The same for each member alone; empty if no questions were held out."""
        return [curve.held_out[-1][1] for curve in self.curves if curve.held_out]

    def _repr_html_(self) -> str:
        from regard.training.page import render_runs

        return notebook_frame(render_runs([self]), title=self.recipe)


class TrainingDisplay:
    """Shows a training's messages: a bar with the loss on a terminal, and lines about held-out questions.

    `page` is where it can be watched in a browser.
    """

    def __init__(self, console: Console, page: Path | None = None) -> None:
        self._console, self._page = console, page
        self._bar = progress_bar(console, TextColumn("{task.fields[facts]}"))
        self._task = self._bar.add_task("preparing", total=None, facts="", left=None)
        self._begun = time.monotonic()
        self._forget_run()

    def _forget_run(self) -> None:
        self._run_begun = time.monotonic()
        self._loss: float | None = None
        self._first_steps: dict[int, int] = {}
        self._steps: dict[int, int] = {}
        self._num_steps, self._members, self._later = 0, 1, 0.0

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def show(self, message: dict[str, Any]) -> None:
        """Shows one message."""
        match message["kind"]:
            case MessageKind.STATUS:
                self._bar.update(self._task, description="measuring")
                self._print(message["text"])
            case MessageKind.WARNING:
                self._print(message["text"], style="yellow")
            case MessageKind.PLAN:
                self._forget_run()
                self._num_steps, self._members, self._later = message["steps"], message["members"], message["later"]
                self._bar.update(self._task, total=message["steps"], completed=0, facts="", left=None)
                self._print(f"{message['recipe']}: {message['steps']} steps with {message['layout']}")
                if self._page is not None:
                    self._print(f"Watch it in a browser: {self._page}")
                    self._page = None
            case MessageKind.HELD_OUT:
                member = f", member {message['member'] + 1}" if self._members > 1 else ""
                self._show_accuracy(f"step {message['step']}{member}", message)
            case MessageKind.TOGETHER:
                self._show_accuracy("together", message)
            case MessageKind.STEP:
                self._show_step(message)

    @property
    def _seconds_left(self) -> float | None:
        """About how long this run and those after it still take, by the mean time of a step so far."""
        made = min((self._steps[member] - first for member, first in self._first_steps.items()), default=0)
        if not made:
            return None
        per_step = (time.monotonic() - self._run_begun) / made
        return per_step * (self._num_steps - min(self._steps.values())) + self._later

    def _show_accuracy(self, who: str, message: dict[str, Any]) -> None:
        times, left = f"{clock_time(time.monotonic() - self._begun)} elapsed", self._seconds_left
        if left:
            times += f", about {clock_time(left)} left"
        self._print(f"{who}: {message['right']} of {message['asked']} held-out questions right ({times})")

    def _show_step(self, message: dict[str, Any]) -> None:
        member: int = message.get("member", 0)
        if member not in self._first_steps:
            # The first step of a process takes longer than the others, and is not counted.
            self._run_begun = time.monotonic()
            self._first_steps[member] = message["step"]
        self._loss = message["loss"] if self._loss is None else 0.9 * self._loss + 0.1 * message["loss"]
        self._steps[member] = message["step"]
        facts = f"loss {self._loss:.3f}"
        done = min(self._steps.values())
        self._bar.update(self._task, completed=done, description=message["stage"], facts=facts, left=self._seconds_left)

    def _print(self, text: str, style: str = "dim") -> None:
        self._console.print(Text(text, style=style))


def show_run(console: Console, report: RunReport) -> None:
    """Prints a finished run in a few lines."""
    console.print(Text(f"{report.recipe}: {report.about}" if report.about else report.recipe, style="bold"))
    speed = report.tokens / report.seconds if report.seconds else 0.0
    rows = list(report.settings)
    for number, curve in enumerate(report.curves, start=1):
        name = "loss" if len(report.curves) == 1 else f"loss, member {number}"
        rows.append((name, sparkline([loss for _, loss in curve.losses])))
    rows.append(("time", f"{report.seconds:.0f} s for {report.tokens:,} tokens ({speed:,.0f} per second)"))
    if report.accuracy is not None:
        rows.append(("held-out questions", str(report.accuracy)))
    if len(report.alone) > 1:
        rows.append(("each member alone", ", ".join(percent(each.value, digits=1) for each in report.alone)))
    if report.baseline is not None:
        rows.append(("baseline", f"{report.baseline}: always the most common answer"))
    rows.append(("run", report.folder))
    _show_settings(console, rows, indent="  ")


def show_evaluation(console: Console, report: EvaluationReport) -> None:
    """Prints how many answers were right, the baseline, and some wrong answers."""
    console.print(Text(f"Exact match {report.exact_match}", style="bold"))
    console.print(f"baseline (always {report.most_common_answer!r}): {report.baseline}", highlight=False)
    asked = f"{len(report.answered)} questions in {report.seconds:.1f} s"
    if report.num_models > 1:
        asked += f", {report.num_models} models together"
    console.print(asked, style="dim", highlight=False)
    wrong = [each for each in report.answered if not each.is_right][:_MOST_WRONG]
    if wrong:
        rows = [(each.question, each.prediction, percent(each.probability), each.answer) for each in wrong]
        show_columns(console, [("question", "prediction", "probability", "correct answer"), *rows])


def show_estimate(console: Console, estimate: TrainingEstimate) -> None:
    """Prints what a training will take."""
    plan, seconds = estimate.plan, estimate.speeds[0].seconds
    rows = [
        ("steps", f"{plan.steps:,} at {seconds:.3f} s each"),
        ("time", f"{plan.steps * seconds / 60:.1f} minutes"),
        *([("members", f"{plan.members}, side by side")] if plan.members > 1 else []),
        ("processes × threads", f"{plan.processes} × {plan.threads}, {plan.precision}"),
        ("tried", ", ".join(f"{speed.layout}: {speed.seconds:.3f} s" for speed in estimate.speeds)),
        ("weights", f"{plan.model_config.num_parameters:,}"),
        ("memory", f"about {estimate.bytes_needed / 2**30:.2f} GiB"),
        ("operations", f"{plan.flops:.2g}"),
    ]
    _show_settings(console, rows)


def compare_with_pretraining(reports: Sequence[RunReport]) -> str:
    """What pre-training did for the held-out questions, in one sentence; `reports` are those with and without it."""
    with_it, without = (report.accuracy for report in reports)
    if with_it is None or without is None:
        return "No questions were held out, so there is nothing to compare."
    if with_it.lower > without.upper:
        finding = "pre-training helped"
    elif with_it.upper < without.lower:
        finding = "pre-training hurt"
    else:
        finding = "difference not significant"
    accuracies = f"With pre-training {percent(with_it.value, digits=1)}, without {percent(without.value, digits=1)}"
    return f"{accuracies}; {finding}."


def sparkline(values: Sequence[float]) -> str:
    """A curve as a line of blocks, between its first and its last value."""
    if not values:
        return "none"
    width = min(len(values), _MOST_LEVELS)
    thinned = [values[number * len(values) // width] for number in range(width)]
    low, high = min(thinned), max(thinned)
    span = (high - low) or 1.0
    blocks = "".join(_LEVELS[min(int((value - low) / span * len(_LEVELS)), len(_LEVELS) - 1)] for value in thinned)
    return f"{values[0]:.3f} {blocks} {values[-1]:.3f}"


def _show_settings(console: Console, rows: Sequence[tuple[str, str]], indent: str = "") -> None:
    for name, value in rows:
        console.print(f"{indent}{name:<20} {value}", highlight=False)
