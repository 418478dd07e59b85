"""Laws tried on a layer: a verdict on each, the smallest input that breaks it, and the report on all of them."""

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace

import numpy as np

from regard.conformance import all_laws
from regard.conformance.law import (
    NO_INPUTS,
    BlindSpot,
    CheckSizes,
    Comparison,
    InputSize,
    Law,
    LawTrial,
    NotTried,
    distance,
)
from regard.conformance.subject import CAPABILITIES, KERNELS, Subject
from regard.conformance.verdict import CheckReport, Diagnosis, LawVerdict, Outcome, error_line
from regard.core.errors import InputError, did_you_mean
from regard.core.verdict import Status

_STATUS: dict[Outcome, Status] = {
    "holds": "holds",
    "refuted": "refuted",
    "expected failure": "refuted",
    "unexpected pass": "holds",
    "skipped": "undecided",
    "inconclusive": "undecided",
    "crashed": "undecided",
    "timed out": "undecided",
}
_SMALLER_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10)
# A layer that takes longer for one large input, in seconds, is not tried on such inputs.
_SLOW = 0.5
_NOISE = Diagnosis("dropout", "the layer changes from call to call")
_REMEMBERS = frozenset({"state", "axes", "switch"})
_KEPT = Diagnosis("state", "something is kept from one call to the next")
_NOT_FINITE = Diagnosis("precision", "all outputs for ordinary inputs are infinite or NaN")

Diagnose = Callable[[Law, LawTrial, Comparison], tuple[Diagnosis, ...]]


def judge(
    law: Law, subject: Subject, *, seed: int = 0, diagnose: Diagnose | None = None, sizes: CheckSizes | None = None
) -> LawVerdict:
    """The verdict on one law; whatever the layer raises is a verdict too.

    A law that holds at its usual size is tried again at the larger `sizes`.
    """
    with np.errstate(all="ignore"):  # whether numbers are finite is for the law to say, not for numpy's warnings
        num_traces = LawTrial.num_traces if sizes is None else sizes.traces
        trial = LawTrial(subject=subject, size=law.size_for(subject.spec), seed=seed, num_traces=num_traces)
        verdict = _judged(law, trial, diagnose)
        if verdict.outcome in ("holds", "inconclusive") and sizes is not None:
            verdict = _judged_larger(law, trial, diagnose, sizes) or verdict
        return replace(verdict, seed=seed)


def _judged_larger(law: Law, trial: LawTrial, diagnose: Diagnose | None, sizes: CheckSizes) -> LawVerdict | None:
    """The refutation at a larger size, None if there is none.

    A layer may have a largest size of its own, so what it raises at a larger one is no verdict. Rounding in half
    precision adds up over long inputs.
    """
    if trial.is_half_precision or not law.grows_in:
        return None
    for size in law.larger_sizes(trial.spec, fitting_sizes(trial.subject, sizes)):
        larger = replace(trial, size=size)
        broken = _broken(law, larger)
        if broken:
            return _refuted(law, larger, _worst(broken), diagnose)
    return None


def _broken(law: Law, trial: LawTrial) -> list[Comparison]:
    """The comparisons that fail; none if the layer raises at this size."""
    try:
        return [each for each in law.compare(trial) if each.is_broken]
    except Exception:  # noqa: BLE001 - a size that the layer cannot take is no counterexample
        return []


@functools.lru_cache(maxsize=1)  # all laws of a layer are tried before the next layer
def fitting_sizes(subject: Subject, sizes: CheckSizes) -> CheckSizes:
    """Those of the sizes that the layer takes within a moment; a length that it does not take is halved."""
    limit, usual = subject.spec.max_positions, InputSize()
    fitting = {_fitting_length(subject, min(length, limit or length)) for length in sizes.lengths}
    is_wide = _takes(subject, sizes.batch, usual.length)
    return replace(
        sizes,
        lengths=tuple(sorted(length for length in fitting if length > usual.length)),
        batch=sizes.batch if is_wide else usual.batch,
    )


def _fitting_length(subject: Subject, length: int) -> int:
    while length > 1 and not _takes(subject, 1, length):
        length //= 2
    return length


def _takes(subject: Subject, batch: int, length: int) -> bool:
    x = LawTrial(subject=subject, size=InputSize(batch=batch, length=length)).inputs()
    start = time.perf_counter()
    try:
        y = subject.call(x)
    except Exception:  # noqa: BLE001 - every layer has an error of its own for this
        return False
    return y.shape[:2] == x.shape[:2] and time.perf_counter() - start < _SLOW


