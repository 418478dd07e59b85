"""Partial results and their log-sum-exps, for the laws of merging kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, InputSize, LawTrial, distance

SIZE = InputSize(batch=1, length=12)
# An output [token, head, width] and its log-sum-exp [token, head].
Part = tuple[np.ndarray, np.ndarray]


def merged(trial: LawTrial, one: Part, other: Part) -> Part:
    """What the kernel makes of two parts."""
    out, lse = trial.subject.run_kernel("merge", *(each.copy() for each in (*one, *other)))
    return out, lse


def exact_merge(parts: Sequence[Part], base: float) -> Part:
    """The same in float64: weights base^{lse − max} over their sum; zero and −∞ if all parts are empty."""
    outs, logs = (np.stack([each[place].astype(np.float64) for each in parts]) for place in (0, 1))
    top = logs.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    mass = base ** (logs - top)
    total = mass.sum(axis=0)
    with np.errstate(divide="ignore"):
        lse = top + np.log(total) / np.log(base)
    return (mass[..., None] * outs).sum(axis=0) / np.where(total > 0, total, 1.0)[..., None], lse


def base_of(trial: LawTrial) -> float:
    """The base of the logarithms."""
    return 2.0 if trial.subject.traits.base == "2" else float(np.e)


def draw_part(trial: LawTrial, name: str, *, lse: float | np.ndarray = 0.0, spread: float = 2.0) -> Part:
    """A random output, and log-sum-exps around a number."""
    shape = (trial.size.length, trial.spec.num_heads)
    rng = trial.rng(f"part {name}")
    out = rng.standard_normal((*shape, trial.spec.head_width))
    return out.astype(trial.dtype), (lse + spread * rng.standard_normal(shape)).astype(trial.dtype)


def empty_part(trial: LawTrial) -> Part:
    """A part without keys."""
    shape = (trial.size.length, trial.spec.num_heads)
    return np.zeros((*shape, trial.spec.head_width), dtype=trial.dtype), np.full(shape, -np.inf, dtype=trial.dtype)


def compare_parts(trial: LawTrial, what: str, found: Part, wanted: Part, **more: Any) -> Comparisons:
    """Output and log-sum-exp of two parts; both are rounded more coarsely the larger the log-sum-exps are."""
    largest = float(np.abs(wanted[1][np.isfinite(wanted[1])]).max(initial=1.0))
    for name, ours, theirs in zip(("output", "log-sum-exp"), found, wanted, strict=True):
        tolerance = trial.work_tolerance(theirs, largest if name == "output" else 0.0)
        yield Comparison(what=f"the {name} {what}", error=distance(ours, theirs), tolerance=tolerance, **more)
