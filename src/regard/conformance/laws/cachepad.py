"""Decoding with a cache gives what one pass gives under padding, too."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, only_if
from regard.conformance.masking import gaps_by_place, mask_hiding, place_of_worst, real_places
from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.stepping import chunkings, first_broken, stepped, told
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Rows with ragged padding on the left in chunks, against the full pass; without the mask outputs must move."""
    x = trial.inputs()
    if x.shape[1] < 3:
        return
    mask = mask_hiding(x.shape[0], x.shape[1], "left")
    options: dict[str, Any] = {"positions": real_places(mask)} if trial.subject.has("positions") else {}
    y = trial.subject.call(x, mask=mask, **options)
    unmasked = trial.subject.call(x, mask=np.ones_like(mask), **options)
    tolerance, control = trial.tolerance(y[mask]), float(gaps_by_place(unmasked, y, mask).max())
    for chunks in chunkings(x.shape[1]):
        ours = stepped(trial.subject, x, chunks, mask=mask, **options)
        gaps = gaps_by_place(ours, y, mask)
        worst = place_of_worst(gaps)
        beyond = float(gaps_by_place(ours, unmasked, mask)[:, chunks[0] :].max())
        rows = {"rows": gaps.max(axis=1).tolist(), "to_unmasked": beyond}
        yield Comparison(
            what="decoding with a cache leaves the full pass under padding on the left",
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"chunks": told(chunks), **worst, "padding": int((~mask[worst["row"]]).sum())},
            signature={**first_broken(gaps, tolerance, chunks), **rows},
        )


class _MaskDroppedAtDecode(ReferenceLayer):
    """Heeds the mask in the first pass and drops it from then on."""

    def step(
        self, x: np.ndarray, cache: KeyValueCache, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> tuple[np.ndarray, KeyValueCache]:
        return super().step(x, cache, None if cache.keys.shape[2] else mask, positions)


def _broken_example() -> Subject:
    return _MaskDroppedAtDecode(Spec(causal=True, positions="rotary"), name="mask dropped at decode")


LAW = Law(
    id="CACHEPAD",
    statement="under ragged padding on the left, every way to decode with a cache gives what the full pass gives",
    needs=("cache", "mask"),
    applies=only_if(causal=True),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the mask is dropped at decode",
        "positions at decode count the padding",
        "row 0's padding is used for all rows at decode",
    ),
)
