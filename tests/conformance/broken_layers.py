"""Lawful layers of many kinds, and layers with the usual bugs, each under the law that must catch it."""

from typing import Any

import numpy as np

from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec

LAWFUL = {
    "undeclared": Spec(),
    "full": Spec(causal=False, positions="none"),
    "causal": Spec(causal=True, positions="none"),
    "half-split": Spec(causal=True, positions="rotary"),
    "interleaved": Spec(causal=True, positions="rotary", rotary_layout="interleaved", num_kv_heads=1),
    "partial": Spec(causal=True, positions="rotary", rotary_width=4, num_kv_heads=2),
    "encoder": Spec(causal=False, positions="rotary", width=24, num_heads=3),
    "alibi": Spec(causal=True, positions="alibi", num_kv_heads=2),
    "alibi encoder": Spec(causal=False, positions="alibi"),
    "window": Spec(causal=True, positions="rotary", window=4),
    "wide window": Spec(causal=True, positions="alibi", window=20),
    "window both ways": Spec(causal=False, positions="none", window=3),
    "window of one": Spec(causal=True, positions="rotary", window=1),
    "capped": Spec(causal=True, positions="rotary", softcap=5.0, scale=0.5),
    "float64": Spec(causal=True, positions="rotary", window=5, dtype="float64"),
    "bfloat16": Spec(causal=True, positions="rotary", dtype="bfloat16"),
    "bfloat16 full": Spec(causal=False, positions="none", dtype="bfloat16"),
    "float16": Spec(causal=True, positions="alibi", num_kv_heads=2, dtype="float16"),
    "float16 encoder": Spec(causal=False, positions="rotary", dtype="float16"),
}


class CountsFromTheEnd(ReferenceLayer):
    """Absolute positions, the last token at zero."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x + np.sin(np.arange(x.shape[1])[::-1, None]).astype(x.dtype), **options)


class ExcludesTheDiagonal(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        seen = super().visible(query_places, num_keys, mask)
        return seen & (np.arange(num_keys)[None, None, :] != query_places[None, :, None])


class TransposedMask(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return super().visible(query_places, num_keys, mask).swapaxes(-1, -2)


class AloneIsUnscaled(ReferenceLayer):
    """A batch of one takes a branch that forgets the scale."""

    def logits(self, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        z = super().logits(q, k)
        return z / self.dtype.type(self.scale()) if len(q) == 1 else z


class MaskAfterSoftmax(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z, np.ones_like(visible)) * visible


class SoftmaxOverQueries(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z.swapaxes(-1, -2), visible.swapaxes(-1, -2)).swapaxes(-1, -2)


class HiddenPositions(ReferenceLayer):
    """Declares none and adds some."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x + np.sin(np.arange(x.shape[1])[:, None]).astype(x.dtype), **options)


class FirstMaskForAll(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        return super().visible(query_places, num_keys, np.broadcast_to(mask[:1], mask.shape))


class KeepsState(ReferenceLayer):
    """Adds what the last call gave."""

    _last: float = 0.0

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        y = super().call(x, **options)
        shifted, self._last = y + y.dtype.type(self._last), float(y.mean())
        return shifted


class FillsItsMask(ReferenceLayer):
    """Makes the last token visible in the caller's own mask."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        if options.get("mask") is not None:
            options["mask"][:, -1] = True
        return super().call(x, **options)


class Squeezes(ReferenceLayer):
    """Loses the axis of one token."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        y = super().call(x, **options)
        return y.squeeze(axis=1) if y.shape[1] == 1 else y


class WantsEvenLengths(ReferenceLayer):
    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        if x.shape[1] % 2:
            raise ValueError("cannot reshape into pairs")
        return super().call(x, **options)


class LogSumExp(ReferenceLayer):
    """Divides in the exponent, by a sum that overflows all the same."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        powers = np.where(visible, np.exp(z), z.dtype.type(0))
        return np.where(visible, np.exp(z - np.log(powers.sum(axis=-1, keepdims=True))), z.dtype.type(0))


class ReadsTheWholeBuffer(ReferenceLayer):
    """Takes a view's first numbers in the buffer for the view."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        buffer = x if x.base is None or x.flags.c_contiguous else x.base
        return super().call(np.asarray(buffer).ravel()[: x.size].reshape(x.shape), **options)


class NeverTurns(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return heads


class OnePlaceForAll(ReferenceLayer):
    """ALiBi on positions that are all zero."""

    def bias(self, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray | None:
        return super().bias(query_positions * 0, key_positions * 0)


ROTARY = Spec(causal=True, positions="rotary")
OUTLAWS = [
    ("CAUSAL", TransposedMask, Spec(causal=True)),
    ("PREFIX", CountsFromTheEnd, Spec(causal=True)),
    ("SUPPORT", ExcludesTheDiagonal, Spec(causal=True)),
    ("SUPPORT", TransposedMask, Spec(causal=True, window=3)),
    ("BATCH", AloneIsUnscaled, Spec()),
    ("CONST", MaskAfterSoftmax, ROTARY),
    ("CONST", SoftmaxOverQueries, Spec(causal=False, positions="alibi")),
    ("PERM", HiddenPositions, Spec(causal=False, positions="none")),
    ("PAD", FirstMaskForAll, Spec(causal=False, positions="none")),
    ("PAD", FirstMaskForAll, ROTARY),
    ("DET", KeepsState, Spec()),
    ("PURE", FillsItsMask, Spec()),
    ("DTYPE", Squeezes, Spec()),
    ("DTYPE", WantsEvenLengths, Spec()),
    ("OVERFLOW", LogSumExp, Spec()),
    ("OVERFLOW", LogSumExp, Spec(dtype="float16")),
    ("OVERFLOW", LogSumExp, Spec(dtype="float64")),
    ("LAYOUT", ReadsTheWholeBuffer, Spec()),
    ("POSLIVE", NeverTurns, ROTARY),
    ("POSLIVE", OnePlaceForAll, Spec(causal=False, positions="alibi")),
]
