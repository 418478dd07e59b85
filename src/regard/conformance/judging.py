"""One law tried on one layer: the verdict, and the smallest case in which it fails."""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried, distance
from regard.conformance.subject import CAPABILITIES, Subject
from regard.conformance.verdict import LawVerdict, Outcome
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
_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10)
_NOISE = "dropout: the layer changes from call to call"
_NOT_FINITE = "precision: no output of an ordinary input is finite, which breaks whatever is compared with it"

Diagnose = Callable[[Law, LawTrial, Comparison], tuple[str, ...]]


def judge(law: Law, subject: Subject, *, seed: int = 0, diagnose: Diagnose | None = None) -> LawVerdict:
    """The verdict on one law; whatever the layer raises is a verdict too."""
    with np.errstate(all="ignore"):  # what a layer's numbers do is for the law to say, not for numpy's warnings
        return replace(_judged(law, subject, seed, diagnose), seed=seed)


def _judged(law: Law, subject: Subject, seed: int, diagnose: Diagnose | None) -> LawVerdict:
    lacking = missing(law, subject)
    if lacking is not None:
        return skipped(law, subject, lacking)
    trial = LawTrial(subject=subject, size=law.size_for(subject.spec), seed=seed)
    try:
        findings = list(law.compare(trial))
    except NotTried as lack:
        return skipped(law, subject, str(lack))
    except Exception as error:  # noqa: BLE001 - a layer may raise anything, and each law is judged on its own
        return verdict_on(law, subject, "crashed", reason=_words(error))
    broken = [finding for finding in findings if finding.is_broken]
    if broken:
        return _refuted(law, trial, _worst(broken), diagnose)
    if not findings:
        return skipped(law, subject, f"a length of {trial.size.length} is too short to try it")
    quiet = [finding for finding in findings if not finding.moves(trial.lively)]
    if quiet:
        found = quiet[0]
        reason = f"{found.what}: the layer moves by only {found.control:.2g} where it may, too little to tell"
        return verdict_on(law, subject, "inconclusive", reason=reason, finding=found)
    worst = _worst(findings)
    return verdict_on(law, subject, "holds", reason=f"{len(findings)} comparisons", finding=worst)


def missing(law: Law, subject: Subject) -> str | None:
    """What keeps the law from being tried on this layer, None if nothing does."""
    lacking = [need for need in law.needs if not subject.has(need)]
    if lacking:
        return " and ".join(CAPABILITIES[need][1] if need in CAPABILITIES else f"needs {need}" for need in lacking)
    return law.applies(subject.spec)


def skipped(law: Law, subject: Subject, why: str) -> LawVerdict:
    """The verdict on a law that was not tried."""
    return verdict_on(law, subject, "skipped", reason=why)


def verdict_on(
    law: Law, subject: Subject, outcome: Outcome, *, reason: str, finding: Comparison | None = None
) -> LawVerdict:
    """A verdict with the law's words and the layer's name."""
    return LawVerdict(
        id=law.id,
        statement=law.statement,
        status=_STATUS[outcome],
        outcome=outcome,
        method=law.grade,
        reason=reason,
        value=None if finding is None else finding.error,
        bound=None if finding is None else finding.tolerance,
        error=None if finding is None else finding.error,
        tolerance=None if finding is None else finding.tolerance,
        control=None if finding is None else finding.control,
        layer=subject.name,
    )


def _refuted(law: Law, trial: LawTrial, found: Comparison, diagnose: Diagnose | None) -> LawVerdict:
    repeats, is_finite = _repeats(trial), _is_finite(trial)
    if repeats:
        trial, found = _smallest(law, trial, found)
    if diagnose is None:
        names = law.suspects
    elif not repeats:
        names = (_NOISE,)
    else:
        names = diagnose(law, trial, found) if is_finite else (_NOT_FINITE,)
    verdict = verdict_on(law, trial.subject, "refuted", reason=found.what, finding=found)
    size = f"batch {trial.size.batch}, length {trial.size.length}"
    place = "".join(f", {name} {value}" for name, value in found.place.items())
    told = f"{size}{place}: {found.what} by {found.error:.3g}, allowed {found.tolerance:.3g}"
    return replace(verdict, counterexample=told, diagnosis=names)


def _repeats(trial: LawTrial) -> bool:
    """True unless two equal calls differ: a layer that is never the same has no smallest case, and one cause."""
    x, subject = trial.inputs(), trial.subject
    calls: list[Callable[[np.ndarray], np.ndarray]] = [subject.call]
    if subject.has("mask"):
        calls.append(lambda x: subject.call(x, mask=np.ones(x.shape[:2], dtype=bool)))
    if subject.has("cache"):
        calls.append(lambda x: subject.step(x, subject.empty_cache(x.shape[0]))[0])
    try:
        # Copies, because a layer that changes its input is not noisy.
        return all(distance(call(x.copy()), call(x.copy())) == 0 for call in calls)
    except Exception:  # noqa: BLE001 - what a layer raises at this size is no noise
        return True


def _is_finite(trial: LawTrial) -> bool:
    """True unless a plain call gives nothing finite at all: where some outputs are, the others tell of the bug."""
    try:
        return bool(np.isfinite(trial.subject.call(trial.inputs())).any())
    except Exception:  # noqa: BLE001 - what a layer raises at this size is no number
        return True


def _smallest(law: Law, trial: LawTrial, found: Comparison) -> tuple[LawTrial, Comparison]:
    """The shortest input, with one row if that is enough, in which the law still fails."""
    for size in _smaller(trial.size):
        shorter = replace(trial, size=size)
        try:
            broken = [finding for finding in law.compare(shorter) if finding.is_broken]
        except Exception:  # noqa: BLE001 - a size that the layer cannot take is no smaller counterexample
            continue
        if broken:
            return shorter, _worst(broken)
    return trial, found


def _smaller(size: InputSize) -> Iterator[InputSize]:
    for length in _LENGTHS:
        for batch in range(1, size.batch + 1):
            if length < size.length or (length == size.length and batch < size.batch):
                yield InputSize(batch=batch, length=length)


def _worst(findings: list[Comparison]) -> Comparison:
    """The finding with the largest error for its tolerance, the first of equals."""
    return max(findings, key=_excess)


def _excess(finding: Comparison) -> float:
    if finding.error != finding.error:
        return float("inf")
    return finding.error / finding.tolerance if finding.tolerance > 0 else finding.error * 1e30


def _words(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else 'no message'}{where}"
