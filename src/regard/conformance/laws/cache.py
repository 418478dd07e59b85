"""Decoding with a cache gives the same outputs as one full pass."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec, distance, only_if
from regard.conformance.probing import compare_chunks, decode
from regard.conformance.reference_layer import ReferenceLayer

_WRONG_OFFSET = Diagnosis("cache", "the positions of tokens after a cache have a wrong offset")
_MISALIGNED = Diagnosis("cache", "the causal mask of a chunk is aligned to the wrong key")
_ROTATED_AGAIN = Diagnosis("cache", "cached keys are rotated again")
_SPOILED = Diagnosis("cache", "cached keys or values are lost, reordered or changed; given positions do not help")
_WRONG_WINDOW = Diagnosis("cache", "the window is counted wrongly after a cache")


def _compare(trial: LawTrial) -> Comparisons:
    return compare_chunks(trial, "decoding with a cache differs from the full pass")


def _signs(trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    window = trial.spec.window
    firsts = [each.signature["first"] for each in broken]
    if not any(set(each.signature["chunks"]) == {1} for each in broken):
        return [_MISALIGNED]
    if window is not None and all(first is not None and first >= window - 1 for first in firsts):
        return [_WRONG_WINDOW]
    if trial.spec.positions == "none" or not _is_offset(trial):
        return [_SPOILED]
    return [_WRONG_OFFSET, _ROTATED_AGAIN]


def _is_offset(trial: LawTrial) -> bool:
    """Distinguishes an offset from a spoiled cache: with positions given at every step, an offset is gone."""
    if not trial.subject.has("positions"):
        # One token repeated has the same output anywhere, unless something is lost or changed.
        x = np.repeat(trial.inputs(length=1), 8, axis=1)
        found, wanted = decode(trial.subject, x, (1,) * 8), trial.call(x)
        return trial.spec.positions != "alibi" and distance(found, wanted) <= trial.tolerance(wanted)
    x = trial.inputs(length=8)
    places = np.tile(np.arange(x.shape[1]), (len(x), 1))
    found, wanted = decode(trial.subject, x, (1,) * x.shape[1], positions=places), trial.call(x)
    return distance(found, wanted) <= trial.tolerance(wanted)


class _RestartedPositions(ReferenceLayer):
    def default_positions(self, mask: np.ndarray, length: int) -> np.ndarray:
        return super().default_positions(mask[:, -length:], length)


LAW = Law(
    id="CACHE",
    statement="decoding token by token, all but one and then one, or in uneven chunks equals the full pass",
    family="cache",
    rank=310,
    follows=("CAUSAL",),
    needs=("cache",),
    applies=only_if(causal=True),
    looks_past_window=True,
    grows_in=("length",),
    compare=_compare,
    signs=_signs,
    broken_example=lambda: _RestartedPositions(
        Spec(causal=True, positions="rotary"), name="positions restart at every chunk"
    ),
    suspects=(_WRONG_OFFSET, _MISALIGNED, _ROTATED_AGAIN, _WRONG_WINDOW, _SPOILED),
)
