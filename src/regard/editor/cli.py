"""`regard lsp`."""

import click

from regard.render.command_line import ExitCode


@click.command()
@click.option("--stdio", is_flag=True, help="Talk over standard input and output; there is no other way.")
def lsp(stdio: bool) -> int:
    """Run the language server, which editors start by themselves: docs/editors.md says how to set them up.

    It judges Markdown and LaTeX as you type: what is refuted or undecided is a diagnostic, the counterexample shows on
    hover, and code actions show the claim behind a question or ignore a step with a comment.
    """
    del stdio
    from regard.editor.server import run_server

    run_server()
    return ExitCode.SUCCESS