def _judged(law: Law, trial: LawTrial, diagnose: Diagnose | None) -> LawVerdict:
    subject = trial.subject
    lacking = missing(law, subject)
    if lacking is not None:
        return _verdict(law, subject, "skipped", lacking)
    try:
        comparisons = list(law.compare(trial))
    except NotTried as lack:
        return _verdict(law, subject, "skipped", str(lack))
    except Exception as error:  # noqa: BLE001 - a layer may raise anything, and each law is judged on its own
        return _verdict(law, subject, "crashed", error_line(error, is_placed=True))
    broken = [each for each in comparisons if each.is_broken]
    if broken:
        return _refuted(law, trial, _worst(broken), diagnose)
    if not comparisons:
        return _verdict(law, subject, "skipped", f"inputs of length {trial.size.length} are too short to try it")
    for each in comparisons:
        if not each.is_lively(trial.lively_for(law)):
            reason = f"the positive control moves the output by only {each.control:.2g}, too little to decide"
            return _verdict(law, subject, "inconclusive", reason, each)
    return _verdict(law, subject, "holds", f"{len(comparisons)} comparisons", _worst(comparisons))


def missing(law: Law, subject: Subject) -> str | None:
    """Why the law cannot be tried on this layer, None if it can."""
    lacking = next((need for need in law.needs if not subject.has(need)), None)
    if not _is_about(law, subject) and (lacking is None or not subject.is_layer):
        return "only for layers"
    if lacking is not None:
        return CAPABILITIES[lacking][1] if lacking in CAPABILITIES else f"needs {lacking}"
    return law.applies(subject.spec)


def laws_about(subject: Subject, laws: Iterable[Law]) -> list[Law]:
    """The laws about subjects of this kind, layers or a class of kernels; all of them if none is, to say why."""
    laws = list(laws)
    return [law for law in laws if _is_about(law, subject)] or laws


def _is_about(law: Law, subject: Subject) -> bool:
    if not subject.is_layer:
        return subject.has(*law.needs[:1] or ("layer",))
    own = KERNELS & subject.capabilities
    return KERNELS & set(law.needs) == own or (bool(own) and "kernel" in law.needs)


def _verdict(
    law: Law, subject: Subject, outcome: Outcome, reason: str, comparison: Comparison | None = None
) -> LawVerdict:
    error, tolerance = (None, None) if comparison is None else (comparison.error, comparison.tolerance)
    return LawVerdict(
        id=law.id,
        statement=law.statement,
        status=_STATUS[outcome],
        outcome=outcome,
        method=law.grade,
        reason=reason,
        value=error,
        bound=tolerance,
        error=error,
        tolerance=tolerance,
        control=None if comparison is None else comparison.control,
        layer=subject.name,
    )


def _refuted(law: Law, trial: LawTrial, worst: Comparison, diagnose: Diagnose | None) -> LawVerdict:
    repeats, is_finite = _repeats(trial), _is_finite(trial)
    if repeats and not law.shrinks_itself:
        trial, worst = _smallest(law, trial, worst)
    if diagnose is None:
        bugs = law.usual_bugs
    elif not repeats:
        bugs = (_KEPT, _NOISE) if _REMEMBERS & trial.subject.capabilities else (_NOISE,)
    else:
        bugs = diagnose(law, trial, worst) if is_finite else (_NOT_FINITE,)
    verdict = _verdict(law, trial.subject, "refuted", worst.what, worst)
    return replace(verdict, counterexample=_counterexample(law, trial, worst), diagnosis=bugs)


def _counterexample(law: Law, trial: LawTrial, worst: Comparison) -> str:
    is_sized = law.size != NO_INPUTS and not law.shrinks_itself
    size = [f"batch {trial.size.batch}", f"length {trial.size.length}"] if is_sized else []
    where = ", ".join([*size, *(f"{name} {value}" for name, value in worst.place.items())])
    allowed = f"tolerance {worst.tolerance:.3g}" if worst.tolerance > 0 else "should be 0"
    amount = "" if worst.is_yes_no else f", by {worst.error:.3g} ({allowed})"
    return f"{where}: {worst.what}{amount}" if where else f"{worst.what}{amount}"


def _repeats(trial: LawTrial) -> bool:
    """True unless two equal calls differ: for a noisy layer there is no smallest case, and noise explains it all."""
    x, subject = trial.inputs(), trial.subject
    calls: list[Callable[[np.ndarray], np.ndarray]] = [subject.call]
    if subject.has("mask"):
        calls.append(lambda x: subject.call(x, mask=np.ones(x.shape[:2], dtype=bool)))
    if subject.has("cache") or subject.has("state"):
        calls.append(lambda x: subject.step(x, subject.empty_cache(x.shape[0]))[0])
    try:
        # Copies, because a layer that modifies its input is not noisy.
        return all(distance(call(x.copy()), call(x.copy())) == 0 for call in calls)
    except Exception:  # noqa: BLE001 - an exception at this size is not noise
        return True


def _is_finite(trial: LawTrial) -> bool:
    """True unless no output of a plain call is finite: where only some are not, they point to the bug."""
    try:
        return bool(np.isfinite(trial.subject.call(trial.inputs())).any())
    except Exception:  # noqa: BLE001 - an exception at this size says nothing about numbers
        return True


