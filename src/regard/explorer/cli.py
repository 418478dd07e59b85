"""`regard explore`."""

import os
import tempfile
import webbrowser
from pathlib import Path

import click

from regard.render.command_line import ExitCode


@click.command()
@click.option("--export", "export_file", metavar="FILE", help="Write the page to this file and open nothing.")
@click.option("--no-open", "is_unopened", is_flag=True, help="Write the page to a temporary file without opening it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for all random draws behind the verdicts.")
@click.option("--jobs", type=int, default=os.cpu_count() or 1, help="Number of claims to decide in parallel.")
def explore(export_file: str | None, is_unopened: bool, seed: int, jobs: int) -> int:
    """Open the interactive page: the heads of a small model, attention by hand, verdicts and a judged derivation.

    The page is one self-contained file. Its claims and its answer sheet are judged when it is built. It works offline
    and on a phone, and can be shared.

    \b
    Examples:
      regard explore                       writes the page to a temporary file and opens it
      regard explore --export page.html    writes a single file to share or to publish

    Exit code: 0 if the page is written, 2 for bad input.
    """
    from regard.core.files import ensure_writable
    from regard.explorer import page_builder
    from regard.render import progress, terminal

    # A temporary page stays until the system clears its folder for temporary files.
    path = Path(export_file) if export_file is not None else Path(tempfile.mkdtemp(prefix="regard-")) / "explore.html"
    ensure_writable(path)
    with progress.progress(terminal.open_console(is_for_errors=True), "deciding claims") as report:
        page = page_builder.explore(seed=seed, jobs=jobs, report=report)
    page.write(path)
    click.echo(f"{path}  ({len(page.html.encode('utf-8')) / 1000:.0f} kB)")
    is_opening = export_file is None and not is_unopened
    if is_opening and not webbrowser.open(path.resolve().as_uri()):
        click.echo("No browser could be started. Open the file yourself.")
    return ExitCode.SUCCESS
