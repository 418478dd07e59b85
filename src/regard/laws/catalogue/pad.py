"""Padding leaves real rows unchanged."""

from collections.abc import Iterator

import numpy as np

from regard.laws.honest import HonestLayer
from regard.laws.law import Finding, Law, Trial, distance
from regard.subject import Spec, Subject

_LENGTHS = {"right": 2, "left": 2}


def padded(trial: Trial, x: np.ndarray, real: list[int], side: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows cut to these lengths and filled up with noise on one side, and the mask that says so."""
    batch, length, width = x.shape
    filled = trial.rng(f"padding {side}").standard_normal((batch, length, width)).astype(x.dtype)
    mask = np.zeros((batch, length), dtype=bool)
    for row, count in enumerate(real):
        place = slice(0, count) if side == "right" else slice(length - count, length)
        filled[row, place], mask[row, place] = x[row, :count], True
    return filled, mask


def _findings(trial: Trial) -> Iterator[Finding]:
    """Each row alone, against the same row padded left and right, ragged, in a batch and by itself."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    real = [length - 1 - row % (length - 1) for row in range(batch)]
    for side in ("right", "left"):
        for rows in ([*range(batch)], [0]):
            chosen, counts = x[rows], [real[row] for row in rows]
            filled, mask = padded(trial, chosen, counts, side)
            places = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
            options = {"positions": places} if trial.subject.has("positions") else {}
            found = trial.subject.call(filled, mask=mask, **options)
            for row, count in enumerate(counts):
                alone = trial.subject.call(chosen[row : row + 1, :count])
                ours = found[row : row + 1, mask[row]]
                yield Finding(
                    what=f"a row changes when it is padded on the {side}",
                    error=distance(ours, alone),
                    tolerance=trial.tolerance(alone),
                    control=_liveness(trial, chosen[row : row + 1, :count], alone),
                    place={"side": side, "row": row, "real": count, "rows": len(rows)},
                )


def _liveness(trial: Trial, x: np.ndarray, y: np.ndarray) -> float:
    """How far the outputs move if the first real token does."""
    bumped = x.copy()
    bumped[:, 0] += trial.rng("live").standard_normal(bumped[:, 0].shape).astype(x.dtype)
    return distance(trial.subject.call(bumped), y)


class _Inverted(HonestLayer):
    """Takes padding for tokens and tokens for padding."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return super().visible(query_places, num_keys, mask if mask.all() else ~mask)


def _outlaw() -> Subject:
    return _Inverted(Spec(causal=False, positions="none"), name="inverted mask")


LAW = Law(
    id="PAD",
    statement="padding, left or right, ragged or alone, leaves the outputs of real tokens unchanged",
    needs=("mask",),
    findings=_findings,
    outlaw=_outlaw,
    suspects=("the mask is inverted", "row 0's mask is used for all", "positions are not shifted past the padding",
              "the mask is ignored"),
)
