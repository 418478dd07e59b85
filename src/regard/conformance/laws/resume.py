"""A state can be used twice, and two sequences can take turns."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

_WRITTEN_TO = Diagnosis("state", "the state that is given is written to in place")
_SHARED = Diagnosis("state", "two sequences share a state: it is kept in the function, or in one buffer")


def _compare(trial: LawTrial) -> Comparisons:
    """The rest of a sequence from the same state again, and in turns with another sequence, against the first time."""
    x, other, step = trial.inputs(), trial.inputs("other"), trial.subject.step
    middle = x.shape[1] // 2
    if middle < 1:
        return
    start, rest = x[:, :middle], x[:, middle:]
    _, state = step(start, trial.subject.empty_cache(len(x)))
    y, _ = step(rest, state)
    moved = step(trial.bumped(start, slice(None), by=2.0), trial.subject.empty_cache(len(x)))[1]
    control = distance(step(rest, moved)[0], y)
    shown = {"control": control, "place": {"cut": middle}}
    again = step(rest, state)[0]
    yield trial.compared("a state used again gives other outputs", again, y, suggests=(_WRITTEN_TO,), **shown)
    _, ours = step(start, trial.subject.empty_cache(len(x)))
    _, theirs = step(other[:, :middle], trial.subject.empty_cache(len(x)))
    step(other[:, middle:], theirs)
    turns = step(rest, ours)[0]
    yield trial.compared(
        "a sequence changes when another one takes turns with it", turns, y, suggests=(_SHARED,), **shown
    )


def _in_place(*inputs: np.ndarray, state: np.ndarray | None = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    y, after = recurrent(*inputs, state=state, **options)
    if state is None:
        return y, after
    state[...] = after
    return y, state


LAW = Law(
    id="RESUME",
    statement="a state used twice gives the same outputs twice, and sequences that take turns do not affect each other",
    family="state",
    rank=32,
    needs=("state",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: broken_recurrence("state written to in place", function=_in_place),
    suspects=(_WRITTEN_TO, _SHARED),
)
