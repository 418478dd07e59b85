"""All laws on one layer."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from regard.conformance import all_laws
from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import judge
from regard.conformance.law import Law
from regard.conformance.subject import Subject
from regard.conformance.verdict import CheckReport, LawVerdict
from regard.core.errors import InputError

# What only a comparison with an oracle can see: other weights, or another lawful layer, would explain the outputs.
BLIND_SPOTS = (
    "a wrong scale of the logits",
    "a rotary layout swapped consistently",
    "key-value heads tiled instead of repeated, or heads in another order",
    "keys and values swapped",
    "another rotary base, exponent or width",
    "other ALiBi slopes",
)
# Laws that see one of these from outside, where they can be tried.
_SEEN_BY = {"RATES": "another rotary base, exponent or width", "SLOPES": "other ALiBi slopes"}


def check_subject(
    subject: Subject,
    *,
    laws: Mapping[str, Law] | None = None,
    expect: Mapping[str, str] | None = None,
    hear: Callable[[Law], LawVerdict] | None = None,
    progress: Callable[[LawVerdict], None] | None = None,
) -> CheckReport:
    """Every law on the subject, in order; failures that are expected are told apart by their reasons.

    `hear` tries one law, with a diagnosis unless told otherwise; `progress` is given each verdict as it comes.
    """
    hear = hear or (lambda law: judge(law, subject, diagnose=diagnose))
    verdicts = []
    for law in (all_laws() if laws is None else laws).values():
        verdict = expected(hear(law), expect or {})
        verdicts.append(verdict)
        if progress is not None:
            progress(verdict)
    return report_on(subject, tuple(verdicts))


def expected(verdict: LawVerdict, expect: Mapping[str, str]) -> LawVerdict:
    """A failure that was foreseen is an expected failure, and a pass in its place is an unexpected one."""
    if verdict.id not in expect:
        return verdict
    if verdict.outcome == "refuted":
        return replace(verdict, outcome="expected failure", reason=f"{expect[verdict.id]} ({verdict.reason})")
    if verdict.outcome == "holds":
        return replace(verdict, outcome="unexpected pass", reason=f"it was expected to fail: {expect[verdict.id]}")
    return verdict


def report_on(subject: Subject, verdicts: tuple[LawVerdict, ...]) -> CheckReport:
    """The report with its grade."""
    ran = {verdict.id for verdict in verdicts if verdict.outcome not in ("skipped", "inconclusive")}
    is_spec = "SPEC" in ran
    seen = {_SEEN_BY[law] for law in ran if law in _SEEN_BY}
    return CheckReport(
        layer=subject.name,
        spec=asdict(subject.spec),
        grade="spec" if is_spec else "black-box",
        blind_to=() if is_spec else tuple(spot for spot in BLIND_SPOTS if spot not in seen),
        verdicts=verdicts,
    )


def chosen_laws(names: str | None) -> dict[str, Law]:
    """The laws of these names, divided by commas; all of them if none is given."""
    laws = all_laws()
    if names is None:
        return laws
    wanted = [name.strip().upper() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in laws]
    if unknown:
        raise InputError(f"There is no law {', '.join(unknown)}. The laws are {', '.join(laws)}.")
    return {name: laws[name] for name in wanted}
