"""`regard explore`."""

import os
from pathlib import Path

import click

from regard.render.command_line import ExitCode


@click.command()
@click.option("--export", "export_file", metavar="FILE", help="Write the page to this file and open nothing.")
@click.option("--no-open", "is_unopened", is_flag=True, help="Write the page to a temporary file, but do not open it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw behind the verdicts.")
@click.option("--jobs", type=int, default=os.cpu_count() or 1, help="How many claims to decide at a time.")
def explore(export_file: str | None, is_unopened: bool, seed: int, jobs: int) -> int:
    """Open one self-contained page: attention, position codes, verdicts and a judged derivation, to be touched.

    The claims and the answer sheet in it are judged afresh. The file works offline, on a phone, and can be sent on.

    \b
    Examples:
      regard explore                       writes the page to a temporary file and opens it
      regard explore --export page.html    the single file, to send or to put on a site

    Exit code: 0 the page is written, 2 bad input.
    """
    from regard.core.files import ensure_writable
    from regard.explorer import exploring as verb
    from regard.render import progress, terminal

    place = Path(export_file) if export_file is not None else verb.temporary_place()
    ensure_writable(place)
    with progress.progress(terminal.open_console(is_for_errors=True), "deciding claims") as report:
        page = verb.explore(seed=seed, jobs=jobs, report=report)
    page.write(place)
    click.echo(f"{place}  ({len(page.html.encode('utf-8')) / 1000:.0f} kB)")
    if export_file is None and not is_unopened and not verb.opened(place):
        click.echo("No browser could be started. Open the file yourself.")
    return ExitCode.SUCCESS
