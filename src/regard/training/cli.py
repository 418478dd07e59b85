"""`regard train` and its subcommands."""

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regard.core.catalog import entry_names
from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically
from regard.render.command_line import ExitCode, complain, ensure_writable_reports, write_json
from regard.render.progress import progress
from regard.render.terminal import open_console, percent

if TYPE_CHECKING:
    from regard.training.compare import CompareRequest
    from regard.training.launching import Notify
    from regard.training.planning import DataSource, RunLength, TrainRequest

Command = TypeVar("Command", bound=Callable[..., Any])

_PATH = click.Path(path_type=Path)
_PAGE = "page.html"
_BIOGRAPHY_OPTIONS = ("people", "wordings", "asked_share", "is_fixed_order")


def _with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that adds options to a command, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_data_options = _with_options(
    click.option("--corpus", type=_PATH, help='One document per line: "Name. text".'),
    click.option("--questions", type=_PATH, help="One question per line: question TAB answer."),
    click.option("--held-out", type=int, help="How many questions to hold out.  [default: 10 %, at most 200]"),
    click.option("--people", type=int, help="Without files: how many people to make up.  [default: 800]"),
    click.option("--wordings", type=int, help="How many ways to word each fact about them.  [default: 5]"),
    click.option("--fixed-order", "is_fixed_order", is_flag=True, help="Always give their facts in the same order."),
    click.option("--asked-share", type=float, help="Fraction of them that training asks about.  [default: 0.75]"),
)
_run_options = _with_options(
    click.option(
        "--recipe",
        default="fast",
        show_default=True,
        metavar="NAME|FILE",
        help="fast, classic, scratch, or a TOML file.",
    ),
    _data_options,
    click.option("--positions", metavar="CODE", help=f"Position code: {', '.join(entry_names('regard.positions'))}."),
    click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Override a setting: model.width=192."),
    click.option(
        "--minutes", type=float, help="Time budget; converted to a step count after a short benchmark.  [default: 3]"
    ),
    click.option("--steps", type=int, help="Number of steps, instead of a time budget."),
    click.option("--seed", type=int, default=0, show_default=True, help="Random seed."),
    click.option("--processes", type=int, help="Processes per model.  [default: the fastest]"),
    click.option("--threads", type=int, help="Threads per process."),
    click.option(
        "--members",
        type=int,
        help="Models to train side by side; they answer together.  [default: 1, or one per core if time allows]",
    ),
)
_json_option = click.option(
    "--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output."
)


@click.group(invoke_without_command=True)
@_run_options
@click.option(
    "--out", type=_PATH, help="Folder of the run, or of both.  [default: runs/RECIPE-SEED or runs/demonstration]"
)
@click.option("--html", "html_file", type=_PATH, help="Write the page of the training to this file too.")
@click.pass_context
def train(context: click.Context, out: Path | None, html_file: Path | None, **options: Any) -> int | None:
    """Train a Transformer on documents about people, and ask it questions it has never seen.

    Without options, train on made-up people, with and without documents about them, and show how much reading helps.
    That takes about three minutes on two cores.

    \b
    Examples:
      regard train                                              made-up people, with and without pre-training
      regard train --recipe fast --corpus wiki.txt --questions train.tsv --minutes 4 --out runs/a
      regard train evaluate runs/a --questions dev.tsv --json result.json
      regard train predict runs/a "Where was Ada Byron born?"
      regard train resume runs/a                                continue an interrupted run; the weights are the same
      regard train estimate --recipe classic --steps 20000      how long it would take here
      regard train compare --positions none,rotary,alibi --seeds 3 --html cmp.html
      torchrun --nproc-per-node 2 -m regard train --steps 500 --out runs/b
    """
    if context.invoked_subcommand is not None:
        if given := _given(context):
            option = "--" + sorted(given)[0].replace("_", "-")
            raise InputError(f"{option} must follow the command: regard train {context.invoked_subcommand} {option} …")
        return None
    if html_file is not None:
        ensure_writable(html_file)
    from regard.training import train as command
    from regard.training.report import compare_with_pretraining, show_run

    request = _train_request(options)
    if _given(context) <= {"out", "html_file", "seed", "minutes", *_BIOGRAPHY_OPTIONS}:
        out = out or _new_folder("demonstration")
        with _shown(out, [out / recipe for recipe in command.DEMONSTRATION], html_file) as notify:
            reports = command.demonstrate(request, out, notify)
    else:
        out = out or _new_folder(f"{Path(request.recipe).stem}-{request.seed}")
        with _shown(out, [out], html_file) as notify:
            reports = [command.train(request, out, notify)]
    if not _is_first_process():
        return ExitCode.SUCCESS
    console = open_console()
    for report in reports:
        show_run(console, report)
    if len(reports) > 1:
        console.print(compare_with_pretraining(reports), highlight=False)
    return ExitCode.SUCCESS


