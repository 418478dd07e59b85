"""All code paths of a layer agree."""

import itertools
from collections.abc import Callable, Mapping

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer

_Path = Callable[..., np.ndarray]


def _compare(trial: LawTrial) -> Comparisons:
    """Each path against the usual call, with and without padding, also for short and odd lengths; real tokens only."""
    x = trial.inputs()
    for name, path in trial.subject.paths().items():
        for length in sorted({x.shape[1], max(x.shape[1] - 1, 1), 1}, reverse=True):
            yield _compared(trial, path, x[:, :length], None, {"path": name, "tokens": length})
        if trial.subject.has("mask") and x.shape[1] > 2:
            # Two tokens, and so many that they fill whole blocks.
            for side, hidden in itertools.product(("left", "right"), sorted({2, x.shape[1] // 2})):
                mask = np.ones(x.shape[:2], dtype=bool)
                mask[-1, slice(0, hidden) if side == "left" else slice(-hidden, None)] = False
                yield _compared(trial, path, x, mask, {"path": name, "tokens": x.shape[1], "padding": side})


def _compared(
    trial: LawTrial, path: _Path, x: np.ndarray, mask: np.ndarray | None, place: dict[str, str | int]
) -> Comparison:
    options = {} if mask is None else {"mask": mask}
    real = np.ones(x.shape[:2], dtype=bool) if mask is None else mask
    usual, other = trial.call(x, **options)[real], path(x, **options)[real]
    moved = x.copy()
    moved[real] += trial.rng("live").standard_normal(moved[real].shape).astype(x.dtype)
    return trial.compared(
        f"the path '{place['path']}' gives a different output",
        other,
        usual,
        trial.work_tolerance(usual.astype(np.float64)),
        control=distance(trial.call(moved, **options)[real], usual),
        place=place,
        suggests=(
            Diagnosis("path", f"the path '{place['path']}' differs{'' if mask is None else ' if there is padding'}"),
        ),
    )


class _FastPathWithoutMask(ReferenceLayer):
    capabilities = ReferenceLayer.capabilities | {"paths"}

    def paths(self) -> Mapping[str, _Path]:
        return {"fast": lambda x, mask=None: self.call(x)}  # noqa: ARG005


LAW = Law(
    id="PATH",
    statement="all code paths give the same outputs for real tokens",
    family="path",
    rank=40,
    needs=("paths",),
    compare=_compare,
    grows_in=("length",),
    broken_example=lambda: _FastPathWithoutMask(Spec(causal=False, positions="none"), name="fast path without a mask"),
    suspects=("one code path differs", Diagnosis("mask", "one code path drops the mask")),
)
