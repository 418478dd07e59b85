"""Laws as tests: one test for each law and layer, by pytest's own parametrization."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from regard.conformance import Law
from regard.conformance.check import ensure_known
from regard.conformance.checking import chosen_laws
from regard.conformance.orders import Order
from regard.conformance.subject import Spec, Subject
from regard.conformance.trying import Hearing, tried
from regard.conformance.verdict import LawsBroken, LawVerdict
from regard.core.errors import RegardError

Reasons = Mapping[str, str]
Row = tuple[str, Any, Spec | None]


class LayerCrashed(RegardError):
    """Raised by a law under which the layer itself raised; no expected failure covers that."""


@dataclass(frozen=True, eq=False)
class SubjectOnTrial:
    """A layer that is built when the first of its laws is tried, once a process."""

    name: str
    target: Any
    spec: Spec | None = None

    @cached_property
    def hearing(self) -> Hearing:
        """The layer, built."""
        from regard.conformance.check import open_hearing

        target = self.target if isinstance(self.target, str) else ""
        order = Order(target=target, spec=self.spec, name=self.name)
        return open_hearing(self.target, order)[0]

    @property
    def subject(self) -> Subject:
        """The layer as laws see it."""
        return self.hearing.subject


@dataclass(frozen=True, eq=False)
class LawTest:
    """A law that is called on a layer: it returns if the law holds, raises if not, and skips what cannot be tried."""

    law: Law
    seed: int = 0

    def __call__(self, subject: SubjectOnTrial) -> LawVerdict:
        """Raises LawsBroken, an AssertionError, with counterexample and diagnosis."""
        import pytest

        __tracebackhide__ = True
        verdict = tried(self.law, subject.hearing, seed=self.seed)
        if verdict.outcome in ("skipped", "inconclusive"):
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")
        if verdict.outcome == "crashed":
            raise LayerCrashed(f"{verdict.law}: the layer raised {verdict.reason}")
        if not verdict.is_as_expected:
            raise LawsBroken(_told(verdict))
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
    """Makes one test of each law and layer for a function of (law, subject) whose body is `law(subject)`.

    A row is a name, a layer (an instance, a factory, or "package.module:name") and its Spec or None. `expect` maps laws
    to reasons, for all layers or under a layer's name; such tests are strict expected failures.
    """
    import pytest

    chosen = chosen_laws(laws if laws is None or isinstance(laws, str) else ",".join(laws))
    cases = []
    for name, target, spec in subjects:
        reasons = _reasons(expect or {}, name)
        ensure_known(reasons, seed)
        subject = SubjectOnTrial(name, target, spec)
        for law in chosen.values():
            marks = [pytest.mark.regard, *_expected_failure(reasons.get(law.id))]
            cases.append(pytest.param(LawTest(law, seed), subject, id=f"{name}-{law.id}", marks=marks))
    return pytest.mark.parametrize(("law", "subject"), cases)


def _expected_failure(reason: str | None) -> Sequence[Any]:
    import pytest

    return [] if reason is None else [pytest.mark.xfail(strict=True, raises=LawsBroken, reason=reason)]


def _reasons(expect: Mapping[str, str | Reasons], name: str) -> dict[str, str]:
    """What is expected of the layer of this name."""
    common = {law: why for law, why in expect.items() if isinstance(why, str)}
    own = expect.get(name, {})
    return {**common, **(own if isinstance(own, Mapping) else {})}


def _told(verdict: LawVerdict) -> str:
    lines = [
        f"{verdict.layer} breaks {verdict.law}: {verdict.statement}",
        f"counterexample: {verdict.counterexample or verdict.reason}",
        *(f"probably: {name}" for name in verdict.diagnosis[:3]),
    ]
    return "\n".join([*lines, *([f"reproduce: {verdict.reproduce}"] if verdict.reproduce else [])])
