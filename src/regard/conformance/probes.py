"""Inputs that differ in one place, and how far a layer moves with them."""

import numpy as np

from regard.conformance.law import LawTrial, distance, dtype_of


def bumped(
    trial: LawTrial, x: np.ndarray, place: int | slice | list[int], *, name: str = "bump", by: float = 1.0
) -> np.ndarray:
    """The input with normal noise added at one place of every row."""
    moved = x.copy()
    noise = trial.rng(f"{name} {place}").standard_normal(moved[:, place].shape)
    moved[:, place] = (moved[:, place].astype(np.float64) + by * noise).astype(x.dtype)
    return moved


def liveness(trial: LawTrial, x: np.ndarray, y: np.ndarray) -> float:
    """How far the output moves if the whole input is another one."""
    return distance(trial.subject.call(bumped(trial, x, slice(None), name="live", by=2.0)), y)


def drawn_heads(trial: LawTrial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard normal queries, keys and values [batch, head, position, width]."""
    spec, rng = trial.spec, trial.rng("heads")
    shape = (trial.size.batch, spec.num_heads, trial.size.length, spec.head_width)
    shared = (shape[0], spec.num_kv_heads or 1, *shape[2:])
    q, k, v = (rng.standard_normal(each).astype(dtype_of(spec.dtype)) for each in (shape, shared, shared))
    return q, k, v
