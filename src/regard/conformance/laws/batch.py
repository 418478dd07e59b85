"""Rows of a batch know nothing of each other."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, distance
from regard.conformance.probes import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Each row alone, all rows in another order, and each row beside other rows."""
    x = trial.inputs()
    rows = x.shape[0]
    if rows < 2:
        return
    y = trial.subject.call(x)
    others = trial.inputs("other rows")
    control = liveness(trial, x, y)
    for row in range(rows):
        alone = trial.subject.call(x[row : row + 1])
        yield _finding(trial, "a row changes when it is alone", (alone, y[row : row + 1]), control, row=row)
        mixed = others.copy()
        mixed[row] = x[row]
        beside = trial.subject.call(mixed)[row : row + 1]
        yield _finding(trial, "a row changes with the rows beside it", (beside, y[row : row + 1]), control, row=row)
    order = np.roll(np.arange(rows), 1)
    yield _finding(trial, "rows change when they are reordered", (trial.subject.call(x[order]), y[order]), control)


def _finding(
    trial: LawTrial, what: str, outputs: tuple[np.ndarray, np.ndarray], control: float, row: int | None = None
) -> Comparison:
    found, wanted = outputs
    return Comparison(
        what=what,
        error=distance(found, wanted),
        tolerance=trial.tolerance(wanted),
        control=control,
        place={} if row is None else {"row": row},
        signature={"how": what.rpartition(" ")[2], "row": row},
    )


class _WrongView(ReferenceLayer):
    """Reads [batch, position] as [position, batch] where heads are split."""

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        batch, length, width = x.shape
        return super()._heads(x.reshape(length, batch, width).swapaxes(0, 1), part, num_heads)


def _broken_example() -> Subject:
    return _WrongView(Spec(), name="batch and position mixed by a view")


LAW = Law(
    id="BATCH",
    statement="a row of a batch gives what it gives alone, beside any other rows and in any order",
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "a view mixes batch and position",
        "a batch of one takes another branch",
        "something is summed or normalised over the batch",
    ),
    size=InputSize(batch=3),
)
