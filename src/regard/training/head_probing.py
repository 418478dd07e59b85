"""Probing heads: how much they attend to the name in a question, and what the answer loses when they can't."""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.axes import Bool, Float, Int
from regard.core.errors import InputError
from regard.training.data.corpus import find_known_name, normalize_text, word_spans
from regard.training.data.lessons import PromptFormat
from regard.training.data.vocabulary import EOS, PAD
from regard.training.model import Decoder, ModelInput, causal_input
from regard.training.model.attention import AttentionContext
from regard.training.run_folder import RunFolder

_PROBES_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """A question and an answer as tokens.

    The head has `head_length` tokens; the name's tokens are `first` up to `end`; the answer starts at `start`.
    """

    question: str
    name: str
    tokens: Int[np.ndarray, " token"]
    head_length: int
    first: int
    end: int
    start: int

    @property
    def answer(self) -> Int[np.ndarray, " answer"]:
        """The tokens of the answer, including EOS."""
        return np.append(self.tokens[self.start :], EOS)


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A head that must not attend to the name; layer and head count from zero."""

    layer: int
    head: int


def known_names(folder: RunFolder) -> frozenset[str]:
    """The names in all documents of a run, from the heads of its lessons."""
    vocabulary, openings = folder.vocabulary(), folder.facts()["openings"]
    opening = openings[0].strip()
    heads = [lesson.heads[0] for lesson in folder.lessons() if len(lesson.body)]
    return frozenset(vocabulary.decode(head).removeprefix(opening).strip() for head in heads) - {""}


def find_name(question: str, names: Set[str]) -> tuple[int, int]:
    """The span of the longest known name, or else of the longest run of capitalized words after the first word.

    >>> find_name("Where was Ada Byron born?", {"Ada", "Ada Byron"}), find_name("Where was Bo Li born?", set())
    ((10, 19), (10, 15))
    """
    if (known := find_known_name(question, names)) is not None:
        return known
    words = word_spans(question)
    runs = [words[first:end] for first in range(1, len(words)) for end in range(first + 1, len(words) + 1)]
    for run in sorted(runs, key=len, reverse=True):
        if all(question[start:end][:1].isupper() for start, end in run):
            return run[0][0], run[-1][1]
    raise InputError(f"{question!r} contains no name from the run's documents. Ask about somebody in them.")


def make_probe(prompt_format: PromptFormat, question: str, answer: str, names: Set[str]) -> Probe:
    """The tokens of a question with its answer, and where the name is in them."""
    text = normalize_text(question).strip()
    start, end = find_name(text, names)
    vocabulary, prompt = prompt_format.vocabulary, prompt_format.prompt(text)
    before = text[:start].rstrip()
    return Probe(
        question=question,
        name=text[start:end],
        tokens=np.concatenate([prompt.tokens, vocabulary.encode(answer)]),
        head_length=len(prompt.head),
        first=1 + (len(vocabulary.encode(before)) if before else 0),
        end=1 + len(vocabulary.encode(text[:end])),
        start=len(prompt.tokens),
    )


@torch.no_grad()
def answer_log_probabilities(
    model: Decoder, probes: Sequence[Probe], ablations: Sequence[Ablation] = ()
) -> Float[np.ndarray, " probe"]:
    """log p(answer | question) for each probe, with the name's keys hidden from the ablated heads.

    They are hidden only from positions after the name, so that the name itself is still read as a whole.
    """
    found = []
    for batch in _batches(probes):
        with _ablated(model, batch, ablations):
            logs = torch.log_softmax(model.logits(model(batch.given)).double(), dim=-1)
        for row, probe in enumerate(batch.probes):
            answer = torch.from_numpy(probe.answer)
            asked = torch.arange(probe.start - 1, probe.start - 1 + len(answer))
            found.append(float(logs[row, asked, answer].sum()))
    return np.array(found)


def attention_to_name(model: Decoder, probes: Sequence[Probe]) -> Float[np.ndarray, "layer head probe"]:
    """The share of attention that the answering position gives the name's tokens."""
    shares = []
    for batch in _batches(probes):
        weights = _weights(model, batch)
        for row, probe in enumerate(batch.probes):
            shares.append(weights[:, row, :, probe.start - 1, probe.first : probe.end].sum(dim=-1).numpy())
    return np.stack(shares, axis=-1).astype(np.float64)


def attention_weights(model: Decoder, probe: Probe) -> Float[np.ndarray, "layer head query key"]:
    """Every head's weights for one probe, including the answer."""
    return _weights(model, next(_batches([probe])))[:, 0].numpy().astype(np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ProbeBatch:
    """Probes padded on the right; `is_name` marks the tokens of names, `is_after` those after them."""

    probes: Sequence[Probe]
    given: ModelInput
    is_name: Bool[Tensor, "probe token"]
    is_after: Bool[Tensor, "probe token"]


def _batches(probes: Sequence[Probe]) -> Iterator[_ProbeBatch]:
    for start in range(0, len(probes), _PROBES_AT_ONCE):
        some = probes[start : start + _PROBES_AT_ONCE]
        tokens = torch.full((len(some), max(len(probe.tokens) for probe in some)), PAD)
        for row, probe in enumerate(some):
            tokens[row, : len(probe.tokens)] = torch.from_numpy(probe.tokens)
        places = torch.arange(tokens.shape[1])
        firsts, ends = (torch.tensor([[getattr(probe, name)] for probe in some]) for name in ("first", "end"))
        yield _ProbeBatch(
            probes=some,
            given=causal_input(tokens, torch.tensor([probe.head_length for probe in some])),
            is_name=(places >= firsts) & (places < ends),
            is_after=places >= ends,
        )


@torch.no_grad()
def _weights(model: Decoder, batch: _ProbeBatch) -> Float[Tensor, "layer probe head query key"]:
    found: list[Tensor] = []

    def record(attention: Any, arguments: tuple) -> None:
        found.append(attention.weights(arguments[0], arguments[1]))

    with _hooked([(block, record) for block in model.blocks]):
        model(batch.given)
    return torch.stack(found)


@contextmanager
def _ablated(model: Decoder, batch: _ProbeBatch, ablations: Sequence[Ablation]) -> Iterator[None]:
    """Hides the name's keys from queries after the name, in the ablated heads."""
    hidden = batch.is_after[:, :, None] & batch.is_name[:, None, :]

    def hide(heads: list[int]) -> Any:
        def changed(_: Any, arguments: tuple) -> tuple:
            x, context, *rest = arguments
            return x, _with_hidden(context, heads, model.config.num_heads, hidden), *rest

        return changed

    layers = sorted({each.layer for each in ablations})
    heads = [[each.head for each in ablations if each.layer == layer] for layer in layers]
    with _hooked([(model.blocks[layer], hide(some)) for layer, some in zip(layers, heads, strict=True)]):
        yield


@contextmanager
def _hooked(hooks: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Calls each hook before its block's attention."""
    handles = [block.attention.register_forward_pre_hook(hook) for block, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _with_hidden(context: AttentionContext, heads: list[int], num_heads: int, hidden: Tensor) -> AttentionContext:
    bias = context.bias.expand(-1, num_heads, -1, -1).clone()
    bias[:, heads] = bias[:, heads].masked_fill(hidden[:, None], -torch.inf)
    return replace(context, bias=bias)
