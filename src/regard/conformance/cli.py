"""`regard check`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, complain, is_unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.conformance.orders import Order
    from regard.conformance.verdict import CheckReport

_FILES = ("json_file", "html_file", "junit_file", "test_file")


class _Pair(click.ParamType):
    """NAME=VALUE on the command line."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The name and the value, or a refusal that repeats what was typed."""
        del ctx
        name, sign, text = value.partition("=")
        if not name.strip() or not sign:
            option = param.opts[0] if param is not None else "The option"
            raise InputError(f"{option} {value} cannot be read. Write a name and a value: {option} name=value.")
        return name.strip(), text.strip()


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--arg", "arguments", type=_Pair(), multiple=True, help="An argument for the factory; repeat it.")
@click.option(
    "--spec", metavar="SPEC",
    help="What the layer is: causal,positions=rotary,num_heads=8,… Of width, num_heads, num_kv_heads, head_width, "
    "depth, causal, window, positions, rotary_base, rotary_width, rotary_layout, max_positions, scale, softcap, sink, "
    "mask, empty, align.",
)  # fmt: skip
@click.option("--infer", "is_inferring", is_flag=True, help="Find out by probing what is not declared.")
@click.option("--device", metavar="NAME", help="Where it runs: cpu, cuda, …")
@click.option("--dtype", metavar="NAME", help="float32, float64, bfloat16 or float16.")
@click.option("--laws", metavar="NAMES", help="Only these laws: CAUSAL,PAD.")
@click.option("--expect", type=_Pair(), multiple=True, help='A failure that is known: EMPTY="our issue 12".')
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option(
    "--time-limit", type=float,
    help="Seconds for one law (30), or for one piece of a --layout (60). A layer's first calls, before any law, have "
    "4 times as long, from 10 to 120 seconds; importing and building it has 120.",
)  # fmt: skip
@click.option("--memory-limit", type=float, help="GiB for the layer's work (4), or a student's (2).")
@click.option("--jobs", type=int, default=1, show_default=True, help="How many layers to check at a time.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - is standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML.")
@click.option("--write-test", "test_file", metavar="FILE", help="Write the failures as tests that need no Regard.")
@click.option("--zoo", "is_zoo", is_flag=True, help="Check public implementations, those installed.")
@click.option("--layout", nargs=2, metavar="NAME DIR", help="Check a student's folder, such as cs224n-a4 DIR.")
@click.option("--list", "is_listing", is_flag=True, help="List the laws and try none.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a law could not be decided.")
def check(**options: Any) -> int:
    """Try every law on a layer: a factory or an instance by its name, package.module:name or path/to/file.py:name.

    Each layer runs in a process of its own: a hang, a crash or too much memory is a verdict on the law that it happened
    under, and the rest goes on. A law is skipped only with its reason, and never holds without a control that moved.

    \b
    Examples:
      regard check mypkg.attn:build --arg width=64 --spec causal,positions=rotary,num_heads=8,width=64
      regard check mypkg.attn:f --infer            probe what is not declared, then check under that
      regard check hf:LlamaForCausalLM             a Hugging Face class, tiny and random
      regard check torch:MultiheadAttention --laws PAD,JUNK,EMPTY --expect EMPTY="NaN rows, our issue 12"
      regard check mypkg.attn:build --write-test test_attn.py
      regard check --zoo --html zoo.html --jobs 2  the matrix of public implementations and laws
      regard check --layout cs224n-a4 submission/
      regard check --list                          the laws

    Exit code: 0 no law is refuted, crashed, timed out or passed against expectation, 1 one is, 2 bad input,
    3 undecided (with --strict).
    """
    from regard.conformance import check as verb
    from regard.render import progress, terminal

    if options["is_listing"]:
        terminal.show_listing(terminal.open_console(), verb.list_laws(options["laws"]))
        return ExitCode.SUCCESS
    _ensure_sense(options)
    _ensure_writable(options)
    if options["layout"] is not None:
        from regard.conformance.layouts import check_layout

        reports: Sequence[CheckReport] = check_layout(*options["layout"], seed=options["seed"], **_limits(options))
    else:
        from regard.conformance.isolation import Limits

        words = {"time_limit": "seconds", "memory_limit": "memory"}
        asked = {words[name]: limit for name, limit in _limits(options).items()}
        limits = Limits(**asked, is_warm=options["is_zoo"])
        with progress.progress(terminal.open_console(is_for_errors=True), "trying laws") as report:
            reports = verb.check_orders(_orders(options), limits=limits, jobs=options["jobs"], progress=report)
    _publish(reports, options)
    return _exit_code(reports, is_strict=options["is_strict"])


