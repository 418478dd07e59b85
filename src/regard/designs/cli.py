"""`regard design`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, is_unicode

if TYPE_CHECKING:
    from regard.designs.designed import DesignReport


class _Number(click.ParamType):
    """A number, kept as it was typed so that no digit is lost."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, or a refusal that repeats it."""
        del ctx
        try:
            float(value)
        except ValueError:
            option = param.opts[0] if param is not None else "The option"
            raise InputError(f"{option} {value} is not a number. Write it in digits, for example 20.") from None
        return value


@click.command()
@click.option("--head", "heads", multiple=True, metavar="QUERY", help="A query, such as beta*(mu_a+mu_b); repeat it.")
@click.option("--beta", type=_Number(), help="The scale that beta stands for in the queries.")
@click.option("--set", "settings", multiple=True, metavar="NAME=NUMBER", help="What another letter stands for.")
@click.option("--n", type=int, default=10, show_default=True, help="Number of keys.")
@click.option("--norm-noise", multiple=True, metavar="KEY=VARIANCE", help="Random length: k_a = gamma*mu_a.")
@click.option("--alpha", type=float, default=0.0, show_default=True, help="Isotropic noise of every key.")
@click.option("--qk-norm", is_flag=True, help="Divide every key by its norm; the query's length is the gain.")
@click.option("--given", multiple=True, metavar="CONDITION", help="Only keys for which it holds, such as gamma>0.")
@click.option("--target", default="(v_a+v_b)/2", show_default=True, help="What the output should be.")
@click.option("--epsilon", type=float, default=0.1, show_default=True, help="How near the target is near enough.")
@click.option("--require", type=float, metavar="CHANCE", help="Refute the design if it is near less often.")
@click.option("--draws", type=int, default=100_000, show_default=True, help="Draws, where nothing is certified.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as one page with plots.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if what is required is undecided.")
def design(json_file: str | None, html_file: str | None, is_strict: bool, **options: Any) -> int:
    """Evaluate queries of your own: their weights, the output's distribution, the scale they need.

    Keys lie around orthonormal means mu_a, mu_b, …; every head is a sum of them. What has a closed law is enclosed
    with certainty, the rest is sampled with intervals. The heads' outputs are averaged.

    \b
    Examples:
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --n 10 --norm-noise a=0.5
      regard design --head "beta*mu_a" --head "beta*mu_b" --beta 20 --norm-noise a=0.5 --html two.html
      regard design --head "beta*(mu_a+mu_b)" --beta 20 --norm-noise a=0.5 --qk-norm --given "gamma>0"
      regard design --head "20 mu_a + 19 mu_b" --alpha 0.01 --require 0.9

    Exit code: 0 evaluated, 1 less often near the target than --require, 2 bad input, 3 undecided (with --strict).
    """
    from regard.designs.request import design as verb

    if html_file == "-":
        raise InputError("--html - would write a file of that name. Name one, for example --html design.html.")
    files = [file for file in (json_file, html_file) if file not in (None, "-")]
    if files:
        from regard.core.files import ensure_writable

        for file in files:
            ensure_writable(Path(file))
    report = verb(_request(options))
    if files:
        _write(report, json_file, html_file)
    if json_file == "-":
        from regard.render.json import as_json

        sys.stdout.write(as_json("design", report.verdicts, report.to_dict(), is_ascii=not is_unicode()))
    else:
        from regard.designs.design_text import show_design
        from regard.render.terminal import open_console

        show_design(open_console(), report)
    statuses = {verdict.status for verdict in report.verdicts}
    if "refuted" in statuses:
        return ExitCode.FAILURE
    return ExitCode.UNDECIDED if is_strict and "undecided" in statuses else ExitCode.SUCCESS


def _write(report: "DesignReport", json_file: str | None, html_file: str | None) -> None:
    from regard.core.files import write_atomically

    if html_file is not None:
        from regard.designs.design_page import render_design

        write_atomically(Path(html_file), render_design(report))
    if json_file not in (None, "-"):
        from regard.render.json import as_json

        write_atomically(Path(json_file), as_json("design", report.verdicts, report.to_dict()))


def _only(conditions: tuple[str, ...]) -> str | None:
    if len(conditions) > 1:
        raise InputError(f"--given is said {len(conditions)} times. Write one condition, for example 0<gamma<2.")
    return conditions[0] if conditions else None


def _request(options: dict[str, Any]) -> Any:
    from regard.designs import Demand, Sampling, Scenario
    from regard.designs.request import DesignRequest, read_settings

    scalars = read_settings(options["settings"], what="--set")
    if options["beta"] is not None:
        if "beta" in scalars:
            raise InputError("--beta and --set beta say it twice. Give one of them.")
        scalars["beta"] = options["beta"]
    noise = read_settings(options["norm_noise"], what="--norm-noise")
    scenario = Scenario(
        n=options["n"],
        norm_noise=",".join(f"{name}={number}" for name, number in noise.items()),
        alpha=options["alpha"],
        qk_norm=options["qk_norm"],
        given=_only(options["given"]),
        sampling=Sampling(draws=options["draws"], seed=options["seed"]),
    )
    demand = Demand(target=options["target"], epsilon=options["epsilon"], require=options["require"])
    return DesignRequest(heads=options["heads"], scenario=scenario, demand=demand, scalars=scalars)
