"""An outlier stays in its group."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial, distance
from regard.conformance.laws._quantized import SIZE, draw_pair, in_groups, named_parts, restored
from regard.conformance.reference_kernels import quantized_kernel

_OUTLIER = 300.0


def _compare(trial: LawTrial) -> Comparisons:
    """One number of keys, then of values, becomes very large or very small; its own group is the positive control."""
    pair = draw_pair(trial, "outlier")
    before = restored(trial, *pair)
    for own, (name, groups) in enumerate(named_parts(trial)):
        place = tuple(int(trial.rng(f"outlier {name}").integers(size)) for size in pair[own].shape)
        numbers = in_groups(pair[own], groups, trial.subject.traits.group_size)
        outside = numbers != numbers[place]
        for outlier in (_OUTLIER, -_OUTLIER):
            changed = [each.copy() for each in pair]
            changed[own][place] = outlier
            after = restored(trial, *changed)
            errors = {
                "changes numbers outside its group": distance(after[own][outside], before[own][outside]),
                "changes the other part": distance(after[1 - own], before[1 - own]),
            }
            for what, error in errors.items():
                yield Comparison(
                    what=f"an outlier among {name} {what}",
                    error=error,
                    tolerance=0.0,
                    control=distance(after[own][~outside], before[own][~outside]),
                    place={"index": list(place), "outlier": outlier},
                )


def _one_step_per_head(k: np.ndarray, v: np.ndarray) -> list:
    steps = [np.abs(x).max(axis=(-1, -2), keepdims=True) / 127 for x in (k, v)]
    return [
        (np.round(x / step), np.broadcast_to(step, (*x.shape[:-1], 1))) for x, step in zip((k, v), steps, strict=True)
    ]


LAW = Law(
    id="QUANTGROUP",
    statement="an outlier changes nothing outside its own group",
    family="quantised",
    rank=520,
    needs=("quantized",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: quantized_kernel(_one_step_per_head),
    suspects=("groups are larger than declared, or along another axis", "keys and values share a step"),
    size=SIZE,
)
