"""`regard check`: the laws of attention tried on one layer or on many."""

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from regard.conformance import all_laws
from regard.conformance.against import build_checked
from regard.conformance.isolation import CheckLimits, check_isolated, report_failed_build
from regard.conformance.judging import check_subject, chosen_laws
from regard.conformance.law import CheckSizes
from regard.conformance.reproduction import try_law
from regard.conformance.requests import ZOO, CheckRequest, importable_name
from regard.conformance.subject import CAPABILITIES, KERNELS, Spec
from regard.conformance.verdict import CheckReport
from regard.core.errors import InputError
from regard.render.terminal import CatalogEntry

Progress = Callable[[int, int], None]


class CheckOptions(TypedDict, total=False):
    """The less common arguments of `check`.

    Args:
        arguments: arguments for a factory.
        name: what the report calls the layer.
        infer: probe for what the spec does not declare.
        isolate: run the layer in a process of its own, the default for targets given by name.
        limits: time and memory for a layer in a process of its own.
        progress: called as `progress(done, total)` after each law.
        dtype: overrides the spec's dtype.
        device: overrides the spec's device.
        lengths: lengths beyond the usual ones at which laws are tried again.
        batch: the size of large batches.
        block: the size of the layer's tiles or pages, if it has such.
        traces: the number of random traces per law about the operations of a cache.
        against: another implementation of the same layer, a target too: the laws' inputs go to both.
        mapping: a function of the layer's state dict that gives the other's.
        bitwise: outputs must agree bit by bit, with the other implementation or else within a batch.
    """

    arguments: Mapping[str, Any]
    name: str
    infer: bool
    isolate: bool
    limits: CheckLimits
    progress: Progress
    dtype: str
    device: str
    lengths: Sequence[int]
    batch: int
    block: int
    traces: int
    against: Any
    mapping: Any
    bitwise: bool


def check(
    target: Any,
    spec: Spec | None = None,
    *,
    expect: Mapping[str, str] | None = None,
    laws: Iterable[str] | str | None = None,
    seed: int = 0,
    **options: Unpack[CheckOptions],
) -> CheckReport:
    """Tries every law on one layer and returns the verdicts; nothing is raised for a failure.

    A target given by name runs in a process of its own, where a hang or a crash is a verdict. Anything else runs in
    the calling process unless `isolate` is true.

    Args:
        target: a layer, a factory, or the name of one ("package.module:name").
        spec: what the layer is meant to be; laws that need more than is declared are skipped.
        expect: known failures, by law, with a reason for each.
        laws: the laws to try, a list or text with commas; all by default.
        seed: the seed of every random draw.
        options: see `CheckOptions`.

    >>> import numpy as np
    >>> report = check(lambda x: np.flip(x, axis=1), Spec(causal=True), laws="CAUSAL,DET")
    >>> report.ok, [failure.law for failure in report.failures]
    (False, ['CAUSAL'])
    """
    chosen = chosen_laws(laws)
    ensure_known(expect or {}, seed)
    arguments = options.get("arguments", {})
    is_isolated = options.get("isolate", isinstance(target, str))
    if is_isolated:
        name = target if isinstance(target, str) else importable_name(target)
        if name is None:
            raise InputError(
                f"{target!r} cannot be imported by another process. Put the factory at the top level of a module, "
                "or check it in this process with isolate=False."
            )
        target = name
        arguments = {name: str(value) for name, value in arguments.items()}
    request = CheckRequest(
        target=target,
        arguments=arguments,
        spec=spec,
        dtype=options.get("dtype"),
        device=options.get("device"),
        name=options.get("name"),
        is_inferring=options.get("infer", False),
        laws=tuple(chosen),
        expect=expect or {},
        seed=seed,
        sizes=sizes_of(options),
        against=options.get("against"),
        mapping=options.get("mapping"),
        is_bitwise=options.get("bitwise", False),
    )
    progress, done = options.get("progress"), itertools.count(1)

    def count(*_: object) -> None:
        if progress is not None:
            progress(next(done), len(chosen))

    if is_isolated:
        return check_isolated(request, limits=options.get("limits"), progress=count)
    subject, findings = build_checked(request)
    report = check_subject(
        subject,
        laws=chosen,
        expect=request.expect,
        judge_law=lambda law: try_law(law, subject, request),
        progress=count,
    )
    return replace(report, findings=findings)


