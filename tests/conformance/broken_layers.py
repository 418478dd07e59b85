"""Lawful layers of many kinds, and layers with the usual bugs, each with the law that must catch it."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.positions.rotary import Rotary

ROTARY = Spec(causal=True, positions="rotary")
PLAIN = Spec(causal=False, positions="none")
# The first ones differ in kind and are tried on more draws; the others differ from them in one number.
LAWFUL = {
    "full": replace(PLAIN, empty="uniform"),
    "causal": Spec(causal=True, positions="none", align="top-left"),
    "half-split": replace(ROTARY, align="bottom-right"),
    "interleaved": replace(ROTARY, rotary_layout="interleaved", num_kv_heads=2, empty="zero"),
    "alibi": Spec(causal=True, positions="alibi", empty="nan"),
    "window": replace(ROTARY, window=4),
    "float64": replace(ROTARY, window=5, dtype="float64"),
    "bfloat16": replace(ROTARY, dtype="bfloat16"),
    "float16": Spec(causal=True, positions="alibi", num_kv_heads=2, dtype="float16"),
    "undeclared": Spec(),
    "one key head": replace(ROTARY, rotary_layout="interleaved", num_kv_heads=1),
    "partial": replace(ROTARY, rotary_width=4, num_kv_heads=2),
    "partial, float64": replace(ROTARY, rotary_width=4, dtype="float64"),
    "few positions": replace(ROTARY, max_positions=12),
    "encoder": Spec(causal=False, positions="rotary", width=24, num_heads=3),
    "alibi encoder": Spec(causal=False, positions="alibi", num_heads=8, dtype="float64"),
    "wide window": Spec(causal=True, positions="alibi", window=20),
    "window both ways": replace(PLAIN, window=3),
    "narrow window": replace(PLAIN, window=2),
    "window of one": replace(ROTARY, window=1),
    "capped": replace(ROTARY, softcap=5.0, scale=0.5),
    "bfloat16 full": replace(PLAIN, dtype="bfloat16"),
    "float16 rotary": replace(ROTARY, dtype="float16"),
    "float16 encoder": Spec(causal=False, positions="rotary", dtype="float16"),
}
NUM_KINDS = 9


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


class NeverRotates(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return heads


class OnePlaceForAll(ReferenceLayer):
    """ALiBi on positions that are all zero."""

    def bias(self, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray | None:
        return super().bias(query_positions * 0, key_positions * 0)


class Renormalized(ReferenceLayer):
    """Hides keys after the softmax and divides again, which is lawful until the rest has underflowed."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        weights = super().softmax(z, np.ones_like(visible)) * visible
        return weights / weights.sum(axis=-1, keepdims=True)


class AdditiveAsBool(ReferenceLayer):
    """Takes the zeros of an additive mask for False."""

    def read_mask(self, given: np.ndarray) -> np.ndarray:
        return given.reshape(given.shape[0], given.shape[-1]).astype(bool)


class OtherScale(ReferenceLayer):
    """Forgets the scale in the branch that has a mask."""

    def call_with_weights(self, x: np.ndarray, mask: np.ndarray | None = None, **options):
        spec = self.spec if mask is None else replace(self.spec, scale=1.0)
        return ReferenceLayer(spec, seed=self.seed).call_with_weights(x, mask, **options)


