"""Every length up to the block comes through with its shape."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    longest = trial.spec.max_positions or 2 * trial.size.length
    for length in sorted({1, 2, 7, longest - 1, longest}):
        for batch in (1, 3):
            x = trial.inputs(f"length {length}", batch=batch, length=length)
            found = trial.subject.call(x)
            is_kept = found.shape == x.shape and found.dtype == x.dtype and bool(np.isfinite(found).all())
            yield Comparison(
                what=f"x of shape {x.shape} and {x.dtype} gives shape {found.shape} and {found.dtype}"
                + ("" if np.isfinite(found).all() else ", not all of it finite"),
                error=0.0 if is_kept else 1.0,
                tolerance=0.0,
            )


class _LastPositionOnly(ReferenceLayer):
    """Gives the last position alone."""

    capabilities = frozenset({"attend"})

    def call(self, x: np.ndarray, **options: object) -> np.ndarray:
        return super().call(x, **options)[:, -1:]


def _broken_example() -> Subject:
    return _LastPositionOnly(Spec(causal=True, max_positions=32), name="last position only")


LAW = Law(
    id="ATTEND-LENGTHS",
    statement="forward(x) keeps shape and dtype for every length from 1 to block_size",
    needs=("attend",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("the mask is not cut to the input's length", "heads are not joined again"),
)
