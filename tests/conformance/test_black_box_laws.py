"""What black-box laws look at: how far windows reach, the framework's own memory, heads at the core, large logits."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.broken_layers import PLAIN, ROTARY, ExcludesTheDiagonal, HiddenPositions
from regard.conformance import Comparison, LawTrial, all_laws
from regard.conformance.judging import judge
from regard.conformance.laws.support import declared_support
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

LAWS = all_laws()


def comparisons(name: str, subject: Subject) -> list[Comparison]:
    law = LAWS[name]
    return list(law.compare(LawTrial(subject=subject, size=law.size_for(subject.spec))))


def broken_comparisons(name: str, subject: Subject) -> list[Comparison]:
    return [each for each in comparisons(name, subject) if each.is_broken]


def test_support_is_what_windows_of_all_layers_reach():
    assert declared_support(Spec(causal=True, window=2), 3).tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
    ]
    assert declared_support(Spec(causal=True, window=2, depth=2), 4)[3].tolist() == [False, True, True, True]
    assert declared_support(Spec(causal=False, window=2), 3)[0].tolist() == [True, True, False]
    assert declared_support(Spec(causal=False), 3).all()


class Stack(ReferenceLayer):
    """The same layer, several times."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        for _ in range(self.spec.depth):
            x = x + super().call(x, **options)
        return x


@pytest.mark.parametrize("causal", [True, False])
def test_a_stack_of_windows_sees_further(causal: bool):
    spec = Spec(causal=causal, window=4, depth=3, positions="rotary")
    assert judge(LAWS["SUPPORT"], Stack(spec)).outcome == "holds"
    assert judge(LAWS["SUPPORT"], TwiceAsDeep(spec)).outcome == "refuted"


class TwiceAsDeep(Stack):
    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(super().call(x, **options), **options)


def test_support_tells_which_keys_are_wrong():
    wide = [each.signature for each in broken_comparisons("SUPPORT", LAWS["SUPPORT"].broken_example())]
    assert {(*each["extra"], *each["missing"]) for each in wide} == {(4,)}
    strict = [each.signature for each in broken_comparisons("SUPPORT", ExcludesTheDiagonal(Spec(causal=True)))]
    assert {(*each["extra"], *each["missing"]) for each in strict} == {(0,)}


def test_a_window_longer_than_the_usual_input_is_looked_past():
    class OneTooWide(ReferenceLayer):
        def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
            back = query_places[:, None] - np.arange(num_keys)[None, :]
            return ((back >= 0) & (back <= (self.spec.window or 0)))[None] & mask[:, None, :]

    spec = Spec(causal=True, window=40)
    assert judge(LAWS["SUPPORT"], ReferenceLayer(spec)).outcome == "holds"
    verdict = judge(LAWS["SUPPORT"], OneTooWide(spec))
    assert verdict.outcome == "refuted"
    assert "length 43, input 0, output 40" in (verdict.counterexample or "")


def test_rounding_of_routed_experts_is_no_leak():
    class Routed(ReferenceLayer):
        """The last bits of an output depend on the other tokens."""

        is_routed = True

        def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
            y = super().call(x, **options)
            return y * (1 + np.finfo(y.dtype).eps * np.round(np.sin(100 * x.sum()))).astype(y.dtype)

    for name in ("CAUSAL", "SUPPORT"):
        assert judge(LAWS[name], Routed(ROTARY)).outcome == "holds"
        exact = Routed(ROTARY)
        exact.is_routed = False
        assert judge(LAWS[name], exact).outcome == "refuted"


def test_left_padding_is_tried_only_where_a_row_may_start_anywhere():
    class Absolute(HiddenPositions):
        capabilities = frozenset({"mask"})

    absolute = Absolute(Spec(causal=True, positions="learned"))
    assert judge(LAWS["PAD"], absolute).outcome == "holds"
    assert {each.place["side"] for each in comparisons("PAD", absolute)} == {"right"}
    assert judge(LAWS["PAD"], absolute.declared(positions="rotary")).outcome == "refuted"


