"""The page of a run, or of several that are compared: curves, sample answers and settings, live while they train."""

import html
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from regard.core.files import write_atomically
from regard.render.charts import draw_figure
from regard.render.figures import Axis, Chart, Guide, Series
from regard.render.page import Page, render_page, render_table
from regard.render.progress import clock_time
from regard.render.terminal import percent
from regard.training.evaluation import AnsweredQuestion
from regard.training.launching import MessageKind
from regard.training.report import LearningCurve, RunReport, compare_with_pretraining
from regard.training.train import report_on

# Seconds between two versions of the page. A version may take this share of the time, so that training goes on.
_PAUSE, _MOST_TIME = 3, 0.02
_MOST_POINTS = 400
_UNBROKEN = "\N{NO-BREAK SPACE}"
_IN_DEMONSTRATION = {"fast": "with pre-training", "scratch": "without pre-training"}


class LivePage:
    """Writes the page of one or more runs while they train, and once more at the end.

    A browser that shows the file loads it again by itself until the training has ended, however it ended.
    """

    def __init__(self, folders: Sequence[Path], files: Sequence[Path]) -> None:
        self._folders, self._files = folders, files
        self._has_begun, self._due = False, 0.0

    def __enter__(self) -> "LivePage":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._has_begun:
            self._write(is_live=False)

    def update(self, message: dict[str, Any]) -> None:
        """Writes the page anew after a message, unless that was done a moment ago; nothing before the plan is fixed."""
        self._has_begun |= message["kind"] == MessageKind.PLAN
        begun = time.monotonic()
        if self._has_begun and begun >= self._due:
            self._write(is_live=True)
            taken = time.monotonic() - begun
            self._due = begun + max(_PAUSE, taken / _MOST_TIME)

    def _write(self, *, is_live: bool) -> None:
        page = render_runs([report_on(folder) for folder in self._folders], is_live=is_live)
        for file in self._files:
            write_atomically(file, page)


@dataclass(frozen=True, kw_only=True)
class _Labelled:
    """The curve of one member of one run, with the name that charts give it."""

    label: str
    curve: LearningCurve


def render_runs(reports: Sequence[RunReport], *, is_live: bool = False) -> str:
    """The text of the page; while it is live, a browser loads it again by itself."""
    first, is_compared = reports[0], len(reports) > 1
    title = "With and without pre-training" if is_compared else first.recipe
    about = (
        "The same model twice: trained on documents and questions, and on questions only."
        if is_compared
        else first.about
    )
    place = Path(first.folder).parent if is_compared else first.folder
    main = (
        f'<header class="head"><p class="problem">{html.escape(str(place))}</p><h1>{html.escape(title)}</h1>'
        f"<p>{html.escape(about)}</p>{_state(reports, is_live=is_live)}</header>"
        + "".join(draw_figure(chart) for chart in _charts(reports))
        + _samples(reports)
        + f"<h2>Settings</h2>{render_table(_settings(reports), ['', *_names(reports)] if is_compared else ())}"
    )
    return render_page(
        Page(
            title=f"{title}: {_finding(reports)}",
            main=main,
            margin="".join(_margin(name, report) for name, report in zip(_names(reports), reports, strict=True)),
            styles=("document.css", "charts.css", "training/run.css"),
            refresh=_PAUSE if is_live else None,
        )
    )


def _finding(reports: Sequence[RunReport]) -> str:
    known = [report.accuracy for report in reports]
    shown = [percent(each.value, digits=1) for each in known if each is not None]
    return f"{' and '.join(shown)} of the held-out questions" if shown else "a training"


def _state(reports: Sequence[RunReport], *, is_live: bool) -> str:
    """What the runs are doing, and at the end what came out."""
    if all(report.is_finished for report in reports):
        text = compare_with_pretraining(reports) if len(reports) > 1 else _accuracy_words(reports[0])
        return f'<p class="finding">{html.escape(text)}</p>' if text else ""
    name, running = next(each for each in zip(_names(reports), reports, strict=True) if not each[1].is_finished)
    step = f"({name}): step {running.steps:,} of {running.planned_steps:,}"
    if is_live:
        text = f"Training {step}. This page updates itself, last at {time.strftime('%H:%M:%S')}."
    else:
        text = f"Stopped {step}. Continue with: regard train resume {running.folder}"
    return f'<p class="finding">{html.escape(text)}</p>'


def _accuracy_words(report: RunReport) -> str:
    return "" if report.accuracy is None else f"Held-out questions answered correctly: {report.accuracy}."


