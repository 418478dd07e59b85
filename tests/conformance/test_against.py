"""Two implementations of one layer are compared on the inputs of all laws, up to the rounding of the reference."""

import numpy as np
import pytest

from regard.conformance import all_laws
from regard.conformance.against import PairedSubject, bit_by_bit, law_of_pair, share_weights
from regard.conformance.check import check
from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import judge
from regard.conformance.law import CheckSizes
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.core.errors import InputError

LAWS = all_laws()
ROTARY = Spec(width=16, num_heads=2, causal=True, positions="rotary")
TRIED = ("CAUSAL", "PAD", "CACHE", "SHIFT", "SPEC", "CACHEPAD", "EMPTY")


class Reordered(ReferenceLayer):
    """Forms its sums in another order, which only rounding shows."""

    def mix(self, weights, v):
        return super().mix(weights[..., ::-1], v[..., ::-1, :])


class MaskLostWithCache(ReferenceLayer):
    def step(self, x, cache, mask=None, positions=None):
        return super().step(x, cache, None if cache.keys.shape[2] else mask, positions)


class WrongPast20(ReferenceLayer):
    def mix(self, weights, v):
        mixed = super().mix(weights, v)
        mixed[:, :, 20:21] = mixed[:, :, 19:20]
        return mixed


def outcome(law: str, layer: ReferenceLayer, **options) -> str:
    pair = PairedSubject(layer, ReferenceLayer(ROTARY), **options)
    return judge(law_of_pair(LAWS[law], pair), pair).outcome


@pytest.mark.parametrize("law", TRIED)
def test_another_order_of_sums_is_no_difference(law):
    assert outcome(law, Reordered(ROTARY)) == "holds"
    assert outcome(law, ReferenceLayer(ROTARY), is_bitwise=True) == "holds"


def test_bits_tell_orders_of_sums_apart():
    assert outcome("CAUSAL", Reordered(ROTARY), is_bitwise=True) == "refuted"


def test_other_weights_are_a_difference_in_the_inputs_of_every_law():
    assert {outcome(law, ReferenceLayer(ROTARY, seed=1)) for law in TRIED} == {"refuted"}


def test_a_difference_is_found_where_a_law_looks_for_it():
    layer = MaskLostWithCache(ROTARY)
    assert outcome("PAD", layer) == "holds"
    assert outcome("CACHEPAD", layer) == "refuted"


def test_the_first_difference_is_small_and_diagnosed():
    pair = PairedSubject(WrongPast20(ROTARY), ReferenceLayer(ROTARY))
    law = law_of_pair(LAWS["CAUSAL"], pair)
    assert judge(law, pair).outcome == "holds"
    verdict = judge(law, pair, diagnose=diagnose, sizes=CheckSizes(lengths=(40,)))
    assert verdict.outcome == "refuted"
    assert "length 21" in verdict.counterexample
    assert verdict.diagnosis[0].text.startswith("outputs 20 of inputs of 21 tokens and more")


class Rounded(ReferenceLayer):
    """Works in half precision inside."""

    def logits(self, q, k):
        return super().logits(q.astype(np.float16).astype(q.dtype), k)


def test_the_tolerance_is_the_references_own_error():
    assert outcome("CAUSAL", Rounded(ROTARY)) == "refuted"
    pair = PairedSubject(ReferenceLayer(ROTARY), Rounded(ROTARY))
    pair.call(np.ones((1, 4, 16), dtype=np.float32))
    pair.exact = ReferenceLayer(ROTARY).converted("float64")
    x = np.random.default_rng(0).standard_normal((1, 4, 16)).astype(np.float32)
    pair.call(x)
    assert pair.calls[1].tolerance > 20 * pair.calls[1].error


class WithModule(ReferenceLayer):
    class Module:
        def __init__(self, **state):
            self.state = state

        def state_dict(self):
            return dict(self.state)

        def load_state_dict(self, state):
            self.state = state

    def __init__(self, **state):
        super().__init__(ROTARY)
        self.module = self.Module(**state)


def test_weights_are_shared_by_name_or_through_a_function():
    one, other = WithModule(q=1, k=2), WithModule(q=3, k=4)
    share_weights(one, other)
    assert other.module.state == {"q": 1, "k": 2}
    renamed = WithModule(query=0, key=0)
    with pytest.raises(InputError, match="it lacks key, query; it has no k, q"):
        share_weights(one, renamed)
    share_weights(one, renamed, lambda state: {"query": state["q"], "key": state["k"]})
    assert renamed.module.state == {"query": 1, "key": 2}


def test_a_check_against_another_function():
    def double(x):
        return 2 * x

    def slow(x):
        return x + x

    report = check(double, Spec(causal=True), against=slow, laws="CAUSAL,DET")
    assert report.ok
    assert report.grade == "black-box"
    assert not check(double, Spec(causal=True), against=lambda x: 3 * x, laws="CAUSAL,DET").ok


def test_rows_may_have_to_agree_bit_by_bit():
    class Noisy(ReferenceLayer):
        def call(self, x, **options):
            y = super().call(x, **options)
            return y if len(x) == 1 else y * np.float32(1 + 2**-22)

    assert judge(LAWS["BATCH"], Noisy(ROTARY)).outcome == "holds"
    assert judge(bit_by_bit(LAWS["BATCH"]), Noisy(ROTARY)).outcome == "refuted"
    assert bit_by_bit(LAWS["CACHE"]) is LAWS["CACHE"]


def test_a_pair_is_compared_in_a_process_of_its_own():
    causal = Spec(causal=True, positions="none")
    same = check("checked_layers:lawful", causal, against="checked_layers:lawful", laws="CAUSAL,DET")
    assert [verdict.outcome for verdict in same.verdicts] == ["holds", "holds"]
    other = check("checked_layers:lawful", causal, against="checked_layers:leaky", laws="CAUSAL,DET")
    assert [verdict.outcome for verdict in other.verdicts] == ["refuted", "refuted"]
    assert other.layer == "checked_layers:lawful against checked_layers:leaky"
