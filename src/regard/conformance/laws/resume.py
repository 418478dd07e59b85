"""A state can be used twice, and two sequences can take turns."""

import itertools
from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

_WRITTEN_TO = Diagnosis("state", "the state that is given is written to in place")
_SHARED = Diagnosis("state", "two sequences share a state: it is kept in the function, or in one buffer")


def _compare(trial: LawTrial) -> Comparisons:
    """The rest of a sequence from the same state again, and in turns with another sequence, against the first time.

    A single token may take another branch than several, and the chunked form has code of its own.
    """
    length = trial.size.length
    if length < 2:
        return
    forms: list[dict[str, Any]] = [{}, *([{"form": "chunked"}] if trial.subject.has("chunked") else [])]
    for options, count in itertools.product(forms, sorted({1, length - length // 2})):
        yield from _resumed(trial, count, options)


def _resumed(trial: LawTrial, count: int, options: dict[str, Any]) -> Comparisons:
    x, other, step = trial.inputs(), trial.inputs("other"), trial.subject.step
    start, rest = x[:, :-count], x[:, -count:]

    def begun(tokens: np.ndarray) -> Any:
        return step(tokens, trial.subject.empty_cache(len(tokens)), **options)[1]

    state = begun(start)
    y, _ = step(rest, state, **options)
    control = distance(step(rest, begun(trial.bumped(start, slice(None), by=2.0)), **options)[0], y)
    shown = {"control": control, "place": {"cut": x.shape[1] - count, **options}}
    again = step(rest, state, **options)[0]
    yield trial.compared("a state used again gives other outputs", again, y, suggests=(_WRITTEN_TO,), **shown)
    ours, theirs = begun(start), begun(other[:, :-count])
    step(other[:, -count:], theirs, **options)
    what, turns = "a sequence changes when another one takes turns with it", step(rest, ours, **options)[0]
    yield trial.compared(what, turns, y, suggests=(_SHARED,), **shown)


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
