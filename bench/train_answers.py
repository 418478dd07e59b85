"""500 questions answered in batches with a cache, against one at a time with everything read again."""

import time

import torch

from regard.training.answering import answer_questions
from regard.training.data.biographies import Biographies, biographies
from regard.training.data.encoding import Wording
from regard.training.data.tokenizing import learn_vocabulary
from regard.training.model import Decoder, ModelConfig, Passage

NUMBER, LONGEST, SAMPLE = 500, 16, 25


@torch.no_grad()
def main() -> None:
    """Prints both times and their ratio; the slow way is measured on some questions and multiplied."""
    world = biographies(Biographies(people=200), seed=0)
    questions = [question.text for question in world.questions][:NUMBER]
    vocabulary = learn_vocabulary([document.text for document in world.documents] + questions, size=4096)
    torch.manual_seed(0)
    model = Decoder(ModelConfig(vocab_size=len(vocabulary), width=256, num_layers=4, num_heads=8, is_lean=False)).eval()
    begun = time.perf_counter()
    wording = Wording(vocabulary=vocabulary)
    answer_questions([model], wording, questions, longest=LONGEST)
    batched = time.perf_counter() - begun
    begun = time.perf_counter()
    for question in questions[:SAMPLE]:
        tokens = wording.prompt(question).tokens.tolist()
        for _ in range(LONGEST):
            tokens.append(read_all(model, tokens))
    single = (time.perf_counter() - begun) * NUMBER / SAMPLE
    print(f"{NUMBER} questions, {LONGEST} tokens each: {batched:.2f} s in batches with a cache")
    print(f"one at a time, all read again: {single:.1f} s ({SAMPLE} measured), {single / batched:.0f}× as long")


def read_all(model: Decoder, tokens: list[int]) -> int:
    """The likeliest next token, from nothing but the tokens, in a row as long as the model allows."""
    length = model.config.max_length
    row = torch.tensor([tokens + [0] * (length - len(tokens))])
    before = torch.full((1, length, 2), -1)
    visible = torch.ones(1, length, length, dtype=torch.bool).tril_()
    hidden = model(Passage(tokens=row, positions=torch.arange(length)[None], visible=visible, before=before))
    return int(model.logits(hidden)[0, len(tokens) - 1].argmax())


if __name__ == "__main__":
    main()