def _smallest(law: Law, trial: LawTrial, worst: Comparison) -> tuple[LawTrial, Comparison]:
    """The shortest input, with one row if that is enough, that still breaks the law."""
    if trial.size.block is not None:
        return _smallest_large(law, trial, worst)
    full = (trial.size.length, trial.size.batch)
    sizes = [(length, batch) for length in _SMALLER_LENGTHS for batch in range(1, trial.size.batch + 1)]
    for length, batch in (size for size in sizes if size < full):
        shorter = replace(trial, size=InputSize(batch=batch, length=length))
        broken = _broken(law, shorter)
        if broken:
            return shorter, _worst(broken)
    return trial, worst


def _smallest_large(law: Law, trial: LawTrial, worst: Comparison) -> tuple[LawTrial, Comparison]:
    """First fewer tokens, then fewer rows: the usual number if that fails too, else the least by bisection."""
    usual = law.size_for(trial.spec)
    for name in ("length", "batch"):
        below, value = getattr(usual, name) - 1, getattr(usual, name)
        while below < value < getattr(trial.size, name):
            smaller = replace(trial, size=replace(trial.size, **{name: value}))
            broken = _broken(law, smaller)
            if broken:
                trial, worst = smaller, _worst(broken)
            else:
                below = value
            value = (below + getattr(trial.size, name) + 1) // 2
    return trial, worst


def _worst(comparisons: list[Comparison]) -> Comparison:
    """The comparison with the largest error relative to its tolerance, the first of equals."""

    def excess(comparison: Comparison) -> float:
        if np.isnan(comparison.error):
            return float("inf")
        return comparison.error / comparison.tolerance if comparison.tolerance > 0 else comparison.error * 1e30

    return max(comparisons, key=excess)


def check_subject(
    subject: Subject,
    *,
    laws: Mapping[str, Law] | None = None,
    expect: Mapping[str, str] | None = None,
    judge_law: Callable[[Law], LawVerdict] | None = None,
    progress: Callable[[LawVerdict], None] | None = None,
) -> CheckReport:
    """Every law on the subject, in order; `expect` gives reasons for the failures that are expected.

    `judge_law` tries one law, by default at all sizes and with a diagnosis; `progress` is called with each verdict.
    """
    from regard.conformance.diagnosis import diagnose

    judge_law = judge_law or (lambda law: judge(law, subject, diagnose=diagnose, sizes=CheckSizes()))
    verdicts = []
    for law in laws_about(subject, (all_laws() if laws is None else laws).values()):
        verdict = expected(judge_law(law), expect or {})
        verdicts.append(verdict)
        if progress is not None:
            progress(verdict)
    return report_on(subject, tuple(verdicts))


def expected(verdict: LawVerdict, expect: Mapping[str, str]) -> LawVerdict:
    """A failure with a reason in `expect` is an expected failure, and a pass in its place an unexpected one."""
    if verdict.id not in expect:
        return verdict
    if verdict.outcome == "refuted":
        return replace(verdict, outcome="expected failure", reason=f"{expect[verdict.id]} ({verdict.reason})")
    if verdict.outcome == "holds":
        return replace(verdict, outcome="unexpected pass", reason=f"it was expected to fail: {expect[verdict.id]}")
    return verdict


def report_on(subject: Subject, verdicts: tuple[LawVerdict, ...]) -> CheckReport:
    """The report; its grade is "spec" if the laws that ran leave no blind spot."""
    laws = all_laws()
    # Two implementations that agree may both be wrong, so that the laws of a pair reveal nothing by themselves.
    ran = [
        laws[each.id] for each in verdicts if each.id in laws and each.has_run and each.method == laws[each.id].grade
    ]
    revealed = {spot for law in ran for spot in law.reveals}
    blind_to = tuple(spot for spot in BlindSpot if spot not in revealed and subject.is_layer)
    no_part = {"width", "positions"} if KERNELS & subject.capabilities else set()
    return CheckReport(
        layer=subject.name,
        spec={name: value for name, value in asdict(subject.spec).items() if name not in no_part},
        grade="black-box" if blind_to or not subject.is_layer else "spec",
        blind_to=blind_to,
        verdicts=verdicts,
    )


def chosen_laws(names: Iterable[str] | str | None) -> dict[str, Law]:
    """The laws with these names, a list or text with commas; all of them if none is given."""
    laws = all_laws()
    if names is None:
        return laws
    listed = names if isinstance(names, str) else ",".join(names)
    wanted = [name.strip().upper() for name in listed.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in laws]
    if unknown:
        hint = did_you_mean(unknown[0], laws) or f"The laws are {', '.join(laws)}."
        raise InputError(f"There is no law {unknown[0]}. {hint}")
    return {name: laws[name] for name in wanted}
