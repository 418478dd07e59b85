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

_DROPPED = Diagnosis("cache", "the padding mask is dropped when decoding")
_POSITIONS = Diagnosis("cache", "positions given after a cache are not taken as given")
_FIRST_ROW = Diagnosis("cache", "row 0's padding is used for all rows when decoding")
_WRONG_COLUMNS = Diagnosis("cache", "the mask's columns are matched to the wrong keys when decoding")


def _compare(trial: LawTrial) -> Comparisons:
    """Rows with ragged left padding in chunks, against the full pass; dropping the mask must move the outputs."""
    x = trial.inputs()
    if x.shape[1] < 3:
        return
    mask = mask_hiding(x.shape[0], x.shape[1], "left")
    options: dict[str, Any] = {"positions": real_positions(mask)} if trial.subject.has("positions") else {}
    y = trial.call(x, mask=mask, **options)
    unmasked = trial.call(x, mask=np.ones_like(mask), **options)
    tolerance, control = trial.cache_tolerance(y[mask]), float(token_gaps(unmasked, y, mask).max())
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


def _signs(trial: LawTrial, _broken: list[Comparison]) -> list[Diagnosis]:
    """Positions without padding, then padding that a mask of ones would replace, show what is lost."""
    x = trial.inputs(length=8)
    ones, mask = np.ones(x.shape[:2], dtype=bool), mask_hiding(x.shape[0], x.shape[1], "left")
    singles = (1,) * x.shape[1]
    given: dict[str, Any] = {}
    if trial.subject.has("positions"):
        places = np.cumsum(ones, axis=1) + 2
        found = decode(trial.subject, x, singles, mask=ones, positions=places)
        wanted = trial.call(x, mask=ones, positions=places)
        if token_gaps(found, wanted).max() > trial.tolerance(wanted):
            return [_POSITIONS]
        given = {"positions": real_positions(mask)}
    padded, whole = (decode(trial.subject, x, singles, mask=each, **given) for each in (mask, ones))
    wanted = trial.call(x, mask=mask, **given)
    gaps, tolerance = token_gaps(padded, wanted, mask), trial.tolerance(wanted[mask])
    if token_gaps(padded, whole, mask)[:, 1:].max() <= tolerance:
        return [_DROPPED]
    return [_FIRST_ROW if gaps[0].max() <= tolerance else _WRONG_COLUMNS]


class _MaskDroppedAtDecode(ReferenceLayer):
    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        return super().step(x, cache, **(options | ({"mask": None} if cache.keys.shape[2] else {})))


LAW = Law(
    id="CACHEPAD",
    statement="with ragged left padding, decoding with a cache in any chunks equals the full pass",
    family="cache",
    rank=320,
    follows=("CACHE",),
    needs=("cache", "mask"),
    applies=only_if(causal=True),
    compare=_compare,
    signs=_signs,
    grows_in=("length", "batch"),
    broken_example=lambda: _MaskDroppedAtDecode(
        Spec(causal=True, positions="rotary"), name="mask dropped when decoding"
    ),
    suspects=(_DROPPED, _POSITIONS, _FIRST_ROW, _WRONG_COLUMNS),
)
