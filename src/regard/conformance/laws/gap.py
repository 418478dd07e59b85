"""A gap in the positions is as good as a masked token in it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried, distance, only_if
from regard.conformance.masking import gaps_by_place, place_of_worst
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

# How many positions more than in the trial itself the control opens its gap by: heads of ALiBi may be nearly flat.
_CONTROL = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class _GapCase:
    """Tokens with positions of which each row leaves one out, and the same tokens with noise there, masked."""

    x: np.ndarray
    positions: np.ndarray
    filled: np.ndarray
    mask: np.ndarray

    def picked(self, y: np.ndarray) -> np.ndarray:
        """The outputs of the real tokens."""
        return y[self.mask].reshape(*self.x.shape[:2], -1)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Tokens with a gap in their positions, against the same tokens with masked noise in that gap.

    Windows and chunks are counted in tokens by some layers and in positions by others, whether declared or not, so the
    sequence is short enough to lie in any of them. A mask goes along in both calls, as some layers take a gap for the
    border of two documents unless they have one.
    """
    span = trial.size.length + 1
    if span < 3:
        return
    room = min(trial.spec.window or span, trial.spec.max_positions or span)
    if room < span:
        raise NotTried(f"{trial.size.length} tokens and a gap do not go into {room} positions")
    case = _drawn(trial)
    ours = _with_gap(trial, case, case.positions)
    theirs = case.picked(trial.subject.call(case.filled, mask=case.mask, positions=_counted(case.mask)))
    gaps = gaps_by_place(ours, theirs)
    yield Comparison(
        what="a gap in the positions gives other outputs than a masked token in it",
        error=float(gaps.max()),
        tolerance=trial.tolerance(theirs),
        control=_liveness(trial, case, ours, theirs),
        place={**place_of_worst(gaps), "positions": case.positions[place_of_worst(gaps)["row"]].tolist()},
        signature={
            "rows": gaps.max(axis=1).tolist(),
            "positions": case.positions.tolist(),
            "is_deaf": distance(ours, _with_gap(trial, case, _counted(case.positions))) == 0.0,
        },
    )


def _drawn(trial: LawTrial) -> _GapCase:
    """Rows leave out different positions, so that no row's positions will do for another."""
    x, filled = trial.inputs(), trial.inputs("filling", length=trial.size.length + 1)
    mask = np.ones(filled.shape[:2], dtype=bool)
    mask[np.arange(len(mask)), 1 + np.arange(len(mask)) % trial.size.length] = False
    filled[mask] = x.reshape(-1, x.shape[-1])
    return _GapCase(x=x, positions=_counted(mask)[mask].reshape(x.shape[:2]), filled=filled, mask=mask)


def _counted(like: np.ndarray) -> np.ndarray:
    return np.tile(np.arange(like.shape[1]), (like.shape[0], 1))


def _with_gap(trial: LawTrial, case: _GapCase, positions: np.ndarray) -> np.ndarray:
    return trial.subject.call(case.x, mask=np.ones(positions.shape, dtype=bool), positions=positions)


def _liveness(trial: LawTrial, case: _GapCase, ours: np.ndarray, theirs: np.ndarray) -> float:
    """How far outputs move with a wider gap; without a position code, if the token in the gap is not masked."""
    if trial.spec.positions == "none":
        seen = trial.subject.call(case.filled, mask=np.ones_like(case.mask), positions=_counted(case.mask))
        return distance(case.picked(seen), theirs)
    wider = case.positions.copy()
    wider[:, 1:] += min(_CONTROL, (trial.spec.max_positions or np.inf) - wider.max() - 1)
    return distance(_with_gap(trial, case, wider), ours)


class _Deaf(ReferenceLayer):
    """Counts tokens by itself, whatever positions it is given."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(heads, np.broadcast_to(np.arange(positions.shape[1]), positions.shape))


def _broken_example() -> Subject:
    return _Deaf(Spec(causal=True, positions="rotary"), name="positions ignored")


LAW = Law(
    id="GAP",
    statement="a gap in the positions gives the same outputs as a masked token in it, in each row another gap",
    needs=("positions", "mask"),
    applies=only_if(positions=("none", "rotary", "alibi", "relative", "learned", "sinusoidal")),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=4, length=2),
    suspects=(
        "the positions given are ignored",
        "row 0's positions are used for all rows",
        "the mask is ignored",
        "positions are counted from the mask instead of taken as given",
    ),
)
