"""The loss of a step: cross-entropy over a sample of the vocabulary, computed in pieces that fit the cache."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.axes import Float, Int
from regard.training.data.batches import PackedRow
from regard.training.data.lessons import Lesson
from regard.training.data.vocabulary import Tokens

_ROWS_AT_ONCE = 256
# Eighths of a sample: this many are common tokens, and at least this many are drawn; the targets have the rest.
_COMMON, _DRAWN = 5, 1


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateSample:
    """Tokens in ascending order, and the logarithm of the number of tokens that each stands for.

    With that added to the scores, the expectation of Σ e^score is its sum over the whole vocabulary.
    """

    tokens: Int[np.ndarray, " token"]
    log_counts: Float[np.ndarray, " token"]

    def places(self, tokens: Tokens) -> Tokens:
        """The indices of tokens that are in the sample."""
        found = np.searchsorted(self.tokens, tokens)
        assert np.array_equal(self.tokens[np.minimum(found, len(self.tokens) - 1)], tokens), "a token is not in it"
        return found


class CandidateSampler:
    """Draws the candidates of each step: the most common tokens, the step's targets, and random others.

    A sample has `size` tokens, or more if there are more targets.
    """

    def __init__(self, lessons: Sequence[Lesson], *, vocab_size: int, size: int) -> None:
        self._size = size
        texts = [lesson.body for lesson in lessons]
        texts += [question.answer for lesson in lessons for question in lesson.questions]
        counts = np.bincount(np.concatenate(texts), minlength=vocab_size)
        rank = np.empty(vocab_size, dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(vocab_size)
        self._is_common = rank < (size if size == vocab_size else size * _COMMON // 8)

    def draw(self, rows: Iterable[PackedRow], rng: np.random.Generator) -> CandidateSample:
        """The candidates for a step with these rows."""
        is_in = self._is_common.copy()
        for tokens in _targets(rows):
            is_in[tokens] = True
        others = np.flatnonzero(~is_in)
        room = max(self._size - int(is_in.sum()), self._size * _DRAWN // 8, 1)
        drawn = rng.choice(others, min(room, len(others)), replace=False)
        log_counts = np.zeros(len(is_in), dtype=np.float32)
        if len(drawn):
            log_counts[drawn] = np.log(len(others) / len(drawn))
        is_in[drawn] = True
        tokens = np.flatnonzero(is_in)
        return CandidateSample(tokens=tokens, log_counts=log_counts[tokens])


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionTargets:
    """Row `owners[i]` should predict token `targets[i]` with weight `weights[i]`; owners must not decrease."""

    owners: Int[Tensor, " target"]
    targets: Int[Tensor, " target"]
    weights: Float[Tensor, " target"]


def prediction_loss(
    hidden: Float[Tensor, "row width"],
    head: Float[Tensor, "token width"],
    log_counts: Float[Tensor, " token"],
    wanted: PredictionTargets,
) -> Float[Tensor, ""]:
    """Σ_i w_i (log Σ_t c_t e^{z_{r_i t}} − z_{r_i t_i}) with z = hidden·headᵀ, r_i = owners[i] and c = e^log_counts.

    A row may have several targets; c is 1 for all of them. The scores of all rows never exist at once, and the forward
    pass computes the gradients too, since the backward pass would need the scores again.
    """
    return _PredictionLoss.apply(hidden, head, log_counts, wanted.owners, wanted.targets, wanted.weights)


class _PredictionLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, log_counts: Tensor, *wanted: Tensor) -> Tensor:
        owners, targets, weights = wanted
        used = head.to(hidden.dtype)
        row_weights = torch.zeros(len(hidden)).index_add_(0, owners, weights)
        hidden_gradient = torch.empty_like(hidden)
        head_gradient = torch.zeros_like(head)
        loss = torch.zeros((), dtype=torch.float64)
        edges = torch.searchsorted(owners, torch.arange(0, len(hidden) + _ROWS_AT_ONCE, _ROWS_AT_ONCE))
        for number, first in enumerate(range(0, len(hidden), _ROWS_AT_ONCE)):
            rows, pairs = slice(first, first + _ROWS_AT_ONCE), slice(int(edges[number]), int(edges[number + 1]))
            here, asked, shares = owners[pairs] - first, targets[pairs], weights[pairs]
            scores = (hidden[rows] @ used.T).float().add_(log_counts)
            asked_scores, tops = scores[here, asked], scores.amax(dim=-1, keepdim=True)
            sums = scores.sub_(tops).exp_().sum(dim=-1, keepdim=True)
            logs = sums.log().add_(tops)[:, 0]
            loss += (shares * (logs[here] - asked_scores)).sum()
            errors = scores.mul_(row_weights[rows, None] / sums)
            errors.index_put_((here, asked), -shares, accumulate=True)
            errors = errors.to(hidden.dtype)
            hidden_gradient[rows] = errors @ used
            head_gradient += errors.T @ hidden[rows]
        ctx.save_for_backward(hidden_gradient, head_gradient)
        return loss.float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden_gradient, head_gradient = ctx.saved_tensors
        both = hidden_gradient * gradients[0].to(hidden_gradient.dtype), head_gradient * gradients[0]
        return (*both, None, None, None, None)


def _targets(rows: Iterable[PackedRow]) -> Iterable[Tokens]:
    for row in rows:
        for example in row.examples:
            yield example.bag.tokens
            for segment in example.segments:
                yield segment.bag.tokens
                yield segment.targets[segment.targets >= 0]
