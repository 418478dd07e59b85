"""No code: nothing happens, to the very object."""

import numpy as np

from regard.positions.none import NoPositions


def test_nothing_is_added_turned_or_biased(rng):
    x, positions = rng.normal(size=(3, 4)), np.arange(3)
    assert NoPositions().add(x, positions) is x
    assert NoPositions().rotate(x, positions) is x
    assert NoPositions().bias(positions, positions) is None
