"""RATES, SLOPES and SMOOTH see one thing from outside, whatever comes before or after attention."""

from dataclasses import replace

import numpy as np
import pytest

from regard.conformance import all_laws
from regard.conformance.judging import judge
from regard.conformance.law import dtype_of
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.positions.alibi import alibi_slopes
from regard.positions.rotary import Rotary

ROTARY, ALIBI = Spec(causal=True, positions="rotary"), Spec(causal=True, positions="alibi")


class Residual(ReferenceLayer):
    """A block: the input is added, and a matrix follows."""

    def call(self, x, **options):
        after = np.random.default_rng(3).standard_normal((x.shape[-1], x.shape[-1])).astype(x.dtype)
        return (x + super().call(x, **options)) @ after


@pytest.mark.parametrize(("law", "spec"), [("RATES", ROTARY), ("SLOPES", ALIBI), ("SMOOTH", ROTARY)])
def test_a_block_around_attention_breaks_none_of_them(law, spec):
    assert judge(all_laws()[law], Residual(spec)).outcome == "holds"


def turning(**code):
    class Turning(ReferenceLayer):
        def rotate(self, heads, positions):
            return Rotary(**code).rotate(heads, positions[:, None, :])

    return Turning


@pytest.mark.parametrize(
    ("code", "spec", "words"),
    [
        ({"base": 500_000.0}, ROTARY, "base 500000"),
        ({}, replace(ROTARY, rotary_base=1e6), "base 10000"),
        ({"rotary_dims": 4}, ROTARY, "nothing turns at the declared rate 0.1"),
        ({}, replace(ROTARY, rotary_width=4), "8 coordinates"),
    ],
)
def test_other_rates_are_refuted_by_name(code, spec, words):
    verdict = judge(all_laws()["RATES"], turning(**code)(spec))
    assert verdict.outcome == "refuted"
    assert words in (verdict.reason or "")


def test_pairs_in_another_layout_turn_at_the_same_rates():
    assert judge(all_laws()["RATES"], turning(layout="interleaved")(ROTARY)).outcome == "holds"


@pytest.mark.parametrize("slopes", [lambda own: own[::-1], lambda own: own * 0 + own[0], lambda own: own / 2])
def test_the_set_of_slopes_is_seen_and_their_order_is_not(slopes):
    class Sloped(ReferenceLayer):
        def slopes(self):
            return slopes(alibi_slopes(self.spec.num_heads))

    is_same_set = np.allclose(np.sort(slopes(alibi_slopes(4))), np.sort(alibi_slopes(4)))
    assert judge(all_laws()["SLOPES"], Sloped(ALIBI)).outcome == ("holds" if is_same_set else "refuted")


@pytest.mark.parametrize(("dtype", "outcome"), [("float32", "holds"), ("float16", "refuted"), ("bfloat16", "refuted")])
def test_weights_in_float32_are_lawful_and_in_half_precision_are_not(dtype, outcome):
    class Rounded(ReferenceLayer):
        def softmax(self, z, visible):
            return super().softmax(z, visible).astype(dtype_of(dtype)).astype(z.dtype)

    assert judge(all_laws()["SMOOTH"], Rounded(replace(ROTARY, dtype="float64"))).outcome == outcome


def test_a_core_that_forgets_its_mask_where_it_is_causal_is_refuted():
    class Forgetful(ReferenceLayer):
        def core(self, q, k, v, *, mask=None, causal=False):
            return super().core(q, k, v, mask=None if causal else mask, causal=causal)

    verdict = judge(all_laws()["ALIGN"], Forgetful(replace(ROTARY, align="bottom-right")))
    assert verdict.outcome == "refuted"
    assert "the mask part is ignored" in (verdict.reason or "")
