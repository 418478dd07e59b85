"""`regard train compare`, `regard train inspect` and `regard train average`."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, complain, is_unicode
from regard.training.cli_options import about_what, made_up

if TYPE_CHECKING:
    from regard.training.train_compare import CompareRequest

_PATH = click.Path(path_type=Path)


@click.command(short_help="Compare recipes and position codes over several seeds.")
@click.option("--recipes", default="fast", show_default=True, metavar="NAMES", help="Recipes, divided by commas.")
@click.option("--positions", default="", metavar="CODES", help="Position codes.  [default: each recipe's own]")
@click.option("--seeds", type=int, default=3, show_default=True, help="How many seeds each.")
@about_what
@click.option("--test", type=_PATH, help="Decide by this file's questions instead of those kept back.")
@click.option("--minutes", type=float, help="How long each run may take; measured, then frozen.  [default: 1]")
@click.option("--steps", type=int, help="How many steps each run makes instead.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change every recipe: model.width=96.")
@click.option("--against", metavar="NAME", help="Compare all others with this one only.")
@click.option("--jobs", type=int, help="How many runs train at a time, one core each.  [default: all cores]")
@click.option("--out", type=_PATH, default="runs/compare", show_default=True, help="Folder of the runs.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a pair is undecided.")
def compare(json_file: str | None, html_file: str | None, is_strict: bool, **options: Any) -> int:
    """Train every recipe with every position code and several seeds, and tell which differences hold.

    Every run lies in its own folder under --out. What is finished there is kept, so a second call goes on, and more
    seeds or codes can be added. All runs answer the same questions; a difference is paired by seed.

    \b
    Examples:
      regard train compare --positions none,learned,sinusoidal,rotary,alibi --seeds 3 --html cmp.html
      regard train compare --recipes fast,scratch --people 200 --minutes 0.5 --seeds 5
      regard train compare --corpus wiki.txt --questions train.tsv --positions rotary,alibi --minutes 4

    Exit code: 0 compared, 2 bad input, 3 undecided (with --strict).
    """
    _ensure_writable(json_file, html_file)
    from regard.render import progress, terminal
    from regard.training.compare_page import render_comparison
    from regard.training.train_compare import compare as verb
    from regard.training.train_compare import kept
    from regard.training.train_compare_text import show_comparison

    request, command = _compare_request(options), _typed("compare", options)
    try:
        with progress.progress(terminal.open_console(is_for_errors=True), "training, in steps") as report:
            found = verb(request, report, reproduce=command)
    except KeyboardInterrupt:
        complain(f"Stopped. {kept(request)}")
        return ExitCode.INTERRUPTED
    _publish("train compare", found, json_file, show_comparison)
    _write_page(html_file, found, render_comparison)
    return (
        ExitCode.UNDECIDED if is_strict and any(v.status == "undecided" for v in found.verdicts) else ExitCode.SUCCESS
    )


@click.command(short_help="See what the heads of a run look at and read.")
@click.argument("run", type=_PATH)
@click.option("--question", metavar="TEXT", help="The question whose attention maps are shown.")
@click.option("--questions", type=_PATH, help="Judge on this file's questions.  [default: those kept back]")
@click.option("--member", type=int, default=1, show_default=True, help="Which model of a run with several.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page with the attention maps.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a head is undecided.")
def inspect(
    run: Path,
    question: str | None,
    questions: Path | None,
    member: int,
    json_file: str | None,
    html_file: str | None,
    is_strict: bool,
) -> int:
    """Tell which heads read the answer from the name, and draw what they look at.

    A head's look at the name is cut (its name keys are hidden from the positions after the name), and the drop of the
    right answer's log-probability says what it was worth. Looking much is not reading: both are measured.

    \b
    Example:
      regard train inspect runs/a --question "Where was Ada Byron born?" --html inspect.html

    Exit code: 0 inspected, 2 bad input, 3 a head is undecided (with --strict).
    """
    _ensure_writable(json_file, html_file)
    from regard.training.inspect_page import render_inspection
    from regard.training.train_inspect import inspect as verb
    from regard.training.train_inspect_text import show_inspection

    found = verb(run, question=question, questions=questions, member=member)
    _publish("train inspect", found, json_file, show_inspection)
    _write_page(html_file, found, render_inspection)
    return (
        ExitCode.UNDECIDED if is_strict and any(v.status == "undecided" for v in found.verdicts) else ExitCode.SUCCESS
    )


@click.command(short_help="Train heads to average two values, beside the theory.")
@click.option("--n", type=int, default=10, show_default=True, help="Number of keys.")
@click.option("--sigma2", type=float, default=0.5, show_default=True, help="Variance of key a's length.")
@click.option("--seeds", type=int, default=5, show_default=True, help="How many models of each kind.")
@click.option("--steps", type=int, default=600, show_default=True, help="Steps of gradient descent.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
def average(json_file: str | None, **options: Any) -> int:
    """Train one head, two heads and one head with normalised keys to average v_a and v_b of n values.

    Key a's length is random, k_a = γμ_a with γ ~ N(1, σ²). What is learned is held against the theory's best scale and
    its error, and searched for queries that do better.

    \b
    Example:
      regard train average --n 10 --sigma2 0.5

    Exit code: 0 nothing refutes the theory, 1 something does, 2 bad input.
    """
    _ensure_writable(json_file, None)
    from regard.render import progress, terminal
    from regard.training.train_average import AveragingTask
    from regard.training.train_average import average as verb
    from regard.training.train_average_text import show_averaging

    task = AveragingTask(num_seeds=options.pop("seeds"), **options)
    with progress.progress(terminal.open_console(is_for_errors=True), "training heads") as report:
        found = verb(task, report)
    _publish("train average", found, json_file, show_averaging)
    return ExitCode.FAILURE if any(v.status == "refuted" for v in found.verdicts) else ExitCode.SUCCESS


def _compare_request(options: dict[str, Any]) -> "CompareRequest":
    from regard.training.calibrating import usable_cores
    from regard.training.contest import Contest
    from regard.training.planning import Length
    from regard.training.preparing import Source
    from regard.training.train_compare import CompareRequest

    minutes, steps = options["minutes"], options["steps"]
    files = {name: options[name] for name in ("corpus", "questions", "held_out")}
    material = Source(made_up=made_up(dict(options)), **files).material(seed=0)
    contest = Contest(
        recipes=_listed(options["recipes"]),
        positions=_listed(options["positions"]),
        num_seeds=options["seeds"],
        material=material,
        length=Length(minutes=1.0 if minutes is None and steps is None else minutes, steps=steps),
        changes=options["changes"],
    )
    jobs = usable_cores() if options["jobs"] is None else options["jobs"]
    return CompareRequest(
        contest=contest, out=options["out"], test=options["test"], against=options["against"], jobs=jobs
    )


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _typed(command: str, options: dict[str, Any]) -> str:
    """The command line that these options came from; the folder and the jobs change no result."""
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


def _ensure_writable(json_file: str | None, html_file: str | None) -> None:
    """Refuses before the work starts what could not be written after it."""
    from regard.core.files import ensure_writable

    if html_file == "-":
        raise InputError("--html - would write a file of that name. Name one, for example --html page.html.")
    if html_file is not None and html_file == json_file:
        raise InputError(f"Two reports would go to one file: {html_file}. Name a file for each.")
    for file in (json_file, html_file):
        if file not in (None, "-"):
            ensure_writable(Path(file))


def _publish(command: str, found: Any, json_file: str | None, show: Callable[[Any, Any], None]) -> None:
    """The verdicts as JSON where they are wanted, and in the terminal unless JSON goes there."""
    from regard.core.files import write_atomically
    from regard.render.json import as_json
    from regard.render.terminal import open_console

    more = {"train": found.to_dict()}
    if json_file == "-":
        sys.stdout.write(as_json(command, found.verdicts, more, is_ascii=not is_unicode()))
        return
    if json_file is not None:
        write_atomically(Path(json_file), as_json(command, found.verdicts, more))
    show(open_console(), found)


def _write_page(html_file: str | None, found: Any, render: Callable[[Any], str]) -> None:
    from regard.core.files import write_atomically

    if html_file is not None:
        write_atomically(Path(html_file), render(found))
