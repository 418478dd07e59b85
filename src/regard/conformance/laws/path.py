"""All code paths of a layer agree."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import work_tolerance
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Each path against the usual call, with and without padding, on short and odd lengths; real tokens only."""
    paths, x = trial.subject.paths(), trial.inputs()
    for name, path in paths.items():
        for length in sorted({x.shape[1], max(x.shape[1] - 1, 1), 1}, reverse=True):
            yield _compared(trial, (name, path), x[:, :length], {})
        if trial.subject.has("mask") and x.shape[1] > 2:
            for side in ("left", "right"):
                mask = np.ones(x.shape[:2], dtype=bool)
                mask[-1, slice(0, 2) if side == "left" else slice(-2, None)] = False
                yield _compared(trial, (name, path), x, {"mask": mask}, side)


def _compared(
    trial: LawTrial, way: tuple[str, Callable[..., np.ndarray]], x: np.ndarray, options: dict[str, Any], side: str = ""
) -> Comparison:
    """One comparison; the control is how far another first token takes the usual output."""
    name, path = way
    real = options.get("mask", np.ones(x.shape[:2], dtype=bool))
    usual, other = trial.subject.call(x, **options)[real], path(x, **options)[real]
    bumped = x.copy()
    bumped[real] += trial.rng("live").standard_normal(bumped[real].shape).astype(x.dtype)
    return Comparison(
        what=f"the path '{name}' gives something else",
        error=distance(other, usual),
        tolerance=work_tolerance(trial, usual.astype(np.float64)),
        control=distance(trial.subject.call(bumped, **options)[real], usual),
        place={"path": name, "positions": x.shape[1], **({"padded": side} if side else {})},
        signature={"path": name, "is masked": bool(options)},
    )


class _Forked(ReferenceLayer):
    """Its fast path forgets the mask."""

    capabilities = ReferenceLayer.capabilities | {"paths"}

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The fast one."""
        return {"fast": lambda x, mask=None, **options: self.call(x, **options) if mask is not None else self.call(x)}


def _broken_example() -> Subject:
    return _Forked(Spec(causal=False, positions="none"), name="a fast path without its mask")


LAW = Law(
    id="PATH",
    statement="all code paths give the same outputs for real tokens",
    needs=("paths",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("path: one code path differs", "mask: one code path drops the mask"),
)
