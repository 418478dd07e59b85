"""The command line: arguments → one verb → report → exit code.

Heavy parts are imported by the command that needs them, so that `regard --help` answers at once.
"""

import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard import __version__
from regard.errors import InputError, RegardError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.report.class_list import DocumentRow
    from regard.verbs.request import Request
    from regard.verdict import Verdict

__all__ = ["cli", "main"]

ALL_IS_WELL, SOMETHING_IS_WRONG, BAD_INPUT, UNDECIDED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; whatever Regard refuses is one line on standard error."""
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="regard", standalone_mode=False)
    except click.UsageError as error:
        return _refuse(f"{error.format_message()} `{error.ctx.command_path if error.ctx else 'regard'} --help` helps.")
    except (RegardError, click.ClickException) as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    return code if isinstance(code, int) else ALL_IS_WELL


class _Commands(click.Group):
    """The commands, each of which ends with its output written out."""

    def invoke(self, ctx: click.Context) -> Any:
        """The command's result; a reader who has gone away ends it quietly."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _give_up_standard_output()
            raise click.exceptions.Exit(PIPE_CLOSED) from None
        except OSError as error:
            _give_up_standard_output()
            place = f" ({error.filename})" if error.filename else ""
            raise InputError(f"Cannot go on: {(error.strerror or str(error)).lower()}{place}.") from error
        return code


