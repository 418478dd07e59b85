"""`regard verify` and `regard problems`."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError, RegardError
from regard.render.command_line import ExitCode, complain, is_unicode, write_template
from regard.render.project_settings import use_project_settings

if TYPE_CHECKING:
    from regard.derivations.grading.batch import BatchRequest, DocumentBatch


def _completed_problems(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """The shipped problems that begin with what has been typed, for the shell; without any, it offers files."""
    from click.shell_completion import CompletionItem

    from regard.derivations.problems.problem import shipped_problems

    del context, parameter
    names = [CompletionItem(name) for name in shipped_problems() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


# -- verify ------------------------------------------------------------------------------------------------------------
@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...", is_eager=True, callback=use_project_settings)
@click.option(
    "--problem",
    metavar="NAME|FILE",
    shell_complete=_completed_problems,
    help="The problem that is answered: a shipped one or a TOML file.",
)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(["md", "tex", "ipynb", "txt", "toml"]),
    help="The format of standard input, the PATH -.  [default: guessed]",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", metavar="FILE|DIR", help="Write each document as a page with its steps marked.")
@click.option("--sarif", "sarif_file", metavar="FILE", help="Write what needs attention as SARIF, for code hosts.")
@click.option("--gradescope", metavar="DIR", help="Write a results.json per document.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write a table with one row per document.")
@click.option(
    "--strict", "is_strict", is_flag=True, help="Refute an = that holds only in the limit; exit with 3 if undecided."
)
@click.option("--jobs", type=int, default=1, show_default=True, help="Number of documents to judge in parallel.")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds per document.")
@click.option("--resume", "is_resumed", is_flag=True, help="Skip documents that are already in the outputs.")
@click.option("--scheduler", metavar="ADDRESS", help="Judge on the Dask cluster at this address.")
@click.option("--line", type=int, metavar="N", help="Show only the steps on this line.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for all random draws.")
@click.option("--all", "is_all", is_flag=True, help="Show every step, including those that hold.")
@click.option("--symbols", "shows_symbols", is_flag=True, help="Show what each symbol was taken to be, and why.")
@click.option("--watch", "is_watching", is_flag=True, help="Judge again whenever a document is saved.")
@click.option("--autograder", metavar="ZIP", help="Build a Gradescope autograder zip for --problem.")
@click.option("--example", "is_example", is_flag=True, help="Print a flawed answer sheet to try, or write it to PATH.")
@click.option("--new-answers", metavar="PROBLEM", help="Print an answers file to fill in, or write it to PATH.")
def verify(is_all: bool, is_watching: bool, shows_symbols: bool, autograder: str | None, **options: Any) -> int:
    """Judge the steps of written derivations: Markdown, LaTeX, notebooks, text, answers.toml, and folders of them.

    Each step holds, is refuted with a counterexample, or is undecided; a step that can't be read is never called false.
    Without --problem, the problem is guessed among the shipped ones (`regard problems list`); a document that answers
    none is judged by what it says of its own symbols, which --symbols shows.

    \b
    Examples:
      regard verify --example answers.md             write a flawed answer sheet to try
      regard verify answers.md                       show the steps that need attention
      pandoc notes.docx -t markdown | regard verify -
      regard verify answers.md --html report.html    write the document with its steps marked
      regard verify submissions/ --problem cs224n-a4 --gradescope out/ --csv class.csv --jobs 2
      regard verify --new-answers cs224n-a4 answers.toml
      regard verify --problem cs224n-a4 --autograder autograder.zip

    Exit codes: 0 nothing refuted; 1 a step refuted, or a document in a batch not judged; 2 bad input; 3 a step
    undecided (with --strict).
    """
    new_answers, is_example = options.pop("new_answers"), options.pop("is_example")
    if new_answers is not None or is_example:
        from regard.derivations import verify as judge

        text = judge.example_answers() if new_answers is None else judge.new_answers(new_answers)
        return write_template(options["paths"], text)
    if autograder is not None:
        from regard.derivations.grading.autograder import write_autograder

        write_autograder(Path(autograder), options["problem"])
    if not options["paths"]:
        if autograder is None:
            raise click.UsageError("Name a document or a folder.", click.get_current_context())
        return ExitCode.SUCCESS
    if "-" in options["paths"] and (shows_symbols or is_watching):
        raise click.UsageError(
            "Standard input can't be combined with --symbols or --watch.", click.get_current_context()
        )
    if shows_symbols:
        from regard.derivations.report.symbols import show_symbols
        from regard.render.terminal import open_console

        show_symbols(open_console(), options["paths"])
        return ExitCode.SUCCESS
    from regard.derivations.grading.batch import BatchRequest

    request = BatchRequest(**options)
    return _watch(request, is_all=is_all) if is_watching else _judge(request, is_all=is_all)


def _judge(request: "BatchRequest", *, is_all: bool) -> int:
    from regard.derivations.grading.batch import BatchStopped, DocumentBatch
    from regard.render import progress, terminal

    with DocumentBatch(request) as batch:
        try:
            with progress.progress(terminal.open_console(is_for_errors=True), "judging documents") as report:
                batch.run(progress=report)
        except BatchStopped as stopped:
            complain(str(stopped))
            raise
        if request.line and not batch.num_unjudged and not batch.counts.total():
            raise InputError(f"There is no step on line {request.line}. Omit --line to see all steps.")
        if request.json_file == "-":
            sys.stdout.writelines(batch.outputs.json(is_ascii=not is_unicode()))
        else:
            _show(batch, is_all=is_all)
        if batch.counts["refuted"] or batch.num_unjudged:
            return ExitCode.FAILURE
        return ExitCode.UNDECIDED if request.is_strict and batch.counts["undecided"] else ExitCode.SUCCESS


def _show(batch: "DocumentBatch", *, is_all: bool) -> None:
    from regard.derivations.report import terminal as report
    from regard.render import terminal

    console = terminal.open_console()
    line = batch.request.line
    for _, shown in sorted(batch.shown.items()):
        which = "all" if is_all or line else "undecided"
        report.show_document(console, shown.on_line(line), shown=which, has_questions=line is None)
    if not (len(batch.submissions) == len(batch.shown) == 1):
        report.show_class(console, batch.reports())
    report.show_guesses(console, batch.guessed_problems)


def _watch(request: "BatchRequest", *, is_all: bool) -> int:
    """Judges again after every change, until Ctrl-C."""
    from regard.derivations.grading.batch import find_submissions

    try:
        for _ in changes(lambda: [submission.path for submission in find_submissions(request.paths)]):
            click.clear()
            try:
                _judge(request, is_all=is_all)
            except RegardError as error:
                complain(str(error))
    except KeyboardInterrupt:
        pass
    return ExitCode.SUCCESS


def changes(
    files: Callable[[], list[Path]], *, interval: float = 0.3, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Yields at once, and then whenever a file changes, appears or disappears, once it has settled."""
    seen = None
    while True:
        stamps = _stamps(files())
        if stamps == seen:
            sleep(interval)
            continue
        sleep(interval if seen is not None else 0.0)
        settled = _stamps(files())
        if seen is None or settled == stamps:
            seen = settled
            yield


