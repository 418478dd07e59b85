"""`regard check`."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.core.errors import InputError
from regard.render.command_line import ExitCode, complain, is_unicode, read_assignments
from regard.render.project_settings import use_project_settings

if TYPE_CHECKING:
    from regard.conformance.requests import CheckRequest
    from regard.conformance.verdict import CheckReport

_DTYPES = ("float32", "float64", "bfloat16", "float16")
_FILES = ("json_file", "html_file", "sarif_file", "junit_file", "test_file")


def _named_values(_: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Reads NAME=VALUE, each name once."""
    return read_assignments(option.opts[0], values, example=option.metavar or "NAME=VALUE")


class _Lengths(click.ParamType):
    name = "LENGTHS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers, or an error that repeats what was typed."""
        del param, ctx
        parts = [] if value == "-" else value.split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise InputError(f"--lengths {value} cannot be read. Write numbers with commas: --lengths 64,131.")
        return tuple(map(int, parts))


def _use_settings_of_folder(context: click.Context, argument: click.Parameter, targets: Sequence[str]) -> Sequence[str]:
    """Takes defaults from the project of the current folder: targets are names."""
    use_project_settings(context, argument, ())
    return targets


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...", is_eager=True, callback=_use_settings_of_folder)
@click.option(
    "--arg",
    "arguments",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_named_values,
    help="An argument for the class, or forward.NAME=VALUE for calls.",
)
@click.option("--config", "config_file", metavar="FILE", help="The config that the class is built with: JSON or TOML.")
@click.option(
    "--spec",
    metavar="SPEC",
    help="What the layer is meant to be: causal,positions=rotary,num_heads=8,… The keys are width, num_heads, "
    "num_kv_heads, head_width, depth, causal, window, support, positions, rotary_base, rotary_width, rotary_layout, "
    "frequencies, max_positions, scale, softcap, sink, mask, empty, align, recurrence, chunk_size, position_axes, "
    "switch_length, crossing, is_gradual, packing.",
)
@click.option("--infer", "is_inferring", is_flag=True, help="Probe for all that --spec leaves open.")
@click.option("--device", metavar="NAME", help="Where to run: cpu, cuda, …")
@click.option("--dtype", metavar="NAME", type=click.Choice(_DTYPES), help="float32, float64, bfloat16 or float16.")
@click.option("--laws", metavar="NAMES", help="Try only these laws: CAUSAL,PAD.")
@click.option(
    "--expect",
    metavar="LAW=REASON",
    multiple=True,
    callback=_named_values,
    help='A known failure: EMPTY="our issue 12".',
)
@click.option("--against", metavar="TARGET", help="Compare with another implementation, on the inputs of all laws.")
@click.option("--map", "mapping", metavar="NAME", help="A function that turns the state dict into one for --against.")
@click.option(
    "--bitwise",
    "is_bitwise",
    is_flag=True,
    help="Allow no difference: from --against, else between a row alone and in a batch, and repeats.",
)
@click.option("--lengths", type=_Lengths(), help="Lengths to try beyond the usual ones: 64,131; - for none.")
@click.option("--batch", type=int, help="Number of rows of a large batch (default 8).")
@click.option("--block", type=int, help="Size of the layer's tiles or pages (default 16): laws look at their borders.")
@click.option("--traces", type=int, help="Random traces per law about the operations of a cache (default 10).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random draw.")
@click.option(
    "--time-limit",
    type=float,
    help="Seconds per law (default 30), or per part of a --layout (60). A layer's first calls, before any law, get "
    "4 times as long, between 10 and 120 seconds; importing and building it gets 120.",
)
@click.option("--memory-limit", type=float, help="GiB for the layer (default 4), or for student code (2).")
@click.option("--jobs", type=int, default=1, show_default=True, help="Number of layers to check at a time.")
@click.option("--json", "json_file", metavar="FILE", help="Write the verdicts as JSON; - for standard output.")
@click.option("--html", "html_file", metavar="FILE", help="Write an HTML report.")
@click.option("--sarif", "sarif_file", metavar="FILE", help="Write the failures as SARIF, for code hosts.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--write-test", "test_file", metavar="FILE", help="Write a short pytest file that reproduces the failures."
)
@click.option("--zoo", "is_zoo", is_flag=True, help="Check the public implementations that are installed.")
@click.option("--layout", nargs=2, metavar="NAME DIR", help="Check a student's folder: cs224n-a4 DIR.")
@click.option("--list", "is_listing", is_flag=True, help="List the laws without trying any.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with 3 if a law was skipped or inconclusive.")
def check(**options: Any) -> int:
    """Try the laws of attention on a layer.

    A target is the name of a layer, or of a factory that makes one: package.module:name, path/to/file.py:name, or
    hf:CLASS, torch:CLASS. What the layer itself can tell need not be declared; the report says what was found, and how.

    Each layer runs in its own process: a hang, a crash or a lack of memory is the verdict on the law being tried, and
    the other laws still run. Skipped checks always say why; a check passes only if a positive control also fired.

    \b
    Examples:
      regard check attn.py:Attention               find out what the layer is, then check
      regard check mypkg.attn:build --arg width=64 --spec causal,positions=rotary
      regard check hf:LlamaForCausalLM             a Hugging Face class, tiny and random
      regard check torch:MultiheadAttention --laws PAD,JUNK,EMPTY --expect EMPTY="NaN rows, our issue 12"
      regard check mine.py:Cache                   a cache; kernels and recurrences likewise
      regard check fast.py:Attention --against slow.py:Attention
      regard check mypkg.attn:build --write-test test_attn.py
      regard check --zoo --html zoo.html --jobs 2  public implementations × laws
      regard check --layout cs224n-a4 submission/
      regard check --list                          list the laws

    Exit code: 0: no failures; 1: a failure, crash, timeout or unexpected pass; 2: bad input; 3: undecided (with
    --strict).
    """
    from regard.conformance.check import list_laws
    from regard.render.terminal import open_console, show_listing

    if options["is_listing"]:
        show_listing(open_console(), list_laws(options["laws"]))
        return ExitCode.SUCCESS
    _ensure_consistent(options)
    targets = _writable_targets(options)
    if options["layout"] is not None:
        from regard.conformance.homework.check import check_layout

        limits = {name: options[name] for name in ("time_limit", "memory_limit") if options[name] is not None}
        requests, reports = [], check_layout(*options["layout"], seed=options["seed"], **limits)
    else:
        requests = _requests(options)
        reports = _check_layers(requests, options)
    _ensure_unmoved(targets)
    _publish(requests, reports, options)
    if not all(report.ok for report in reports):
        return ExitCode.FAILURE
    is_decided = all(verdict.has_run for report in reports for verdict in report.verdicts)
    return ExitCode.UNDECIDED if options["is_strict"] and not is_decided else ExitCode.SUCCESS


