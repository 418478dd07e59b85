"""`regard claims`."""

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, is_unicode

if TYPE_CHECKING:
    from rich.console import Console

    from regard.claims.explanation import Explanation
    from regard.core.verdict import Verdict


class _Setting(click.ParamType):
    """NAME=NUMBER on the command line."""

    name = "NAME=NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """The name and the number, or a refusal that repeats what was typed."""
        del param, ctx
        name, _, number = value.partition("=")
        try:
            setting = name.strip(), float(number)
        except ValueError:
            setting = "", math.nan
        if not setting[0]:
            raise InputError(f"--set {value} cannot be read. Write a name and a number: --set beta=20.")
        return setting


def _once_each(_: click.Context, __: click.Parameter, settings: tuple[tuple[str, float], ...]) -> dict[str, float]:
    chosen = dict(settings)
    if len(chosen) < len(settings):
        raise InputError(f"--set gives a parameter twice: {', '.join(name for name, _ in settings)}. Give each once.")
    return chosen


@click.command()
@click.argument("pattern", required=False)
@click.option("--list", "is_listing", is_flag=True, help="List the claims and decide nothing.")
@click.option("--set", "overrides", type=_Setting(), multiple=True, callback=_once_each, help="Decide at this value.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page with figures, evidence and rivals.")
@click.option("--explain", metavar="ID", help="Lay one claim open: derivation, evidence, rivals, source.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a verdict is undecided.")
@click.option("--jobs", type=int, default=1, show_default=True, help="How many claims to decide at a time.")
def claims(
    pattern: str | None,
    is_listing: bool,
    overrides: dict[str, float],
    seed: int,
    json_file: str | None,
    html_file: str | None,
    explain: str | None,
    is_strict: bool,
    jobs: int,
) -> int:
    """Decide every claim, or those that PATTERN selects: an id, a part of one, a glob, or "myth".

    Each claim is decided afresh by two or more independent routes. A myth is a claim that should come out refuted.

    \b
    Examples:
      regard claims                            the whole catalogue
      regard claims myth                       what people believe and is not so
      regard claims two-heads --set n=1000 --set beta=20
      regard claims 'sinusoid-*' --json -      the verdicts as JSON on standard output
      regard claims --explain copy-margin      one claim laid open
      regard claims --html claims.html         the whole catalogue as a page with figures

    Exit code: 0 every verdict is the catalogue's, 1 one is not, 2 bad input, 3 undecided (with --strict).
    """
    from regard.claims import claims_text, explanation
    from regard.claims import deciding as verb
    from regard.render import progress, terminal

    if is_listing + (explain is not None) + (pattern is not None and explain is not None) > 1:
        raise click.UsageError("--list, --explain ID and a pattern do not go together.", click.get_current_context())
    if is_listing and html_file is not None:
        raise click.UsageError("--list decides nothing, so there is no page to write.", click.get_current_context())
    if is_listing:
        terminal.show_listing(terminal.open_console(), verb.list_claims(pattern))
        return ExitCode.SUCCESS
    _ensure_writable(json_file, html_file)
    with progress.progress(terminal.open_console(is_for_errors=True), "deciding claims") as report:
        opened: list[Explanation] = []
        if explain is not None:
            opened = [verb.explain_claim(explain, overrides, seed=seed)]
        elif html_file is not None:
            opened = list(verb.explain_claims(pattern, overrides, seed=seed, jobs=jobs, report=report))
        verdicts = tuple(each.verdict for each in opened) or verb.decide_claims(
            pattern, overrides, seed=seed, jobs=jobs, report=report
        )
    if html_file is not None:
        _write_page(html_file, opened)
    if explain is not None:
        show = partial(explanation.show_explanation, explanation=opened[0])
    else:
        show = partial(claims_text.show_verdicts, groups=verb.by_section(verdicts), noun="claim")
    _publish("claims", verdicts, json_file, show)
    return _exit_code(verdicts, is_strict=is_strict)


def _ensure_writable(json_file: str | None, html_file: str | None) -> None:
    """Refuses before the work starts what could not be written after it."""
    from regard.core.files import ensure_writable

    if json_file is not None and json_file == html_file:
        raise InputError(f"--json and --html both name {json_file}, so one would overwrite the other. Name two files.")
    for file in (None if json_file == "-" else json_file, html_file):
        if file is not None:
            ensure_writable(Path(file))


def _write_page(file: str, opened: Sequence["Explanation"]) -> None:
    from regard.claims.claims_page import render_claims
    from regard.core.files import write_atomically

    write_atomically(Path(file), render_claims(opened))


def _publish(
    command: str, verdicts: Sequence["Verdict"], json_file: str | None, show: Callable[["Console"], None]
) -> None:
    """Writes the JSON that was asked for, and shows the rest unless standard output is taken by it."""
    from regard.core.files import write_atomically
    from regard.render.json import as_json
    from regard.render.terminal import open_console

    if json_file == "-":
        sys.stdout.write(as_json(command, verdicts, is_ascii=not is_unicode()))
        return
    if json_file is not None:
        write_atomically(Path(json_file), as_json(command, verdicts))
    show(open_console())


def _exit_code(verdicts: Sequence["Verdict"], *, is_strict: bool) -> int:
    astray = [verdict for verdict in verdicts if not verdict.is_as_expected]
    if any(verdict.status != "undecided" for verdict in astray):
        return ExitCode.FAILURE
    if is_strict and any(verdict.status == "undecided" for verdict in verdicts):
        return ExitCode.UNDECIDED
    return ExitCode.FAILURE if astray else ExitCode.SUCCESS
