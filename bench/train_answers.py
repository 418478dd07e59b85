"""Answering 500 questions in batches with a cache, compared with one at a time without a cache."""

import time

import torch

from regard.training.answering import answer_questions
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.lessons import PromptFormat
from regard.training.data.vocabulary import learn_vocabulary
from regard.training.model import Decoder, ModelConfig, ModelInput

NUMBER, LONGEST, SAMPLE = 500, 16, 25


@torch.no_grad()
def main() -> None:
    """Prints both times and their ratio; the slow one is extrapolated from a few questions."""
    data = make_biographies(Biographies(people=200), seed=0)
    questions = [question.text for question in data.questions][:NUMBER]
    vocabulary = learn_vocabulary([document.text for document in data.documents] + questions, size=4096)
    torch.manual_seed(0)
    model = Decoder(ModelConfig(vocab_size=len(vocabulary), width=256, num_layers=4, num_heads=8, is_lean=False)).eval()
    begun = time.perf_counter()
    prompt_format = PromptFormat(vocabulary=vocabulary)
    answer_questions([model], prompt_format, questions, longest=LONGEST)
    batched = time.perf_counter() - begun
    begun = time.perf_counter()
    for question in questions[:SAMPLE]:
        tokens = prompt_format.prompt(question).tokens.tolist()
        for _ in range(LONGEST):
            tokens.append(read_all(model, tokens))
    single = (time.perf_counter() - begun) * NUMBER / SAMPLE
    print(f"{NUMBER} questions, {LONGEST} tokens each: {batched:.2f} s in batches with a cache")
    print(f"one at a time without a cache: {single:.1f} s ({SAMPLE} measured), {single / batched:.0f}× as long")


def read_all(model: Decoder, tokens: list[int]) -> int:
    """The most probable next token, computed from all tokens, in a row as long as the model allows."""
    length = model.config.max_length
    row = torch.tensor([tokens + [0] * (length - len(tokens))])
    before = torch.full((1, length, 2), -1)
    visible = torch.ones(1, length, length, dtype=torch.bool).tril_()
    hidden = model(ModelInput(tokens=row, positions=torch.arange(length)[None], visible=visible, before=before))
    return int(model.logits(hidden)[0, len(tokens) - 1].argmax())


if __name__ == "__main__":
    main()
