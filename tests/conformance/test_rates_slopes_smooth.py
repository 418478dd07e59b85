"""RATES, SLOPES and SMOOTH each see one thing from outside, whatever comes before or after attention."""

from dataclasses import replace

import numpy as np
import pytest

from regard.conformance import all_laws
from regard.conformance.judging import judge
from regard.conformance.law import dtype_of
from regard.conformance.laws.rates import unexplained, unexplained_without
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


def rotating(**code):
    class Rotating(ReferenceLayer):
        def rotate(self, heads, positions):
            return Rotary(**code).rotate(heads, positions[:, None, :])

    return Rotating


@pytest.mark.parametrize(
    ("code", "spec", "words"),
    [
        ({"base": 500_000.0}, ROTARY, "base 500000"),
        ({}, replace(ROTARY, rotary_base=1e6), "base 10000"),
        ({"rotary_dims": 4}, ROTARY, "nothing rotates at the declared rate 0.1"),
        ({}, replace(ROTARY, rotary_width=4), "8 coordinates"),
    ],
)
def test_other_rates_are_refuted_by_name(code, spec, words):
    verdict = judge(all_laws()["RATES"], rotating(**code)(spec))
    assert verdict.outcome == "refuted"
    assert words in (verdict.reason or "")


class Biased(ReferenceLayer):
    """Works in float32 alone, so that small differences of outputs are rounded."""

    capabilities = ReferenceLayer.capabilities - {"float64"}

    def _heads(self, x, part, num_heads):
        heads = super()._heads(x, part, num_heads)
        bias = np.random.default_rng(len(part) + self.seed).standard_normal((num_heads, 1, heads.shape[-1]))
        return heads + self.dtype.type(0.1 * self.spec.head_width**-0.5) * bias.astype(self.dtype)


class BiasedOnOtherBase(Biased):
    def rotate(self, heads, positions):
        return Rotary(base=5e5).rotate(heads, positions[:, None, :])


@pytest.mark.parametrize("seed", range(4))
def test_rounding_is_allowed_for_where_biases_leave_little_to_see(seed):
    law = all_laws()["RATES"]
    assert judge(law, Biased(ROTARY, seed=seed)).outcome == "holds"
    assert judge(law, BiasedOnOtherBase(ROTARY, seed=seed)).outcome == "refuted"


def test_pairs_in_another_layout_rotate_at_the_same_rates():
    assert judge(all_laws()["RATES"], rotating(layout="interleaved")(ROTARY)).outcome == "holds"


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


PLACES = np.linspace(0, 6, 40)
SLOW, FAST, OTHER = (np.stack([np.cos(rate * PLACES), np.sin(rate * PLACES)], axis=1) for rate in (1.0, 2.5, 4.0))
ONES = np.ones((40, 1))


def test_a_sum_of_columns_is_explained_and_another_curve_is_not():
    curves = SLOW @ np.array([[1.0, 2.0], [0.5, -1.0]]) + 3
    assert unexplained(curves, [ONES, SLOW, FAST]) < 1e-12
    least = np.linalg.lstsq(np.hstack([ONES, FAST]), curves, rcond=None)
    spread = np.sum((curves - curves.mean(axis=0)) ** 2)
    assert unexplained(curves, [ONES, FAST]) == pytest.approx(np.sqrt(np.sum(least[1]) / spread), rel=1e-9)


def test_columns_that_repeat_others_change_nothing():
    curves = SLOW + 0.3 * OTHER
    assert unexplained(curves, [ONES, SLOW, 2 * SLOW]) == pytest.approx(unexplained(curves, [ONES, SLOW]), rel=1e-9)


def test_a_group_is_required_if_it_is_in_the_curves_and_no_other_replaces_it():
    slow, fast, twin, again = unexplained_without(SLOW + ONES, ONES, [SLOW, FAST, OTHER, 2 * OTHER])
    assert slow is not None
    assert slow > 0.3
    assert fast is not None
    assert fast < 1e-12
    assert twin is again is None
