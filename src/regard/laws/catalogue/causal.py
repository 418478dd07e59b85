"""No output looks ahead."""

from collections.abc import Iterator

import numpy as np

from regard.laws.honest import HonestLayer
from regard.laws.law import Finding, Law, Trial, distance, only_if
from regard.subject import Spec, Subject


def _findings(trial: Trial) -> Iterator[Finding]:
    """x_j is bumped at several places: no earlier output may move at all, and the one at j must."""
    x = trial.inputs()
    y = trial.subject.call(x)
    length = x.shape[1]
    for place in sorted({1, length // 2, length - 1} & set(range(1, length))):
        bumped = x.copy()
        bumped[:, place] += trial.rng(f"bump {place}").standard_normal(bumped[:, place].shape).astype(x.dtype)
        moved = trial.subject.call(bumped)
        gaps = np.abs(moved[:, :place].astype(np.float64) - y[:, :place]).max(axis=(0, 2))
        first = int(np.flatnonzero(~(gaps == 0))[0]) if (~(gaps == 0)).any() else None
        yield Finding(
            what="an output moves with a later input" if first is not None else "outputs before the bumped input",
            error=distance(moved[:, :place], y[:, :place]),
            tolerance=0.0,
            control=distance(moved[:, place], y[:, place]),
            place={"output": first, "input": place} if first is not None else {"input": place},
            signature={"gaps": gaps.tolist()},
        )


class _Unmasked(HonestLayer):
    """Declares to be causal and is not."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return np.broadcast_to(mask[:, None, :], (mask.shape[0], len(query_places), num_keys))


def _outlaw() -> Subject:
    return _Unmasked(Spec(causal=True), name="causal in name only")


LAW = Law(
    id="CAUSAL",
    statement="y_i does not depend on x_j for j > i",
    applies=only_if(causal=True),
    findings=_findings,
    outlaw=_outlaw,
    suspects=("the causal mask is missing", "the mask is on the wrong axis", "one code path drops the mask"),
)
