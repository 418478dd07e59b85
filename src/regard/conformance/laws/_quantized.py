"""Keys and values, their groups and their steps, for the laws of quantized kernels."""

import numpy as np

from regard.conformance.law import InputSize, LawTrial

SIZE = InputSize(batch=2, length=24)
AXES = ("batch", "head", "position", "dim")
# Numbers come back in the kernel's dtype, and its steps may be stored in half precision.
ROUNDING = 2.0**-10


def draw_pair(trial: LawTrial, name: str, *, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values [batch, head, position, dim] of whole groups; values are ten times as large as keys."""
    traits, length = trial.subject.traits, trial.size.length
    if traits.group_size and "position" in {groups.split()[-1] for groups in (traits.key_groups, traits.value_groups)}:
        length = -(-length // traits.group_size) * traits.group_size
    shape = (trial.size.batch, trial.spec.num_kv_heads or 1, length, trial.spec.head_width)
    k, v = (trial.rng(f"{name} {part}").standard_normal(shape) for part in "kv")
    return (k + offset).astype(trial.dtype), (10 * (v - offset)).astype(trial.dtype)


def restored(trial: LawTrial, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values after they were stored, in float64; of another shape, they are as wrong as can be."""
    found = trial.subject.run_kernel("restore", k.copy(), v.copy())
    wide = [
        ours.astype(np.float64) if ours.shape == given.shape else np.full(given.shape, np.nan)
        for ours, given in zip(found, (k, v), strict=True)
    ]
    return wide[0], wide[1]


def in_groups(x: np.ndarray, groups: str, size: int | None) -> np.ndarray:
    """The number of its group for each number."""
    names, numbers = groups.split(), np.zeros(x.shape, dtype=np.int64)
    for axis, name in enumerate(AXES):
        index = np.arange(x.shape[axis])
        if name in names:
            index = index // size if size and name == names[-1] else index * 0
        numbers = numbers * (index.max() + 1) + index.reshape([-1 if each == axis else 1 for each in range(4)])
    return numbers


def steps_of(trial: LawTrial, x: np.ndarray, groups: str) -> np.ndarray:
    """The step of each number's group, as declared; with a zero point, the range may be widened to include zero."""
    traits, wide = trial.subject.traits, x.astype(np.float64)
    numbers = in_groups(x, groups, traits.group_size)
    lowest, highest = (np.full(numbers.max() + 1, start) for start in (np.inf, -np.inf))
    np.minimum.at(lowest, numbers, wide)
    np.maximum.at(highest, numbers, wide)
    if traits.zero_point:
        steps = (np.maximum(highest, 0) - np.minimum(lowest, 0)) / (2**traits.bits - 1)
    else:
        steps = np.maximum(highest, -lowest) / (2 ** (traits.bits - 1) - 1)
    return steps[numbers]


def named_parts(trial: LawTrial) -> list[tuple[str, str]]:
    """Keys and values with their groups."""
    traits = trial.subject.traits
    return [("keys", traits.key_groups), ("values", traits.value_groups)]
