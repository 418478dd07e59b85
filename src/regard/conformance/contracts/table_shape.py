"""The table has a cosine and a sine for every position and pair."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.homework import RotaryTable, honest_table, table_of
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

SIZES = ((8, 12), (2, 5), (32, 128), (6, 1))


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    for dim, max_positions in SIZES:
        found = table_of(trial).table(dim, max_positions)
        wanted = (max_positions, dim // 2, 2)
        is_real = np.issubdtype(found.dtype, np.floating)
        yield Comparison(
            what=f"precompute_rotary_emb({dim}, {max_positions}) gives {found.dtype} of shape {found.shape}, "
            f"and real numbers of shape {wanted} are asked for",
            error=0.0 if found.shape == wanted and is_real and np.isfinite(found).all() else 1.0,
            tolerance=0.0,
        )


def _broken_example() -> Subject:
    return RotaryTable(lambda dim, max_positions: honest_table(dim, max_positions).swapaxes(0, 1), name="pairs first")


LAW = Law(
    id="TABLE-SHAPE",
    statement="the cache has the shape (max_positions, dim/2, 2)",
    needs=("table",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=(
        "positions and pairs are transposed",
        "cos and sin are joined rather than stacked on a last axis",
        "a complex table is returned without view_as_real",
        "one row a dimension instead of one a pair",
    ),
)
