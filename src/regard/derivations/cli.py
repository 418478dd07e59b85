"""`regard verify`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError, RegardError
from regard.render.command_line import ExitCode, complain, is_unicode, write_template

if TYPE_CHECKING:
    from regard.derivations.class_list import DocumentRow
    from regard.derivations.request import Request


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--problem", metavar="NAME|FILE", help="What the answers answer: a shipped problem or a TOML file.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", metavar="FILE|DIR", help="Write each document as a page with its steps marked.")
@click.option("--gradescope", metavar="DIR", help="Write a results.json for each document.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write a table with a row for each document.")
@click.option(
    "--strict", "is_strict", is_flag=True, help="Refute an = that holds only in the limit; undecided exits with 3."
)
@click.option("--jobs", type=int, default=1, show_default=True, help="How many documents to judge at a time.")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds for one document.")
@click.option("--resume", "is_resumed", is_flag=True, help="Skip what is in the outputs already.")
@click.option("--scheduler", metavar="ADDRESS", help="Judge on the Dask cluster at this address.")
@click.option("--line", type=int, metavar="N", help="Show only the steps on this line.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--all", "is_all", is_flag=True, help="Show every step, those that hold too.")
@click.option("--watch", "is_watching", is_flag=True, help="Judge again whenever a document is saved.")
@click.option("--autograder", metavar="ZIP", help="Write an autograder for --problem that Gradescope takes.")
@click.option("--example", "is_example", is_flag=True, help="Print a flawed answer sheet to try, or write it to PATH.")
@click.option("--new-answers", metavar="PROBLEM", help="Print a file of answers to fill in, or write it to PATH.")
def verify(is_all: bool, is_watching: bool, autograder: str | None, **asked: Any) -> int:
    """Judge the steps of written derivations: Markdown, LaTeX, notebooks, text, answers.toml, and folders of them.

    Each step holds, is refuted with a counterexample, or is undecided: what can't be read is not called false.
    Without --problem it is guessed among the shipped ones (`regard problems list`).

    \b
    Examples:
      regard verify --example answers.md             writes a flawed answer sheet to try
      regard verify answers.md                       the steps that need a look
      regard verify answers.md --html report.html    the document with its steps marked
      regard verify submissions/ --problem cs224n-a4 --gradescope out/ --csv class.csv --jobs 2
      regard verify --new-answers cs224n-a4 answers.toml
      regard verify --problem cs224n-a4 --autograder autograder.zip

    Exit code: 0 nothing is refuted, 1 something is (or a document of a batch could not be judged), 2 bad input,
    3 undecided (with --strict).
    """
    from regard.derivations import request
    from regard.derivations import verify as verb

    new_answers, is_example = asked.pop("new_answers"), asked.pop("is_example")
    if new_answers is not None or is_example:
        text = verb.example() if new_answers is None else verb.new_answers(new_answers)
        return write_template(asked["paths"], text)
    if autograder is not None:
        from regard.derivations.autograder import write_autograder

        write_autograder(Path(autograder), asked["problem"])
    if not asked["paths"]:
        if autograder is None:
            raise click.UsageError("Name a document or a folder.", click.get_current_context())
        return ExitCode.SUCCESS
    wanted = request.Request(**asked)
    return _watch(wanted, is_all=is_all) if is_watching else _judge(wanted, is_all=is_all)


def _judge(wanted: "Request", *, is_all: bool) -> int:
    from regard.derivations import class_list, diagnostics
    from regard.derivations import verify as verb
    from regard.render import progress, terminal

    submissions = wanted.submissions()
    order = wanted.order(submissions)
    with wanted.keeper(submissions) as keeper:
        try:
            with progress.progress(terminal.open_console(is_for_errors=True), "judging documents") as report:
                views = verb.judge_files(order, keeper, report=report)
        except verb.Stopped as stopped:
            complain(str(stopped))
            raise
        if wanted.line and all(row.outcome == "judged" and not sum(row.counts.values()) for row in keeper.rows):
            raise InputError(f"No step stands on line {wanted.line}. Without --line all of them are shown.")
        if wanted.json_file == "-":
            sys.stdout.writelines(keeper.json(is_ascii=not is_unicode()))
        else:
            console = terminal.open_console()
            for view in views:
                diagnostics.show_judged(console, view, shown="all" if is_all or wanted.line else "undecided")
            class_list.show_rows(console, keeper.rows, is_brief=len(keeper.rows) == len(views) == 1)
        return _exit_code_of_rows(keeper.rows, is_strict=wanted.is_strict)


def _watch(wanted: "Request", *, is_all: bool) -> int:
    """Judges again after every change, until Ctrl-C."""
    from regard.derivations.watch import changes

    try:
        for _ in changes(lambda: [submission.path for submission in wanted.submissions()]):
            click.clear()
            try:
                _judge(wanted, is_all=is_all)
            except RegardError as error:
                complain(str(error))
    except KeyboardInterrupt:
        pass
    return ExitCode.SUCCESS


def _exit_code_of_rows(rows: Sequence["DocumentRow"], *, is_strict: bool) -> int:
    if any(row.counts["refuted"] or row.outcome != "judged" for row in rows):
        return ExitCode.FAILURE
    return ExitCode.UNDECIDED if is_strict and any(row.counts["undecided"] for row in rows) else ExitCode.SUCCESS
