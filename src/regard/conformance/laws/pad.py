"""Padding leaves real rows unchanged."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.masking import real_places
from regard.conformance.probes import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

# Codes that see distances alone, so that a row may start anywhere.
_RELATIVE = ("none", "rotary", "alibi", "relative")


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Each row by itself, beside the same row padded on either side, ragged in a batch and in a batch of one."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    rows = [x[row : row + 1, : length - 1 - row % (length - 1)] for row in range(batch)]
    alone = [trial.subject.call(row) for row in rows]
    control = min(liveness(trial, row, y) for row, y in zip(rows, alone, strict=True))
    for side in _sides(trial):
        for count in sorted({1, batch}):
            filled, mask = _padded(trial, rows[:count], side)
            options = {"positions": real_places(mask)} if trial.subject.has("positions") else {}
            found = trial.subject.call(filled, mask=mask, **options)
            for row in range(count):
                outputs = (found[row : row + 1, mask[row]], alone[row])
                yield _finding(trial, outputs, control, {"side": side, "row": row, "rows": count})


def _sides(trial: LawTrial) -> tuple[str, ...]:
    """Padding on the left moves a row along: only layers that are told, or see distances alone, can make that good."""
    is_movable = trial.subject.has("positions") or trial.spec.positions in _RELATIVE
    return ("right", "left") if is_movable else ("right",)


def _padded(trial: LawTrial, rows: list[np.ndarray], side: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unequal lengths filled up with noise on one side, and the mask that says so."""
    shape = (len(rows), trial.size.length, trial.spec.width)
    filled = trial.rng(f"padding {side}").standard_normal(shape).astype(rows[0].dtype)
    mask = np.zeros(shape[:2], dtype=bool)
    for row, tokens in enumerate(rows):
        num_real = tokens.shape[1]
        mask[row, slice(0, num_real) if side == "right" else slice(shape[1] - num_real, shape[1])] = True
        filled[row, mask[row]] = tokens[0]
    return filled, mask


def _finding(
    trial: LawTrial, outputs: tuple[np.ndarray, np.ndarray], control: float, place: dict[str, str | int]
) -> Comparison:
    found, alone = outputs
    num_real = alone.shape[1]
    gaps = [distance(found[:, i : i + 1], alone[:, i : i + 1]) for i in range(num_real)]
    return Comparison(
        what=f"a row changes when it is padded on the {place['side']}",
        error=distance(found, alone),
        tolerance=trial.tolerance(alone),
        control=control,
        place={**place, "real": num_real},
        signature={**place, "real": num_real, "gaps": gaps},
    )


class _Inverted(ReferenceLayer):
    """Takes padding for tokens and tokens for padding."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return super().visible(query_places, num_keys, mask if mask.all() else ~mask)


def _broken_example() -> Subject:
    return _Inverted(Spec(causal=False, positions="none"), name="inverted mask")


LAW = Law(
    id="PAD",
    statement="padding, left or right, ragged or alone, leaves the outputs of real tokens unchanged",
    needs=("mask",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the mask is inverted",
        "row 0's mask is used for all",
        "positions are not shifted past the padding",
        "the mask is ignored",
    ),
)
