"""The `regard` command. Each capability has its own `cli.py`, imported only when its command is called."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from regard import __version__
from regard.core.errors import InputError, RegardError, as_input_error, did_you_mean
from regard.render.command_line import ExitCode, complain


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; whatever Regard refuses is one line on standard error."""
    _open_closed_streams()
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="regard", standalone_mode=False)
    except click.UsageError as error:
        return _refuse(_with_help(error, sys.argv[1:] if arguments is None else arguments))
    except (RegardError, click.ClickException) as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    return code if isinstance(code, int) else ExitCode.SUCCESS


# The module of each command and its line in `regard --help`, which imports none of them.
_COMMANDS = {
    "verify": ("regard.derivations.cli", "Judge the steps of written derivations."),
    "problems": ("regard.derivations.cli", "List, show, start and check problem files."),
    "claims": ("regard.claims.cli", "Decide the claims of the catalog."),
    "design": ("regard.designs.cli", "Evaluate queries of your own among random keys."),
    "check": ("regard.conformance.cli", "Check an attention layer, a cache or a kernel against the laws."),
    "train": ("regard.training.cli", "Train a small Transformer, and measure what it knows."),
    "explore": ("regard.explorer.cli", "Open the interactive page."),
    "serve": ("regard.serve.cli", "Judge a document in the browser while you write it."),
    "lsp": ("regard.editor.cli", "Run the language server for editors."),
}


# What to install for commands that need more than a plain installation has.
_EXTRAS = {"train": "train", "lsp": "lsp", "serve": "serve"}


class _Commands(click.Group):
    """The commands, each imported when it is called, with its output flushed at the end."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which help lists them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, or an error that names the nearest one."""
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], _COMMANDS)
            raise click.UsageError(f"No such command '{args[0]}'.{hint and f' {hint}'}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help text."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """The command's result; a reader who has gone away ends it quietly, and a missing package is named."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _give_up_standard_output()
            raise click.exceptions.Exit(ExitCode.PIPE_CLOSED) from None
        except ModuleNotFoundError as error:
            raise _as_missing_extra(error, ctx.invoked_subcommand) from error
        except OSError as error:
            _give_up_standard_output()
            raise as_input_error(error) from error
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
      regard claims                  decide every claim in the catalog
      regard claims 'rope-*'         only those about rotary codes
      regard claims --explain copy   one claim explained: derivation, evidence, near misses
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --norm-noise a=0.5
      regard check mypkg.attn:build  try the laws of attention on a layer
      regard train                   train a small Transformer, and measure what it knows
      regard explore                 open the interactive page
      regard serve                   judge a document in the browser while you write it
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _as_missing_extra(error: ModuleNotFoundError, command: str | None) -> Exception:
    """What to install for a command; the error itself if no extra of Regard would help."""
    package = (error.name or "regard").partition(".")[0]
    if command not in _EXTRAS or package == "regard":
        return error
    extra = f"regard[{_EXTRAS[command]}]"
    return InputError(f"regard {command} needs {package}, which is not installed. Run: pip install '{extra}'.")


def _with_help(error: click.UsageError, arguments: Sequence[str]) -> str:
    """What is wrong with the arguments, and whose help says what is right; click does not always know the command."""
    known = [name for name in arguments[:1] if name in _COMMANDS]
    command = error.ctx.command_path if error.ctx else " ".join(["regard", *known])
    said = error.format_message()
    return f"{said}{'' if said.endswith(('.', '?')) else '.'} `{command} --help` helps."


def _refuse(message: str) -> int:
    complain(message)
    return ExitCode.BAD_INPUT


def _open_closed_streams() -> None:
    """Standard streams that were closed lead nowhere, so that no file is opened in their place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _give_up_standard_output() -> None:
    """Python flushes standard output once more at exit, and would complain then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
