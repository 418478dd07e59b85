"""A sequence cut anywhere, with the state passed on, gives the outputs of the whole sequence."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import chunkings, chunks_in_words, decode, first_broken_token, token_gaps, worst_token
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

# An error below this part of the outputs is not one of a state that is lost, but of one that is rounded.
_ROUNDED = 0.02
_LOST = Diagnosis("state", "the state, or part of it, is not passed on from call to call")
_BY_LENGTH = Diagnosis("state", "the state after several tokens is wrong; token by token it is right")
_COARSE = Diagnosis("precision", "the state is rounded between calls")


def _compare(trial: LawTrial) -> Comparisons:
    """Cuts of several sizes against one call; the past must move the last output."""
    x = trial.inputs()
    if x.shape[1] < 2:
        return
    y = trial.call(x)
    control = distance(trial.call(trial.bumped(x, slice(0, -1), by=2.0))[:, -1], y[:, -1])
    tolerance = trial.tolerance(y)
    for chunks in chunkings(trial.size):
        gaps = token_gaps(decode(trial.subject, x, chunks), y)
        first = first_broken_token(gaps, tolerance)
        yield Comparison(
            what="a sequence that is cut gives other outputs than the whole",
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"chunks": chunks_in_words(chunks), **(worst_token(gaps) if first is None else {"token": first})},
            signature={
                "is_single": set(chunks) == {1},
                "share": float(gaps.max()) / max(float(np.abs(y).max()), 1e-30),
            },
        )


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    if max(each.signature["share"] for each in broken) < _ROUNDED:
        return [_COARSE]
    return [_LOST] if any(each.signature["is_single"] for each in broken) else [_BY_LENGTH]


def _forgetful(*inputs: np.ndarray, state: np.ndarray | None = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    y, after = recurrent(*inputs, state=state, **options)
    return y, after if state is None else state


LAW = Law(
    id="SPLIT",
    statement="a sequence cut anywhere, with the state passed on, gives the outputs of the whole sequence",
    family="state",
    rank=103,
    needs=("state",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    looks_past_window=True,
    grows_in=("length",),
    broken_example=lambda: broken_recurrence("state updated only by the first call", function=_forgetful),
    suspects=(_LOST, _BY_LENGTH, _COARSE),
)
