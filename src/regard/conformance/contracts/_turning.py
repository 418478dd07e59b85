"""Inputs for contracts on turning, and tables as they are handed over."""

import numpy as np

from regard.conformance.homework import honest_table
from regard.conformance.law import LawTrial

WIDTH, HEADS = 8, 3


def inputs(trial: LawTrial, name: str = "turned") -> np.ndarray:
    """Standard normal numbers [batch, head, position, width] of float32."""
    shape = (trial.size.batch, HEADS, trial.size.length, WIDTH)
    return trial.rng(name).standard_normal(shape).astype(np.float32)


def table(max_positions: int) -> np.ndarray:
    """The right table as a caller has it, so that a wrong one of the student's own is not held against the turning."""
    return honest_table(WIDTH, max_positions).astype(np.float32)
