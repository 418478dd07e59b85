import pytest

pytest.importorskip("torch")

import torch

from regard.core.errors import InputError
from regard.training.answering import answer_questions
from regard.training.data.lessons import AnswerForms, PromptFormat
from regard.training.data.vocabulary import EOS, learn_vocabulary
from regard.training.model import Decoder, ModelConfig, ModelInput

TEXTS = [f"Where was {name} born?" for name in ("Ada Byron", "Li", "Jo Anna Maria Berg", "Ann Lee")]
VOCABULARY = learn_vocabulary([*TEXTS, "London Paris Rome"] * 3, size=120)


NAMES_ONLY = AnswerForms(first=("▁A",))
FORMATS = [
    PromptFormat(vocabulary=VOCABULARY),
    PromptFormat(vocabulary=VOCABULARY, endings=(" born?",)),
    PromptFormat(vocabulary=VOCABULARY, endings=(" born?",), forms=NAMES_ONLY),
]


def one_at_a_time(models: list[Decoder], prompt_format: PromptFormat, text: str, longest: int) -> str:
    """Greedy decoding that reads everything again for each token."""
    prompt = prompt_format.prompt(text)
    tokens = prompt.tokens.tolist()
    start, head = len(tokens), len(prompt.head)
    while len(tokens) - start < longest:
        length = len(tokens)
        row = torch.tensor([tokens])
        before = torch.full((1, length, 2), -1)
        for place in range(length):
            for back in (1, 2):
                if place - back >= (head if place >= head else 0):
                    before[0, place, back - 1] = tokens[place - back]
        visible = torch.ones(1, length, length, dtype=torch.bool).tril_()
        given = ModelInput(tokens=row, positions=torch.arange(length)[None], visible=visible, before=before)
        chances = sum(model.logits(model(given)[0, -1]).softmax(dim=-1) for model in models)
        allowed_tokens = prompt_format.allowed_tokens()[length > start].nonzero()[0]
        best = max(allowed_tokens.tolist(), key=chances.tolist().__getitem__)
        if best == EOS:
            break
        tokens.append(best)
    return VOCABULARY.decode(tokens[start:])


def drawn(seed: int, **settings) -> Decoder:
    """A model with random weights that are large enough to matter."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(VOCABULARY), "max_length": 48, "width": 16, "num_heads": 2, "hidden": 32}
    model = Decoder(ModelConfig(**sizes, ngram_rows=61, **settings))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


@pytest.mark.parametrize("prompt_format", FORMATS, ids=["whole", "parted", "names only"])
@pytest.mark.parametrize("positions", ["rotary", "alibi", "learned"])
def test_many_at_once_with_a_cache_is_one_at_a_time_without(positions, prompt_format):
    model = drawn(1, positions=positions)
    answers = answer_questions([model], prompt_format, TEXTS, longest=6)
    with torch.no_grad():
        assert [answer.text for answer in answers] == [one_at_a_time([model], prompt_format, text, 6) for text in TEXTS]
    assert len({answer.text for answer in answers}) > 1
    assert all(0 < answer.probability <= 1 for answer in answers)


def test_an_answer_has_the_forms_of_those_in_training():
    models = [drawn(seed) for seed in range(6)]
    said = [
        {answer.text for model in models for answer in answer_questions([model], prompt_format, TEXTS, longest=6)}
        for prompt_format in FORMATS[1:]
    ]
    assert not all(text[:1].isupper() for text in said[0])
    assert all(text[:1].isupper() and " " not in text for text in said[1])


def test_several_models_answer_by_their_mean_probability():
    models = [drawn(1), drawn(2, positions="alibi"), drawn(3, positions="none")]
    answers = [answer.text for answer in answer_questions(models, FORMATS[1], TEXTS, longest=6)]
    with torch.no_grad():
        assert answers == [one_at_a_time(models, FORMATS[1], text, 6) for text in TEXTS]
    alone = [[answer.text for answer in answer_questions([model], FORMATS[1], TEXTS, longest=6)] for model in models]
    assert answers not in alone
    assert all(model.training for model in models)


def test_a_question_that_is_too_long_is_refused():
    model = Decoder(ModelConfig(vocab_size=len(VOCABULARY), max_length=24, width=16, num_heads=2, hidden=32))
    with pytest.raises(InputError, match="shorter"):
        answer_questions([model], FORMATS[0], ["Where was Ada Byron born? " * 5])
