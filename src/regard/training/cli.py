"""`regard train` and what follows a training."""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, is_unicode
from regard.training.cli_options import MADE_UP, about_what, made_up

if TYPE_CHECKING:
    from regard.training.train import Request

_POSITIONS = "none, learned, sinusoidal, rotary, alibi, t5_buckets"


def _what(command: Any) -> Any:
    """The options that say what is trained and for how long."""
    options = [
        click.option(
            "--recipe",
            default="fast",
            show_default=True,
            metavar="NAME|FILE",
            help="fast, classic, scratch, or a TOML file.",
        ),
        about_what,
        click.option("--positions", metavar="CODE", help=f"Position code: {_POSITIONS}."),
        click.option(
            "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change the recipe: model.width=192."
        ),
        click.option(
            "--minutes", type=float, help="How long it may take; measured, then frozen as steps.  [default: 3]"
        ),
        click.option("--steps", type=int, help="How many steps instead."),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw."),
        click.option(
            "--processes", type=int, help="How many processes train together.  [default: what measures fastest]"
        ),
        click.option("--threads", type=int, help="How many threads each."),
        click.option(
            "--members",
            type=int,
            help="How many models to train side by side, asked together.  [default: 1, or one a core if there is time]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class _Train(click.Group):
    """Training, and the commands that follow one; those that few need are imported late."""

    _LATE = ("compare", "inspect", "average")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use."""
        return [*super().list_commands(ctx), *self._LATE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in self._LATE:
            from regard.training import cli_more as train_more

            return getattr(train_more, cmd_name)
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Train, invoke_without_command=True)
@_what
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: runs/RECIPE-SEED]")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write the run's page there too.")
@click.pass_context
def train(context: click.Context, out: Path | None, html_file: Path | None, **options: Any) -> int | None:
    """Train a Transformer on documents about people, and ask it about people whose questions it never saw.

    With nothing else it makes people up, trains with and without reading about them, and shows what reading is worth:
    about three minutes on two cores.

    \b
    Examples:
      regard train                                              made-up people, with and without pre-training
      regard train --recipe fast --corpus wiki.txt --questions train.tsv --minutes 4 --out runs/a
      regard train evaluate runs/a --questions dev.tsv --json result.json
      regard train predict runs/a "Where was Ada Byron born?"
      regard train resume runs/a                                go on after a stop, to the same weights
      regard train estimate --recipe classic --steps 20000      how long it would take here
      regard train compare --positions none,rotary,alibi --seeds 3 --html cmp.html
      torchrun --nproc-per-node 2 -m regard train --steps 500 --out runs/b
    """
    if context.invoked_subcommand is not None:
        if given := _given(context):
            option = "--" + sorted(given)[0].replace("_", "-")
            raise InputError(f"{option} stands before {context.invoked_subcommand}. Write options after the command.")
        return None
    if html_file is not None:
        from regard.core.files import ensure_writable

        ensure_writable(html_file)
    from regard.render.terminal import open_console
    from regard.training import train as verb
    from regard.training.train_text import TrainingDisplay, show_run

    request = _request(options)
    console = open_console()
    with TrainingDisplay(open_console(is_for_errors=True)) as display:
        if _is_bare(context):
            reports = verb.demonstrate(request, out or _fresh("demonstration"), display.hear)
        else:
            name = f"{Path(request.recipe).stem}-{request.seed}"
            reports = [verb.train(request, out or _fresh(name), display.hear)]
    if os.environ.get("RANK", "0") != "0":
        return ExitCode.SUCCESS
    for report in reports:
        show_run(console, report)
    if len(reports) > 1:
        console.print(verb.worth_of_reading(reports), highlight=False)
    _write_pages(reports, html_file)
    return ExitCode.SUCCESS


@train.command(short_help="Ask a run, or several together, the questions of a file.")
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--questions", type=click.Path(path_type=Path), required=True, help="Questions with answers.")
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON; - is standard output.")
def evaluate(runs: tuple[Path, ...], questions: Path, json_file: str | None) -> int:
    """Ask every question of a file, closed book, and count exact matches.

    Several runs answer together, by the mean of their probabilities; they must have learned from the same data.

    \b
    Examples:
      regard train evaluate runs/a --questions dev.tsv --json result.json
      regard train evaluate runs/a runs/b runs/c --questions dev.tsv

    Exit code: 0 the model knows more than the commonest answer does, 1 it does not (or that is undecided), 2 bad input.
    """
    from regard.core.files import ensure_writable, write_atomically
    from regard.render.json import as_json
    from regard.render.terminal import open_console
    from regard.training.examining import verdict_on_knowledge
    from regard.training.train import evaluate as verb
    from regard.training.train_text import show_evaluation

    if json_file not in (None, "-"):
        ensure_writable(Path(json_file))
    found = verb(runs, questions)
    command = f"regard train evaluate {' '.join(map(str, runs))} --questions {questions}"
    verdict = verdict_on_knowledge(found, reproduce=command)
    text = as_json("train evaluate", [verdict], found.to_dict(), is_ascii=json_file == "-" and not is_unicode())
    if json_file == "-":
        sys.stdout.write(text)
    else:
        show_evaluation(open_console(), found)
        open_console().print(f"{verdict.status}: {verdict.statement} {verdict.reason}", highlight=False)
        if json_file is not None:
            write_atomically(Path(json_file), text)
    return ExitCode.SUCCESS if verdict.status == "holds" else ExitCode.FAILURE


@train.command(short_help="Ask a run some questions.")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("questions", nargs=-1, required=True)
def predict(run: Path, questions: tuple[str, ...]) -> int:
    """Answer questions.

    \b
    Example:
      regard train predict runs/a "Where was Ada Byron born?"
    """
    from regard.training.train import predict as verb

    for question, answer in zip(questions, verb(run, questions), strict=True):
        click.echo(f"{question}  {answer.text}  ({answer.probability:.0%} sure)")
    return ExitCode.SUCCESS


@train.command(short_help="Go on with a run that was stopped.")
@click.argument("run", type=click.Path(path_type=Path))
def resume(run: Path) -> int:
    """Go on from the latest whole checkpoint, to the same weights as if nothing had happened."""
    from regard.render.terminal import open_console
    from regard.training.train import resume as verb
    from regard.training.train_text import TrainingDisplay, show_run

    with TrainingDisplay(open_console(is_for_errors=True)) as display:
        report = verb(run, display.hear)
    show_run(open_console(), report)
    _write_pages([report], None)
    return ExitCode.SUCCESS


@train.command(short_help="Say how long a training would take here.")
@_what
def estimate(**options: Any) -> int:
    """Measure a few steps and say what the whole would take: time, memory, operations. Nothing is kept."""
    from regard.render.terminal import open_console
    from regard.training.train import estimate as verb
    from regard.training.train_text import TrainingDisplay, show_outlook

    request = _request(options)
    display = TrainingDisplay(open_console(is_for_errors=True))
    with tempfile.TemporaryDirectory(prefix="regard-") as scratch, display:
        outlook = verb(request, Path(scratch) / "run", display.hear)
    show_outlook(open_console(), outlook)
    return ExitCode.SUCCESS


def _request(options: dict[str, Any]) -> "Request":
    from regard.training.launching import Layout
    from regard.training.train import Request

    changes = list(options.pop("changes"))
    if (positions := options.pop("positions")) is not None:
        changes.append(f"model.positions={positions}")
    processes, threads = options.pop("processes"), options.pop("threads")
    for name, number in (("--processes", processes), ("--threads", threads)):
        if number is not None and not 1 <= number <= 1024:
            raise InputError(f"{name} {number} can't train. Give a number from 1 up.")
    layout = None if processes is None and threads is None else Layout(processes=processes or 1, threads=threads or 1)
    return Request(changes=changes, layout=layout, biographies=made_up(options), **options)


def _is_bare(context: click.Context) -> bool:
    """Whether nothing was asked for but perhaps the length, the seed or which people."""
    return _given(context) <= {"html_file", "seed", "minutes", *MADE_UP}


def _given(context: click.Context) -> set[str]:
    """The options that were typed."""
    default = click.core.ParameterSource.DEFAULT
    return {name for name in context.params if context.get_parameter_source(name) is not default}


def _fresh(name: str) -> Path:
    """A folder under runs/ that does not exist yet."""
    places = (Path("runs") / (name if not number else f"{name}-{number}") for number in range(10_000))
    return next(place for place in places if not place.exists())


def _write_pages(reports: Any, more: Path | None) -> None:
    from regard.core.files import write_atomically
    from regard.training.run_page import render_run

    for report in reports:
        write_atomically(Path(report.folder) / "page.html", render_run(report))
    if more is not None:
        write_atomically(more, render_run(reports[0]))
