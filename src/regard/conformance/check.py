"""`regard check`: the laws of attention layers on somebody's layer."""

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from regard.conformance import Law, all_laws
from regard.conformance.checking import check_subject, chosen_laws, report_on
from regard.conformance.isolation import Limits, check_isolated
from regard.conformance.orders import ZOO, Order, importable_name, in_dtype, inferred_for, made, subject_of
from regard.conformance.recipes import recipe_for_order, recipe_for_target
from regard.conformance.subject import Spec, Subject
from regard.conformance.trying import Hearing, tried
from regard.conformance.verdict import CheckReport, LawVerdict
from regard.core.errors import InputError
from regard.render.terminal import CatalogEntry

Progress = Callable[[int, int], None]


class How(TypedDict, total=False):
    """The rest of what can be said about a check, each with a default.

    `arguments` are for a factory; `name` is what the report calls the layer; `infer` probes for what is not declared;
    `isolate` runs the layer in a process of its own (as is usual for targets given by name); `limits` bound it;
    `progress(done, total)` is called after each law.
    """

    arguments: Mapping[str, Any]
    name: str
    infer: bool
    isolate: bool
    limits: Limits
    progress: Progress


def check(
    target: Any,
    spec: Spec | None = None,
    *,
    expect: Mapping[str, str] | None = None,
    laws: Iterable[str] | str | None = None,
    seed: int = 0,
    **how: Unpack[How],
) -> CheckReport:
    """The verdict on every law for one layer: an instance, a factory, or the name of one ("package.module:name").

    Failures that `expect` names with a reason count as expected; nothing is raised. A name is checked in a process of
    its own, in which a hang or a crash is a verdict; anything else is checked here unless `isolate` is true.
    """
    chosen = _chosen(laws)
    ensure_known(expect or {}, seed)
    is_isolated = how.get("isolate", isinstance(target, str))
    order = Order(
        target=target if isinstance(target, str) else importable_name(target) if is_isolated else "",
        arguments={name: str(value) for name, value in how.get("arguments", {}).items()},
        spec=spec,
        name=how.get("name"),
        is_inferring=how.get("infer", False),
        laws=tuple(chosen),
        expect=expect or {},
        seed=seed,
    )
    if is_isolated:
        limits, progress = how.get("limits"), _counting(how.get("progress"), len(chosen))
        return check_isolated(order, _titles(chosen), limits=limits, progress=progress)
    return _check_here(target, order, chosen, how)


def _check_here(target: Any, order: Order, laws: Mapping[str, Law], how: How) -> CheckReport:
    hearing, inferred = open_hearing(target, order, how.get("arguments", {}))
    done, told = itertools.count(1), how.get("progress")
    report = check_subject(
        hearing.subject,
        laws=laws,
        expect=order.expect,
        hear=lambda law: tried(law, hearing),
        progress=None if told is None else lambda _: told(next(done), len(laws)),
    )
    return replace(report, inferred=inferred)


def open_hearing(
    target: Any, order: Order, arguments: Mapping[str, Any] | None = None
) -> tuple[Hearing, dict[str, Any] | None]:
    """The layer, built in this process, with its recipe."""
    from regard.conformance import adapters

    if order.target:
        subject, inferred = subject_of(order)
        return Hearing(subject=subject, recipe=recipe_for_order(order, subject, inferred), order=order), inferred
    built = made(target, arguments or {})
    subject = adapters.adapt(built, order.spec, name=order.name)
    subject, inferred = inferred_for(subject) if order.is_inferring else (subject, None)
    return Hearing(subject=subject, recipe=recipe_for_target(built, order, inferred), order=order), inferred


def _chosen(laws: Iterable[str] | str | None) -> dict[str, Law]:
    return chosen_laws(laws if laws is None or isinstance(laws, str) else ",".join(laws))


def _titles(laws: Mapping[str, Law]) -> list[tuple[str, str]]:
    return [(law.id, law.statement) for law in laws.values()]


