"""Laws as tests: one test per law and layer, by pytest's own parametrization."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from regard.conformance import Law
from regard.conformance.adapters.caches import is_cache_engine
from regard.conformance.check import ensure_known
from regard.conformance.judging import chosen_laws, laws_about
from regard.conformance.reproduction import try_law
from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import LawsBroken, LawVerdict
from regard.core.errors import RegardError

Reasons = Mapping[str, str]
Row = tuple[str, Any, Spec | None]


class LayerCrashed(RegardError):
    """Raised if the layer itself raises while a law is tried; an expected failure does not cover that."""


@dataclass(frozen=True, eq=False)
class LazySubject:
    """A layer that is built when the first of its laws is tried, once per process."""

    request: CheckRequest

    @cached_property
    def subject(self) -> Subject:
        """The layer as laws see it."""
        return build_subject(self.request)[0]


@dataclass(frozen=True, eq=False)
class LawTest:
    """A law to call on a layer: returns if the law holds, raises if not, skips the test if it cannot be tried."""

    law: Law

    def __call__(self, subject: LazySubject) -> LawVerdict:
        """Raises LawsBroken, an AssertionError, with counterexample and diagnosis."""
        import pytest

        __tracebackhide__ = True
        verdict = try_law(self.law, subject.subject, subject.request)
        if not verdict.has_run:
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")
        if verdict.outcome == "crashed":
            raise LayerCrashed(f"{verdict.law}: the layer raised {verdict.reason}")
        if not verdict.is_as_expected:
            raise LawsBroken(_message(verdict))
        return verdict

    def __repr__(self) -> str:
        return self.law.id


def parametrize_with_laws(
    subjects: Iterable[Row],
    *,
    expect: Mapping[str, str | Reasons] | None = None,
    laws: Iterable[str] | str | None = None,
    seed: int = 0,
) -> Callable[..., Any]:
    """A decorator that makes one test per law and layer of a function (law, subject) whose body is `law(subject)`.

    Args:
        subjects: rows of a name, a layer (an instance, a factory, or "package.module:name") and its Spec or None.
        expect: known failures, {law: reason} for all layers or {name: {law: reason}} for one; the tests are strict
            expected failures.
        laws: the laws to try, a list or text with commas; all by default.
        seed: the seed of every random draw.
    """
    import pytest

    chosen = chosen_laws(laws)
    cases = []
    for name, target, spec in subjects:
        own = (expect or {}).get(name)
        reasons = {law: why for law, why in (expect or {}).items() if isinstance(why, str)}
        reasons |= own if isinstance(own, Mapping) else {}
        ensure_known(reasons, seed)
        subject = LazySubject(CheckRequest(target=target, spec=spec, name=name, seed=seed))
        for law in _laws_about_target(target, chosen.values()):
            marks = [pytest.mark.regard]
            if law.id in reasons:
                marks.append(pytest.mark.xfail(strict=True, raises=LawsBroken, reason=reasons[law.id]))
            cases.append(pytest.param(LawTest(law), subject, id=f"{name}-{law.id}", marks=marks))
    return pytest.mark.parametrize(("law", "subject"), cases)


def _laws_about_target(target: Any, laws: Iterable[Law]) -> Iterable[Law]:
    """The laws about kernels or caches if the target is one without being built; all of them otherwise."""
    if is_cache_engine(target):
        cache = Subject()
        cache.is_layer, cache.capabilities = False, frozenset({"cache"})
        return laws_about(cache, laws)
    return laws_about(target, laws) if isinstance(target, Subject) else laws


def _message(verdict: LawVerdict) -> str:
    lines = [
        f"{verdict.layer} breaks {verdict.law}: {verdict.statement}",
        f"counterexample: {verdict.counterexample or verdict.reason}",
        *(f"probably: {name}" for name in verdict.diagnosis[:3]),
    ]
    return "\n".join([*lines, *([f"reproduce: {verdict.reproduce}"] if verdict.reproduce else [])])
