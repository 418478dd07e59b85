"""Only distances between tokens matter."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, NotTried, distance, epsilon_of, only_if
from regard.conformance.masking import gaps_by_place, ones_mask, place_of_worst
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_SHIFTS = (1, 17, 1000, 30001)
# Up to here the control is far above the rounding of angles; beyond, the shorter shifts speak for the layer's life.
_LAST_CONTROLLED = 1000
# An angle t·θ rounded to eps is the angle of a token that stands eps·t/2 elsewhere, queries and keys each.
_ROUNDINGS = 2


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """All positions are shifted by s: nothing may move beyond what rounding angles does.

    Angles are formed in float32 at best in much public code, whatever the layer's dtype, so a token stands elsewhere by
    eps·(s + T): the output may move by so much of what one position more between the halves of the sequence moves it.
    A shift of the later half alone must move it.
    """
    x = trial.inputs()
    length = x.shape[1]
    if length < 2:
        return
    places, shifts = np.tile(np.arange(length), (x.shape[0], 1)), _shifts(trial)
    y = _at(trial, x, places)
    found = {shift: gaps_by_place(_at(trial, x, places + shift), y) for shift in shifts}
    stirred = distance(_at(trial, x, _parted(places, 1)), y)
    farthest = max(shift for shift in shifts if shift <= _LAST_CONTROLLED)
    control = max(stirred, distance(_at(trial, x, _parted(places, farthest)), y))
    errors = {shift: float(gaps.max()) for shift, gaps in found.items()}
    for shift, gaps in found.items():
        lawful = _ROUNDINGS * epsilon_of("float32") * (shift + length) * stirred
        yield Comparison(
            what="outputs move when all positions are shifted",
            error=errors[shift],
            tolerance=trial.tolerance(y) + (lawful if np.isfinite(lawful) else 0.0),
            control=control if shift <= farthest else None,
            place={"shift": shift, **place_of_worst(gaps)},
            signature={"shift": shift, "errors": errors, "gaps": gaps.max(axis=0).tolist(), "stirred": stirred},
        )


def _shifts(trial: LawTrial) -> list[int]:
    """The shifts that the layer has positions for."""
    top, length = trial.spec.max_positions, trial.size.length
    shifts = [shift for shift in _SHIFTS if top is None or shift + length <= top]
    if not shifts:
        raise NotTried(f"{length} tokens cannot be shifted within {top} positions")
    return shifts


def _at(trial: LawTrial, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return trial.subject.call(x, positions=positions, **ones_mask(trial.subject, x))


def _parted(positions: np.ndarray, shift: int) -> np.ndarray:
    """Positions of which the later half alone is shifted."""
    parted = positions.copy()
    parted[:, positions.shape[1] // 2 :] += shift
    return parted


class _QueriesOnly(ReferenceLayer):
    """Turns queries and forgets the keys."""

    def rotate_keys(self, keys: np.ndarray, positions: np.ndarray) -> np.ndarray:
        del positions
        return keys


def _broken_example() -> Subject:
    return _QueriesOnly(Spec(causal=True, positions="rotary"), name="only queries rotated")


LAW = Law(
    id="SHIFT",
    statement="shifting all positions by the same number leaves the outputs unchanged",
    needs=("positions",),
    applies=only_if(positions=("rotary", "alibi", "relative")),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "only queries or only keys are rotated",
        "queries and keys are rotated in different layouts",
        "angles are formed in low precision",
        "absolute positions enter somewhere",
    ),
)
