"""No output looks ahead."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, only_if
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """x_j is bumped at several places: no earlier output may move at all, and one from j on must."""
    x = trial.inputs()
    y = trial.subject.call(x)
    length = x.shape[1]
    for place in sorted({1, length // 2, length - 1} & set(range(1, length))):
        moved = trial.subject.call(bumped(trial, x, place))
        gaps = [distance(moved[:, early], y[:, early]) for early in range(place)]
        tolerance = trial.exactly(y)
        leaking = [early for early, gap in enumerate(gaps) if gap > tolerance]
        yield Comparison(
            what="an output moves with a later input" if leaking else "outputs before the bumped input",
            error=max(gaps),
            tolerance=tolerance,
            control=distance(moved[:, place:], y[:, place:]),
            place={"output": leaking[0], "input": place} if leaking else {"input": place},
            signature={"input": place, "gaps": gaps, "leaking": leaking, "ahead": [place - i for i in leaking]},
        )


class _Unmasked(ReferenceLayer):
    """Declares to be causal and is not."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return np.broadcast_to(mask[:, None, :], (mask.shape[0], len(query_places), num_keys))


def _broken_example() -> Subject:
    return _Unmasked(Spec(causal=True), name="causal in name only")


LAW = Law(
    id="CAUSAL",
    statement="y_i does not depend on x_j for j > i",
    applies=only_if(causal=True),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("the causal mask is missing", "the mask is on the wrong axis", "one code path drops the mask"),
)
