"""How a command ends: its exit code, and what it says on standard error."""

import sys

import click

ALL_IS_WELL, SOMETHING_IS_WRONG, BAD_INPUT, UNDECIDED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141


def complain(message: str) -> None:
    """One line on standard error."""
    from regard.render.spelling import spelled

    click.echo(spelled(f"regard: {' '.join(message.split())}", sys.stderr.encoding or "ascii"), err=True)


def is_unicode() -> bool:
    """True if standard output can take every sign."""
    return sys.stdout.encoding.lower().startswith("utf")
