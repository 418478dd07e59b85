"""A student's rotary functions on numpy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.conformance.adapters.layouts.importing import StudentCode


def table_function(code: StudentCode, function: Any) -> Callable[[int, int], np.ndarray]:
    """(dim, max_positions) → the table."""

    def table(dim: int, max_positions: int) -> np.ndarray:
        return as_array(code.call(function, dim, max_positions))

    return table


def turn_function(code: StudentCode, function: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(x, table) → x turned. The arrays share their memory with the tensors, so that work in place shows."""
    import torch

    def turn(x: np.ndarray, table: np.ndarray) -> np.ndarray:
        return np.array(as_array(code.call(function, torch.from_numpy(x), torch.from_numpy(table))))

    return turn


def as_array(value: Any) -> np.ndarray:
    """A tensor's numbers, or those of anything that numpy understands."""
    return value.detach().cpu().resolve_conj().numpy() if hasattr(value, "detach") else np.asarray(value)