def _counting(progress: Progress | None, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(done, total)


def ensure_known(expect: Mapping[str, str], seed: int) -> None:
    """Raises an InputError for a law that does not exist or a seed that cannot be one."""
    if seed < 0:
        raise InputError(f"Seed {seed} is negative. Choose a seed of 0 or more.")
    unknown = sorted(set(expect) - set(all_laws()))
    if unknown:
        raise InputError(f"There is no law {', '.join(unknown)} to expect a failure of. See `regard check --list`.")


def check_orders(
    orders: Sequence[Order], *, limits: Limits | None = None, jobs: int = 1, progress: Progress | None = None
) -> tuple[CheckReport, ...]:
    """The reports on several layers, each in a process of its own, `jobs` of them at a time.

    What cannot be loaded is refused if it is the only one; among several it is a report of its own.
    """
    if jobs < 1:
        raise InputError(f"{jobs} jobs can do no work. Ask for at least one.")
    for order in orders:
        ensure_known(order.expect, order.seed)
    titles = [_titles(_chosen(order.laws)) for order in orders]
    crew = _Crew(limits=limits, is_alone=len(orders) == 1)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(crew.work, order, laws) for order, laws in zip(orders, titles, strict=True)]
        try:
            crew.wait_for(futures, progress, sum(map(len, titles)))
        except BaseException:
            crew.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return tuple(future.result() for future in futures)


@dataclass(kw_only=True)
class _Crew:
    """Threads that each wait for a layer's process, count its laws together, and stop together."""

    limits: Limits | None
    is_alone: bool
    stop: threading.Event = field(default_factory=threading.Event)
    _tried: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def work(self, order: Order, laws: list[tuple[str, str]]) -> CheckReport:
        """The report on one layer."""

        def count(_: int, __: int) -> None:
            self._tried.release()

        try:
            return check_isolated(order, laws, limits=self.limits, progress=count, stop=self.stop)
        except InputError as error:
            if self.is_alone:
                raise
            return _unbuilt(order, str(error))

    def wait_for(self, futures: Sequence[Future[CheckReport]], progress: Progress | None, total: int) -> None:
        """Returns when all are done, and tells how many laws are."""
        left, done = set(futures), 0
        while left:
            _, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)
            while self._tried.acquire(blocking=False):
                done += 1
            if progress is not None:
                progress(min(done, total), total)


def _unbuilt(order: Order, reason: str) -> CheckReport:
    subject = Subject()
    subject.name, subject.spec = order.name or order.target, in_dtype(order.spec or subject.spec, order)
    verdict = LawVerdict(
        id="BUILD", statement="the layer can be imported and built", status="undecided", outcome="crashed",
        reason=reason, layer=subject.name, seed=order.seed,
    )  # fmt: skip
    return report_on(subject, (verdict,))


def zoo_orders(order: Order) -> list[Order]:
    """An order for every implementation of the zoo that is installed, with its known failures expected."""
    from regard.conformance.adapters.zoo import zoo

    found = {name: entry for name, entry in zoo().items() if entry.is_installed}
    if not found:
        raise InputError("Nothing of the zoo is installed here. Install some of it: pip install 'regard[zoo]'.")
    tried = set(_chosen(order.laws))
    return [
        replace(order, target=f"{ZOO}{name}", name=name, expect={**_among(tried, entry.expect), **order.expect})
        for name, entry in found.items()
    ]


def _among(laws: set[str], expect: Mapping[str, str]) -> dict[str, str]:
    return {law: why for law, why in expect.items() if law in laws}


def list_laws(names: str | None = None) -> dict[str, list[CatalogEntry]]:
    """The laws by what they need, none of them tried."""
    groups: dict[str, list[CatalogEntry]] = {}
    for law in chosen_laws(names).values():
        needs = " and ".join(law.needs)
        title = f"for layers with {needs}" if needs else "for every layer"
        entry = CatalogEntry(id=law.id, statement=law.statement, settings=f"usually: {law.suspects[0]}")
        groups.setdefault(title, []).append(entry)
    return dict(sorted(groups.items(), key=lambda item: item[0].count(" and ") + (item[0] != "for every layer")))
