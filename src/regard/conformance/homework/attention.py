"""The attention layer, `CausalSelfAttention`; the laws on layers apply to it too."""

import numpy as np

from regard.conformance.homework import yes_no
from regard.conformance.homework.rotary import TABLE_ULPS, reference_table
from regard.conformance.law import NO_INPUTS, Comparisons, Law, LawTrial, only_if
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis

_WRONG_TABLE = Diagnosis(None, "precompute_rotary_emb gives a wrong table, see TABLE-ANGLES")


def _lengths(trial: LawTrial) -> Comparisons:
    longest = trial.spec.max_positions or 2 * trial.size.length
    for length in sorted({1, 2, 7, longest - 1, longest}):
        for batch in (1, 3):
            x = trial.inputs(f"length {length}", batch=batch, length=length)
            found = trial.subject.call(x)
            is_finite = bool(np.isfinite(found).all())
            yield yes_no(
                f"x of shape {x.shape} and {x.dtype} gives shape {found.shape} and {found.dtype}"
                + ("" if is_finite else ", not all of it finite"),
                found.shape == x.shape and found.dtype == x.dtype and is_finite,
            )


def _kept_table(trial: LawTrial) -> Comparisons:
    spec = trial.spec
    kept, is_buffer = getattr(trial.subject, "kept_table")()  # noqa: B009 - only subjects with "kept table" have it
    wanted = reference_table(spec.head_width, spec.max_positions or 1)
    yield yes_no(
        f"rope_cache has shape {kept.shape} instead of (block_size, head_dim/2, 2) = {wanted.shape}",
        kept.shape == wanted.shape,
    )
    yield yes_no("rope_cache is not a buffer of the module", is_buffer)
    if kept.shape == wanted.shape:
        what, tolerance = "rope_cache differs from cos and sin of t·10000^(-2(i-1)/head_dim)", TABLE_ULPS * 2.0**-23
        yield trial.compared(what, kept, wanted, tolerance * len(wanted), suggests=(_WRONG_TABLE,))


class _LastPositionOnly(ReferenceLayer):
    capabilities = frozenset({"attend"})

    def call(self, x: np.ndarray, **options: object) -> np.ndarray:
        return super().call(x, **options)[:, -1:]


class _TableOfWholeWidth(ReferenceLayer):
    capabilities = frozenset({"attend", "kept table"})

    def kept_table(self) -> tuple[np.ndarray, bool]:
        return reference_table(self.spec.width, self.spec.max_positions or 1), True


CONTRACTS = (
    Law(
        id="ATTEND-LENGTHS",
        statement="forward(x) keeps shape and dtype for every length from 1 to block_size",
        needs=("attend",),
        compare=_lengths,
        broken_example=lambda: _LastPositionOnly(Spec(causal=True, max_positions=32), name="last position only"),
        size=NO_INPUTS,
        diagnosed_by="suspects",
        suspects=("the mask is not cut to the input's length", "heads are not merged again"),
    ),
    Law(
        id="ATTEND-TABLE",
        statement="rope_cache is a buffer with the table for head_dim and block_size",
        needs=("attend", "kept table"),
        applies=only_if(positions="rotary"),
        compare=_kept_table,
        broken_example=lambda: _TableOfWholeWidth(
            Spec(causal=True, positions="rotary", max_positions=32), name="table of the whole width"
        ),
        grade="spec",
        size=NO_INPUTS,
        diagnosed_by="suspects",
        suspects=("the table is made for n_embd instead of n_embd / n_head", _WRONG_TABLE),
    ),
)
