"""The layer keeps the right rotary table, and keeps it from being trained."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.homework import honest_table
from regard.conformance.law import Comparison, InputSize, Law, LawTrial, distance
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_ULPS = 8
_WRONG_TABLE = "precompute_rotary_emb gives a wrong table, see TABLE-ANGLES"


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    spec = trial.spec
    kept, is_buffer = getattr(trial.subject, "kept_table")()  # noqa: B009 - only subjects with "kept table" have it
    wanted = honest_table(spec.head_width, spec.max_positions or 1)
    yield Comparison(
        what=f"rope_cache has shape {kept.shape}, and (block_size, head_dim/2, 2) = {wanted.shape} is asked for",
        error=0.0 if kept.shape == wanted.shape else 1.0,
        tolerance=0.0,
    )
    yield Comparison(what="rope_cache is no buffer of the module", error=0.0 if is_buffer else 1.0, tolerance=0.0)
    if kept.shape == wanted.shape:
        yield Comparison(
            what="rope_cache is not cos and sin of t·10000^(-2(i-1)/head_dim)",
            error=distance(kept, wanted),
            tolerance=_ULPS * 2.0**-23 * len(wanted),
            signature={"looks": (_WRONG_TABLE,)},
        )


class _OfTheWholeWidth(ReferenceLayer):
    """Makes its table for the model's width instead of a head's."""

    capabilities = frozenset({"attend", "kept table"})

    def kept_table(self) -> tuple[np.ndarray, bool]:
        return honest_table(self.spec.width, self.spec.max_positions or 1), True


def _broken_example() -> Subject:
    return _OfTheWholeWidth(Spec(causal=True, positions="rotary", max_positions=32), name="table of the whole width")


LAW = Law(
    id="ATTEND-TABLE",
    statement="rope_cache is a buffer with the table for head_dim and block_size",
    needs=("attend", "kept table"),
    compare=_compare,
    broken_example=_broken_example,
    grade="spec",
    size=InputSize(batch=1, length=1),
    suspects=("the table is made for n_embd instead of n_embd / n_head", _WRONG_TABLE),
)
