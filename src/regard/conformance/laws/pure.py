"""A call leaves what it was given as it was."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.probes import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Input, mask and positions after the call beside copies from before it; then the framework's own array."""
    x = trial.inputs()
    y = trial.subject.call(x.copy())
    control = liveness(trial, x, y)
    given = {"input": x.copy()} | _options(trial)
    kept = {name: value.copy() for name, value in given.items()}
    trial.subject.call(given["input"], **{name: value for name, value in given.items() if name != "input"})
    for name, value in given.items():
        yield _finding(name, (value, kept[name]), control)
    if trial.subject.has("native"):
        own = trial.subject.native(x.copy())
        trial.subject.call_native(own)
        yield _finding("input", (trial.subject.numpy(own), x), control, level="native")


def _options(trial: LawTrial) -> dict[str, np.ndarray]:
    """A mask with one padded token on the right, and positions from zero, where the layer takes them."""
    batch, length = trial.size.batch, trial.size.length
    options: dict[str, np.ndarray] = {}
    if trial.subject.has("mask") and length > 1:
        options["mask"] = np.broadcast_to(np.arange(length) < length - 1, (batch, length)).copy()
    if trial.subject.has("positions"):
        options["positions"] = np.broadcast_to(np.arange(length), (batch, length)).copy()
    return options


def _finding(name: str, values: tuple[np.ndarray, np.ndarray], control: float, level: str = "numpy") -> Comparison:
    after, before = values
    changed = np.argwhere(np.asarray(after != before)) if after.shape == before.shape else np.zeros((0, 2), dtype=int)
    return Comparison(
        what=f"the call changes its {name}",
        error=distance(after, before),
        tolerance=0.0,
        control=control,
        place={"argument": name, **({"index": changed[0].tolist()} if len(changed) else {})},
        signature={"argument": name, "level": level, "num_changed": len(changed)},
    )


class _CentersInPlace(ReferenceLayer):
    """Centres its input where it lies."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        x -= x.mean(axis=-1, keepdims=True)
        return super().call(x, **options)


def _broken_example() -> Subject:
    return _CentersInPlace(Spec(), name="centres its input in place")


LAW = Law(
    id="PURE",
    statement="a call leaves its input, mask and positions unmodified",
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "an operation in place changes the input",
        "the mask is extended in place",
        "positions are shifted in place",
    ),
)
