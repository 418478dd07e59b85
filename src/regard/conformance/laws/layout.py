"""How an array lies in memory means nothing."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.probes import drawn_heads, liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

Make = Callable[[np.ndarray], Any]


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The same numbers, axes exchanged in memory or every second number of a wider array."""
    subject, x = trial.subject, trial.inputs()
    y = subject.call(x)
    control = liveness(trial, x, y)
    is_native = subject.has("native")
    call = (lambda own: subject.numpy(subject.call_native(own))) if is_native else subject.call
    for name, strided in _layouts(x, subject.native if is_native else np.asarray):
        yield _finding(trial, ("layer", name), (_tried(call, strided), y), control)
    if subject.has("core"):
        heads = drawn_heads(trial)
        y = subject.core(*heads)
        control = distance(subject.core(heads[0], heads[1], -heads[2]), y)
        for (name, q), (_, k), (_, v) in zip(*(_layouts(each, np.asarray) for each in heads), strict=True):
            yield _finding(trial, ("core", name), (_tried(subject.core, q, k, v), y), control)


def _tried(call: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray | str:
    """The output, or what the layer raises, which it did not for a contiguous input."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - a layer may raise anything
        return f"{type(error).__name__}: {str(error)[:80]}"


def _layouts(x: np.ndarray, make: Make) -> Iterator[tuple[str, Any]]:
    """Arrays equal to x that are not contiguous, made of the framework's own where `make` makes those."""
    if hasattr(make(x), "swapaxes"):
        for which, axes in (("first", (0, 1)), ("last", (-1, -2))):
            exchanged = make(np.ascontiguousarray(x.swapaxes(*axes))).swapaxes(*axes)
            yield f"whose {which} two axes are exchanged in memory", exchanged
    wide = np.zeros((*x.shape[:-2], 2 * x.shape[-2], 2 * x.shape[-1]), dtype=x.dtype)
    wide[..., ::2, ::2] = x
    yield "that is every second number of an array", make(wide)[..., ::2, ::2]


def _finding(
    trial: LawTrial, what: tuple[str, str], outputs: tuple[np.ndarray | str, np.ndarray], control: float
) -> Comparison:
    (level, layout), (found, wanted) = what, outputs
    raised = found if isinstance(found, str) else None
    return Comparison(
        what=f"the output changes with an input {layout}" if raised is None else f"an input {layout} raises {raised}",
        error=np.inf if isinstance(found, str) else distance(found, wanted),
        tolerance=trial.tolerance(wanted),
        control=control,
        place={"level": level},
        signature={"level": level, "layout": layout, "raised": raised},
    )


class _MemoryOrder(ReferenceLayer):
    """Reads numbers as they lie in memory."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x.ravel(order="K").reshape(x.shape), **options)


def _broken_example() -> Subject:
    return _MemoryOrder(Spec(), name="takes every array for contiguous")


LAW = Law(
    id="LAYOUT",
    statement="outputs do not depend on the strides of the input",
    compare=_compare,
    broken_example=_broken_example,
    suspects=("a kernel takes its input for contiguous", "a view is taken of an array that is not contiguous"),
)
