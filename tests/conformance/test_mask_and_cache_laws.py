"""The laws about masks, positions and caches: what they must not object to, and where they cannot tell."""

from dataclasses import replace

import numpy as np
import pytest

from conformance.broken_layers import PLAIN, ROTARY, FinitePadding, LowAngles, SaysZeroGivesUniform
from regard.conformance import InputSize, all_laws
from regard.conformance.judging import judge
from regard.conformance.probing import SIDES, chunkings, decode, first_broken_token, mask_hiding, token_gaps
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def outcome(law: str, subject: Subject, seed: int = 0) -> str | None:
    return judge(all_laws()[law], subject, seed=seed).outcome


class FloatAngles(LowAngles):
    """Forms angles in float32, which is lawful."""

    angles = "float32"


class LargeFinitePadding(FinitePadding):
    """Hides padding by a constant that no logit reaches, which is lawful."""

    constant = -1e30


class PositionsFromMask(ReferenceLayer):
    """Counts real tokens whatever positions it is given."""

    def call_with_weights(self, x: np.ndarray, mask=None, positions=None, **options):
        return super().call_with_weights(x, mask, None if mask is not None else positions, **options)


@pytest.mark.parametrize("law", ["SHIFT", "GAP"])
def test_dead_position_code_is_inconclusive(law):
    layer = ReferenceLayer(ROTARY)
    layer.rotate = lambda heads, positions: heads
    assert outcome(law, layer) == "inconclusive"


def test_positions_replaced_by_the_layers_own_count_never_pass():
    assert outcome("GAP", PositionsFromMask(ROTARY)) == "inconclusive"


@pytest.mark.parametrize("law", ["JUNK", "ONES", "CACHEPAD", "MASKFORCE"])
def test_mask_without_effect_never_passes(law):
    layer = ReferenceLayer(PLAIN if law != "CACHEPAD" else ROTARY)
    usual = layer.visible
    layer.visible = lambda places, num_keys, mask: usual(places, num_keys, np.ones_like(mask))
    assert outcome(law, layer) == ("refuted" if law in ("JUNK", "MASKFORCE") else "inconclusive")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("gain", [1.0, 3.0])
def test_angles_in_float32_are_lawful_in_any_dtype(dtype, gain):
    for seed in range(5):
        layer = FloatAngles(replace(ROTARY, dtype=dtype), seed=seed)
        layer.matrices = {**layer.matrices, "query": layer.matrices["query"] * layer.dtype.type(gain**2)}
        verdict = judge(all_laws()["SHIFT"], layer, seed=seed)
        assert verdict.outcome == "holds", verdict.counterexample


def test_finite_constant_that_no_logit_reaches_is_lawful():
    for law in ("JUNK", "MASKFORCE", "EMPTY"):
        assert outcome(law, LargeFinitePadding(ROTARY)) == "holds"


def test_empty_row_may_be_anything_finite_if_nothing_is_declared():
    assert outcome("EMPTY", SaysZeroGivesUniform(PLAIN)) == "holds"
    verdict = judge(all_laws()["EMPTY"], SaysZeroGivesUniform(replace(PLAIN, empty="zero")))
    assert "but uniform" in (verdict.reason or "")


def test_shift_is_cut_to_the_positions_there_are():
    class Counting(ReferenceLayer):
        """Refuses positions past its table."""

        def rotate(self, heads, positions):
            assert positions.max() < 64
            return super().rotate(heads, positions)

    assert outcome("SHIFT", Counting(replace(ROTARY, max_positions=64))) == "holds"
    assert outcome("SHIFT", Counting(replace(ROTARY, max_positions=12))) == "skipped"
    assert outcome("GAP", Counting(replace(ROTARY, max_positions=12))) == "holds"


def test_a_layer_without_mask_or_causality_is_not_tried_under_maskforce():
    layer = ReferenceLayer(Spec())
    layer.capabilities = layer.capabilities - {"mask"}
    verdict = judge(all_laws()["MASKFORCE"], layer)
    assert (verdict.outcome, verdict.reason) == ("skipped", "the layer takes no mask and does not declare to be causal")
    layer.spec = replace(layer.spec, causal=True)
    assert outcome("MASKFORCE", layer) == "holds"


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 12, 31, 50])
def test_chunkings_cover_the_sequence(length, block):
    cuts = chunkings(InputSize(length=length, block=block))
    assert all(sum(cut) == length and min(cut) > 0 and len(cut) > 1 for cut in cuts)
    assert len(set(cuts)) == len(cuts)
    assert bool(cuts) == (length > 1)


def test_decoding_passes_the_mask_of_past_and_new_tokens():
    class Noting(ReferenceLayer):
        """Writes down what it is given."""

        def step(self, x, cache, mask=None, positions=None):
            seen.append((mask.shape[1], positions[0].tolist()))
            return super().step(x, cache, mask, positions)

    seen = []
    x, mask = np.ones((1, 5, 32), dtype=np.float32), np.ones((1, 5), dtype=bool)
    decode(Noting(ROTARY), x, (3, 2), mask=mask, positions=np.arange(5)[None])
    assert seen == [(3, [0, 1, 2]), (5, [3, 4])]


def test_the_first_broken_token_is_found():
    assert first_broken_token(np.array([[0.0, 0.0, 0.0, 2.0, 0.0]]), 1.0) == 3
    assert first_broken_token(np.zeros((1, 5)), 1.0) is None


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("length", [3, 4, 12])
def test_masks_hide_something_and_leave_two(side, length):
    counts = mask_hiding(5, length, side).sum(axis=1)
    assert counts.min() >= 2
    assert counts.max() < length


def test_gaps_of_nan_are_infinite():
    assert token_gaps(np.array([[[np.nan]]]), np.zeros((1, 1, 1))).tolist() == [[np.inf]]


def test_a_core_that_forgets_its_mask_where_it_is_causal_is_refuted():
    class Forgetful(ReferenceLayer):
        def core(self, q, k, v, *, mask=None, causal=False):
            return super().core(q, k, v, mask=None if causal else mask, causal=causal)

    verdict = judge(all_laws()["ALIGN"], Forgetful(replace(ROTARY, align="bottom-right")))
    assert verdict.outcome == "refuted"
    assert "the mask part is ignored" in (verdict.reason or "")
