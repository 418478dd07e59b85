"""Looks that are cut: a head that reads the name is found, one that only looks at it is not."""

import numpy as np
import pytest
import torch

from regard.core.errors import InputError
from regard.training import inspection
from regard.training.data.lessons import PromptFormat
from regard.training.data.vocabulary import BOS, EOS, SEP, learn_vocabulary
from regard.training.inspection import (
    Ablation,
    Probe,
    answer_log_probabilities,
    attention_to_name,
    attention_weights,
    find_name,
    judge_heads,
    make_probe,
)
from regard.training.model import Decoder, ModelConfig, ModelInput

ASK, BORN, NAMES, ANSWERS, WIDTH = 5, 6, range(7, 11), range(11, 15), 32


def probe(name, *, more=0):
    """`BOS ask name born … SEP answer`, with the name at token 2."""
    tokens = np.array([BOS, ASK, NAMES[name], *[BORN] * (1 + more), SEP, ANSWERS[name]])
    return Probe(question="", name="", tokens=tokens, head_length=3, first=2, end=3, start=len(tokens) - 1)


PROBES = [probe(number % 4, more=number % 3) for number in range(12)]


@pytest.fixture(scope="module")
def model():
    """Two layers of two heads, of which one reads the name.

    In the first layer both heads look from SEP at the name, and only the first writes down whose name it is, in the
    dimensions from 16 on, where the output finds the answer. The second layer is idle.
    """
    config = ModelConfig(
        vocab_size=15, max_length=16, width=WIDTH, num_layers=2, num_heads=2, hidden=8, positions="none", qk_norm=False
    )
    torch.manual_seed(0)
    model = Decoder(config).eval()
    assert model.head is not None
    first = model.blocks[0].attention
    with torch.no_grad():
        model.embedding.weight.copy_(torch.eye(15, WIDTH))
        for parameter in (first.project.weight, first.output.weight, model.head.weight):
            parameter.zero_()
        for head in range(2):
            first.project.weight[16 * head, SEP] = 1.0
            for number, name in enumerate(NAMES):
                first.project.weight[WIDTH + 16 * head, name] = 1.0
                first.project.weight[2 * WIDTH + 16 * head + number, name] = 1.0
        for number, answer in enumerate(ANSWERS):
            first.output.weight[16 + number, number] = 1.0
            model.head.weight[answer, 16 + number] = 3.0
            model.head.weight[EOS, answer] = 3.0
    return model


def test_the_made_model_knows_the_answers(model):
    assert np.exp(answer_log_probabilities(model, PROBES)).min() > 0.5


def test_without_a_cut_nothing_changes(model):
    """An independent way: each probe alone, unpadded, one token after the other."""
    for each in PROBES[:3]:
        tokens = torch.from_numpy(each.tokens)[None]
        length = tokens.shape[1]
        before = torch.full((1, length, 2), -1)
        visible = torch.ones(1, length, length, dtype=torch.bool).tril()
        passage = ModelInput(tokens=tokens, positions=torch.arange(length)[None], visible=visible, before=before)
        with torch.no_grad():
            logs = torch.log_softmax(model.logits(model(passage))[0], dim=-1)
        expected = float(logs[length - 2, each.tokens[-1]] + logs[length - 1, EOS])
        assert answer_log_probabilities(model, [each])[0] == pytest.approx(expected, abs=1e-5)
    assert answer_log_probabilities(model, PROBES)[:3] == pytest.approx(
        [answer_log_probabilities(model, [each])[0] for each in PROBES[:3]], abs=1e-5
    )


def test_the_head_that_reads_is_found_and_the_one_that_only_looks_is_not(model):
    found = {(each.layer, each.head): each for each in judge_heads(model, PROBES)}
    assert {place: each.status for place, each in found.items()} == {
        (1, 1): "holds",
        (1, 2): "refuted",
        (2, 1): "refuted",
        (2, 2): "refuted",
    }
    assert found[1, 1].drop.lower > 0.5
    assert found[1, 2].share.mean > 0.9
    assert abs(found[1, 2].drop.mean) < 1e-6
    assert found[1, 1].verdict(None).statement == "layer 1 head 1 reads the answer from the name"


