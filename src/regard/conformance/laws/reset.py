"""A new sequence does not depend on what came before."""

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_recurrence import broken_recurrence

_SURVIVES = Diagnosis("state", "a state survives into the next sequence")
_NOT_NEW = Diagnosis("state", "a state after reset is not that of a new sequence")


def _compare(trial: LawTrial) -> Comparisons:
    """A sequence from no state, after another one was read, and from a state that was reset, against the first time."""
    x, other, subject = trial.inputs(), trial.inputs("other"), trial.subject
    y = trial.call(x)
    _, used = subject.step(other, subject.empty_cache(len(other)))
    control = distance(subject.step(x, used)[0], y)
    fresh = subject.step(x, subject.empty_cache(len(x)))[0]
    shown = {"control": control}
    what = "a new sequence depends on the one before it"
    yield trial.compared(what, fresh, y, suggests=(_SURVIVES,), **shown)
    if subject.has("reset"):
        found = subject.step(x, subject.reset_cache(subject.step(other, subject.empty_cache(len(other)))[1]))[0]
        what = "a sequence that starts from a reset state differs from a new one"
        yield trial.compared(what, found, y, suggests=(_NOT_NEW,), **shown)


def _half_reset(state: np.ndarray) -> np.ndarray:
    left = state.copy()
    left[:, :1] = 0
    return left


LAW = Law(
    id="RESET",
    statement="a new sequence, and one that starts from a reset state, does not depend on earlier sequences",
    family="state",
    rank=33,
    needs=("state",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: broken_recurrence("only the first head is reset", reset=_half_reset),
    suspects=(_SURVIVES, _NOT_NEW),
)