class MixedLayouts(ReferenceLayer):
    """Turns queries half-split and keys interleaved."""

    def rotate_keys(self, keys: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return Rotary(layout="interleaved").rotate(keys, positions[:, None, :])


class LowAngles(ReferenceLayer):
    """Forms angles in the dtype given, as a table in float16 does."""

    angles = "float16"

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        turns = Rotary(base=self.spec.rotary_base).frequencies(heads.shape[-1]).astype(self.angles)
        angles = positions.astype(self.angles)[:, None, :, None] * turns
        cos, sin = np.cos(angles.astype(np.float64)), np.sin(angles.astype(np.float64))
        first, second = np.split(heads, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(heads.dtype)


class AbsoluteBias(ReferenceLayer):
    """Adds a bias that grows with the key's own position."""

    def bias(self, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        shape = (*query_positions.shape, key_positions.shape[1])
        return np.broadcast_to(np.sin(key_positions)[:, None, :], shape)[:, None].astype(self.dtype)


class FirstRowsPositions(ReferenceLayer):
    """Uses row 0's positions for all rows."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(heads, np.broadcast_to(positions[:1], positions.shape))


class OffByOne(ReferenceLayer):
    """Begins one position late behind a cache."""

    def default_positions(self, mask: np.ndarray, length: int) -> np.ndarray:
        return super().default_positions(mask, length) + (mask.shape[1] > length)


class RotatedAgain(ReferenceLayer):
    """Turns the keys in its cache once more at every step."""

    def step(self, x: np.ndarray, cache: KeyValueCache, mask=None, positions=None):
        return super().step(x, replace(cache, keys=self.rotate(cache.keys, cache.positions)), mask, positions)


class ChunkAtTheTopLeft(ReferenceLayer):
    """Aligns the causal mask of a chunk to the first key."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        past = num_keys - len(query_places)
        return super().visible(query_places - (past if len(query_places) > 1 else 0), num_keys, mask)


class ShortMemory(ReferenceLayer):
    """Keeps one token too few for its window."""

    def step(self, x: np.ndarray, cache: KeyValueCache, mask=None, positions=None):
        y, longer = super().step(x, cache, mask, positions)
        forgotten = np.arange(longer.keys.shape[2]) < longer.keys.shape[2] - (self.spec.window or 0) + 2
        return y, replace(longer, values=np.where(forgotten[:, None], 0, longer.values).astype(self.dtype))


class CountsPadding(ReferenceLayer):
    """Takes a token's position at decode from the length of the cache."""

    def step(self, x: np.ndarray, cache: KeyValueCache, mask=None, positions=None):
        past = cache.keys.shape[2]
        counted = np.tile(past + np.arange(x.shape[1]), (x.shape[0], 1))
        return super().step(x, cache, mask, counted if past else positions)


class FirstRowsPadding(ReferenceLayer):
    """Uses row 0's padding for all rows at decode."""

    def step(self, x: np.ndarray, cache: KeyValueCache, mask=None, positions=None):
        if mask is not None and cache.keys.shape[2]:
            mask = np.broadcast_to(mask[:1], mask.shape)
        return super().step(x, cache, mask, positions)


class SharedBuffer(ReferenceLayer):
    """Writes new keys and values behind the old ones in one buffer for all branches."""

    def step(self, x: np.ndarray, cache: KeyValueCache, mask=None, positions=None):
        y, longer = super().step(x, cache, mask, positions)
        past, total = cache.keys.shape[2], longer.keys.shape[2]
        parts = {}
        for part in ("keys", "values"):
            buffer, new = getattr(cache, part).base, getattr(longer, part)
            if buffer is None or past == 0:
                buffer = np.zeros((*new.shape[:2], 64, new.shape[3]), dtype=new.dtype)
                buffer[:, :, :past] = new[:, :, :past]
            buffer[:, :, past:total] = new[:, :, past:]
            parts[part] = buffer[:, :, :total]
        return y, replace(longer, **parts)


class ValuesNotReordered(ReferenceLayer):
    """Forgets the values when rows are reordered."""

    def reorder_cache(self, cache: KeyValueCache, order: np.ndarray) -> KeyValueCache:
        return replace(super().reorder_cache(cache, order), values=cache.values)


class PositionsNotCropped(ReferenceLayer):
    """Crops a cache to one token more."""

    def crop_cache(self, cache: KeyValueCache, length: int) -> KeyValueCache:
        return super().crop_cache(cache, length + 1)


class BordersOffByOne(ReferenceLayer):
    """Counts the first token of a document to the one before."""

    def same_document(self, documents: np.ndarray) -> np.ndarray:
        return super().same_document(np.concatenate([documents[:, :1], documents[:, :-1]], axis=1))


class FinitePadding(ReferenceLayer):
    """Hides padding by a constant, and the future properly."""

    constant = -1e4

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        self.padding = np.where(mask, 0, self.constant).astype(self.dtype)[:, None, None, :]
        return super().visible(query_places, num_keys, np.ones_like(mask))

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z + self.padding, visible)


class SaysZeroGivesUniform(ReferenceLayer):
    """Falls back to an average where nothing is visible."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        seen = visible | ~visible.any(axis=-1, keepdims=True)
        return super().softmax(np.where(visible, z, 0), seen)


class SaysUniformGivesZero(ReferenceLayer):
    """Gives nothing where nothing is visible."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z, visible) * visible.any(axis=-1, keepdims=True)


class SaysNanGivesZero(ReferenceLayer):
    """Is finite where it says that it is not."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return np.nan_to_num(super().softmax(z, visible))


class NanInPadding(ReferenceLayer):
    """Is undefined only in those rows that see nothing while others of their sequence do."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        empty = ~visible.any(axis=-1, keepdims=True)
        return np.where(empty & ~empty.all(axis=-2, keepdims=True), np.nan, super().softmax(z, visible)).astype(z.dtype)


class Poisoned(ReferenceLayer):
    """Divides all rows by a mean that a row without keys spoils."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        weights = super().softmax(z, visible)
        return weights * weights.sum(axis=-1).mean(dtype=np.float64).astype(z.dtype)


class BottomRightLessOne(ReferenceLayer):
    """Is aligned to the bottom right, off by one."""

    def first_query(self, num_queries: int, num_keys: int) -> int:
        return num_keys - num_queries - 1


class BottomRight(ReferenceLayer):
    """Is aligned to the bottom right, whatever it says."""

    def first_query(self, num_queries: int, num_keys: int) -> int:
        return num_keys - num_queries


BROKEN: list[tuple[str, type[ReferenceLayer], Spec]] = [
    ("CAUSAL", TransposedMask, Spec(causal=True)),
    ("PREFIX", CountsFromTheEnd, Spec(causal=True)),
    ("SUPPORT", ExcludesTheDiagonal, Spec(causal=True)),
    ("SUPPORT", TransposedMask, Spec(causal=True, window=3)),
    ("BATCH", AloneIsUnscaled, Spec()),
    ("CONST", MaskAfterSoftmax, ROTARY),
    ("CONST", SoftmaxOverQueries, Spec(causal=False, positions="alibi")),
    ("PERM", HiddenPositions, PLAIN),
    ("PAD", FirstMaskForAll, PLAIN),
    ("PAD", FirstMaskForAll, ROTARY),
    ("DET", KeepsState, Spec()),
    ("PURE", FillsItsMask, Spec()),
    ("DTYPE", Squeezes, Spec()),
    ("DTYPE", WantsEvenLengths, Spec()),
    ("OVERFLOW", LogSumExp, Spec()),
    ("OVERFLOW", LogSumExp, Spec(dtype="float16")),
    ("OVERFLOW", LogSumExp, Spec(dtype="float64")),
    ("LAYOUT", ReadsTheWholeBuffer, Spec()),
    ("POSLIVE", NeverRotates, ROTARY),
    ("POSLIVE", OnePlaceForAll, Spec(causal=False, positions="alibi")),
    ("JUNK", MaskAfterSoftmax, PLAIN),
    ("JUNK", Renormalized, PLAIN),
    ("JUNK", FirstMaskForAll, PLAIN),
    ("ONES", AdditiveAsBool, PLAIN),
    ("ONES", OtherScale, PLAIN),
    ("SHIFT", MixedLayouts, ROTARY),
    ("SHIFT", LowAngles, ROTARY),
    ("SHIFT", AbsoluteBias, replace(ROTARY, positions="alibi")),
    ("GAP", FirstRowsPositions, ROTARY),
    ("CACHE", OffByOne, ROTARY),
    ("CACHE", RotatedAgain, ROTARY),
    ("CACHE", ChunkAtTheTopLeft, ROTARY),
    ("CACHE", ShortMemory, replace(ROTARY, window=4)),
    ("CACHEPAD", CountsPadding, ROTARY),
    ("CACHEPAD", FirstRowsPadding, ROTARY),
    ("CACHEPURE", SharedBuffer, ROTARY),
    ("CACHEPURE", ValuesNotReordered, ROTARY),
    ("CACHEPURE", PositionsNotCropped, ROTARY),
    ("PACK", BordersOffByOne, ROTARY),
    ("MASKFORCE", FinitePadding, PLAIN),
    ("EMPTY", SaysZeroGivesUniform, replace(PLAIN, empty="zero")),
    ("EMPTY", SaysUniformGivesZero, replace(PLAIN, empty="uniform")),
    ("EMPTY", SaysNanGivesZero, replace(PLAIN, empty="nan")),
    ("EMPTY", NanInPadding, ROTARY),
    ("EMPTY", Poisoned, PLAIN),
    ("ALIGN", BottomRightLessOne, Spec(causal=True, align="bottom-right")),
    ("ALIGN", BottomRight, Spec(causal=True, align="top-left")),
]
