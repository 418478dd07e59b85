"""A gap in the positions is equivalent to a masked token in it."""

from dataclasses import dataclass

import numpy as np

from regard.conformance.law import Comparison, Comparisons, InputSize, Law, LawTrial, NotTried, distance, only_if
from regard.conformance.probing import token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis

# How many positions the positive control adds to the gap: ALiBi heads may be nearly flat.
_WIDER = 8
_IGNORED = Diagnosis("positions", "the given positions are ignored")
_FIRST_ROW = Diagnosis("positions", "the first row's positions are used for all")


@dataclass(frozen=True, kw_only=True, eq=False)
class _GapCase:
    """Tokens whose positions leave one out in each row, and the same tokens with masked noise at that position."""

    x: np.ndarray
    positions: np.ndarray
    filled: np.ndarray
    mask: np.ndarray

    def real(self, y: np.ndarray) -> np.ndarray:
        """The outputs of the real tokens."""
        return y[self.mask].reshape(*self.x.shape[:2], -1)


def _compare(trial: LawTrial) -> Comparisons:
    """Tokens with a gap in their positions, against the same tokens with masked noise in that gap.

    Some layers count windows and chunks in tokens and others in positions, declared or not, so the sequence is short
    enough to fit in any of them. Both calls get a mask, because some layers take a gap for the border of two documents
    if they have none.
    """
    span = trial.size.length + 1
    if span < 3:
        return
    room = min(trial.spec.window or span, trial.spec.max_positions or span)
    if room < span:
        raise NotTried(f"{trial.size.length} tokens and a gap do not fit in {room} positions")
    case = _drawn(trial)
    found = _with_gap(trial, case, case.positions)
    wanted = case.real(trial.call(case.filled, mask=case.mask, positions=_counted(case.mask)))
    gaps = token_gaps(found, wanted)
    worst = worst_token(gaps)
    yield Comparison(
        what="a gap in the positions and a masked token in it give different outputs",
        error=float(gaps.max()),
        tolerance=trial.tolerance(wanted),
        control=_control(trial, case, found, wanted),
        place={**worst, "positions": case.positions[worst["row"]].tolist()},
        signature={
            "rows": gaps.max(axis=1).tolist(),
            "is_ignoring": distance(found, _with_gap(trial, case, _counted(case.positions))) == 0.0,
        },
    )


def _drawn(trial: LawTrial) -> _GapCase:
    """Each row leaves out another position, so that no row's positions suit another."""
    x, filled = trial.inputs(), trial.inputs("filling", length=trial.size.length + 1)
    mask = np.ones(filled.shape[:2], dtype=bool)
    mask[np.arange(len(mask)), 1 + np.arange(len(mask)) % trial.size.length] = False
    filled[mask] = x.reshape(-1, x.shape[-1])
    return _GapCase(x=x, positions=_counted(mask)[mask].reshape(x.shape[:2]), filled=filled, mask=mask)


def _counted(like: np.ndarray) -> np.ndarray:
    return np.tile(np.arange(like.shape[1]), (like.shape[0], 1))


def _with_gap(trial: LawTrial, case: _GapCase, positions: np.ndarray) -> np.ndarray:
    return trial.call(case.x, mask=np.ones(positions.shape, dtype=bool), positions=positions)


def _control(trial: LawTrial, case: _GapCase, found: np.ndarray, wanted: np.ndarray) -> float:
    """How far a wider gap moves the outputs; without a position code, how far unmasking the token in the gap does."""
    if trial.spec.positions == "none":
        seen = trial.call(case.filled, mask=np.ones_like(case.mask), positions=_counted(case.mask))
        return distance(case.real(seen), wanted)
    wider = case.positions.copy()
    wider[:, 1:] += min(_WIDER, (trial.spec.max_positions or np.inf) - wider.max() - 1)
    return distance(_with_gap(trial, case, wider), found)


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    rows = np.array([each.signature["rows"] for each in broken])
    tolerance = max(each.tolerance for each in broken)
    if all(each.signature["is_ignoring"] for each in broken):
        return [_IGNORED]
    if rows.shape[1] > 1 and (rows[:, 0] <= tolerance).all():
        return [_FIRST_ROW]
    return [Diagnosis("positions", "the given positions are not the ones used")]


class _IgnoresPositions(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(heads, np.broadcast_to(np.arange(positions.shape[1]), positions.shape))


LAW = Law(
    id="GAP",
    statement="a gap in the positions gives the same outputs as a masked token in it, with a different gap in each row",
    family="positions",
    rank=230,
    needs=("positions", "mask"),
    applies=only_if(positions=("none", "rotary", "alibi", "relative", "learned", "sinusoidal")),
    compare=_compare,
    grows_in=("batch",),
    signs=_signs,
    broken_example=lambda: _IgnoresPositions(Spec(causal=True, positions="rotary"), name="positions ignored"),
    size=InputSize(batch=4, length=2),
    suspects=(
        _IGNORED,
        _FIRST_ROW,
        Diagnosis("mask", "the mask is ignored"),
        "positions are counted from the mask instead of taken as given",
    ),
)
