"""Which known mistake an array looks like."""

from collections.abc import Mapping

import numpy as np

from regard.conformance.law import distance

_NEAR = 1e-3


def look_alikes(found: np.ndarray, mistakes: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """The mistakes whose result is the one that was found, to a thousandth."""
    gaps = {name: distance(found, wrong) for name, wrong in mistakes.items()}
    return tuple(f"matches {name} to {gap:.0e}" for name, gap in gaps.items() if gap < _NEAR)
