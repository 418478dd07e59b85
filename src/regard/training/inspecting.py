"""What the heads of a decoder look at, and what they read: one look at a time is cut, and the answer is watched."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.axes import Bool, Float
from regard.training.data.tokenizing import PAD
from regard.training.model import Decoder, Passage
from regard.training.model.attention import Frame
from regard.training.naming import Probe
from regard.training.passages import plain_passage

_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The look at the name that is taken away: one head's in one layer, counted from zero."""

    layer: int
    head: int


@torch.no_grad()
def answer_log_probabilities(
    model: Decoder, probes: Sequence[Probe], cuts: Sequence[Cut] = ()
) -> Float[np.ndarray, " probe"]:
    """log p(answer | question) for each probe, with the name's keys hidden from the cut heads.

    They are hidden from positions after the name only, so that the name itself is still read as a whole.
    """
    found = []
    for batch in _batches(probes):
        with _cut(model, batch, cuts):
            logs = torch.log_softmax(model.logits(model(batch.passage)).double(), dim=-1)
        for row, probe in enumerate(batch.probes):
            answer = torch.from_numpy(probe.answer)
            asked = torch.arange(probe.start - 1, probe.start - 1 + len(answer))
            found.append(float(logs[row, asked, answer].sum()))
    return np.array(found)


def name_shares(model: Decoder, probes: Sequence[Probe]) -> Float[np.ndarray, "layer head probe"]:
    """The share of attention that the position which answers gives to the name's tokens."""
    shares = []
    for batch in _batches(probes):
        weights = _weights(model, batch)
        for row, probe in enumerate(batch.probes):
            shares.append(weights[:, row, :, probe.start - 1, probe.first : probe.end].sum(dim=-1).numpy())
    return np.stack(shares, axis=-1).astype(np.float64)


def attention_weights(model: Decoder, probe: Probe) -> Float[np.ndarray, "layer head query key"]:
    """Every head's weights for one probe, the answer included."""
    return _weights(model, next(_batches([probe])))[:, 0].numpy().astype(np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Batch:
    """Probes padded on the right; `is_name` says which tokens are the name's, `is_after` which come after it."""

    probes: Sequence[Probe]
    passage: Passage
    is_name: Bool[Tensor, "probe token"]
    is_after: Bool[Tensor, "probe token"]


def _batches(probes: Sequence[Probe]) -> Iterator[_Batch]:
    for start in range(0, len(probes), _AT_ONCE):
        some = probes[start : start + _AT_ONCE]
        tokens = torch.full((len(some), max(len(probe.tokens) for probe in some)), PAD)
        for row, probe in enumerate(some):
            tokens[row, : len(probe.tokens)] = torch.from_numpy(probe.tokens)
        places = torch.arange(tokens.shape[1])
        firsts, ends = (torch.tensor([[getattr(probe, name)] for probe in some]) for name in ("first", "end"))
        yield _Batch(
            probes=some,
            passage=plain_passage(tokens, torch.tensor([probe.head_length for probe in some])),
            is_name=(places >= firsts) & (places < ends),
            is_after=places >= ends,
        )


@torch.no_grad()
def _weights(model: Decoder, batch: _Batch) -> Float[Tensor, "layer probe head query key"]:
    found: list[Tensor] = []

    def note(attention: Any, arguments: tuple) -> None:
        found.append(attention.weights(arguments[0], arguments[1]))

    handles = [block.attention.register_forward_pre_hook(note) for block in _blocks(model)]
    try:
        model(batch.passage)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(found)


@contextmanager
def _cut(model: Decoder, batch: _Batch, cuts: Sequence[Cut]) -> Iterator[None]:
    """Hides the name's keys from the queries after the name, in the heads that are cut."""
    hidden = batch.is_after[:, :, None] & batch.is_name[:, None, :]

    def hide(heads: list[int]) -> Any:
        def changed(_: Any, arguments: tuple) -> tuple:
            x, frame, *rest = arguments
            return x, _with_hidden(frame, heads, model.config.num_heads, hidden), *rest

        return changed

    blocks = _blocks(model)
    handles = [
        blocks[layer].attention.register_forward_pre_hook(hide([cut.head for cut in cuts if cut.layer == layer]))
        for layer in sorted({cut.layer for cut in cuts})
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _with_hidden(frame: Frame, heads: list[int], num_heads: int, hidden: Tensor) -> Frame:
    bias = frame.bias.expand(-1, num_heads, -1, -1).clone()
    bias[:, heads] = bias[:, heads].masked_fill(hidden[:, None], -torch.inf)
    return replace(frame, bias=bias)


def _blocks(model: Decoder) -> list[Any]:
    return list(model.blocks)
