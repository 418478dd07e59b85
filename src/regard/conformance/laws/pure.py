"""A call does not modify its arguments."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial, Spec
from regard.conformance.reference_layer import ReferenceLayer


def _compare(trial: LawTrial) -> Comparisons:
    """Input, mask and positions after the call against copies from before it; then the framework's own array."""
    x = trial.inputs()
    y = trial.call(x.copy())
    control = trial.liveness(x, y)
    batch, length = x.shape[:2]
    options: dict[str, np.ndarray] = {}
    if trial.subject.has("mask") and length > 1:
        options["mask"] = np.tile(np.arange(length) < length - 1, (batch, 1))
    if trial.subject.has("positions"):
        options["positions"] = np.tile(np.arange(length), (batch, 1))
    given = {"input": x.copy(), **options}
    kept = {name: value.copy() for name, value in given.items()}
    trial.call(given["input"], **options)
    for name, value in given.items():
        yield _compared(trial, name, value, kept[name], control)
    if trial.subject.has("native"):
        own = trial.subject.native(x.copy())
        trial.subject.call_native(own)
        yield _compared(trial, "input", trial.subject.numpy(own), x, control)
    if trial.subject.has("core"):
        heads = dict(zip(("queries", "keys", "values"), trial.random_heads(), strict=True))
        for (name, before), after in zip(heads.items(), trial.subject.heads_after(*heads.values()), strict=True):
            yield _compared(trial, name, after, before, control)


def _compared(trial: LawTrial, name: str, after: np.ndarray, before: np.ndarray, control: float) -> Comparison:
    changed = np.argwhere(np.asarray(after != before)) if after.shape == before.shape else np.zeros((0, 2), dtype=int)
    place = {"argument": name, **({"index": changed[0].tolist()} if len(changed) else {})}
    return trial.compared(f"the call modifies its {name}", after, before, 0.0, control=control, place=place)


class _CentersInPlace(ReferenceLayer):
    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        x -= x.mean(axis=-1, keepdims=True)
        return super().call(x, **options)


LAW = Law(
    id="PURE",
    statement="a call leaves its input, mask and positions unmodified",
    family="in-place",
    rank=20,
    compare=_compare,
    broken_example=lambda: _CentersInPlace(Spec(), name="centers its input in place"),
    diagnosed_by="suspects",
    suspects=(
        "an in-place operation changes the input",
        "the mask is extended in place",
        "positions are shifted in place",
    ),
)
