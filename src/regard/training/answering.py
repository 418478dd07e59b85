"""Asking a model: many questions at once, one token at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.errors import InputError
from regard.training.data.encoding import Prompt, Wording
from regard.training.data.tokenizing import EOS, PAD, Vocabulary
from regard.training.model import Cache, Decoder, Passage
from regard.training.passages import plain_passage

_AT_ONCE = 64
_ROUND = 8


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the model says, and how likely it found that (the product over its tokens)."""

    text: str
    probability: float


def require_askable(vocabulary: Vocabulary, questions: Sequence[str]) -> None:
    """Refuses questions that are empty or can't be written with the vocabulary."""
    for question in questions:
        if not question.strip():
            raise InputError("A question is empty. Ask, for example: Where was Ada Byron born?")
        if lacking := vocabulary.lacks(question):
            raise InputError(f"The run's vocabulary lacks {' '.join(lacking)} of {question!r}. Ask without them.")


@torch.no_grad()
def answer_questions(
    models: Sequence[Decoder], wording: Wording, questions: Sequence[str], *, longest: int = 16
) -> list[Answer]:
    """The greedy answer to each question; several models of one wording answer together, by their mean probability.

    At each step the likeliest token is said that the wording lets an answer have there; its probability is the models'
    own, among all tokens. Batches have few shapes, because each new shape costs the libraries below some preparation.
    """
    were_training = [model.training for model in models]
    for model in models:
        model.eval()
    max_length = min(model.config.max_length for model in models)
    prompts = [wording.prompt(question) for question in questions]
    room = max(4, min(longest, max_length // 2))
    for question, prompt in zip(questions, prompts, strict=True):
        if len(prompt.tokens) + room > max_length:
            raise InputError(
                f"{question[:60]!r} has {len(prompt.tokens)} tokens, and with its answer that is more than the "
                f"{max_length} the model can read. Ask a shorter question."
            )
    first, later = (torch.from_numpy(tokens) for tokens in wording.sayable())
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number].tokens))
    answers: dict[int, Answer] = {}
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        said, chances = _Dialogue(models, [prompts[number] for number in some], room).finish(first, later)
        for number, tokens, chance in zip(some, said, chances, strict=True):
            answers[number] = Answer(text=wording.vocabulary.decode(tokens), probability=chance)
    for model, was_training in zip(models, were_training, strict=True):
        model.train(was_training)
    return [answers[number] for number in range(len(prompts))]


class _Dialogue:
    """A batch of prompts, padded on the right, and what has been said after them."""

    def __init__(self, models: Sequence[Decoder], prompts: Sequence[Prompt], room: int) -> None:
        self.models, self.room = models, room
        self.head_lengths = torch.tensor([len(prompt.head) for prompt in prompts])
        self.lengths = self.head_lengths + torch.tensor([len(prompt.rest) for prompt in prompts])
        length = -(-int(self.lengths.max()) // _ROUND) * _ROUND
        self.tokens = torch.full((len(prompts), length), PAD)
        for row, prompt in enumerate(prompts):
            self.tokens[row, : self.lengths[row]] = torch.from_numpy(prompt.tokens)
        self.caches = [Cache(model.config, batch=len(prompts), room=length + room) for model in models]
        self.logs = torch.zeros(len(prompts))
        self.is_done = torch.zeros(len(prompts), dtype=torch.bool)
        self.said: list[Tensor] = []

    def finish(self, first: Tensor, later: Tensor) -> tuple[list[list[int]], list[float]]:
        """What is said after each prompt up to EOS, of tokens that may come first and later, and how likely it was."""
        hidden = self._read_prompts()
        for number in range(self.room):
            chosen = self._choose(hidden, later if number else first)
            if self.is_done.all() or number + 1 == self.room:
                break
            hidden = self._read_next(chosen, number)
        said = torch.stack(self.said, dim=1)
        return [_until_eos(row) for row in said.tolist()], self.logs.exp().tolist()

    def _read_prompts(self) -> list[Tensor]:
        passage = plain_passage(self.tokens, self.head_lengths)
        rows = torch.arange(len(self.tokens))
        found = []
        for model, cache in zip(self.models, self.caches, strict=True):
            cache.place(passage.positions, passage.positions < self.lengths[:, None])
            found.append(model(passage, cache=cache)[rows, self.lengths - 1])
        return found

    def _read_next(self, chosen: Tensor, number: int) -> list[Tensor]:
        before = torch.stack([self._said_before(number - 1), self._said_before(number - 2)], dim=-1)[:, None]
        positions = (self.lengths + number)[:, None]
        found = []
        for model, cache in zip(self.models, self.caches, strict=True):
            cache.place(positions, torch.ones_like(positions, dtype=torch.bool))
            visible = cache.is_real[:, None, :]
            passage = Passage(tokens=chosen[:, None], positions=positions, visible=visible, before=before)
            found.append(model(passage, cache=cache)[:, 0])
        return found

    def _said_before(self, number: int) -> Tensor:
        """A token of the answer, or, with a number below zero, of the rest of the question; −1 before that."""
        if number >= 0:
            return self.said[number]
        places = self.lengths + number
        return torch.where(places >= self.head_lengths, self.tokens[torch.arange(len(places)), places], -1)

    def _choose(self, hidden: Sequence[Tensor], sayable: Tensor) -> Tensor:
        chances = [torch.softmax(m.logits(h).float(), dim=-1) for m, h in zip(self.models, hidden, strict=True)]
        best, chosen = torch.stack(chances).mean(dim=0).where(sayable, -1.0).max(dim=-1)
        self.logs += torch.where(self.is_done, 0.0, best.log())
        chosen = torch.where(self.is_done, EOS, chosen)
        self.is_done |= chosen == EOS
        self.said.append(chosen)
        return chosen


def _until_eos(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(EOS)] if EOS in tokens else tokens
