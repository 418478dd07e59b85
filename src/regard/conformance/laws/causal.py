"""No output depends on later inputs."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, Spec, distance, only_if
from regard.conformance.reference_layer import ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """x_j is changed at several places: no earlier output may change at all, and one from j on must."""
    x = trial.inputs()
    y = trial.call(x)
    length, tolerance = x.shape[1], trial.exact_tolerance(y)
    for place in sorted({1, length // 2, length - 1, *trial.size.borders()} & set(range(1, length))):
        moved = trial.call(trial.bumped(x, place))
        gaps = [distance(moved[:, early], y[:, early]) for early in range(place)]
        leaking = [early for early, gap in enumerate(gaps) if gap > tolerance]
        yield Comparison(
            what="changing a later token changes this output",
            error=max(gaps),
            tolerance=tolerance,
            control=distance(moved[:, place:], y[:, place:]),
            place={"output": leaking[0], "input": place} if leaking else {"input": place},
            signature={"input": place, "leaking": leaking},
        )


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    leaks = {each.signature["input"]: each.signature["leaking"] for each in broken}
    ahead = {place - output for place, leaking in leaks.items() for output in leaking}
    if trial.spec.positions is None and not ahead:
        return
    if all(leaking == [0] for leaking in leaks.values()):
        yield Diagnosis("mask", "the diagonal is excluded")
    elif ahead == {1}:
        yield Diagnosis("mask", "one key ahead is visible")
    elif all(len(leaking) == place for place, leaking in leaks.items()):
        yield Diagnosis("mask", "all earlier outputs change, so there is no causal mask")
    else:
        yield Diagnosis("mask", "some earlier outputs change")


class _Unmasked(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return np.broadcast_to(mask[:, None, :], (mask.shape[0], len(query_places), num_keys))


LAW = Law(
    id="CAUSAL",
    statement="y_i does not depend on x_j for j > i",
    family="mask",
    rank=80,
    applies=only_if(causal=True),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    grows_in=("length",),
    broken_example=lambda: _Unmasked(Spec(causal=True), name="causal in name only"),
    suspects=("the causal mask is missing", "the mask is on the wrong axis", "one code path drops the mask"),
)
