"""Decoding with a cache gives the same outputs as one full pass when rows are padded, too."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec, only_if
from regard.conformance.probing import (
    chunkings,
    chunks_in_words,
    decode,
    mask_hiding,
    real_positions,
    token_gaps,
    worst_token,
)
from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """Rows with ragged left padding in chunks, against the full pass; dropping the mask must move the outputs."""
    x = trial.inputs()
    if x.shape[1] < 3:
        return
    mask = mask_hiding(x.shape[0], x.shape[1], "left")
    options: dict[str, Any] = {"positions": real_positions(mask)} if trial.subject.has("positions") else {}
    y = trial.call(x, mask=mask, **options)
    unmasked = trial.call(x, mask=np.ones_like(mask), **options)
    tolerance, control = trial.tolerance(y[mask]), float(token_gaps(unmasked, y, mask).max())
    for chunks in chunkings(trial.size):
        gaps = token_gaps(decode(trial.subject, x, chunks, mask=mask, **options), y, mask)
        worst = worst_token(gaps)
        yield Comparison(
            what="decoding left-padded rows with a cache differs from the full pass",
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"chunks": chunks_in_words(chunks), **worst, "padding": int((~mask[worst["row"]]).sum())},
        )


class _MaskDroppedAtDecode(ReferenceLayer):
    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        return super().step(x, cache, **(options | ({"mask": None} if cache.keys.shape[2] else {})))


LAW = Law(
    id="CACHEPAD",
    statement="with ragged left padding, decoding with a cache in any chunks equals the full pass",
    family="cache",
    rank=320,
    needs=("cache", "mask"),
    applies=only_if(causal=True),
    compare=_compare,
    grows_in=("length", "batch"),
    broken_example=lambda: _MaskDroppedAtDecode(
        Spec(causal=True, positions="rotary"), name="mask dropped when decoding"
    ),
    suspects=(
        "the padding mask is dropped when decoding",
        Diagnosis("padding", "positions count the padding when decoding"),
        "row 0's padding is used for all rows when decoding",
    ),
)
