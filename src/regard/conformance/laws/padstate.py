"""Padding does not enter the state."""

import itertools
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

_SIDES = ("right", "left")
_LOUD = 10.0
_ENTERS = Diagnosis("padding", "padded tokens are written to the state")
_DECAYS = Diagnosis("padding", "padded tokens decay the state")
_FIRST_ROW = Diagnosis("padding", "the first row's mask is used for all")


def _compare(trial: LawTrial) -> Comparisons:
    """Rows of unequal lengths, padded on either side, at the beginning and later, against each row alone."""
    if trial.size.length < 2:
        return
    for side, is_later in itertools.product(_SIDES, (False, True)):
        yield from _padded(trial, side, is_later=is_later)


def _padded(trial: LawTrial, side: str, *, is_later: bool) -> Comparisons:
    x, before, later = trial.inputs(), trial.inputs("before", length=3), trial.inputs("later", length=2)
    step, (batch, length, _) = trial.subject.step, x.shape
    mask = _mask(batch, length, side)

    def begun(rows: slice) -> Any:
        none = trial.subject.empty_cache(len(before[rows]))
        return step(before[rows], none)[1] if is_later else none

    def ended(padding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        filled = np.where(mask[..., None], x, padding).astype(x.dtype)
        y, state = step(filled, begun(slice(None)), mask=mask)
        return y, step(later, state)[0]

    # What stands under padding may be anything; large numbers show more.
    y, after = ended(_LOUD * x)
    is_quiet = distance(ended(trial.inputs("padding"))[1], after) <= trial.tolerance(after)
    for row in range(batch):
        one, real = slice(row, row + 1), x[row : row + 1, mask[row]]
        alone, own = step(real, begun(one))
        wanted = step(later[one], own)[0]
        control = distance(step(later[one], trial.subject.empty_cache(1))[0], wanted)
        place = {"side": side, "row": row, "padding": length - real.shape[1]}
        shown: dict[str, Any] = {"place": place, "signature": {"is_quiet": is_quiet}}
        what = f"a row changes when it is padded on the {side}"
        yield trial.compared(what, y[one, mask[row]], alone, **shown)
        what = f"the state changes when a row is padded on the {side}"
        yield trial.compared(what, after[one], wanted, control=control, **shown)


def _mask(batch: int, length: int, side: str) -> np.ndarray:
    """[batch, position]: one padded token more in each row, none in the first."""
    padding = np.minimum(np.arange(batch), length - 1)[:, None]
    places = np.arange(length)[None]
    return places < length - padding if side == "right" else places >= padding


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    return [_DECAYS] if all(each.signature["is_quiet"] for each in broken) else [_ENTERS]


def _unmasked_decay(*inputs: np.ndarray, state: np.ndarray | None = None, mask: np.ndarray | None = None) -> Any:
    q, k, v, g, beta = inputs
    return recurrent(q, k, v, g, beta if mask is None else beta * mask[..., None], state=state)


LAW = Law(
    id="PADSTATE",
    statement="padding, left or right, changes neither the outputs of real tokens nor the state after them",
    family="padding",
    rank=135,
    needs=("state", "mask"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    broken_example=lambda: broken_recurrence("the state decays under padding", function=_unmasked_decay),
    suspects=(_ENTERS, _DECAYS, _FIRST_ROW),
)
