"""`regard lsp`."""

import click

from regard.render.command_line import ExitCode


@click.command()
@click.option("--stdio", is_flag=True, help="Talk over standard input and output, as it always does.")
def lsp(stdio: bool) -> int:
    """Run the language server, which judges Markdown and LaTeX in an editor as you type.

    Refuted and undecided steps are marked, hovering over one shows its counterexample, and code actions show the claim
    behind a question or ignore a step with a comment. The editor starts the server by itself; docs/editors.md has the
    settings for VS Code, Neovim and Helix.

    \b
    Example:
      regard lsp --stdio    the command to give to an editor
    """
    del stdio
    from regard.editor.server import run_server

    run_server()
    return ExitCode.SUCCESS
