"""The options that say what a training is about: files, or people that are made up."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from regard.training.data.biographies import Biographies

Command = TypeVar("Command", bound=Callable[..., Any])

_PATH = click.Path(path_type=Path)
MADE_UP = ("people", "wordings", "asked_share", "is_fixed_order")


def about_what(command: Command) -> Command:
    """Adds the options to a command."""
    options = [
        click.option("--corpus", type=_PATH, help="Documents, one a line: Name. text"),
        click.option("--questions", type=_PATH, help="Questions, one a line: question TAB answer."),
        click.option("--held-out", type=int, help="How many questions to keep back.  [default: a tenth, at most 200]"),
        click.option("--people", type=int, help="Without files: how many people to make up.  [default: 800]"),
        click.option("--wordings", type=int, help="In how many wordings their facts are told.  [default: 5]"),
        click.option(
            "--fixed-order", "is_fixed_order", is_flag=True, help="Tell their facts always in the same order."
        ),
        click.option(
            "--asked-share", type=float, help="Share of them asked about in training, not kept back.  [default: 0.75]"
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def made_up(options: dict[str, Any]) -> "Biographies | None":
    """Takes those about made-up people out of the options; None if none was typed."""
    from regard.training.data.biographies import Biographies

    given = {name: options.pop(name) for name in MADE_UP}
    is_fixed = given.pop("is_fixed_order")
    typed = {name: value for name, value in given.items() if value is not None}
    return Biographies(**typed, is_shuffled=not is_fixed) if typed or is_fixed else None
