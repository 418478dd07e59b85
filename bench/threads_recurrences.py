"""Bugs of public threads about recurrences and positions in caches, put back into small correct code of our own.

`python bench/threads_recurrences.py` says for each thread which law catches the bug, which family it names first, and
that the code without the bug is clean. The threads' own code runs on GPUs or other machines: what is put back is the
mistake.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard import CachedDecoder, CheckReport, Recurrence, check
from regard.attention.recurrences import RECURRENCES, RecurrenceKind
from regard.conformance.reference_decoder import PlacedTokens, ReferenceDecoder

Target = Recurrence | CachedDecoder
State = Any
_CHUNK = 4
_SWITCH = 16


@dataclass(frozen=True, kw_only=True)
class RecurrenceThread:
    """Where a bug was reported, what it is, the family that a diagnosis should name, and the code with and without."""

    thread: str
    what: str
    family: str
    broken: Callable[[], Target]
    fixed: Callable[[], Target]


# -- recurrences of a known kind ---------------------------------------------------------------------------------------
class Kernel:
    """The forms of one kind on the reference recurrences; a thread's kernel overrides one of them."""

    def __init__(self, kind: RecurrenceKind) -> None:
        self.kind: RecurrenceKind = kind

    def recurrent(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        """Token by token."""
        y, state = RECURRENCES[self.kind](*inputs).recurrent(state)
        return y.astype(inputs[0].dtype), state

    def chunked(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        """In chunks."""
        y, state = RECURRENCES[self.kind](*inputs).chunked(_CHUNK, state)
        return y.astype(inputs[0].dtype), state

    def packed(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        """Document by document."""
        *given, borders = inputs
        length, outputs, states = given[0].shape[1], [], []
        for number, (start, end) in enumerate(itertools.pairwise(borders)):
            row = None if state is None else state[number : number + 1]
            row = self.start(row, given, (start, end))
            y, after = self.chunked(*part(given, length, start, end), state=row)
            outputs.append(y)
            states.append(self.end(after, given, (start, end)))
        return np.concatenate(outputs, axis=1), np.concatenate(states)

    def start(self, state: State, given: list[np.ndarray], borders: tuple[int, int]) -> State:
        """The state that a document starts from."""
        del given, borders
        return state

    def end(self, state: State, given: list[np.ndarray], borders: tuple[int, int]) -> State:
        """The state that is returned for a document."""
        del given, borders
        return state

    def target(self) -> Recurrence:
        """What is checked."""
        forms = {"function": self.recurrent, "chunked": self.chunked, "packed": self.packed, "chunk_size": _CHUNK}
        return Recurrence(kind=self.kind, name=type(self).__name__, **forms)


def part(given: list[np.ndarray], length: int, start: int, end: int) -> list[np.ndarray]:
    """The inputs of some tokens; what is the same for all stays."""
    return [each[:, start:end] if each.ndim > 2 and each.shape[1] == length else each for each in given]


class _StatesNotPropagated(Kernel):
    """A chunk gets what the chunk before it wrote, but not what came before that."""

    def chunked(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        length, outputs = inputs[0].shape[1], []
        for start in range(0, length, _CHUNK):
            now = part([*inputs], length, start, start + _CHUNK)
            y, _ = RECURRENCES[self.kind](*now).recurrent(state)
            _, state = RECURRENCES[self.kind](*now).recurrent()
            outputs.append(y)
        return np.concatenate(outputs, axis=1).astype(inputs[0].dtype), state


class _DecayFromChunk(Kernel):
    """The state that a packed document starts from decays by the tokens before it in its chunk."""

    def start(self, state: State, given: list[np.ndarray], borders: tuple[int, int]) -> State:
        first = borders[0] // _CHUNK * _CHUNK
        decay = given[3][:, first : borders[0]].sum(axis=1)
        return None if state is None else state * np.exp(decay)[..., None, None]


class _BordersIgnored(Kernel):
    """Packed documents are read as one."""

    def packed(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        *given, borders = inputs
        y, after = self.chunked(*given, state=None if state is None else state[:1])
        return y, np.repeat(after, len(borders) - 1, axis=0)


class _StateOfLastFullChunk(Kernel):
    """The state of a document is taken at the last border of a chunk of the whole row."""

    def end(self, state: State, given: list[np.ndarray], borders: tuple[int, int]) -> State:
        start, end = borders
        if start % _CHUNK == 0:
            return state
        return self.chunked(*part(given, given[0].shape[1], start, max(end // _CHUNK * _CHUNK, start)))[1]


class _TransposedStart(Kernel):
    """The chunked form takes the state that it starts from for its transpose."""

    def chunked(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        return super().chunked(*inputs, state=None if state is None else state.swapaxes(-1, -2))


class _KeysAndValuesExchanged(Kernel):
    """The error is taken of the key, and the value is what it is written by."""

    def recurrent(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        q, k, v, g, beta = inputs
        y, state = RECURRENCES[self.kind](q, v, k, g, beta).recurrent(state)
        return y.astype(q.dtype), state


class _SharedBlockOverwritten(Kernel):
    """Fewer tokens than the window: the new state is written over the one that was given."""

    def recurrent(self, *inputs: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        y, after = super().recurrent(*inputs, state=state)
        if state is not None and inputs[0].shape[1] < state.shape[1]:
            state[...] = after
            return y, state
        return y, after


# -- a layer of a short convolution and a gated state ------------------------------------------------------------------
class Mixer:
    """x → a convolution of four taps → a state that decays by a gate → y, row by row over the real tokens."""

    width, channels, taps = 32, 16, 4

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        sizes = {"inner": (32, 16), "gate": (32, 16), "outer": (16, 32)}
        self.matrices = {name: rng.standard_normal(size) / np.sqrt(size[0]) for name, size in sizes.items()}
        self.weight = rng.standard_normal((self.channels, self.taps))

    def __call__(self, x: np.ndarray, state: State = None, mask: np.ndarray | None = None) -> tuple[np.ndarray, State]:
        """Outputs, and the windows and states of all rows."""
        mask = np.ones(x.shape[:2], dtype=bool) if mask is None else mask
        y, after = np.zeros_like(x), []
        for row in range(len(x)):
            own = None if state is None else tuple(each[row] for each in state)
            y[row], ended = self.row(x[row], own, mask[row])
            after.append(ended)
        windows, states = zip(*after, strict=True)
        return y, (np.stack(windows), np.stack(states))

    def row(self, x: np.ndarray, state: State, mask: np.ndarray) -> tuple[np.ndarray, State]:
        """One row."""
        y = np.zeros_like(x)
        y[mask], after = self.tokens(x[mask], state)
        return y, after

    def tokens(self, x: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """Real tokens only."""
        window, h = (np.zeros((self.taps - 1, self.channels)), np.zeros(self.channels)) if state is None else state
        seen = np.concatenate([window, x @ self.matrices["inner"]])
        gates = 1 / (1 + np.exp(-x @ self.matrices["gate"]))
        outputs = np.zeros((len(x), self.channels))
        for t in range(len(x)):
            convolved = np.einsum("tc,ct->c", seen[t : t + self.taps], self.weight)
            h = gates[t] * h + convolved
            outputs[t] = h
        return outputs @ self.matrices["outer"], (seen[len(x) :], h)

    def packed(self, x: np.ndarray, borders: np.ndarray, state: State = None) -> tuple[np.ndarray, State]:
        """Document by document."""
        outputs, after = [], []
        for number, (start, end) in enumerate(itertools.pairwise(borders)):
            own = None if state is None else tuple(each[number] for each in state)
            y, ended = self.tokens(x[0, start:end], self.border(own, after))
            outputs.append(y)
            after.append(ended)
        windows, states = zip(*after, strict=True)
        return np.concatenate(outputs)[None].astype(x.dtype), (np.stack(windows), np.stack(states))

    def border(self, state: State, before: list[State]) -> State:
        """The state that a document starts from, after the documents before it."""
        del before
        return state

    def target(self) -> Recurrence:
        """What is checked."""
        return Recurrence(function=self, packed=self.packed, width=self.width, name=type(self).__name__)


class _SingleStepBranch(Mixer):
    """Whatever follows a state is taken for a single token: the others have no past and leave no trace."""

    def tokens(self, x: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        if state is None or len(x) < 2:
            return super().tokens(x, state)
        y, after = super().tokens(x[:1], state)
        return np.concatenate([y, super().tokens(x[1:], None)[0]]), after


class _BordersOnlyInConvolution(Mixer):
    """The convolution starts anew with a document, the gated state does not."""

    def border(self, state: State, before: list[State]) -> State:
        if state is not None or not before:
            return state
        return np.zeros((self.taps - 1, self.channels)), before[-1][1]


class _PaddingInConvolution(Mixer):
    """Padding is kept out of the state, but the convolution reads it."""

    def row(self, x: np.ndarray, state: State, mask: np.ndarray) -> tuple[np.ndarray, State]:
        start = int(np.argmax(mask))
        if state is None and start:
            state = super().tokens(x[:start], None)[1][0], np.zeros(self.channels)
        return super().row(x, state, mask)


# -- gradients of a convolution's state --------------------------------------------------------------------------------
class _ClampedState(torch.autograd.Function):
    """The last inputs as the state; the gradient of a chunk shorter than the state goes to the wrong tokens."""

    @staticmethod
    def forward(ctx: Any, window: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        ctx.sizes = window.shape[1], x.shape[1]
        return torch.cat([window, x], dim=1)[:, -window.shape[1] :].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[torch.Tensor, torch.Tensor]:
        gradient, (size, length) = gradients[0], ctx.sizes
        zeros = torch.zeros(gradient.shape[0], max(length - size, 0), gradient.shape[2], dtype=gradient.dtype)
        return torch.zeros_like(gradient), torch.cat([zeros, gradient[:, : min(length, size)]], dim=1)


def short_conv(x: torch.Tensor, weight: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
    """A short convolution in torch."""
    window = x.new_zeros(x.shape[0], weight.shape[1] - 1, x.shape[2]) if state is None else state
    seen = torch.cat([window, x], dim=1)
    y = torch.einsum("btcj,cj->btc", seen.unfold(1, weight.shape[1], 1), weight)
    return y, seen[:, -window.shape[1] :]


def short_conv_clamped(x: torch.Tensor, weight: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
    """The same with the wrong backward pass of its state."""
    window = x.new_zeros(x.shape[0], weight.shape[1] - 1, x.shape[2]) if state is None else state
    return short_conv(x, weight, state)[0], _ClampedState.apply(window, x)


# -- positions ---------------------------------------------------------------------------------------------------------
class _OffsetOnModel(ReferenceDecoder):
    """The offset of the last prompt, whosever it was, is kept on the model and used for all."""

    offset: Any = 0

    def __call__(
        self, x: np.ndarray, positions: np.ndarray | None = None, cache: PlacedTokens | None = None
    ) -> tuple[np.ndarray, PlacedTokens]:
        if cache is None:
            self.remember(x, positions)
        return super().__call__(x, positions, cache)

    def remember(self, x: np.ndarray, positions: np.ndarray | None) -> None:
        """Every prompt sets the offset."""
        self.offset = 0 if positions is None else positions.max(axis=(0, 2)) + 1 - x.shape[1]

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        if cache is None:
            return super().next_positions(cache, batch, count)
        start = cache.x.shape[1] + np.resize(self.offset, batch)
        return np.broadcast_to(start[:, None] + np.arange(count), (self.axes, batch, count))


class _OffsetOfImagesOnly(_OffsetOnModel):
    """Only prompts with positions set the offset, so that a prompt of text is decoded with the last image's."""

    def remember(self, x: np.ndarray, positions: np.ndarray | None) -> None:
        if positions is not None:
            super().remember(x, positions)


class _OffsetNotSaved(ReferenceDecoder):
    """Tokens after a prompt are placed by their number."""

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        start = 0 if cache is None else cache.x.shape[1]
        return np.broadcast_to(start + np.arange(count), (self.axes, batch, count))


class _ChunksCountFromZero(ReferenceDecoder):
    """Every chunk of a prompt is placed at its beginning."""

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        return super().next_positions(cache if count == 1 else None, batch, count)


class _OffsetOfFirstRow(ReferenceDecoder):
    """One offset for the whole batch."""

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        return np.repeat(super().next_positions(cache, batch, count)[:, :1], batch, axis=1)


class _FirstAxisOnly(ReferenceDecoder):
    """Positions of text are used where those of three axes are given."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray, length: int) -> np.ndarray:
        return super().rotate(heads, np.repeat(positions[:1], self.axes, axis=0), length)


class _AlwaysLong(ReferenceDecoder):
    """The long frequencies at every length."""

    def frequencies(self, length: int) -> np.ndarray:
        return super().frequencies(length + _SWITCH)


class _SwitchesEarly(ReferenceDecoder):
    """A sequence of exactly the trained length has the long frequencies."""

    def frequencies(self, length: int) -> np.ndarray:
        return super().frequencies(length + 1)


class _KeysKeepTheirRotation(ReferenceDecoder):
    """Each call rotates its own tokens by the length so far, and keys stay as they were rotated."""

    prompt = 0

    def rotate(self, heads: np.ndarray, positions: np.ndarray, length: int) -> np.ndarray:
        del length
        ends = np.maximum(positions[0, 0] + 1, self.prompt)
        pieces = [super(_KeysKeepTheirRotation, self).rotate(heads, positions, int(end)) for end in ends]
        return np.stack([piece[:, at] for at, piece in enumerate(pieces)], axis=1)

    def __call__(
        self, x: np.ndarray, positions: np.ndarray | None = None, cache: PlacedTokens | None = None
    ) -> tuple[np.ndarray, PlacedTokens]:
        self.prompt = x.shape[1] if cache is None else self.prompt
        return super().__call__(x, positions, cache)


def axes(kind: type[ReferenceDecoder]) -> Callable[[], Target]:
    """A decoder of positions with three axes."""
    return lambda: CachedDecoder(function=kind(axes=3), axes=3)


def switching(kind: type[ReferenceDecoder]) -> Callable[[], Target]:
    """A decoder whose frequencies switch, and that recomputes its keys then."""
    decoder = {"switch_length": _SWITCH, "crossing": "recompute"}
    return lambda: CachedDecoder(function=kind(switch_length=_SWITCH), **decoder)


def kernel(kind: type[Kernel], recurrence: RecurrenceKind) -> Callable[[], Target]:
    """A kernel of a known kind."""
    return lambda: kind(recurrence).target()


def convolution(function: Callable[..., Any]) -> Callable[[], Target]:
    """A short convolution in torch."""
    return lambda: Recurrence(function=function, kind="short_conv")


def threads() -> Iterator[RecurrenceThread]:
    """All of them."""
    delta, rule = kernel(Kernel, "gated_delta"), "gated_delta"
    rows: list[tuple[str, str, str, Callable[[], Target], Callable[[], Target]]] = [
        (
            "transformers#46741",
            "several tokens after a cache take the branch for one",
            "state",
            lambda: _SingleStepBranch().target(),
            lambda: Mixer().target(),
        ),
        (
            "transformers#47250",
            "states are not propagated from chunk to chunk",
            "chunk",
            kernel(_StatesNotPropagated, "mamba2"),
            kernel(Kernel, "mamba2"),
        ),
        (
            "fla#351",
            "the chunked form misreads the state that it starts from",
            "chunk",
            kernel(_TransposedStart, "rwkv"),
            kernel(Kernel, "rwkv"),
        ),
        ("vllm#23279", "a state decays from the start of its chunk", "varlen", kernel(_DecayFromChunk, rule), delta),
        ("fla#1184", "packed documents are read as one", "varlen", kernel(_BordersIgnored, rule), delta),
        (
            "transformers#46588",
            "a short convolution slides across documents",
            "varlen",
            kernel(_BordersIgnored, "short_conv"),
            kernel(Kernel, "short_conv"),
        ),
        (
            "slime#1686",
            "borders reach the convolution, but not the gated state",
            "varlen",
            lambda: _BordersOnlyInConvolution().target(),
            lambda: Mixer().target(),
        ),
        ("sglang#31833", "a document's state is that of a chunk", "varlen", kernel(_StateOfLastFullChunk, rule), delta),
        (
            "maxtext#5295",
            "padding on the left enters the convolution",
            "padding",
            lambda: _PaddingInConvolution().target(),
            lambda: Mixer().target(),
        ),
        (
            "vllm#56196",
            "a short chunk overwrites the state of a shared prefix",
            "state",
            kernel(_SharedBlockOverwritten, "short_conv"),
            kernel(Kernel, "short_conv"),
        ),
        (
            "fla#623",
            "the delta rule with keys and values exchanged",
            "update",
            kernel(_KeysAndValuesExchanged, rule),
            delta,
        ),
        (
            "fla#1140",
            "gradients of a chunk shorter than the window are shifted",
            "gradient",
            convolution(short_conv_clamped),
            convolution(short_conv),
        ),
        (
            "mlx-vlm#1143",
            "a newer prompt sets the offset of all",
            "state",
            axes(_OffsetOnModel),
            axes(ReferenceDecoder),
        ),
        (
            "transformers#43952",
            "the offset of an earlier generation is used",
            "state",
            axes(_OffsetOfImagesOnly),
            axes(ReferenceDecoder),
        ),
        (
            "mlx-vlm#1619",
            "the offset of a prompt is not saved",
            "positions",
            axes(_OffsetNotSaved),
            axes(ReferenceDecoder),
        ),
        (
            "mlx-vlm#1741",
            "chunks of a prompt count from zero",
            "positions",
            axes(_ChunksCountFromZero),
            axes(ReferenceDecoder),
        ),
        ("mlx-vlm#1285", "one offset for all rows", "positions", axes(_OffsetOfFirstRow), axes(ReferenceDecoder)),
        ("transformers#40490", "text positions on all axes", "positions", axes(_FirstAxisOnly), axes(ReferenceDecoder)),
        ("mlx-lm#660", "long factors at every length", "rotary", switching(_AlwaysLong), switching(ReferenceDecoder)),
        (
            "unsloth#10681",
            "the switch is one token early",
            "rotary",
            switching(_SwitchesEarly),
            switching(ReferenceDecoder),
        ),
        (
            "llama.cpp#24875, vllm#27431, uzu#604",
            "cached keys keep the short factors",
            "rotary",
            switching(_KeysKeepTheirRotation),
            switching(ReferenceDecoder),
        ),
    ]
    for thread, what, family, broken, fixed in rows:
        yield RecurrenceThread(thread=thread, what=what, family=family, broken=broken, fixed=fixed)


def first_family(report: CheckReport) -> str | None:
    """The family that the first failure names first."""
    return report.failures[0].diagnosis[0].family if report.failures and report.failures[0].diagnosis else None


def main() -> None:
    """Prints one row per thread, and the shares."""
    found = list(threads())
    num_caught = num_named = num_clean = 0
    for each in found:
        broken, fixed = check(each.broken()), check(each.fixed())
        family = first_family(broken)
        num_caught, num_clean = num_caught + (not broken.ok), num_clean + fixed.ok
        num_named += family == each.family
        laws = ", ".join(verdict.law for verdict in broken.failures[:3]) or "nothing"
        clean = "clean" if fixed.ok else f"{fixed.failures[0].law}: {fixed.failures[0].counterexample}"
        print(f"| {each.thread} | {each.what} | {laws} | {family} (wanted {each.family}) | {clean} |", flush=True)
    print(f"\n{len(found)} threads: {num_caught} caught, {num_named} named first, {num_clean} clean without the bug")


if __name__ == "__main__":
    main()
