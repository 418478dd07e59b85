"""The rows of a batch are independent of each other."""

import numpy as np

from regard.conformance.law import Comparisons, InputSize, Law, LawTrial, Spec
from regard.conformance.reference_layer import ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """Each row alone, each row beside other rows, and all rows in another order."""
    x = trial.inputs()
    rows = x.shape[0]
    if rows < 2:
        return
    y = trial.call(x)
    others = trial.inputs("other rows")
    control = trial.liveness(x, y)
    for row in range(rows):
        one, shown = slice(row, row + 1), {"control": control, "place": {"row": row}}
        yield trial.compared("a row changes when it is alone", trial.call(x[one]), y[one], **shown)
        mixed = others.copy()
        mixed[row] = x[row]
        yield trial.compared("a row changes with the rows beside it", trial.call(mixed)[one], y[one], **shown)
    order = np.roll(np.arange(rows), 1)
    yield trial.compared("rows change when reordered", trial.call(x[order]), y[order], control=control)


class _WrongView(ReferenceLayer):
    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        batch, length, width = x.shape
        return super()._heads(x.reshape(length, batch, width).swapaxes(0, 1), part, num_heads)


LAW = Law(
    id="BATCH",
    statement="a row of a batch gives the same output alone, beside any other rows and in any order",
    family="batch",
    rank=50,
    compare=_compare,
    broken_example=lambda: _WrongView(Spec(), name="batch and position mixed by a view"),
    diagnosed_by="suspects",
    suspects=(
        "a view mixes batch and position",
        "a batch of one takes another branch",
        "something is summed or normalized over the batch",
    ),
    size=InputSize(batch=3),
    grows_in=("batch",),
)
