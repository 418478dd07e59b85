"""A correct decoder in plain numpy: one head of rotary attention, whose positions may have axes and may switch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.conformance.adapters.cached_decoders import CachedDecoder, DecoderLayer
from regard.conformance.subject import Subject

_WIDTH = 32
_LONG_FACTOR = 4.0


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedTokens:
    """Tokens seen so far [batch, token, width], and their positions [axis, batch, token]."""

    x: np.ndarray
    positions: np.ndarray


class ReferenceDecoder:
    """Keys are rotated anew in every call, so that they always have the frequencies of the whole sequence.

    A broken example overrides one of the methods.
    """

    def __init__(self, *, axes: int = 1, switch_length: int | None = None) -> None:
        self.axes, self.switch_length = axes, switch_length
        rng = np.random.default_rng(0)
        self.query, self.key, self.value = (rng.standard_normal((_WIDTH, _WIDTH)) / np.sqrt(_WIDTH) for _ in range(3))

    def __call__(
        self, x: np.ndarray, positions: np.ndarray | None = None, cache: PlacedTokens | None = None
    ) -> tuple[np.ndarray, PlacedTokens]:
        """The outputs of new tokens, and the cache with them."""
        new = self.next_positions(cache, *x.shape[:2]) if positions is None else positions
        tokens = x if cache is None else np.concatenate([cache.x, x], axis=1)
        places = new if cache is None else np.concatenate([cache.positions, new], axis=2)
        length = tokens.shape[1]
        q, k = (self.rotate(tokens @ matrix, places, length) for matrix in (self.query, self.key))
        logits = q @ k.swapaxes(-1, -2) / np.sqrt(_WIDTH)
        logits = np.where(np.tril(np.ones((length, length), dtype=bool)), logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        y = (weights / weights.sum(axis=-1, keepdims=True)) @ (tokens @ self.value)
        return y[:, -x.shape[1] :].astype(x.dtype), PlacedTokens(x=tokens, positions=places)

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        """[axis, batch, count]: from the largest position of each row on."""
        start = np.zeros(batch, dtype=int) if cache is None else cache.positions.max(axis=(0, 2)) + 1
        return np.broadcast_to(start[:, None] + np.arange(count), (self.axes, batch, count))

    def frequencies(self, length: int) -> np.ndarray:
        """One per pair of coordinates, smaller in a long sequence."""
        usual = 1e4 ** (-2.0 * np.arange(_WIDTH // 2) / _WIDTH)
        is_long = self.switch_length is not None and length > self.switch_length
        return usual / _LONG_FACTOR if is_long else usual

    def rotate(self, heads: np.ndarray, positions: np.ndarray, length: int) -> np.ndarray:
        """Pairs are rotated by the axes in turn."""
        axis = np.arange(_WIDTH // 2) % self.axes
        angles = np.moveaxis(positions[axis], 0, -1) * self.frequencies(length)
        first, second = np.split(heads, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def decoder_subject(decoder: ReferenceDecoder, name: str, **options: Any) -> Subject:
    """The decoder, or a broken one, as a subject."""
    given = {"axes": decoder.axes, "switch_length": decoder.switch_length, "width": _WIDTH, "name": name}
    return DecoderLayer(CachedDecoder(function=decoder, **given, **options))
