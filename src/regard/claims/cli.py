"""`regard claims`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, ensure_writable_reports, read_assignments, write_json

if TYPE_CHECKING:
    from regard.claims import ClaimVerdict
    from regard.claims.deciding import Explanation


def _numbers(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Reads NAME=NUMBER, each name once."""
    numbers: dict[str, float] = {}
    for name, value in read_assignments("--set", values, example="beta=20").items():
        try:
            numbers[name] = float(value)
        except ValueError:
            raise InputError(f"--set {name}={value} cannot be read. Give a number: --set beta=20.") from None
    return numbers


def _completed_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The ids that begin with what has been typed, for the shell."""
    from regard.claims import all_claims

    del context, parameter
    return [name for name in all_claims() if name.startswith(incomplete)]


@click.command()
@click.argument("pattern", required=False, shell_complete=_completed_ids)
@click.option("--list", "is_listing", is_flag=True, help="List the claims without deciding them.")
@click.option("--set", "overrides", metavar="NAME=NUMBER", multiple=True, callback=_numbers, help="Set a parameter.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for all random draws.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - means standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write an HTML page with figures and evidence.")
@click.option(
    "--explain",
    metavar="ID",
    shell_complete=_completed_ids,
    help="Explain one claim: derivation, evidence, near misses, source.",
)
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a verdict is undecided.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Number of claims to decide in parallel.")
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
    """Decide every claim, or those that match PATTERN: an id, a part of one, a glob, or "misconception".

    Each claim is decided from scratch by two or more independent methods. A misconception is a claim that should come
    out refuted; "myth" selects them too.

    \b
    Examples:
      regard claims                            the whole catalog
      regard claims misconception              common misconceptions, each with a counterexample
      regard claims two-heads --set n=1000 --set beta=20
      regard claims 'sinusoid-*' --json -      the verdicts as JSON on standard output
      regard claims --explain copy-margin      one claim explained
      regard claims --html claims.html         the whole catalog as a page with figures

    Exit code: 0 if every verdict is the expected one, 1 if not, 2 for bad input, 3 if undecided (with --strict).
    """
    from regard.claims import deciding, report
    from regard.render import progress, terminal

    if is_listing + (explain is not None) + (pattern is not None and explain is not None) > 1:
        raise click.UsageError("--list, --explain ID and a pattern exclude each other.", click.get_current_context())
    if is_listing and html_file is not None:
        raise click.UsageError("--list decides nothing, so there is no page to write.", click.get_current_context())
    if is_listing:
        terminal.show_listing(terminal.open_console(), deciding.list_claims(pattern))
        return ExitCode.SUCCESS
    ensure_writable_reports(json_file, html_file)
    explanations: list[Explanation] = []
    with progress.progress(terminal.open_console(is_for_errors=True), "deciding claims") as advance:
        if explain is not None:
            explanations = [deciding.explain_claim(explain, overrides, seed=seed)]
        elif html_file is not None:
            explanations = list(deciding.explain_claims(pattern, overrides, seed=seed, jobs=jobs, report=advance))
        verdicts = tuple(each.verdict for each in explanations) or deciding.decide_claims(
            pattern, overrides, seed=seed, jobs=jobs, report=advance
        )
    if html_file is not None:
        _write_page(Path(html_file), explanations)
    write_json(json_file, "claims", verdicts)
    if json_file != "-" and explain is not None:
        report.show_explanation(terminal.open_console(), explanations[0])
    elif json_file != "-":
        report.show_verdicts(terminal.open_console(), deciding.by_section(verdicts))
    return _exit_code(verdicts, is_strict=is_strict)


def _write_page(path: Path, explanations: "Sequence[Explanation]") -> None:
    from regard.claims.page import render_claims
    from regard.core.files import write_atomically

    write_atomically(path, render_claims(explanations))


def _exit_code(verdicts: Sequence["ClaimVerdict"], *, is_strict: bool) -> int:
    unexpected = [verdict for verdict in verdicts if not verdict.is_as_expected]
    if any(verdict.status != "undecided" for verdict in unexpected):
        return ExitCode.FAILURE
    if is_strict and any(verdict.status == "undecided" for verdict in verdicts):
        return ExitCode.UNDECIDED
    return ExitCode.FAILURE if unexpected else ExitCode.SUCCESS
