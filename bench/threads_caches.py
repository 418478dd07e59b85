"""Bugs of public threads put back into small caches: each is caught, and the caches without them are clean.

Every bug is written anew from the thread's description. UNREACHED lists threads that cannot be put back, and why.
"""

import argparse
import statistics
import time
from dataclasses import dataclass, field

import numpy as np

import regard
from regard.conformance.verdict import CheckReport

_WIDTH, _WINDOW, _BLOCK = 16, 6, 4
_MATRICES = np.random.default_rng(0).standard_normal((3, _WIDTH, _WIDTH)) / 4

UNREACHED = {
    "vllm#39146, #50702, #55600": "inside GPU kernels and schedulers; the classes of bug are tried on paged functions",
    "mlx-vlm#1144": "rows of one batch reject different numbers of tokens, which the protocol has no operation for",
    "transformers#45253, mlx-swift-lm#333, vllm-ascend#11791": "layers that share keys and values need a whole model",
}


def attend(x: np.ndarray, k: np.ndarray, v: np.ndarray, places: np.ndarray, window: int | None = None) -> np.ndarray:
    """Causal attention of the last tokens; the bias falls with the distance of positions."""
    gaps = places[-x.shape[1] :, None] - places[None, :]
    is_seen = (gaps >= 0) & (gaps < (window or np.inf))
    z = np.where(is_seen, x @ _MATRICES[0] @ k.swapaxes(1, 2) / 4 - 0.3 * gaps, -np.inf)
    weights = np.exp(z - z.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@dataclass
class Tokens:
    """Keys, values and positions of a sequence, and its tokens, by which prefixes are found."""

    k: np.ndarray
    v: np.ndarray
    places: np.ndarray
    x: np.ndarray
    state: np.ndarray | None = None

    def part(self, tokens: slice) -> "Tokens":
        """Some of the tokens."""
        return Tokens(self.k[:, tokens], self.v[:, tokens], self.places[tokens], self.x[:, tokens], self.state)


@dataclass
class FlatCache:
    """A correct cache that keeps everything, and finds prefixes by blocks of four tokens."""

    spec = regard.Spec(width=_WIDTH, num_heads=1, causal=True, positions="alibi")
    window = None
    blocks: dict[bytes, Tokens] = field(default_factory=dict)

    def full(self, x: np.ndarray) -> np.ndarray:
        """One pass."""
        return attend(x, x @ _MATRICES[1], x @ _MATRICES[2], np.arange(x.shape[1]), self.window)

    def start(self, batch: int) -> Tokens:
        """Nothing yet."""
        nothing = np.zeros((batch, 0, _WIDTH))
        return Tokens(nothing, nothing, np.arange(0), nothing)

    def longer(self, seq: Tokens, x: np.ndarray) -> Tokens:
        """The sequence with new tokens."""
        first = seq.places[-1] + 1 if len(seq.places) else 0
        new = (x @ _MATRICES[1], x @ _MATRICES[2])
        k, v = (np.concatenate(pair, axis=1) for pair in zip((seq.k, seq.v), new, strict=True))
        places = np.concatenate([seq.places, np.arange(first, first + x.shape[1])])
        return Tokens(k, v, places, np.concatenate([seq.x, x.astype(np.float64)], axis=1))

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """The outputs, and the longer sequence, whose full blocks can be found again."""
        longer = self.longer(seq, x)
        for end in range(_BLOCK, longer.x.shape[1] + 1, _BLOCK):
            self.blocks[self.key(longer.x[:, :end])] = longer.part(slice(end))
        return attend(x, longer.k, longer.v, longer.places, self.window), longer

    def key(self, x: np.ndarray) -> bytes:
        """By what a prefix is found."""
        return x.astype(np.float64).tobytes()

    def prefix_hit(self, x: np.ndarray) -> tuple[Tokens, int]:
        """The longest known prefix of whole blocks."""
        for end in range(x.shape[1] // _BLOCK * _BLOCK, 0, -_BLOCK):
            if self.key(x[:, :end]) in self.blocks:
                return self.blocks[self.key(x[:, :end])], end
        return self.start(len(x)), 0

    def fork(self, seq: Tokens) -> Tokens:
        """Nothing is changed in place."""
        return seq

    def crop(self, seq: Tokens, length: int) -> Tokens:
        """The first tokens."""
        return seq.part(slice(length))

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """Without the last tokens."""
        return seq.part(slice(seq.x.shape[1] - count))

    def reset(self, seq: Tokens) -> Tokens:
        """As new."""
        return self.start(len(seq.x))


class WindowCache(FlatCache):
    """A correct cache that keeps a window; it declines what would need tokens that are gone."""

    spec = regard.Spec(width=_WIDTH, num_heads=1, causal=True, positions="alibi", window=_WINDOW)
    window = _WINDOW

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """The outputs, and the last tokens."""
        longer = self.longer(seq, x)
        return attend(x, longer.k, longer.v, longer.places, self.window), self.kept(longer, x.shape[1])

    def kept(self, longer: Tokens, count: int) -> Tokens:
        """What the window needs."""
        del count
        return longer.part(slice(-_WINDOW, None))

    def prefix_hit(self, x: np.ndarray) -> tuple[Tokens, int]:
        """No prefixes."""
        raise NotImplementedError

    def crop(self, seq: Tokens, length: int) -> Tokens:
        """Only while nothing is gone."""
        if len(seq.places) and seq.places[0] > 0 or len(seq.places) == _WINDOW:
            raise NotImplementedError
        return super().crop(seq, length)

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """Only while nothing is gone."""
        return self.crop(seq, len(seq.places) - count)


class HybridCache(FlatCache):
    """A correct cache with a recurrent state besides its keys and values."""

    spec = regard.Spec(width=_WIDTH, num_heads=1, causal=True)

    def full(self, x: np.ndarray) -> np.ndarray:
        """Attention and the state."""
        return super().full(x) + self.states(x, None)

    def states(self, x: np.ndarray, state: np.ndarray | None) -> np.ndarray:
        """A mean that fades."""
        state, found = np.zeros((len(x), _WIDTH)) if state is None else state, []
        for token in range(x.shape[1]):
            state = 0.7 * state + x[:, token]
            found.append(state)
        return np.stack(found, axis=1)

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """The state goes on."""
        y, longer = super().append(seq, x)
        states = self.states(longer.x, None)
        longer.state = states[:, -1]
        for end in range(_BLOCK, longer.x.shape[1] + 1, _BLOCK):
            self.blocks[self.key(longer.x[:, :end])].state = states[:, end - 1]
        return y + self.states(x, seq.state), longer

    def crop(self, seq: Tokens, length: int) -> Tokens:
        """A state cannot go back."""
        raise NotImplementedError

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """A state cannot go back."""
        raise NotImplementedError


class NeverEvictsChunks(WindowCache):
    """mlx-lm#1914: the ring makes room for one token, however many arrive, and attention trusts its bound."""

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """With the bug."""
        longer = self.longer(seq, x)
        window = self.window if x.shape[1] > len(longer.places) - 1 else None
        return attend(x, longer.k, longer.v, longer.places, window), self.kept(longer, x.shape[1])

    def kept(self, longer: Tokens, count: int) -> Tokens:
        """With the bug."""
        return longer.part(slice(-_WINDOW - (count - 1), None))


class RingCutByLength(WindowCache):
    """mlx-vlm#1715: a ring is cut as if it were flat, when a prefix is used again."""

    def crop(self, seq: Tokens, length: int) -> Tokens:
        """With the bug."""
        left = seq.part(slice(length))
        left.places = np.arange(len(left.places))
        return left


class RollsTooEarly(WindowCache):
    """transformers#37574: the oldest key goes when the window becomes full, not when it overflows."""

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """With the bug."""
        longer = self.longer(seq, x)
        seen = longer.part(slice(1, None)) if len(longer.places) == _WINDOW and x.shape[1] == 1 else longer
        return attend(x, seen.k, seen.v, seen.places, self.window), self.kept(seen, 1)


class DecodesWithoutWindow(WindowCache):
    """nanochat#452: a single new token attends to everything that is cached."""

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """With the bug."""
        longer = self.longer(seq, x)
        return attend(x, longer.k, longer.v, longer.places, None if x.shape[1] == 1 else self.window), longer


class RollbackWithoutEffect(WindowCache):
    """mlx-swift-lm#424, mlx-lm#1423: once the window is full, rejected drafts stay, and nothing says so."""

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """With the bug."""
        try:
            return super().reject(seq, count)
        except NotImplementedError:
            return seq


class TrimOfAWrappedRing(WindowCache):
    """mlx-swift-lm#584: trimming a full ring only moves its counter back; overwritten tokens do not return."""

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """With the bug."""
        return seq.part(slice(max(len(seq.places) - count, 0)))


class RejectsTooMany(FlatCache):
    """mlxcel#994: the rewind after a rejected draft drops more entries than were rejected."""

    def reject(self, seq: Tokens, count: int) -> Tokens:
        """With the bug."""
        return super().reject(seq, min(count + 1, seq.x.shape[1]))


class FoundByHash(FlatCache):
    """openvino.genai#3722: blocks are found by a hash alone, and two prefixes may have the same."""

    def key(self, x: np.ndarray) -> bytes:
        """With the bug."""
        return super().key(np.round(np.abs(x[:, -1:, :1])).clip(0, 1))


class StaleHash(FlatCache):
    """kvcached#362: a block keeps its hash when it is given to another prefix."""

    def append(self, seq: Tokens, x: np.ndarray) -> tuple[np.ndarray, Tokens]:
        """With the bug."""
        y, longer = super().append(seq, x)
        for key, kept in self.blocks.items():
            length = kept.x.shape[1]
            if longer.x.shape[1] >= length:
                self.blocks[key] = longer.part(slice(length))
        return y, longer


class HitIsNotSeen(FlatCache):
    """tenstorrent/vllm#415: a prefill that goes on from cached blocks does not see them."""

    def prefix_hit(self, x: np.ndarray) -> tuple[Tokens, int]:
        """With the bug."""
        return self.start(len(x)), super().prefix_hit(x)[1]


class PartialBlockFound(FlatCache):
    """LMCache#2206: a chunk that was only partly filled is taken for whole."""

    def prefix_hit(self, x: np.ndarray) -> tuple[Tokens, int]:
        """With the bug."""
        seq, length = super().prefix_hit(x)
        return seq, min(length + 1, x.shape[1]) if length else 0


class StateNotRestored(HybridCache):
    """LMCache#4247: a shared prefix brings back keys and values, but not the state of recurrent layers."""

    def prefix_hit(self, x: np.ndarray) -> tuple[Tokens, int]:
        """With the bug."""
        seq, length = super().prefix_hit(x)
        return Tokens(seq.k, seq.v, seq.places, seq.x), length


class ResetOfValuesOnly(WindowCache):
    """transformers#31917: a reset leaves part of a sliding cache as it was."""

    def reset(self, seq: Tokens) -> Tokens:
        """With the bug."""
        return Tokens(seq.k, seq.v * 0, seq.places - seq.places.max(initial=0) - 1, seq.x)


CORRECT = (FlatCache, WindowCache, HybridCache)
BUGS = (
    NeverEvictsChunks,
    RingCutByLength,
    RollsTooEarly,
    DecodesWithoutWindow,
    RollbackWithoutEffect,
    TrimOfAWrappedRing,
    RejectsTooMany,
    FoundByHash,
    StaleHash,
    HitIsNotSeen,
    PartialBlockFound,
    StateNotRestored,
    ResetOfValuesOnly,
)


def checked(cache: type[FlatCache], seed: int = 0) -> CheckReport:
    """The report on a cache."""
    return regard.check(cache(), name=cache.__name__, seed=seed)


def main() -> None:
    """Prints a line per thread, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = range(parser.parse_args().seeds)
    alarms = [each.__name__ for each in CORRECT for seed in seeds if not checked(each, seed).ok]
    lengths, num_caught = [], 0
    for bug in BUGS:
        start = time.perf_counter()
        report = checked(bug)
        first = report.failures[0] if report.failures else None
        num_caught += first is not None
        thread = (bug.__doc__ or "").partition(":")[0]
        story = "not caught" if first is None else f"{first.law}: {first.counterexample or first.reason}"
        lengths += [story.count(" · ") + 1] if "trace" in story else []
        print(f"{thread} ({time.perf_counter() - start:.1f} s) {story}")
    for thread, why in UNREACHED.items():
        print(f"{thread}: not put back: {why}")
    print(
        f"{num_caught} of {len(BUGS)} caught; {statistics.median(lengths)} operations in the median; "
        f"{len(alarms)} false alarms on {len(CORRECT)} correct caches ({len(seeds)} seeds) {' '.join(alarms)}"
    )


if __name__ == "__main__":
    main()
