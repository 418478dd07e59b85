"""Only distances between tokens matter."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial, NotTried, distance, epsilon_of, only_if
from regard.conformance.probing import ones_mask, token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis

_SHIFTS = (1, 17, 1000, 30001)
# Up to here the control is far above the rounding of angles; beyond, the controls of shorter shifts must do.
_LAST_CONTROLLED = 1000
# An angle t·θ rounded to eps is that of a token eps·t/2 away, for queries and keys alike.
_ROUNDINGS = 2

_COARSE_ANGLES = Diagnosis("precision", "angles are formed in low precision")
_NOT_ALIKE = Diagnosis("rotary", "queries and keys are not rotated alike")


def _compare(trial: LawTrial) -> Comparisons:
    """All positions are shifted by s: nothing may change beyond the rounding of angles.

    Much public code forms angles in float32 at best, whatever the layer's dtype, which moves a token by eps·(s + T):
    the output may change by that much of what one more position between the halves of the sequence changes.
    Shifting the later half alone must move it.
    """
    x = trial.inputs()
    length = x.shape[1]
    if length < 2:
        return
    top = trial.spec.max_positions
    shifts = [shift for shift in _SHIFTS if top is None or shift + length <= top]
    if not shifts:
        raise NotTried(f"{length} tokens cannot be shifted within {top} positions")
    places = np.tile(np.arange(length), (x.shape[0], 1))
    y = _at(trial, x, places)
    found = {shift: token_gaps(_at(trial, x, places + shift), y) for shift in shifts}
    per_position = distance(_at(trial, x, _parted(places, 1)), y)
    farthest = max(shift for shift in shifts if shift <= _LAST_CONTROLLED)
    control = max(per_position, distance(_at(trial, x, _parted(places, farthest)), y))
    errors = {shift: float(gaps.max()) for shift, gaps in found.items()}
    for shift, gaps in found.items():
        lawful = _ROUNDINGS * epsilon_of("float32") * (shift + length) * per_position
        yield Comparison(
            what="shifting all positions changes the outputs",
            error=errors[shift],
            tolerance=trial.tolerance(y) + (lawful if np.isfinite(lawful) else 0.0),
            control=control if shift <= farthest else None,
            place={"shift": shift, **worst_token(gaps)},
            signature={"errors": errors, "per position": per_position},
        )


def _at(trial: LawTrial, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return trial.call(x, positions=positions, **ones_mask(trial.subject, x))


def _parted(positions: np.ndarray, shift: int) -> np.ndarray:
    """Positions of which only the later half is shifted."""
    parted = positions.copy()
    parted[:, positions.shape[1] // 2 :] += shift
    return parted


def _signs(trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    errors, per_position = broken[0].signature["errors"], broken[0].signature["per position"]
    nearest = errors[min(errors)]
    if nearest < 0.05 * per_position and max(errors.values()) > 4 * nearest:
        return [_COARSE_ANGLES]
    return [
        Diagnosis("alibi", "logits depend on more than distances") if trial.spec.positions == "alibi" else _NOT_ALIKE
    ]


class _QueriesOnly(ReferenceLayer):
    def rotate_keys(self, keys: np.ndarray, positions: np.ndarray) -> np.ndarray:
        del positions
        return keys


LAW = Law(
    id="SHIFT",
    statement="shifting all positions by the same number leaves the outputs unchanged",
    family="rotary",
    rank=200,
    needs=("positions",),
    applies=only_if(positions=("rotary", "alibi", "relative")),
    compare=_compare,
    grows_in=("length",),
    signs=_signs,
    means=_NOT_ALIKE,
    broken_example=lambda: _QueriesOnly(Spec(causal=True, positions="rotary"), name="only queries rotated"),
    suspects=(
        "only queries or only keys are rotated",
        "queries and keys are rotated in different layouts",
        _COARSE_ANGLES,
        Diagnosis("positions", "absolute positions enter somewhere"),
    ),
)
