"""Templates on their way to standard output or to a new file."""

import sys
from pathlib import Path

import click

from regard.render.command_line import ALL_IS_WELL


def write_template(paths: tuple[str, ...], text: str) -> int:
    """Prints a template, or writes it to the one path given, which must be new."""
    from regard.core.files import write_new

    if len(paths) > 1:
        raise click.UsageError("A template goes to one file.", click.get_current_context())
    if paths:
        write_new(Path(paths[0]), text)
    else:
        sys.stdout.write(text)
    return ALL_IS_WELL