def _check_layers(requests: Sequence["CheckRequest"], options: dict[str, Any]) -> "Sequence[CheckReport]":
    from regard.conformance.check import check_all
    from regard.conformance.isolation import CheckLimits
    from regard.render import progress, terminal

    given = {"seconds": options["time_limit"], "memory": options["memory_limit"]}
    chosen = {name: limit for name, limit in given.items() if limit is not None}
    limits = CheckLimits(**chosen, is_preloaded=options["is_zoo"])
    with progress.progress(terminal.open_console(is_for_errors=True), "trying laws") as report:
        return check_all(requests, limits=limits, jobs=options["jobs"], progress=report)


def _ensure_consistent(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    num_ways = bool(options["targets"]) + options["is_zoo"] + (options["layout"] is not None)
    if num_ways == 0:
        raise click.UsageError("Name a layer to check, such as mypkg.attn:build, or give --zoo.", context)
    if num_ways > 1:
        raise click.UsageError("A target, --zoo and --layout cannot be combined.", context)
    if options["spec"] is not None and options["is_zoo"]:
        raise click.UsageError("The zoo has its own specs, so --spec cannot be combined with --zoo.", context)
    if options["test_file"] is not None and options["layout"] is not None:
        raise click.UsageError("--write-test cannot be combined with --layout.", context)


def _writable_targets(options: dict[str, Any]) -> dict[str, Path]:
    """The file behind the name of each report; fails before the work starts, not after it, if one cannot be written."""
    from regard.core.files import ensure_writable

    named = [options[name] for name in _FILES if options[name] is not None]
    if len(set(named)) < len(named):
        raise InputError(f"Two reports would go to one file: {', '.join(named)}. Name a file for each.")
    for file in named:
        if file != "-":
            ensure_writable(Path(file))
    return {file: Path(file).resolve() for file in named if file != "-"}


def _ensure_unmoved(targets: dict[str, Path]) -> None:
    """Fails if a layer has put a link where a report goes, so that it would overwrite another file."""
    for file, target in targets.items():
        if Path(file).resolve() != target:
            raise InputError(f"{file} was made a link while the layer was checked. Name a file in another folder.")


def _requests(options: dict[str, Any]) -> "list[CheckRequest]":
    from regard.conformance.check import sizes_of, zoo_requests
    from regard.conformance.requests import CheckRequest
    from regard.conformance.subject import spec_from_text

    common = CheckRequest(
        target="",
        arguments=_arguments(options),
        spec=None if options["spec"] is None else spec_from_text(options["spec"]),
        dtype=options["dtype"],
        device=options["device"],
        is_inferring=options["is_inferring"],
        laws=None if options["laws"] is None else tuple(options["laws"].split(",")),
        expect={name.upper(): why for name, why in options["expect"].items()},
        seed=options["seed"],
        sizes=sizes_of(options),
        against=options["against"],
        mapping=options["mapping"],
        is_bitwise=options["is_bitwise"],
    )
    return zoo_requests(common) if options["is_zoo"] else [replace(common, target=name) for name in options["targets"]]


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = options["arguments"]
    if options["config_file"] is None:
        return given
    if "config" in given:
        raise InputError("--arg config=… and --config cannot be combined. Give one of them.")
    return {**given, "config": _read_config(Path(options["config_file"]))}


def _read_config(path: Path) -> dict[str, Any]:
    import json
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Give a file that exists.") from error
    except ValueError as error:
        raise InputError(f"{path} is no {'TOML' if path.suffix == '.toml' else 'JSON'}: {error}.") from error
    if not isinstance(values, dict):
        raise InputError(f'{path} has no names and values. Write an object such as {{"n_embd": 64}}.')
    return values


def _publish(requests: Sequence["CheckRequest"], reports: "Sequence[CheckReport]", options: dict[str, Any]) -> None:
    from regard.conformance.report import reports_as_json, reports_as_junit, reports_as_sarif, show_check, show_matrix
    from regard.core.files import write_atomically
    from regard.render.terminal import open_console

    if options["html_file"] is not None:
        from regard.conformance.page import render_check

        write_atomically(Path(options["html_file"]), render_check(reports))
    if options["sarif_file"] is not None:
        write_atomically(Path(options["sarif_file"]), reports_as_sarif(reports))
    if options["junit_file"] is not None:
        write_atomically(Path(options["junit_file"]), reports_as_junit(reports))
    if options["test_file"] is not None:
        _write_test(Path(options["test_file"]), requests, reports)
    if options["json_file"] == "-":
        sys.stdout.write(reports_as_json(reports, is_ascii=not is_unicode()))
        return
    if options["json_file"] is not None:
        write_atomically(Path(options["json_file"]), reports_as_json(reports))
    if len(reports) == 1:
        show_check(open_console(), reports[0])
    else:
        show_matrix(open_console(), reports)


def _write_test(path: Path, requests: Sequence["CheckRequest"], reports: "Sequence[CheckReport]") -> None:
    from regard.conformance.reproduction import pytest_file
    from regard.core.files import write_atomically

    refuted = [
        (request, [verdict for verdict in report.verdicts if verdict.status == "refuted"])
        for request, report in zip(requests, reports, strict=True)
    ]
    broken = [(request, verdicts) for request, verdicts in refuted if verdicts]
    if broken:
        write_atomically(path, pytest_file(broken))
    else:
        complain(f"No law was refuted, so there is no test to write to {path}.")
