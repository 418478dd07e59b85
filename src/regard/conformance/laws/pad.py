"""Padding leaves the outputs of real tokens unchanged."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, Spec
from regard.conformance.probing import RELATIVE, real_positions, uneven_lengths
from regard.conformance.reference_layer import ReferenceLayer

_NOT_MASKED = Diagnosis("padding", "the mask is ignored or inverted")
_FIRST_ROW = Diagnosis("padding", "the first row's mask is used for all")
_NOT_SHIFTED = Diagnosis("padding", "positions are not shifted past the padding")


def _compare(trial: LawTrial) -> Comparisons:
    """Each row alone, against the same row padded on either side, ragged in a batch and in a batch of one."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    rows = [x[row : row + 1, :size] for row, size in enumerate(uneven_lengths(trial.size))]
    alone = [trial.call(row) for row in rows]
    control = min(trial.liveness(row, y) for row, y in zip(rows, alone, strict=True))
    # Left padding moves a row: only layers that are given positions, or see only distances, can make up for that, and
    # only if what is visible does not depend on places, as in blocks or prefixes. A bias that is called relative may
    # be one for each pair of places.
    is_blind = trial.spec.positions in RELATIVE and trial.spec.positions != "relative"
    is_movable = trial.spec.causal is not None and (trial.subject.has("positions") or is_blind)
    for side in ("right", "left") if is_movable else ("right",):
        for count in sorted({1, batch}):
            filled, mask = _padded(trial, rows[:count], side)
            options = {"positions": real_positions(mask)} if trial.subject.has("positions") else {}
            found = trial.call(filled, mask=mask, **options)
            for row in range(count):
                yield trial.compared(
                    f"a row changes when it is padded on the {side}",
                    found[row : row + 1, mask[row]],
                    alone[row],
                    control=control,
                    place={"side": side, "row": row, "rows": count, "real": alone[row].shape[1]},
                    signature={"side": side, "row": row, "rows": count},
                )


def _padded(trial: LawTrial, rows: list[np.ndarray], side: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unequal lengths padded with noise on one side, and their mask."""
    shape = (len(rows), trial.size.length, trial.spec.width)
    filled = trial.rng(f"padding {side}").standard_normal(shape).astype(rows[0].dtype)
    mask = np.zeros(shape[:2], dtype=bool)
    for row, tokens in enumerate(rows):
        num_real = tokens.shape[1]
        mask[row, slice(0, num_real) if side == "right" else slice(shape[1] - num_real, shape[1])] = True
        filled[row, mask[row]] = tokens[0]
    return filled, mask


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    if {each.signature["rows"] for each in broken} == {1}:
        yield Diagnosis("padding", "it is ignored in a batch of one")
    elif 0 not in {each.signature["row"] for each in broken}:
        yield _FIRST_ROW
    elif {each.signature["side"] for each in broken} == {"left"} and trial.spec.positions not in (None, "none"):
        yield _NOT_SHIFTED
        yield Diagnosis("positions", "they count the padding")
    else:
        yield _NOT_MASKED


class _InvertedMask(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return super().visible(query_places, num_keys, mask if mask.all() else ~mask)


LAW = Law(
    id="PAD",
    statement="padding, left or right, ragged or in a batch of one, leaves the outputs of real tokens unchanged",
    family="padding",
    rank=140,
    needs=("mask",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    grows_in=("length", "batch"),
    broken_example=lambda: _InvertedMask(Spec(causal=False, positions="none"), name="inverted mask"),
    suspects=(_NOT_MASKED, _FIRST_ROW, _NOT_SHIFTED),
)
