"""What a run was and what its model knows, and how the terminal shows it."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import TextColumn
from rich.text import Text

from regard.render.charts import draw_figure
from regard.render.figures import Axis, Chart, Guide, Series
from regard.render.page import Page, notebook_frame, render_page
from regard.render.progress import progress_bar
from regard.render.terminal import show_columns
from regard.training.evaluation import Accuracy, EvaluationReport
from regard.training.launching import MessageKind
from regard.training.planning import LayoutSpeed
from regard.training.recipe import RunPlan

_LEVELS = "▁▂▃▄▅▆▇█"


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
    """A finished run: its settings, a learning curve per member, and the accuracy of all members together.

    `steps` are those of one member, `tokens` those of all.
    """

    folder: str
    recipe: str
    about: str
    settings: Sequence[tuple[str, str]]
    curves: Sequence[LearningCurve]
    together: Accuracy | None
    baseline: Accuracy | None
    steps: int
    tokens: int
    seconds: float

    @property
    def accuracy(self) -> Accuracy | None:
        """The accuracy of all members together on the held-out questions after the last step."""
        return self.together if len(self.curves) > 1 else next(iter(self.alone), None)

    @property
    def alone(self) -> list[Accuracy]:
        """The same for each member alone; empty if no questions were held out."""
        return [curve.held_out[-1][1] for curve in self.curves if curve.held_out]

    def _repr_html_(self) -> str:
        return notebook_frame(render_run(self), title=self.recipe)


class TrainingDisplay:
    """Shows a training's messages: a bar with loss, speed and accuracy on a terminal, occasional lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = progress_bar(console, TextColumn("{task.fields[facts]}"))
        self._task = self._bar.add_task("preparing", total=None, facts="")
        self._loss: float | None = None
        self._speeds: dict[int, float] = {}
        self._steps: dict[int, int] = {}
        self._members = 1
        self._accuracy = ""

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
                self._members, self._speeds, self._steps = message["members"], {}, {}
                self._bar.update(self._task, total=message["steps"])
                self._print(f"{message['steps']} steps with {message['layout']}")
            case MessageKind.HELD_OUT:
                member = f", member {message['member'] + 1}" if self._members > 1 else ""
                self._show_accuracy(f"step {message['step']}{member}", message)
            case MessageKind.TOGETHER:
                self._show_accuracy("together", message)
            case MessageKind.STEP:
                self._show_step(message)

    def _show_accuracy(self, who: str, message: dict[str, Any]) -> None:
        self._accuracy = f"held out {message['right'] / message['asked']:.1%}"
        self._print(f"{who}: {message['right']} of {message['asked']} held-out questions right")

    def _show_step(self, message: dict[str, Any]) -> None:
        speed: float = message["tokens"] / message["seconds"]
        member: int = message.get("member", 0)
        self._loss = message["loss"] if self._loss is None else 0.9 * self._loss + 0.1 * message["loss"]
        self._speeds[member] = 0.9 * self._speeds.get(member, speed) + 0.1 * speed
        self._steps[member] = message["step"]
        facts = f"loss {self._loss:.3f}  {sum(self._speeds.values()):,.0f} tokens/s  {self._accuracy}"
        self._bar.update(self._task, completed=min(self._steps.values()), description=message["stage"], facts=facts)

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
        rows.append(("each member alone", ", ".join(f"{each.value:.1%}" for each in report.alone)))
    if report.baseline is not None:
        rows.append(("baseline", f"{report.baseline}: always the most common answer"))
    rows.append(("run", report.folder))
    _show_settings(console, rows, indent="  ")