@train.command(short_help="Ask a run, or several together, the questions in a file.")
@click.argument("runs", type=_PATH, nargs=-1, required=True)
@click.option("--questions", type=_PATH, required=True, help="One question per line: question TAB answer.")
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON; - is standard output.")
def evaluate(runs: tuple[Path, ...], questions: Path, json_file: str | None) -> int:
    """Ask every question in a file, closed book, and count exact matches.

    Several runs answer together, by their mean probability; they must have been trained on the same data.

    \b
    Examples:
      regard train evaluate runs/a --questions dev.tsv --json result.json
      regard train evaluate runs/a runs/b runs/c --questions dev.tsv

    Exit code: 0: better than always giving the most common answer; 1: not better, or undecided; 2: bad input.
    """
    from regard.training.evaluation import verdict_on_knowledge
    from regard.training.report import show_evaluation
    from regard.training.train import evaluate as evaluate_runs

    ensure_writable_reports(json_file)
    found = evaluate_runs(runs, questions)
    command = f"regard train evaluate {' '.join(map(str, runs))} --questions {questions}"
    verdict = verdict_on_knowledge(found, reproduce=command)
    write_json(json_file, "train evaluate", [verdict], found.to_dict())
    if json_file != "-":
        show_evaluation(open_console(), found)
        open_console().print(f"{verdict.status}: {verdict.statement} {verdict.reason}", highlight=False)
    return ExitCode.SUCCESS if verdict.status == "holds" else ExitCode.FAILURE


@train.command(short_help="Ask a run questions.")
@click.argument("run", type=_PATH)
@click.argument("questions", nargs=-1, required=True)
def predict(run: Path, questions: tuple[str, ...]) -> int:
    """Answer questions.

    \b
    Example:
      regard train predict runs/a "Where was Ada Byron born?"
    """
    from regard.training.train import predict as answer

    for question, found in zip(questions, answer(run, questions), strict=True):
        click.echo(f"{question}  {found.text}  (probability {percent(found.probability)})")
    return ExitCode.SUCCESS


@train.command(short_help="Continue an interrupted run.")
@click.argument("run", type=_PATH)
def resume(run: Path) -> int:
    """Continue from the latest intact checkpoint. The final weights are the same as without the interruption."""
    from regard.training.report import show_run
    from regard.training.train import resume as resume_run

    with _shown(run, [run]) as notify:
        report = resume_run(run, notify)
    show_run(open_console(), report)
    return ExitCode.SUCCESS


@train.command(short_help="Estimate how long a training would take here.")
@_run_options
def estimate(**options: Any) -> int:
    """Measure a few steps, and estimate the time, memory and operations of the whole training. Nothing is kept."""
    from regard.training.report import TrainingDisplay, show_estimate
    from regard.training.train import estimate as estimate_training

    request = _train_request(options)
    display = TrainingDisplay(open_console(is_for_errors=True))
    with tempfile.TemporaryDirectory(prefix="regard-") as scratch, display:
        found = estimate_training(request, Path(scratch) / "run", display.show)
    show_estimate(open_console(), found)
    return ExitCode.SUCCESS


