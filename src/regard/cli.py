"""The `regard` command. Each capability has its own `cli.py`, imported only when its command is called."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from regard import __version__
from regard.core.errors import RegardError, refused_by_system
from regard.render.command_line import ALL_IS_WELL, BAD_INPUT, INTERRUPTED, PIPE_CLOSED, complain

__all__ = ["cli", "main"]


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


_COMMANDS = {
    "verify": "regard.derivations.cli",
    "problems": "regard.derivations.problems.cli",
    "claims": "regard.claims.cli",
    "design": "regard.designs.cli",
    "check": "regard.conformance.cli",
    "train": "regard.training.cli",
    "explore": "regard.explorer.cli",
}


class _Commands(click.Group):
    """The commands, each imported when it is called for and ended with its output written out."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which help lists them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        return getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)

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
            raise refused_by_system(error) from error
        return code


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
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --norm-noise a=0.5
      regard check mypkg.attn:build  try the laws of attention on a layer
      regard train                   a small Transformer that reads about people, and what it knows then
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _refuse(message: str) -> int:
    complain(message)
    return BAD_INPUT


def _give_up_standard_output() -> None:
    """Python flushes standard output once more at exit, and would complain then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
