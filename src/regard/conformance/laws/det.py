"""The same input gives the same output."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Law, LawTrial, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """A call repeated immediately, and once more after a call on another input."""
    x = trial.inputs()
    y = trial.call(x)
    again = trial.call(x)
    other = trial.call(trial.inputs("other", length=x.shape[1] + 1))[:, : x.shape[1]]
    later = trial.call(x)
    for when, found in (("immediately", again), ("after another call", later)):
        what = f"a call repeated {when} gives a different output"
        yield trial.compared(what, found, y, 0.0, control=distance(other, y))


class _Dropout(ReferenceLayer):
    def __init__(self, spec: Spec, **options: Any) -> None:
        super().__init__(spec, **options)
        self._drops = np.random.default_rng(self.seed)

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        weights = super().softmax(z, visible)
        return weights * (self._drops.random(weights.shape) > 0.1).astype(self.dtype)


LAW = Law(
    id="DET",
    statement="in evaluation mode, repeating a call repeats its output exactly",
    family="dropout",
    rank=10,
    compare=_compare,
    broken_example=lambda: _Dropout(Spec(), name="dropout left on"),
    diagnosed_by="suspects",
    suspects=("dropout is left on", "state is kept between calls", "noise is added"),
)