@train.command(short_help="Compare recipes and position codes over several seeds.")
@click.option("--recipes", default="fast", show_default=True, metavar="NAMES", help="Recipes, separated by commas.")
@click.option("--positions", default="", metavar="CODES", help="Position codes.  [default: each recipe's own]")
@click.option("--seeds", type=int, default=3, show_default=True, help="Number of seeds per variant.")
@_data_options
@click.option("--test", type=_PATH, help="Decide by the questions in this file instead of the held-out ones.")
@click.option("--minutes", type=float, help="Time budget per run; converted to a step count.  [default: 1]")
@click.option("--steps", type=int, help="Number of steps per run, instead of a time budget.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Override a setting: model.width=96.")
@click.option("--against", metavar="NAME", help="Compare all others with this one only.")
@click.option("--jobs", type=int, help="Runs to train at a time, one core each.  [default: all cores]")
@click.option("--out", type=_PATH, default="runs/compare", show_default=True, help="Folder of the runs.")
@_json_option
@click.option("--html", "html_file", metavar="FILE", help="Write a page.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a pair is undecided.")
def compare(json_file: str | None, html_file: str | None, is_strict: bool, **options: Any) -> int:
    """Train every recipe with every position code and several seeds, and find which differences hold.

    Every run has its own folder under --out. Finished runs are kept, so a second call continues, and you can add seeds
    or codes. All runs answer the same questions; differences are paired by seed.

    \b
    Examples:
      regard train compare --positions none,learned,sinusoidal,rotary,alibi --seeds 3 --html cmp.html
      regard train compare --recipes fast,scratch --people 200 --minutes 0.5 --seeds 5
      regard train compare --corpus wiki.txt --questions train.tsv --positions rotary,alibi --minutes 4

    Exit code: 0: compared; 2: bad input; 3: undecided (with --strict).
    """
    ensure_writable_reports(json_file, html_file)
    from regard.training.compare import compare as compare_trainings
    from regard.training.compare import describe_finished
    from regard.training.comparison_report import render_comparison, show_comparison

    request, command = _compare_request(options), _command_line("compare", options)
    try:
        with progress(open_console(is_for_errors=True), "training, in steps") as report:
            found = compare_trainings(request, report, reproduce=command)
    except KeyboardInterrupt:
        complain(f"Stopped. {describe_finished(request)}")
        return ExitCode.INTERRUPTED
    _publish("train compare", found, json_file, show_comparison)
    if html_file is not None:
        write_atomically(Path(html_file), render_comparison(found))
    return _strict_exit_code(found, is_strict)


@train.command(short_help="Show what the heads of a run attend to and read.")
@click.argument("run", type=_PATH)
@click.option("--question", metavar="TEXT", help="The question to draw attention maps for.")
@click.option(
    "--questions", type=_PATH, help="Judge heads on the questions in this file.  [default: the held-out ones]"
)
@click.option("--member", type=int, default=1, show_default=True, help="Which model of a run with several.")
@_json_option
@click.option("--html", "html_file", metavar="FILE", help="Write a page with the attention maps.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a head is undecided.")
def inspect(run: Path, json_file: str | None, html_file: str | None, is_strict: bool, **options: Any) -> int:
    """Find the heads that read the answer from the name, and draw what all heads attend to.

    Each head's attention to the name is ablated (the name's keys are hidden from the positions after the name), and the
    drop in the right answer's log-probability measures its effect. A head may attend to the name without using it,
    so both are measured.

    \b
    Example:
      regard train inspect runs/a --question "Where was Ada Byron born?" --html inspect.html

    Exit code: 0: inspected; 2: bad input; 3: a head is undecided (with --strict).
    """
    ensure_writable_reports(json_file, html_file)
    from regard.training import inspection

    found = inspection.inspect(run, **options)
    _publish("train inspect", found, json_file, inspection.show_inspection)
    if html_file is not None:
        write_atomically(Path(html_file), inspection.render_inspection(found))
    return _strict_exit_code(found, is_strict)