class _Setting(click.ParamType):
    """NAME=NUMBER on the command line."""

    name = "NAME=NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """The name and the number, or a refusal that repeats what was typed."""
        del param, ctx
        name, _, number = value.partition("=")
        try:
            setting = name.strip(), float(number)
        except ValueError:
            setting = "", math.nan
        if not setting[0]:
            raise InputError(f"--set {value} cannot be read. Write a name and a number: --set beta=20.")
        return setting


def _once_each(_: click.Context, __: click.Parameter, settings: tuple[tuple[str, float], ...]) -> dict[str, float]:
    chosen = dict(settings)
    if len(chosen) < len(settings):
        raise InputError(f"--set gives a parameter twice: {', '.join(name for name, _ in settings)}. Give each once.")
    return chosen


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, "-V", "--version", message="regard %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Regard decides what is true about attention, and shows the evidence.

    \b
    Examples:
      regard verify answers.md       judge a written derivation step by step
      regard verify submissions/ --problem cs224n-a4 --gradescope out/ --jobs 2
      regard claims                  decide every claim of the catalogue
      regard claims 'rope-*'         only those about rotary codes
      regard claims --explain copy   one claim laid open: derivation, evidence, rivals
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(short_help="Decide the claims of the catalogue.")
@click.argument("pattern", required=False)
@click.option("--list", "is_listing", is_flag=True, help="List the claims and decide nothing.")
@click.option("--set", "overrides", type=_Setting(), multiple=True, callback=_once_each, help="Decide at this value.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--explain", metavar="ID", help="Lay one claim open: derivation, evidence, rivals, source.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a verdict is undecided.")
@click.option("--jobs", type=int, default=1, show_default=True, help="How many claims to decide at a time.")
def claims(
    pattern: str | None,
    is_listing: bool,
    overrides: dict[str, float],
    seed: int,
    json_file: str | None,
    explain: str | None,
    is_strict: bool,
    jobs: int,
) -> int:
    """Decide every claim, or those that PATTERN selects: an id, a part of one, a glob, or "myth".

    Each claim is decided afresh by two or more independent routes. A myth is a claim that should come out refuted.

    \b
    Examples:
      regard claims                            the whole catalogue
      regard claims myth                       what people believe and is not so
      regard claims two-heads --set n=1000 --set beta=20
      regard claims 'sinusoid-*' --json -      the verdicts as JSON on standard output
      regard claims --explain copy-margin      one claim laid open

    Exit code: 0 every verdict is the catalogue's, 1 one is not, 2 bad input, 3 undecided (with --strict).
    """
    from regard.report import explanation, listing, progress, terminal
    from regard.verbs import claims as verb

    if is_listing + (explain is not None) + (pattern is not None and explain is not None) > 1:
        raise click.UsageError("--list, --explain ID and a pattern do not go together.", click.get_current_context())
    if is_listing:
        listing.show_listing(terminal.open_console(), verb.list_claims(pattern))
        return ALL_IS_WELL
    _ensure_writable(json_file)
    with progress.progress(terminal.open_console(is_for_errors=True), "deciding claims") as report:
        if explain is not None:
            opened = verb.explain_claim(explain, overrides, seed=seed)
            verdicts, show = (opened.verdict,), partial(explanation.show_explanation, explanation=opened)
        else:
            verdicts = verb.decide_claims(pattern, overrides, seed=seed, jobs=jobs, report=report)
            show = partial(terminal.show_verdicts, groups=verb.by_section(verdicts), what="claim")
    _publish("claims", verdicts, json_file, show)
    return _exit_code(verdicts, is_strict=is_strict)


@cli.command(short_help="Judge written derivations step by step.")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--problem", metavar="NAME|FILE", help="What the answers answer: a shipped problem or a TOML file.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", metavar="FILE|DIR", help="Write each document as a page with its steps marked.")
@click.option("--gradescope", metavar="DIR", help="Write a results.json for each document.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write a table with a row for each document.")
@click.option("--strict", "is_strict", is_flag=True, help="Refute an = that holds only in the limit; undecided exits with 3.")
@click.option("--jobs", type=int, default=1, show_default=True, help="How many documents to judge at a time.")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds for one document.")
@click.option("--resume", "is_resumed", is_flag=True, help="Skip what an earlier run has judged.")
@click.option("--scheduler", metavar="ADDRESS", help="Judge on the Dask cluster at this address.")
@click.option("--line", type=int, metavar="N", help="Show only the steps on this line.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--all", "is_all", is_flag=True, help="Show every step, those that hold too.")
@click.option("--watch", "is_watching", is_flag=True, help="Judge again whenever a document is saved.")
@click.option("--autograder", metavar="ZIP", help="Write an autograder for --problem that Gradescope takes.")
@click.option("--new-answers", metavar="PROBLEM", help="Print a file of answers to fill in, or write it to PATH.")
def verify(is_all: bool, is_watching: bool, autograder: str | None, new_answers: str | None, **asked: Any) -> int:
    """Judge the steps of written derivations: Markdown, LaTeX, notebooks, text, answers.toml, and folders of them.

    Each step holds, is refuted with a counterexample, or is undecided; a true step is never called false.
    Without --problem it is guessed among the shipped ones (`regard problems list`).

    \b
    Examples:
      regard verify answers.md                       the steps that need a look
      regard verify answers.md --html report.html    the document with its steps marked
      regard verify submissions/ --problem cs224n-a4 --gradescope out/ --csv class.csv --jobs 2
      regard verify --new-answers cs224n-a4 answers.toml
      regard verify --problem cs224n-a4 --autograder autograder.zip

    Exit code: 0 nothing is refuted, 1 something is (or a document of a batch could not be judged), 2 bad input,
    3 undecided (with --strict).
    """
    from regard.verbs import request, verify as verb

    if new_answers is not None:
        return _write_new(asked["paths"], verb.new_answers(new_answers))
    if autograder is not None:
        from regard.verbs.autograder import write_autograder

        write_autograder(Path(autograder), asked["problem"])
    if not asked["paths"]:
        if autograder is None:
            raise click.UsageError("Name a document or a folder.", click.get_current_context())
        return ALL_IS_WELL
    wanted = request.Request(**asked)
    return _watch(wanted, is_all=is_all) if is_watching else _judge(wanted, is_all=is_all)


def _judge(wanted: "Request", *, is_all: bool) -> int:
    from regard.report import class_list, diagnostics, progress, terminal
    from regard.verbs import verify as verb

    submissions = wanted.submissions()
    with wanted.keeper(submissions) as keeper:
        try:
            with progress.progress(terminal.open_console(is_for_errors=True), "judging documents") as report:
                views = verb.judge_files(wanted.order(submissions), keeper, report=report)
        except verb.Stopped as stopped:
            _say(str(stopped))
            raise
        if wanted.json_file == "-":
            sys.stdout.writelines(keeper.json(is_ascii=not sys.stdout.encoding.lower().startswith("utf")))
        else:
            console = terminal.open_console()
            for view in views:
                diagnostics.show_judged(console, view, shown="all" if is_all or wanted.line else "undecided")
            class_list.show_rows(console, keeper.rows, is_brief=len(keeper.rows) == len(views) == 1)
        return _exit_code_of_rows(keeper.rows, is_strict=wanted.is_strict)


def _watch(wanted: "Request", *, is_all: bool) -> int:
    """Judges again after every change, until Ctrl-C."""
    from regard.verbs.watch import changes

    try:
        for _ in changes(lambda: [submission.path for submission in wanted.submissions()]):
            click.clear()
            try:
                _judge(wanted, is_all=is_all)
            except RegardError as error:
                _say(str(error))
    except KeyboardInterrupt:
        return ALL_IS_WELL


def _write_new(paths: tuple[str, ...], text: str) -> int:
    """Prints a template, or writes it to the one path given, which must be new."""
    from regard.report.files import write_new

    if len(paths) > 1:
        raise click.UsageError("A template goes to one file.", click.get_current_context())
    if paths:
        write_new(Path(paths[0]), text)
    else:
        sys.stdout.write(text)
    return ALL_IS_WELL


def _exit_code_of_rows(rows: Sequence["DocumentRow"], *, is_strict: bool) -> int:
    if any(row.counts["refuted"] or row.outcome != "judged" for row in rows):
        return SOMETHING_IS_WRONG
    return UNDECIDED if is_strict and any(row.counts["undecided"] for row in rows) else ALL_IS_WELL


@cli.group(short_help="The problems that documents answer.")
def problems() -> None:
    """List, show, start and check problems: TOML files that say what a course's symbols mean and what is asked.

    \b
    Examples:
      regard problems list
      regard problems show cs224n-a4
      regard problems new mine.toml --from cs224n-a4
      regard problems check mine.toml
    """


@problems.command(name="list", short_help="List the problems that come with Regard.")
def list_problems() -> None:
    """List the problems that come with Regard."""
    from regard.report import problem_pages, terminal
    from regard.verbs import problems as verb

    problem_pages.show_list(terminal.open_console(), verb.list_problems())


@problems.command(name="show", short_help="Show the questions and symbols of a problem.")
@click.argument("problem", metavar="NAME|FILE")
def show_problem(problem: str) -> None:
    """Show what a problem asks, question by question, and what its symbols mean."""
    from regard.report import problem_pages, terminal
    from regard.verbs import problems as verb

    problem_pages.show_problem(terminal.open_console(), verb.show_problem(problem))


@problems.command(name="new", short_help="Write a commented problem to start from.")
@click.argument("file")
@click.option("--from", "original", metavar="NAME|FILE", help="Copy this problem instead.")
def new_problem(file: str, original: str | None) -> int:
    """Write a commented template of a problem to FILE, or a copy of one that exists."""
    from regard.verbs import problems as verb

    return _write_new((file,), verb.new_problem(original))


@problems.command(name="check", short_help="Check a problem file.")
@click.argument("file")
def check_problem(file: str) -> int:
    """Check a problem file: its fields, formulas and names, and that its own solutions reach their goals."""
    from regard.report import problem_pages, terminal
    from regard.verbs import problems as verb

    complaints = verb.check_problem(file)
    problem_pages.show_complaints(terminal.open_console(), file, complaints)
    return SOMETHING_IS_WRONG if complaints else ALL_IS_WELL


def _ensure_writable(file: str | None) -> None:
    """Refuses before the work starts what could not be written after it."""
    from regard.report.files import ensure_writable

    if file not in (None, "-"):
        ensure_writable(Path(file))


def _publish(
    command: str, verdicts: Sequence["Verdict"], json_file: str | None, show: Callable[["Console"], None]
) -> None:
    """Writes the JSON that was asked for, and shows the rest unless standard output is taken by it."""
    from regard.report.files import write_whole
    from regard.report.json import as_json
    from regard.report.terminal import open_console

    if json_file == "-":
        sys.stdout.write(as_json(command, verdicts, is_ascii=not sys.stdout.encoding.lower().startswith("utf")))
        return
    if json_file is not None:
        write_whole(Path(json_file), as_json(command, verdicts))
    show(open_console())


def _exit_code(verdicts: Sequence["Verdict"], *, is_strict: bool) -> int:
    astray = [verdict for verdict in verdicts if not verdict.is_as_it_should_be]
    if any(verdict.status != "undecided" for verdict in astray):
        return SOMETHING_IS_WRONG
    if is_strict and any(verdict.status == "undecided" for verdict in verdicts):
        return UNDECIDED
    return SOMETHING_IS_WRONG if astray else ALL_IS_WELL


def _refuse(message: str) -> int:
    _say(message)
    return BAD_INPUT


def _say(message: str) -> None:
    """One line on standard error."""
    from regard.report.spelling import spelled

    click.echo(spelled(f"regard: {' '.join(message.split())}", sys.stderr.encoding or "ascii"), err=True)


def _give_up_standard_output() -> None:
    """Python flushes standard output once more at exit, and would complain then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