def _charts(reports: Sequence[RunReport]) -> list[Chart]:
    curves = _labelled(reports)
    steps = Axis(label="step", lower=0, upper=max(report.planned_steps for report in reports))
    if not curves:
        return []
    smooth = "Nats per predicted token, averaged over the last fiftieth of the run."
    apart = " The two predict different texts, so their losses cannot be compared." if len(reports) > 1 else ""
    charts = [
        Chart(
            title="Loss",
            caption=smooth + apart,
            x=steps,
            y=Axis(label="loss", lower=0),
            series=[_loss_series(each) for each in curves],
        )
    ]
    if any(each.curve.held_out for each in curves):
        charts.append(_accuracy_chart(reports, curves, steps))
    return charts


def _labelled(reports: Sequence[RunReport]) -> list[_Labelled]:
    """Each curve with the name of its run or the number of its member; curves without metrics are left out."""
    found = []
    for name, report in zip(_names(reports), reports, strict=True):
        several = len(report.curves) > 1
        for number, curve in enumerate(report.curves, start=1):
            if curve.losses:
                found.append(_Labelled(label=f"member {number}" if several else name, curve=curve))
    return found


def _loss_series(each: _Labelled) -> Series:
    """A loss curve with at most a few hundred points."""
    steps, losses = [step for step, _ in each.curve.losses], _smoothed([loss for _, loss in each.curve.losses])
    stride = -(-len(steps) // _MOST_POINTS)
    return Series(label=each.label, x=steps[::-stride][::-1], y=losses[::-stride][::-1])


def _accuracy_chart(reports: Sequence[RunReport], curves: Sequence[_Labelled], steps: Axis) -> Chart:
    first, is_alone = reports[0], len(reports) == len(curves) == 1
    caption = "About people whose questions were never shown."
    if first.together is not None:
        caption += f" All members together after the last step: {first.together}."
    elif is_alone:
        caption += " Dashed: Wilson's 95 % interval."
    levels = (("most common answer", first.baseline), ("together", first.together))
    return Chart(
        title="Held-out questions answered correctly",
        caption=caption,
        x=steps,
        y=Axis(label="fraction correct", lower=0, upper=1),
        series=_accuracy_series(curves, has_interval=is_alone),
        guides=[Guide(at=level.value, label=label) for label, level in levels if level is not None],
    )


def _accuracy_series(curves: Sequence[_Labelled], *, has_interval: bool) -> list[Series]:
    """The accuracy of each; that of the first with its interval, if wanted."""
    asked = [each for each in curves if each.curve.held_out]
    series = [
        Series(
            label=each.label, x=[step for step, _ in each.curve.held_out], y=[a.value for _, a in each.curve.held_out]
        )
        for each in asked
    ]
    if has_interval:
        held_out = asked[0].curve.held_out
        steps, ends = [step for step, _ in held_out], [each for _, each in held_out]
        y = [*(each.lower for each in ends), math.nan, *(each.upper for each in ends)]
        series.append(Series(label="95 % interval", x=[*steps, steps[-1], *steps], y=y, style="dashed"))
    return series


def _smoothed(values: Sequence[float]) -> list[float]:
    """Running means over a fiftieth of the values."""
    width = max(1, len(values) // 50)
    return [sum(values[max(0, n - width + 1) : n + 1]) / (n + 1 - max(0, n - width + 1)) for n in range(len(values))]


def _samples(reports: Sequence[RunReport]) -> str:
    """Some held-out questions with the answer of each run; a run that was not asked yet has none."""
    questions = max((report.samples for report in reports), key=len)
    rows = []
    for number, sample in enumerate(questions):
        said = [report.samples[number] if number < len(report.samples) else None for report in reports]
        rows.append((sample.question, sample.answer, *map(_answer, said)))
    columns = ("question", "correct answer", *_names(reports))
    return f"<h2>Some answers</h2>{render_table(rows, columns)}" if rows else ""


def _answer(sample: AnsweredQuestion | None) -> str:
    if sample is None:
        return "not asked yet"
    # A mark stays with its first word, and a number with its unit.
    mark, sure = "✓" if sample.is_right else "✗", percent(sample.probability).replace(" ", _UNBROKEN)
    return f"{mark}{_UNBROKEN}{sample.prediction} ({sure})"


def _names(reports: Sequence[RunReport]) -> list[str]:
    """What the page calls each run: its recipe, or what it is for in a demonstration."""
    return [_IN_DEMONSTRATION[report.recipe] if len(reports) > 1 else report.recipe for report in reports]


def _settings(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """A row per setting, with a cell per run."""
    return [(name, *(dict(report.settings).get(name, "") for report in reports)) for name, _ in reports[0].settings]


def _margin(name: str, report: RunReport) -> str:
    lines = [f"{report.steps:,} of {report.planned_steps:,} steps", f"{clock_time(report.seconds)} of training"]
    if report.tokens:
        lines.append(f"{report.tokens:,} tokens")
    if report.accuracy is not None:
        lines.insert(0, f"{percent(report.accuracy.value, digits=1)} of held-out questions")
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f'<h2>{html.escape(name)}</h2><ul class="run">{items}</ul>'
