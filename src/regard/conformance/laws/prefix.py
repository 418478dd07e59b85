"""What comes later, and how much of it, is nothing to the outputs before."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, only_if
from regard.conformance.probes import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """f(x[:t]) beside f(x)[:t], for t = 1, 2, W, W + 1 and T − 1."""
    x = trial.inputs()
    length, window = x.shape[1], trial.spec.window
    cuts = {1, 2, length - 1} | ({window, window + 1} if window is not None else set())
    if length < 2:
        return
    y = trial.subject.call(x)
    control = liveness(trial, x, y)
    for cut in sorted(cuts & set(range(1, length))):
        alone, within = trial.subject.call(x[:, :cut]), y[:, :cut]
        tolerance = trial.tolerance(y)
        gaps = [distance(alone[:, place : place + 1], within[:, place : place + 1]) for place in range(cut)]
        yield Comparison(
            what="an output changes when the tokens after it are cut off",
            error=distance(alone, within),
            tolerance=tolerance,
            control=control,
            place={"kept": cut},
            signature={"kept": cut, "gaps": gaps, "moved": [i for i, gap in enumerate(gaps) if gap > tolerance]},
        )


class _ScaledByLength(ReferenceLayer):
    """Divides the logits by the root of the number of keys, as if that were the width."""

    def logits(self, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        return super().logits(q, k) / self.dtype.type(np.sqrt(k.shape[-2]))


def _broken_example() -> Subject:
    return _ScaledByLength(Spec(causal=True), name="scale of the length")


LAW = Law(
    id="PREFIX",
    statement="f(x[:t]) = f(x)[:t]",
    applies=only_if(causal=True),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the scale depends on the length",
        "queries and keys are aligned at the wrong end",
        "positions are counted from the end",
        "outputs are normalised over positions",
    ),
    looks_past_window=True,
)
