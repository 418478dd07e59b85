"""Position codes, one file each.

A new code is a new file that defines a `PositionCode` and assigns it to `CODE`.
"""

import sys

from regard.core.catalog import discover
from regard.positions._code import ModelSizes, PositionCode

__all__ = ["ModelSizes", "PositionCode", "codes"]


def codes() -> dict[str, type[PositionCode]]:
    """Every position code by the name of its file.

    >>> sorted(codes())
    ['alibi', 'learned', 'none', 'rotary', 'sinusoidal', 't5_buckets']
    """
    return {name: module.CODE for name, module in discover(sys.modules[__name__]).items()}
