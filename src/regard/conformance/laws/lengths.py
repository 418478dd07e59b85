"""A row given its length ends there."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec
from regard.conformance.probing import uneven_lengths
from regard.conformance.reference_layer import ReferenceLayer

_IGNORED = Diagnosis("padding", "lengths are ignored, or counted otherwise")
_OTHER_ROW = Diagnosis("batch", "a row gets the length of another")
_NOT_FINITE = Diagnosis("padding", "rows of padding give NaN, which reaches the gradient")


def _compare(trial: LawTrial) -> Comparisons:
    """Rows of unequal lengths in one batch, against each of them alone and cut to its length; then their gradient."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    lengths = uneven_lengths(trial.size)
    found = trial.call(x, lengths=lengths)
    rows = [x[row : row + 1, :size] for row, size in enumerate(lengths)]
    alone = [trial.call(row, lengths=np.array([row.shape[1]])) for row in rows]
    control = min(trial.liveness(row, y) for row, y in zip(rows, alone, strict=True))
    for row, size in enumerate(lengths):
        yield trial.compared(
            "a row differs from the same row alone, cut to its length",
            found[row : row + 1, :size],
            alone[row],
            control=control,
            place={"row": row, "tokens": int(size)},
            suggests=(_OTHER_ROW, _IGNORED) if batch > 1 else (_IGNORED,),
        )
    if trial.subject.has("gradient"):
        yield from _gradients(trial, x, found, lengths)


def _gradients(trial: LawTrial, x: np.ndarray, y: np.ndarray, lengths: np.ndarray) -> Comparisons:
    """Of real outputs, with respect to real and padded inputs: finite for the former, zero for the latter."""
    real = np.arange(x.shape[1]) < lengths[:, None]
    direction = trial.rng("direction").standard_normal(y.shape) * real[:, :, None]
    gradient = trial.subject.gradient(x, direction.astype(x.dtype), lengths=lengths).astype(np.float64)
    size = float(np.abs(gradient[np.isfinite(gradient)]).max(initial=0.0))
    is_finite = bool(np.isfinite(gradient).all())
    yield Comparison(
        what="the gradient of real outputs is not finite" if not is_finite else "padded inputs have a gradient",
        error=np.inf if not is_finite else float(np.abs(gradient[~real]).max(initial=0.0)),
        tolerance=trial.tolerance(gradient),
        control=size if is_finite else None,
        suggests=(_IGNORED,) if is_finite else (_NOT_FINITE,),
        is_yes_no=not is_finite,
    )


class _FirstLengthForAll(ReferenceLayer):
    capabilities = ReferenceLayer.capabilities | {"lengths"}

    def call(self, x: np.ndarray, lengths: np.ndarray | None = None, **options: Any) -> np.ndarray:
        if lengths is None:
            return super().call(x, **options)
        mask = np.arange(x.shape[1]) < lengths[:1, None]
        return super().call(x, mask=np.repeat(mask, len(x), axis=0), **options)


LAW = Law(
    id="LENGTHS",
    statement="a row with a length gives the outputs of the row cut to it, whatever is behind and beside it",
    family="padding",
    rank=145,
    needs=("lengths",),
    compare=_compare,
    diagnosed_by="suspects",
    grows_in=("length", "batch"),
    broken_example=lambda: _FirstLengthForAll(Spec(causal=False, positions="none"), name="first length for all rows"),
    suspects=(_IGNORED, _OTHER_ROW, _NOT_FINITE),
)