def show_evaluation(console: Console, report: EvaluationReport, *, num_wrong: int = 10) -> None:
    """Prints how many answers were right, the baseline, and some wrong answers."""
    console.print(Text(f"Exact match {report.exact_match}", style="bold"))
    console.print(f"baseline (always {report.most_common_answer!r}): {report.baseline}", highlight=False)
    asked = f"{len(report.answered)} questions in {report.seconds:.1f} s"
    if report.num_models > 1:
        asked += f", {report.num_models} models together"
    console.print(asked, style="dim", highlight=False)
    wrong = [each for each in report.answered if not each.is_right][:num_wrong]
    if wrong:
        rows = [(each.question, each.prediction, f"{each.probability:.0%}", each.answer) for each in wrong]
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
    return f"With pre-training {with_it.value:.1%}, without {without.value:.1%}; {finding}."


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """A curve as a line of blocks, between its first and its last value."""
    if not values:
        return "none"
    thinned = [values[number * len(values) // width] for number in range(width)] if len(values) > width else values
    low, high = min(thinned), max(thinned)
    span = (high - low) or 1.0
    blocks = "".join(_LEVELS[min(int((value - low) / span * len(_LEVELS)), len(_LEVELS) - 1)] for value in thinned)
    return f"{values[0]:.3f} {blocks} {values[-1]:.3f}"


def _show_settings(console: Console, rows: Sequence[tuple[str, str]], indent: str = "") -> None:
    for name, value in rows:
        console.print(f"{indent}{name:<20} {value}", highlight=False)


def render_run(report: RunReport) -> str:
    """The text of the page."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in report.settings
    )
    accuracy = report.accuracy
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p>'
        f"<h1>{html.escape(report.recipe)}</h1><p>{html.escape(report.about)}</p></header>"
        + "".join(draw_figure(chart) for chart in _charts(report))
        + f'<table class="settings">{rows}</table>'
    )
    finding = "a training" if accuracy is None else f"{accuracy.value:.1%} of the held-out questions"
    return render_page(
        Page(
            title=f"{report.recipe}: {finding}",
            main=main,
            margin=_margin(report),
            styles=("document.css", "charts.css", "training/run.css"),
        )
    )


def _charts(report: RunReport) -> list[Chart]:
    losses = tuple(
        Series(label=label, x=[step for step, _ in curve.losses], y=_smoothed([loss for _, loss in curve.losses]))
        for label, curve in _labelled(report, "loss")
    )
    if not losses:
        return []
    charts = [
        Chart(
            title="Loss",
            caption="Nats per predicted token, averaged over the last fiftieth of the run.",
            x=Axis(label="step"),
            y=Axis(label="loss"),
            series=losses,
        )
    ]
    if report.alone:
        together = "" if report.together is None else f" All members together after the last step: {report.together}."
        interval = " Dashed: Wilson's 95 % interval." if len(report.curves) == 1 else ""
        levels = (("most common answer", report.baseline), ("together", report.together))
        charts.append(
            Chart(
                title="Held-out questions answered correctly",
                caption=f"About people whose questions were never shown.{interval or together}",
                x=Axis(label="step", lower=0),
                y=Axis(label="fraction correct", lower=0, upper=1),
                series=_accuracy_series(report),
                guides=[Guide(at=level.value, label=label) for label, level in levels if level is not None],
            )
        )
    return charts


def _labelled(report: RunReport, label: str) -> list[tuple[str, LearningCurve]]:
    """Each member's curve, labelled with its number if there are several; curves without metrics are left out."""
    several = len(report.curves) > 1
    numbered = enumerate(report.curves, start=1)
    return [(f"member {number}" if several else label, curve) for number, curve in numbered if curve.losses]


def _accuracy_series(report: RunReport) -> tuple[Series, ...]:
    """The accuracy of each member; with its interval if there is only one."""
    series = [
        Series(label=label, x=[step for step, _ in curve.held_out], y=[each.value for _, each in curve.held_out])
        for label, curve in _labelled(report, "exact match")
        if curve.held_out
    ]
    if len(report.curves) == 1:
        steps, known = series[0].x, [each for _, each in report.curves[0].held_out]
        series.append(Series(label="lower", x=steps, y=[each.lower for each in known], style="dashed"))
        series.append(Series(label="upper", x=steps, y=[each.upper for each in known], style="dashed"))
    return tuple(series)


def _smoothed(values: Sequence[float]) -> list[float]:
    """Running means over a fiftieth of the values."""
    width = max(1, len(values) // 50)
    return [sum(values[max(0, n - width + 1) : n + 1]) / (n + 1 - max(0, n - width + 1)) for n in range(len(values))]


def _margin(report: RunReport) -> str:
    lines = [("tokens", f"{report.tokens:,}"), ("steps", f"{report.steps:,}"), ("seconds", f"{report.seconds:.0f}")]
    if report.accuracy is not None:
        lines.insert(0, ("held out", f"{report.accuracy.value:.1%}"))
    items = "".join(f"<li>{html.escape(name)}: <strong>{html.escape(value)}</strong></li>" for name, value in lines)
    return f"<h2>Run</h2><ul>{items}</ul>"
