"""A few calls that find out what a layer can take, before any law is tried."""

from collections.abc import Callable
from typing import Any

import numpy as np

_STEPS = (1e-5, 1e-9)
_AGREEMENT = 0.05


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def returned_or_error(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call returns, or what it raises: a stranger's layer may raise anything."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - the point is to find out
        return None, error


def is_smooth_in_float64(make: Callable[[], Callable[[np.ndarray], np.ndarray]], width: int) -> bool:
    """True if a layer answers to a step of 1e-9 as it does to one of 1e-5: nothing inside is rounded to float32.

    `make` gives what calls it, once, since some layers are compiled before they are called. Much public code forms
    norms or softmax in float32 whatever the dtype; such a layer is no float64 layer.
    """
    x, step = sample(2, 5, width), sample(2, 5, width, seed=1)

    def slopes() -> list[np.ndarray]:
        call = make()
        here = call(x)
        return [(call(x + size * step) - here) / size for size in _STEPS]

    found, error = returned_or_error(slopes)
    if error is not None or found[0].dtype != np.float64:
        return False
    scale = float(np.max(np.abs(found[0]), initial=0.0))
    return bool(np.max(np.abs(found[0] - found[1]), initial=0.0) <= _AGREEMENT * max(scale, 1e-30))
