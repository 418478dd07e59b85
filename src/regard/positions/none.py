"""No position code: the layer treats its tokens as a set."""

from dataclasses import dataclass

from regard.positions._code import PositionCode


@dataclass(frozen=True, kw_only=True)
class NoPositions(PositionCode):
    """Changes nothing.

    >>> import numpy as np
    >>> NoPositions().add(np.ones((1, 2)), np.array([7]))
    array([[1., 1.]])
    """


CODE = NoPositions
