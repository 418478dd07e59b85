"""The number of later tokens does not affect earlier outputs."""

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, Spec, distance, only_if
from regard.conformance.reference_layer import ReferenceLayer

_SCALED = Diagnosis("scale", "the scale depends on the length")
_FIRST_MOVES = Diagnosis("mask", "later keys take a share of the softmax: they are hidden too weakly, or after it")


def _compare(trial: LawTrial) -> Comparisons:
    """f(x[:t]) against f(x)[:t], for t = 1, 2, W, W + 1, T − 1 and about the borders of blocks."""
    x = trial.inputs()
    length, window = x.shape[1], trial.spec.window
    cuts = {1, 2, length - 1} | ({window, window + 1} if window is not None else set())
    cuts |= {border + index % 2 for index, border in enumerate(trial.size.borders())}
    if length < 2:
        return
    y = trial.call(x)
    control, tolerance = trial.liveness(x, y), trial.tolerance(y)
    for cut in sorted(cuts & set(range(1, length))):
        alone, within = trial.call(x[:, :cut]), y[:, :cut]
        yield trial.compared(
            "cutting off later tokens changes an output",
            alone,
            within,
            tolerance,
            control=control,
            place={"kept": cut},
            suggests=(
                _SCALED if distance(alone[:, :1], within[:, :1]) <= tolerance else _FIRST_MOVES,
                Diagnosis("softmax", "it is taken over the wrong axis"),
            ),
        )


class _ScaledByLength(ReferenceLayer):
    def logits(self, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        return super().logits(q, k) / self.dtype.type(np.sqrt(k.shape[-2]))


LAW = Law(
    id="PREFIX",
    statement="f(x[:t]) = f(x)[:t]",
    family="mask",
    rank=100,
    follows=("CAUSAL",),
    applies=only_if(causal=True),
    compare=_compare,
    broken_example=lambda: _ScaledByLength(Spec(causal=True), name="scaled by the length"),
    suspects=(
        _SCALED,
        "queries and keys are aligned at the wrong end",
        Diagnosis("positions", "positions are counted from the end"),
        Diagnosis("positions", "outputs are normalized over positions"),
    ),
    looks_past_window=True,
    grows_in=("length",),
)
