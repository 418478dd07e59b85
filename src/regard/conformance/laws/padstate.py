"""Padding does not enter the state."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

_SIDES = ("right", "left")
# What stands under padding may be anything; large numbers show more.
_LOUD = 10.0
_ENTERS = Diagnosis("padding", "padded tokens are written to the state")
_DECAYS = Diagnosis("padding", "padded tokens decay the state")
_FIRST_ROW = Diagnosis("padding", "the first row's mask is used for all")


def _compare(trial: LawTrial) -> Comparisons:
    """Rows of unequal lengths, padded on either side, and the tokens after them, against each row alone."""
    x, later = trial.inputs(), trial.inputs("later", length=2)
    subject, (batch, length, _) = trial.subject, x.shape
    if length < 2:
        return
    for side in _SIDES:
        mask = _mask(batch, length, side)
        loud = (x * np.where(mask, 1.0, _LOUD)[..., None]).astype(x.dtype)
        y, state = subject.step(loud, subject.empty_cache(batch), mask=mask)
        after, _ = subject.step(later, state)
        for row in range(batch):
            one, real = slice(row, row + 1), x[row : row + 1, mask[row]]
            alone, own = subject.step(real, subject.empty_cache(1))
            wanted, _ = subject.step(later[one], own)
            control = distance(subject.step(later[one], subject.empty_cache(1))[0], wanted)
            place = {"side": side, "row": row, "padding": int(length - real.shape[1])}
            shown: dict[str, Any] = {
                "place": place,
                "signature": {**place, "is_quiet": _is_quiet(trial, loud, mask, after)},
            }
            what = f"a row changes when it is padded on the {side}"
            yield trial.compared(what, y[one, mask[row]], alone, **shown)
            what = f"the state changes when a row is padded on the {side}"
            yield trial.compared(what, after[one], wanted, control=control, **shown)


def _is_quiet(trial: LawTrial, loud: np.ndarray, mask: np.ndarray, after: np.ndarray) -> bool:
    """True if what stands under the padding does not matter."""
    other = np.where(mask[..., None], loud, trial.inputs("padding")).astype(loud.dtype)
    _, state = trial.subject.step(other, trial.subject.empty_cache(len(loud)), mask=mask)
    found, _ = trial.subject.step(trial.inputs("later", length=2), state)
    return distance(found, after) <= trial.tolerance(after)


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
