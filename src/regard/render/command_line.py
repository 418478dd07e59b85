"""What every command shares: exit codes, messages on standard error, templates for the user to fill in."""

import sys
from collections.abc import Iterable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError

if TYPE_CHECKING:
    from regard.core.verdict import Verdict


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


def read_assignments(option: str, texts: Iterable[str], *, example: str) -> dict[str, str]:
    """The values of an option that is given as NAME=VALUE, each name once.

    >>> read_assignments("--set", ["n=3", "beta = 20"], example="beta=20")
    {'n': '3', 'beta': '20'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not name or not sign:
            raise InputError(f"{option} {text} cannot be read. Write a name and a value: {option} {example}.")
        if name in found:
            raise InputError(f"{option} gives {name} twice. Give each name once.")
        found[name] = value
    return found


def ensure_writable_reports(json_file: str | None, html_file: str | None = None) -> None:
    """Refuses files that could not be written, before the work starts."""
    from regard.core.files import ensure_writable

    if html_file == "-":
        raise InputError("--html cannot write to standard output. Name a file, for example --html page.html.")
    if html_file is not None and html_file == json_file:
        raise InputError(f"Two reports would go to one file: {html_file}. Name a file for each.")
    for file in (json_file, html_file):
        if file not in (None, "-"):
            ensure_writable(Path(file))


def write_json(
    file: str | None, command: str, verdicts: "Iterable[Verdict]", more: Mapping[str, Any] | None = None
) -> None:
    """Writes JSON to a file, to standard output if it is -, or nowhere."""
    from regard.core.files import write_atomically
    from regard.render.json import as_json

    if file == "-":
        sys.stdout.write(as_json(command, verdicts, more, is_ascii=not is_unicode()))
    elif file is not None:
        write_atomically(Path(file), as_json(command, verdicts, more))


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
