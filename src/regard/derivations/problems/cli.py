"""`regard problems`."""

import click

from regard.render.command_line import ExitCode, write_template


@click.group(invoke_without_command=True)
@click.pass_context
def problems(context: click.Context) -> None:
    """List, show, start and check problems: TOML files that say what a course's symbols mean and what is asked.

    \b
    Examples:
      regard problems list
      regard problems show cs224n-a4
      regard problems new mine.toml --from cs224n-a4
      regard problems check mine.toml
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@problems.command(name="list", short_help="List the problems that come with Regard.")
def list_problems() -> None:
    """List the problems that come with Regard."""
    from regard.derivations.problems import commands as verb
    from regard.derivations.problems import pages as problem_pages
    from regard.render import terminal

    problem_pages.show_list(terminal.open_console(), verb.list_problems())


@problems.command(name="show", short_help="Show the questions and symbols of a problem.")
@click.argument("problem", metavar="NAME|FILE")
def show_problem(problem: str) -> None:
    """Show what a problem asks, question by question, and what its symbols mean."""
    from regard.derivations.problems import commands as verb
    from regard.derivations.problems import pages as problem_pages
    from regard.render import terminal

    problem_pages.show_problem(terminal.open_console(), verb.show_problem(problem))


@problems.command(name="new", short_help="Write a commented problem to start from.")
@click.argument("file")
@click.option("--from", "original", metavar="NAME|FILE", help="Copy this problem instead.")
def new_problem(file: str, original: str | None) -> int:
    """Write a commented template of a problem to FILE, or a copy of one that exists."""
    from regard.derivations.problems import commands as verb

    return write_template((file,), verb.new_problem(original))


@problems.command(name="check", short_help="Check a problem file.")
@click.argument("file")
def check_problem(file: str) -> int:
    """Check a problem file: its fields, formulas and names, and that its own solutions reach their goals."""
    from regard.derivations.problems import commands as verb
    from regard.derivations.problems import pages as problem_pages
    from regard.render import terminal

    complaints = verb.check_problem(file)
    problem_pages.show_complaints(terminal.open_console(), file, complaints)
    return ExitCode.FAILURE if complaints else ExitCode.SUCCESS
