"""What every command shares: exit codes, messages on standard error, templates for the user to fill in."""

import sys
from enum import IntEnum
from pathlib import Path

import click


class ExitCode(IntEnum):
    """How a command ended."""

    SUCCESS = 0
    FAILURE = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    INTERRUPTED = 130
    PIPE_CLOSED = 141


def complain(message: str) -> None:
    """Prints one line on standard error."""
    from regard.render.terminal import spelled

    click.echo(spelled(f"regard: {' '.join(message.split())}", sys.stderr.encoding or "ascii"), err=True)


def is_unicode() -> bool:
    """True if standard output can encode every character."""
    return sys.stdout.encoding.lower().startswith("utf")


def write_template(paths: tuple[str, ...], text: str) -> ExitCode:
    """Prints a template, or writes it to the one path given, which must be new."""
    from regard.core.files import write_new

    if len(paths) > 1:
        raise click.UsageError("A template goes to one file.", click.get_current_context())
    if paths:
        write_new(Path(paths[0]), text)
    else:
        sys.stdout.write(text)
    return ExitCode.SUCCESS
