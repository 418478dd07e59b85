"""Position codes: one file each, found by its name.

A new code is a new file with a `PositionCode` in it, named by the file's `CODE`.
"""

import sys

from regard.core.catalog import discover
from regard.positions._code import PositionCode

__all__ = ["PositionCode", "codes"]


def codes() -> dict[str, type[PositionCode]]:
    """Every position code by the name of its file.

    >>> sorted(codes())
    ['alibi', 'learned', 'none', 'rotary', 'sinusoidal', 't5_buckets']
    """
    modules = discover(sys.modules[__name__])
    return {name: module.CODE for name, module in modules.items() if hasattr(module, "CODE")}