def sizes_of(options: Mapping[str, Any]) -> CheckSizes:
    """The sizes among the options, and the usual ones where none is given."""
    given = {name: options[name] for name in ("lengths", "batch", "block", "traces") if options.get(name) is not None}
    return CheckSizes(**({**given, "lengths": tuple(given["lengths"])} if "lengths" in given else given))


def ensure_known(expect: Mapping[str, str], seed: int) -> None:
    """Raises an InputError for a law that does not exist or a seed that cannot be one."""
    if seed < 0:
        raise InputError(f"Seed {seed} is negative. Choose a seed of 0 or more.")
    unknown = sorted(set(expect) - set(all_laws()))
    if unknown:
        raise InputError(
            f"A failure of {', '.join(unknown)} is expected, but there is no such law. See `regard check --list`."
        )


def check_all(
    requests: Sequence[CheckRequest],
    *,
    limits: CheckLimits | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[CheckReport, ...]:
    """The reports on several layers, each in a process of its own, `jobs` of them at a time.

    A target that cannot be loaded raises an InputError if it is the only one; among several it gets a report.
    """
    if jobs < 1:
        raise InputError(f"The number of jobs is {jobs}. Give at least 1.")
    for request in requests:
        ensure_known(request.expect, request.seed)
    total, stop = sum(len(chosen_laws(request.laws)) for request in requests), threading.Event()
    tried: list[None] = []  # one item per law, appended by the threads

    def work(request: CheckRequest) -> CheckReport:
        try:
            return check_isolated(request, limits=limits, progress=lambda: tried.append(None), stop=stop)
        except InputError as error:
            if len(requests) == 1:
                raise
            return report_failed_build(request, str(error))

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(work, request) for request in requests]
        left = set(futures)
        try:
            while left:
                _, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)
                if progress is not None:
                    progress(min(len(tried), total), total)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return tuple(future.result() for future in futures)


def zoo_requests(request: CheckRequest) -> list[CheckRequest]:
    """The request for every implementation of the zoo that is installed, with its known failures expected."""
    from regard.conformance.adapters import zoo

    installed = {name: entry for name, entry in zoo().items() if entry.is_installed}
    if not installed:
        raise InputError("Nothing of the zoo is installed here. Install some of it: pip install 'regard[zoo]'.")
    laws = chosen_laws(request.laws)
    return [
        replace(
            request,
            target=f"{ZOO}{name}",
            name=name,
            expect={**{law: why for law, why in entry.expect.items() if law in laws}, **request.expect},
        )
        for name, entry in installed.items()
    ]


def list_laws(names: str | None = None) -> dict[str, list[CatalogEntry]]:
    """The laws by what they need, those that need least first; none of them is tried."""
    groups: dict[tuple[str, ...], list[CatalogEntry]] = {}
    for law in chosen_laws(names).values():
        entry = CatalogEntry(id=law.id, statement=law.statement, settings=f"usually: {law.usual_bugs[0].text}")
        groups.setdefault(law.needs, []).append(entry)
    order = sorted(groups, key=lambda needs: (_is_of_kernels(needs), len(needs)))
    return {_title(needs): groups[needs] for needs in order}


def _is_of_kernels(needs: Sequence[str]) -> bool:
    return bool({"kernel", *KERNELS} & set(needs))


def _title(needs: Sequence[str]) -> str:
    kind = "kernels" if _is_of_kernels(needs) else "layers"
    has = " and ".join(CAPABILITIES[need][0] for need in needs)
    return f"for {kind} with {has}" if has else "for every layer"