class Native(ReferenceLayer):
    """Works on copies, as adapters of frameworks do; its own arrays are lists of one numpy array."""

    capabilities = ReferenceLayer.capabilities | {"native"}

    def native(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return self.numpy(self.call_native(self.native(x), **options))

    def call_native(self, x: Any, **options: Any) -> Any:
        return ReferenceLayer.call(self, x, **options)

    def numpy(self, x: Any) -> np.ndarray:
        return np.asarray(x)


class NativeInPlace(Native):
    def call_native(self, x: Any, **options: Any) -> Any:
        x *= 0.5
        return super().call_native(x, **options)


class NativeMemoryOrder(Native):
    def call_native(self, x: Any, **options: Any) -> Any:
        return super().call_native(x.ravel(order="K").reshape(x.shape), **options)


class NativeUpcast(Native):
    """float64 inside the framework, which the conversion to numpy hides."""

    def call_native(self, x: Any, **options: Any) -> Any:
        return super().call_native(x, **options).astype(np.float64)

    def numpy(self, x: Any) -> np.ndarray:
        return np.asarray(x, dtype=np.float32)


def test_what_an_adapter_copies_is_seen_in_the_frameworks_own_arrays():
    for law in LAWS.values():
        assert judge(law, Native(ROTARY)).outcome in ("holds", "skipped")
    for name, broken in (("PURE", NativeInPlace), ("LAYOUT", NativeMemoryOrder), ("DTYPE", NativeUpcast)):
        assert judge(LAWS[name], broken(ROTARY)).outcome == "refuted"


def test_a_layer_that_refuses_strides_breaks_the_law_rather_than_the_judge():
    class WantsContiguous(ReferenceLayer):
        def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
            if not x.flags.c_contiguous:
                raise RuntimeError("view size is not compatible with input's stride")
            return super().call(x, **options)

    verdict = judge(LAWS["LAYOUT"], WantsContiguous(ROTARY))
    assert verdict.outcome == "refuted"
    assert "raises RuntimeError: view size" in (verdict.reason or "")


def test_layout_of_heads_is_tried_at_the_core():
    class CoreInMemoryOrder(ReferenceLayer):
        def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
            return super().core(q, k.ravel(order="K").reshape(k.shape), v, **options)

    broken = broken_comparisons("LAYOUT", CoreInMemoryOrder(ROTARY))
    assert {each.place["level"] for each in broken} == {"core"}


def test_pairs_of_keys_and_values_are_permuted_at_the_core():
    class WeighsByPlace(ReferenceLayer):
        def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
            return super().core(q, k, v * np.arange(v.shape[2], dtype=v.dtype)[:, None], **options)

    (broken,) = broken_comparisons("PERM", WeighsByPlace(PLAIN))
    assert broken.place["level"] == "core"


@pytest.mark.parametrize(("dtype", "logits"), [("float32", 1e5), ("float64", 1e5), ("bfloat16", 1e5), ("float16", 1e4)])
@pytest.mark.parametrize("knows_weights", [True, False])
def test_overflow_is_tried_at_large_logits(dtype: str, logits: float, knows_weights: bool):
    class Listens(ReferenceLayer):
        capabilities = ReferenceLayer.capabilities if knows_weights else frozenset()
        largest = 0.0

        def logits(self, q: np.ndarray, k: np.ndarray) -> np.ndarray:
            z = super().logits(q, k)
            self.largest = max(self.largest, float(np.abs(z.astype(np.float64)).max()))
            return z

    layer = Listens(Spec(dtype=dtype, causal=True, positions="rotary"))
    assert judge(LAWS["OVERFLOW"], layer).outcome == "holds"
    guess = 1 if knows_weights else 30 if dtype == "float16" else 3
    assert logits / 2 / guess < layer.largest < 2 * logits * (3 if not knows_weights else 1)


def test_half_precision_layers_are_refuted_too():
    for name in ("PREFIX", "BATCH", "CONST", "PERM", "PAD"):
        law = LAWS[name]
        broken = type(law.broken_example())
        for dtype in ("float16", "bfloat16"):
            spec = replace(law.broken_example().spec, dtype=dtype)
            assert judge(law, broken(spec)).outcome == "refuted", (name, dtype)


class GivesUpOnHiddenBlocks(ReferenceLayer):
    """One path divides by the total of the last four keys."""

    capabilities = ReferenceLayer.capabilities | {"paths"}

    def paths(self):
        return {"blocks": self._by_blocks}

    def _by_blocks(self, x, mask=None):
        y = self.call(x, mask=mask)
        if mask is not None:
            y[~mask[:, -4:].any(axis=1)] = np.nan
        return y


def test_paths_are_compared_where_padding_fills_a_block():
    verdict = judge(LAWS["PATH"], GivesUpOnHiddenBlocks(PLAIN))
    assert "padding right" in (verdict.counterexample or "")