def _stamps(files: list[Path]) -> list[tuple[Path, int, int]]:
    """What changes when a file is saved; a file that is being replaced counts as empty."""
    stamps = []
    for path in files:
        try:
            status = path.stat()
            stamps.append((path, status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append((path, 0, 0))
    return sorted(stamps)


# -- problems ----------------------------------------------------------------------------------------------------------
@click.group(invoke_without_command=True)
@click.pass_context
def problems(context: click.Context) -> None:
    """List, show, create and check problems: TOML files that define a course's symbols and questions.

    \b
    Examples:
      regard problems list
      regard problems show cs224n-a4
      regard problems new mine.toml --from cs224n-a4
      regard problems check mine.toml
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@problems.command(name="list")
def list_problems() -> None:
    """List the problems that come with Regard."""
    from regard.derivations.report.problems import show_problems
    from regard.render.terminal import open_console

    show_problems(open_console())


@problems.command(name="show")
@click.argument("problem", metavar="NAME|FILE")
def show_problem(problem: str) -> None:
    """Show the questions of a problem and the meaning of its symbols."""
    from regard.derivations.report import problems as report
    from regard.render.terminal import open_console

    report.show_problem(open_console(), problem)


@problems.command(name="new")
@click.argument("file")
@click.option("--from", "original", metavar="NAME|FILE", help="Copy this problem instead.")
def new_problem(file: str, original: str | None) -> int:
    """Write a commented problem template to FILE.

    With --from, write a copy of an existing problem.
    """
    from regard.derivations.report import problems as report

    return write_template((file,), report.new_problem(original))


@problems.command(name="check")
@click.argument("file")
def check_problem(file: str) -> int:
    """Check a problem file.

    Check its fields, formulas and names, and that its own solutions reach their goals.
    """
    from regard.derivations.report import problems as report
    from regard.render.terminal import open_console

    faults = report.check_problem(file)
    report.show_faults(open_console(), file, faults)
    return ExitCode.FAILURE if faults else ExitCode.SUCCESS