def test_a_cut_head_sees_no_name_after_it_and_all_others_do(model):
    seen = {}
    attention = model.blocks[0].attention

    def note(module, arguments):
        seen["weights"] = module.weights(arguments[0], arguments[1])

    batch = next(inspection._batches(PROBES[:1]))
    with torch.no_grad(), inspection._ablated(model, batch, [Ablation(layer=0, head=0)]):
        handle = attention.register_forward_pre_hook(note)
        model(batch.given)
        handle.remove()
    weights = seen["weights"][0]
    assert weights[0, 3:, 2].abs().max() == 0
    assert weights[0, 2, 2] > 0
    assert weights[1, 3:, 2].min() > 0
    assert torch.allclose(weights.sum(-1), torch.ones(()))
    assert not attention._forward_pre_hooks


def test_weights_and_shares_agree(model):
    weights = attention_weights(model, PROBES[1])
    length = len(PROBES[1].tokens)
    assert weights.shape == (2, 2, length, length)
    assert np.allclose(weights.sum(axis=-1), 1, atol=1e-6)
    assert np.triu(weights[0, 0], k=1).max() == 0
    shares = attention_to_name(model, PROBES)
    assert shares[:, :, 1] == pytest.approx(weights[:, :, PROBES[1].start - 1, 2], abs=1e-6)


def test_one_question_gives_no_interval(model):
    with pytest.raises(InputError, match="at least two questions"):
        judge_heads(model, PROBES[:1])


@pytest.mark.parametrize(
    ("question", "names", "found"),
    [
        ("Where was Ada Byron born?", {"Ada Byron", "Ada"}, "Ada Byron"),
        ("Who does Ada Byron work for?", {"Ada"}, "Ada"),
        ("What is Ada Byron's trade?", {"Ada Byron"}, "Ada Byron"),
        ("Who was “Ada Byron”?", {"Ada Byron"}, "Ada Byron"),
        ("Where was Bo van Li born?", set(), "Bo"),
        ("Where did Bo Li study?", set(), "Bo Li"),
    ],
)
def test_the_name_is_found(question, names, found):
    start, end = find_name(question, names)
    assert question[start:end] == found


def test_a_question_about_nobody_is_refused():
    with pytest.raises(InputError, match="'where is it\\?' contains no name"):
        find_name("where is it?", {"Ada"})


@pytest.mark.parametrize("kind", ["pieces", "characters"])
def test_the_tokens_of_the_name_are_marked(kind):
    vocabulary = learn_vocabulary(["Where was Ada Byron born? London"] * 3, kind=kind, size=200)
    prompt_format = PromptFormat(vocabulary=vocabulary, endings=(" born?",))
    made = make_probe(prompt_format, " Where was Ada Byron born? ", "London", {"Ada Byron"})
    assert made.head_length == made.end
    assert vocabulary.decode(made.tokens[made.first : made.end]) == "Ada Byron"
    assert made.tokens[made.start - 1] == SEP
    assert vocabulary.decode(made.answer) == "London"
    assert made.answer[-1] == EOS


def test_the_tokens_of_an_escaped_name_are_marked():
    vocabulary = learn_vocabulary(["Where was Álvarez de Paz born? Toledo"] * 3, size=200)
    prompt_format = PromptFormat(vocabulary=vocabulary, endings=(" born?",))
    made = make_probe(prompt_format, "Where was %C3%81lvarez de\u00a0Paz born?", "Toledo", {"Álvarez de Paz", "Paz"})
    assert vocabulary.decode(made.tokens[made.first : made.end]) == made.name == "Álvarez de Paz"
    assert made.head_length == made.end
