"""`regard design`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, ensure_writable_reports, read_assignments, write_json

if TYPE_CHECKING:
    from regard.designs.report import DesignReport


@click.command()
@click.option("--head", "heads", multiple=True, metavar="QUERY", help="A query, such as beta*(mu_a+mu_b); repeatable.")
@click.option("--beta", metavar="NUMBER", help="Value of beta in the queries.")
@click.option("--set", "settings", multiple=True, metavar="NAME=NUMBER", help="Value of another letter.")
@click.option("--n", type=int, default=10, show_default=True, help="Number of keys.")
@click.option("--norm-noise", multiple=True, metavar="KEY=VARIANCE", help="Random length k_a = gamma*mu_a.")
@click.option("--alpha", type=float, default=0.0, show_default=True, help="Variance of isotropic noise on every key.")
@click.option("--qk-norm", is_flag=True, help="Divide every key by its norm; the query's length is the gain.")
@click.option("--given", multiple=True, metavar="CONDITION", help="Condition on a key's length, such as gamma>0.")
@click.option("--target", default="(v_a+v_b)/2", show_default=True, help="What the output should be.")
@click.option("--epsilon", type=float, default=0.1, show_default=True, help="Distance that counts as near the target.")
@click.option("--require", type=float, metavar="PROBABILITY", help="Refute the design if it is near less often.")
@click.option(
    "--draws", type=int, default=100_000, show_default=True, help="Random draws where nothing can be certified."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draws.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as a page with plots.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if it is undecided whether --require is met.")
def design(json_file: str | None, html_file: str | None, is_strict: bool, **options: Any) -> int:
    """Evaluate queries of your own: their weights, the output's distribution, and the scale they need.

    Keys are random around orthonormal means mu_a, mu_b, …, and each head's query is a sum of multiples of these means.
    The heads' outputs are averaged. Numbers are certified where possible, otherwise sampled with confidence intervals.

    \b
    Examples:
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --n 10 --norm-noise a=0.5
      regard design --head "beta*mu_a" --head "beta*mu_b" --beta 20 --norm-noise a=0.5 --html two.html
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --norm-noise a=0.5 --qk-norm --given "gamma>0"
      regard design --head "20 mu_a + 19 mu_b" --alpha 0.01 --require 0.9

    Exit code: 0 evaluated, 1 near the target less often than --require, 2 bad input, 3 undecided (with --strict).
    """
    ensure_writable_reports(json_file, html_file)
    report = _evaluated(options)
    if html_file is not None:
        from regard.core.files import write_atomically
        from regard.designs.page import render_design

        write_atomically(Path(html_file), render_design(report))
    write_json(json_file, "design", report.verdicts, report.to_dict())
    if json_file != "-":
        from regard.designs.terminal import show_design
        from regard.render.terminal import open_console

        show_design(open_console(), report)
    statuses = {verdict.status for verdict in report.verdicts}
    if "refuted" in statuses:
        return ExitCode.FAILURE
    return ExitCode.UNDECIDED if is_strict and "undecided" in statuses else ExitCode.SUCCESS


def _evaluated(options: dict[str, Any]) -> "DesignReport":
    from regard.designs import Demand, Sampling, Scenario

    scalars = _settings("--set", options["settings"])
    if options["beta"] is not None:
        if "beta" in scalars:
            raise InputError("--beta and --set beta set the same letter twice. Use one of them.")
        scalars["beta"] = options["beta"]
    noise = _settings("--norm-noise", options["norm_noise"])
    if len(options["given"]) > 1:
        raise InputError(f"--given is used {len(options['given'])} times. Write one condition, for example 0<gamma<2.")
    scenario = Scenario(
        n=options["n"],
        norm_noise=",".join(f"{name}={number}" for name, number in noise.items()),
        alpha=options["alpha"],
        qk_norm=options["qk_norm"],
        given=next(iter(options["given"]), None),
        sampling=Sampling(draws=options["draws"], seed=options["seed"]),
    )
    demand = Demand(target=options["target"], epsilon=options["epsilon"], require=options["require"])
    return scenario.design(*options["heads"], demand=demand, **scalars)


def _settings(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Each NAME=NUMBER once; one text may hold several, with commas.

    >>> _settings("--norm-noise", ["a=0.5,b=0.1"])
    {'a': '0.5', 'b': '0.1'}
    """
    return read_assignments(option, (part for text in texts for part in text.split(",")), example="a=0.5")
