"""How an array is laid out in memory does not matter."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """The same numbers with axes exchanged in memory, or as every second number of a larger array."""
    subject, x = trial.subject, trial.inputs()
    y = subject.call(x)
    control = trial.liveness(x, y)
    is_native = subject.has("native")
    call = (lambda own: subject.numpy(subject.call_native(own))) if is_native else subject.call
    for layout, strided in _layouts(x, subject.native if is_native else np.asarray):
        yield _compared(trial, ("layer", layout), (_tried(call, strided), y), control)
    if subject.has("core"):
        heads = trial.random_heads()
        y = subject.core(*heads)
        control = distance(subject.core(heads[0], heads[1], -heads[2]), y)
        for (layout, q), (_, k), (_, v) in zip(*(_layouts(each, np.asarray) for each in heads), strict=True):
            yield _compared(trial, ("core", layout), (_tried(subject.core, q, k, v), y), control)


def _tried(call: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray | str:
    """The output, or what the layer raises, which it did not for a contiguous input."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - a layer may raise anything
        return f"{type(error).__name__}: {str(error)[:80]}"


def _layouts(x: np.ndarray, make: Callable[[np.ndarray], Any]) -> Iterator[tuple[str, Any]]:
    """Arrays equal to x that are not contiguous, of the type that `make` makes."""
    if hasattr(make(x), "swapaxes"):
        for which, axes in (("first", (0, 1)), ("last", (-1, -2))):
            exchanged = make(np.ascontiguousarray(x.swapaxes(*axes))).swapaxes(*axes)
            yield f"whose {which} two axes are exchanged in memory", exchanged
    wide = np.zeros((*x.shape[:-2], 2 * x.shape[-2], 2 * x.shape[-1]), dtype=x.dtype)
    wide[..., ::2, ::2] = x
    yield "that is every second number of an array", make(wide)[..., ::2, ::2]


def _compared(
    trial: LawTrial, how: tuple[str, str], outputs: tuple[np.ndarray | str, np.ndarray], control: float
) -> Comparison:
    (level, layout), (found, wanted) = how, outputs
    is_error = isinstance(found, str)
    return Comparison(
        what=f"an input {layout} raises {found}" if is_error else f"an input {layout} changes the output",
        error=np.inf if is_error else distance(found, wanted),
        tolerance=trial.tolerance(wanted),
        control=control,
        place={"level": level},
        is_yes_no=is_error,
    )


class _MemoryOrder(ReferenceLayer):
    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x.ravel(order="K").reshape(x.shape), **options)


LAW = Law(
    id="LAYOUT",
    statement="outputs do not depend on the strides of the input",
    family="shape",
    rank=70,
    compare=_compare,
    broken_example=lambda: _MemoryOrder(Spec(), name="assumes contiguous arrays"),
    diagnosed_by="suspects",
    suspects=("a kernel assumes a contiguous input", "a view is taken of an array that is not contiguous"),
)