@train.command(short_help="Train heads to average two values, and compare with the theory.")
@click.option("--n", type=int, default=10, show_default=True, help="Number of keys.")
@click.option("--sigma2", type=float, default=0.5, show_default=True, help="Variance of key a's length.")
@click.option("--seeds", type=int, default=5, show_default=True, help="Number of seeds per variant.")
@click.option("--steps", type=int, default=600, show_default=True, help="Steps of gradient descent.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@_json_option
def average(json_file: str | None, **options: Any) -> int:
    """Train one head, two heads and one head with normalized keys to average v_a and v_b of n values.

    Key a has a random length: k_a = γμ_a with γ ~ N(1, σ²). The learned scale and its error are compared with the
    theory's best, and gradient descent searches for better queries.

    \b
    Example:
      regard train average --n 10 --sigma2 0.5

    Exit code: 0: nothing refutes the theory; 1: something does; 2: bad input.
    """
    ensure_writable_reports(json_file)
    from regard.training.average import AveragingTask, show_averaging
    from regard.training.average import average as train_heads

    task = AveragingTask(num_seeds=options.pop("seeds"), **options)
    with progress(open_console(is_for_errors=True), "training heads") as report:
        found = train_heads(task, report)
    _publish("train average", found, json_file, show_averaging)
    return ExitCode.FAILURE if any(v.status == "refuted" for v in found.verdicts) else ExitCode.SUCCESS


def _train_request(options: dict[str, Any]) -> "TrainRequest":
    from regard.training.launching import ProcessLayout
    from regard.training.planning import TrainRequest

    changes, positions = list(options["changes"]), options["positions"]
    if positions is not None:
        changes.append(f"model.positions={positions}")
    processes, threads = options["processes"], options["threads"]
    for name, number in (("--processes", processes), ("--threads", threads)):
        if number is not None and not 1 <= number <= 1024:
            raise InputError(f"Can't train with {name} {number}. Give 1 or more.")
    has_layout = processes is not None or threads is not None
    return TrainRequest(
        recipe=options["recipe"],
        changes=changes,
        source=_data_source(options),
        length=_length(options, default=3.0),
        seed=options["seed"],
        layout=ProcessLayout(processes=processes or 1, threads=threads or 1) if has_layout else None,
        members=options["members"],
    )


def _compare_request(options: dict[str, Any]) -> "CompareRequest":
    from regard.training.compare import CompareRequest
    from regard.training.planning import usable_cores

    return CompareRequest(
        recipes=_split_names(options["recipes"]),
        positions=_split_names(options["positions"]),
        num_seeds=options["seeds"],
        data=_data_source(options).load(seed=0),
        length=_length(options, default=1.0),
        out=options["out"],
        changes=options["changes"],
        test=options["test"],
        against=options["against"],
        jobs=usable_cores() if options["jobs"] is None else options["jobs"],
    )


def _data_source(options: dict[str, Any]) -> "DataSource":
    from regard.training.data.biographies import Biographies
    from regard.training.planning import DataSource

    people = {name: options[name] for name in ("people", "wordings", "asked_share") if options[name] is not None}
    has_people = people or options["is_fixed_order"]
    biographies = Biographies(**people, is_shuffled=not options["is_fixed_order"]) if has_people else None
    files = {name: options[name] for name in ("corpus", "questions", "held_out")}
    return DataSource(**files, biographies=biographies)


def _length(options: dict[str, Any], *, default: float) -> "RunLength":
    from regard.training.planning import RunLength

    minutes, steps = options["minutes"], options["steps"]
    return RunLength(minutes=default if minutes is None and steps is None else minutes, steps=steps)


def _given(context: click.Context) -> set[str]:
    """The options that the user gave."""
    default = click.core.ParameterSource.DEFAULT
    return {name for name in context.params if context.get_parameter_source(name) is not default}


def _new_folder(name: str) -> Path:
    """A folder under runs/ that does not exist yet."""
    folders = (Path("runs") / (name if not number else f"{name}-{number}") for number in range(10_000))
    return next(folder for folder in folders if not folder.exists())


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _command_line(command: str, options: dict[str, Any]) -> str:
    """The command line for these options, without those that change no result: the folder and the jobs."""
    words = ["regard", "train", command]
    for name, value in options.items():
        if value is None or value in ("", (), False) or name in ("out", "jobs"):
            continue
        if name == "is_fixed_order":
            words.append("--fixed-order")
            continue
        flag = "--set" if name == "changes" else f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, tuple) else (value,):
            words += [flag, str(each)]
    return shlex.join(words)


def _publish(command: str, found: Any, json_file: str | None, show: Callable[[Any, Any], None]) -> None:
    """Writes the verdicts as JSON if asked to, and prints them unless JSON goes to standard output."""
    write_json(json_file, command, found.verdicts, {"train": found.to_dict()})
    if json_file != "-":
        show(open_console(), found)


def _strict_exit_code(found: Any, is_strict: bool) -> ExitCode:
    is_undecided = any(verdict.status == "undecided" for verdict in found.verdicts)
    return ExitCode.UNDECIDED if is_strict and is_undecided else ExitCode.SUCCESS


@contextmanager
def _shown(out: Path, runs: Sequence[Path], html_file: Path | None = None) -> Iterator["Notify"]:
    """Shows a training on the terminal and in its page as it goes on; gives what takes its messages."""
    from regard.training.page import LivePage
    from regard.training.report import TrainingDisplay

    if not _is_first_process():
        yield lambda _: None
        return
    files = [out / _PAGE] if html_file is None else [out / _PAGE, html_file]
    with TrainingDisplay(open_console(is_for_errors=True), files[0]) as display, LivePage(runs, files) as page:

        def notify(message: dict[str, Any]) -> None:
            display.show(message)
            page.update(message)

        yield notify


def _is_first_process() -> bool:
    """False in all but one process of a training that torchrun started."""
    return os.environ.get("RANK", "0") == "0"
