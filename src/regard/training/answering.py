"""Asking models: many questions at once, one token at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.errors import InputError
from regard.training.data.lessons import Prompt, PromptFormat
from regard.training.data.vocabulary import EOS, PAD, Vocabulary
from regard.training.model import Decoder, KVCache, ModelInput, causal_input

_QUESTIONS_AT_ONCE = 64
_LENGTH_MULTIPLE = 8


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """An answer, and its probability (the product over its tokens)."""

    text: str
    probability: float


def require_askable(vocabulary: Vocabulary, questions: Sequence[str]) -> None:
    """Refuses questions that are empty or have characters outside the vocabulary."""
    for question in questions:
        if not question.strip():
            raise InputError("A question is empty. Ask, for example: Where was Ada Byron born?")
        if missing := vocabulary.missing_characters(question):
            raise InputError(
                f"The run's vocabulary lacks {' '.join(missing)}, used in {question!r}. Ask without these characters."
            )


@torch.no_grad()
def answer_questions(
    models: Sequence[Decoder], prompt_format: PromptFormat, questions: Sequence[str], *, longest: int = 16
) -> list[ModelAnswer]:
    """The greedy answer to each question; several models answer together, by their mean probability.

    Each step takes the most probable token that the format allows. The probability reported is relative to all tokens.
    Batches have few different shapes, because the libraries underneath have to prepare for each new one.
    """
    were_training = [model.training for model in models]
    for model in models:
        model.eval()
    max_length = min(model.config.max_length for model in models)
    prompts = [prompt_format.prompt(question) for question in questions]
    room = max(4, min(longest, max_length // 2))
    for question, prompt in zip(questions, prompts, strict=True):
        if len(prompt.tokens) + room > max_length:
            raise InputError(
                f"{question[:60]!r} has {len(prompt.tokens)} tokens. With its answer, that is more than the "
                f"{max_length} the model can read. Ask a shorter question."
            )
    first, later = (torch.from_numpy(tokens) for tokens in prompt_format.allowed_tokens())
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number].tokens))
    answers: dict[int, ModelAnswer] = {}
    for start in range(0, len(order), _QUESTIONS_AT_ONCE):
        some = order[start : start + _QUESTIONS_AT_ONCE]
        found = _Generation(models, [prompts[number] for number in some], room).run(first, later)
        for number, (tokens, probability) in zip(some, found, strict=True):
            answers[number] = ModelAnswer(text=prompt_format.vocabulary.decode(tokens), probability=probability)
    for model, was_training in zip(models, were_training, strict=True):
        model.train(was_training)
    return [answers[number] for number in range(len(prompts))]


class _Generation:
    """A batch of prompts, padded on the right, and the tokens generated so far."""

    def __init__(self, models: Sequence[Decoder], prompts: Sequence[Prompt], room: int) -> None:
        self.models, self.room = models, room
        self.head_lengths = torch.tensor([len(prompt.head) for prompt in prompts])
        self.lengths = self.head_lengths + torch.tensor([len(prompt.rest) for prompt in prompts])
        length = -(-int(self.lengths.max()) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE
        self.tokens = torch.full((len(prompts), length), PAD)
        for row, prompt in enumerate(prompts):
            self.tokens[row, : self.lengths[row]] = torch.from_numpy(prompt.tokens)
        self.caches = [KVCache(model.config, batch=len(prompts), room=length + room) for model in models]
        self.log_probabilities = torch.zeros(len(prompts))
        self.is_done = torch.zeros(len(prompts), dtype=torch.bool)
        self.generated: list[Tensor] = []

    def run(self, first: Tensor, later: Tensor) -> list[tuple[list[int], float]]:
        """Per prompt, the tokens before EOS and their probability; `first` and `later` are the allowed tokens."""
        hidden = self._read_prompts()
        for number in range(self.room):
            chosen = self._choose(hidden, later if number else first)
            if self.is_done.all() or number + 1 == self.room:
                break
            hidden = self._read_next(chosen, number)
        rows = torch.stack(self.generated, dim=1).tolist()
        answers = [row[: row.index(EOS)] if EOS in row else row for row in rows]
        return list(zip(answers, self.log_probabilities.exp().tolist(), strict=True))

    def _read_prompts(self) -> list[Tensor]:
        given = causal_input(self.tokens, self.head_lengths)
        rows = torch.arange(len(self.tokens))
        hidden = []
        for model, cache in zip(self.models, self.caches, strict=True):
            cache.append_positions(given.positions, given.positions < self.lengths[:, None])
            hidden.append(model(given, cache=cache)[rows, self.lengths - 1])
        return hidden

    def _read_next(self, chosen: Tensor, number: int) -> list[Tensor]:
        before = torch.stack([self._token(number - 1), self._token(number - 2)], dim=-1)[:, None]
        positions = (self.lengths + number)[:, None]
        hidden = []
        for model, cache in zip(self.models, self.caches, strict=True):
            cache.append_positions(positions, torch.ones_like(positions, dtype=torch.bool))
            visible = cache.is_real[:, None, :]
            given = ModelInput(tokens=chosen[:, None], positions=positions, visible=visible, before=before)
            hidden.append(model(given, cache=cache)[:, 0])
        return hidden

    def _token(self, number: int) -> Tensor:
        """A token of the answer, or, for a negative number, of the rest of the question; −1 before that."""
        if number >= 0:
            return self.generated[number]
        places = self.lengths + number
        return torch.where(places >= self.head_lengths, self.tokens[torch.arange(len(places)), places], -1)

    def _choose(self, hidden: Sequence[Tensor], allowed: Tensor) -> Tensor:
        each = [torch.softmax(m.logits(h).float(), dim=-1) for m, h in zip(self.models, hidden, strict=True)]
        best, chosen = torch.stack(each).mean(dim=0).where(allowed, -1.0).max(dim=-1)
        self.log_probabilities += torch.where(self.is_done, 0.0, best.log())
        chosen = torch.where(self.is_done, EOS, chosen)
        self.is_done |= chosen == EOS
        self.generated.append(chosen)
        return chosen