def _limits(options: dict[str, Any]) -> dict[str, float]:
    """The limits that were asked for; the rest is left to what they are limits of."""
    return {name: options[name] for name in ("time_limit", "memory_limit") if options[name] is not None}


def _ensure_sense(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    ways = bool(options["targets"]) + options["is_zoo"] + (options["layout"] is not None)
    if ways == 0:
        raise click.UsageError("Name a layer to check, such as mypkg.attn:build, or give --zoo.", context)
    if ways > 1:
        raise click.UsageError("A target, --zoo and --layout do not go together.", context)
    if options["spec"] is not None and options["is_zoo"]:
        raise click.UsageError("The zoo knows its own specs, so --spec does not go with --zoo.", context)


def _ensure_writable(options: dict[str, Any]) -> None:
    """Refuses before the work starts what could not be written after it."""
    from regard.core.files import ensure_writable

    named = [options[name] for name in _FILES if options[name] is not None]
    if len(set(named)) < len(named):
        raise InputError(f"Two reports would go to one file: {', '.join(named)}. Name a file for each.")
    for file in named:
        if file != "-":
            ensure_writable(Path(file))


def _orders(options: dict[str, Any]) -> "list[Order]":
    from regard.conformance.check import zoo_orders
    from regard.conformance.orders import Order
    from regard.conformance.subject import spec_from_text

    spec = None if options["spec"] is None else spec_from_text(options["spec"])
    common = Order(
        target="",
        arguments=_once_each(options["arguments"], "--arg"),
        spec=spec,
        dtype=options["dtype"],
        device=options["device"],
        is_inferring=options["is_inferring"],
        laws=None if options["laws"] is None else tuple(options["laws"].split(",")),
        expect={name.upper(): why for name, why in _once_each(options["expect"], "--expect").items()},
        seed=options["seed"],
    )
    from dataclasses import replace

    return zoo_orders(common) if options["is_zoo"] else [replace(common, target=name) for name in options["targets"]]


def _once_each(pairs: tuple[tuple[str, str], ...], option: str) -> dict[str, str]:
    chosen = dict(pairs)
    if len(chosen) < len(pairs):
        raise InputError(f"{option} gives a name twice: {', '.join(name for name, _ in pairs)}. Give each once.")
    return chosen


def _publish(reports: "Sequence[CheckReport]", options: dict[str, Any]) -> None:
    from regard.conformance.check_json import check_as_json
    from regard.core.files import write_atomically

    if options["html_file"] is not None:
        from regard.conformance.check_page import render_check

        write_atomically(Path(options["html_file"]), render_check(reports))
    if options["junit_file"] is not None:
        from regard.conformance.junit import as_junit

        write_atomically(Path(options["junit_file"]), as_junit(reports))
    if options["test_file"] is not None:
        _write_tests(Path(options["test_file"]), reports)
    if options["json_file"] == "-":
        sys.stdout.write(check_as_json(reports, is_ascii=not is_unicode()))
        return
    if options["json_file"] is not None:
        write_atomically(Path(options["json_file"]), check_as_json(reports))
    _show(reports)


def _write_tests(path: Path, reports: "Sequence[CheckReport]") -> None:
    from regard.conformance.standalone import merged
    from regard.core.files import write_atomically

    texts = [v.reproduction for report in reports for v in report.verdicts if v.reproduction]
    if not texts:
        complain(f"No law was refuted, so there is no test to write to {path}.")
        return
    write_atomically(path, merged(texts))


def _show(reports: "Sequence[CheckReport]") -> None:
    from regard.conformance.check_text import show_check, show_matrix
    from regard.render.terminal import open_console

    console = open_console()
    if len(reports) == 1:
        show_check(console, reports[0])
    else:
        show_matrix(console, reports)


def _exit_code(reports: "Sequence[CheckReport]", *, is_strict: bool) -> int:
    if not all(report.ok for report in reports):
        return ExitCode.FAILURE
    outcomes = {verdict.outcome for report in reports for verdict in report.verdicts}
    return ExitCode.UNDECIDED if is_strict and outcomes & {"skipped", "inconclusive"} else ExitCode.SUCCESS
