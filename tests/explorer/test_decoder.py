"""The page's small model in a real browser against PyTorch: tokens, heads and guesses, with a head or without."""

import json
from importlib import resources

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import torch
from safetensors import deserialize
from safetensors.numpy import load
from tokenizers import Tokenizer

from regard.training.data.vocabulary import BOS, Vocabulary, learn_vocabulary
from regard.training.model import Decoder, ModelConfig, causal_input

CONTENT = resources.files("regard.explorer").joinpath("model.safetensors").read_bytes()
ABOUT = json.loads(CONTENT[8 : 8 + int.from_bytes(CONTENT[:8], "little")])["__metadata__"]
FACTS = json.loads(ABOUT["facts"])
STORY = "Tom put the key in the box. Mia put the ring in the bag. Where is the key? It is in the"
TEXTS = [
    STORY,
    "Zorb lives in Quiltam. Paul lives in Rome. Where does Zorb live? Zorb lives in",
    "The keys near the box",
    "moon green fox river. Once more: moon green fox",
    "a",
    "",
]
READING = """async ([text, silenced]) => {
    window.model ??= regard.readModel(await regard.unpacked("model-data"));
    const { tokens } = regard.tokenised(text, model);
    const { layers, next } = regard.read(tokens, model, silenced);
    return { tokens, next, weights: layers.map((heads) => heads.map(({ weights }) => weights)) };
}"""
TOKENS = """async (texts) => {
    window.model ??= regard.readModel(await regard.unpacked("model-data"));
    return texts.map((text) => regard.tokenised(text, model).tokens);
}"""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """The tokenizer of `regard train` with the tokens of the file."""
    written = json.loads(learn_vocabulary(["a"]).to_json())
    written["model"]["vocab"] = {text: number for number, text in enumerate(FACTS["tokens"])}
    return Vocabulary(Tokenizer.from_str(json.dumps(written)))


@pytest.fixture(scope="module")
def model() -> Decoder:
    """The decoder of `regard train` with the weights of the file."""
    tensors = load(CONTENT)
    width, hidden = (
        tensors[name].shape[0] for name in ("blocks.0.attention.output.weight", "blocks.0.feed_forward.hidden.weight")
    )
    config = ModelConfig(
        vocab_size=len(FACTS["tokens"]),
        width=width,
        hidden=hidden,
        num_layers=FACTS["layers"],
        num_heads=FACTS["heads"],
        rotary_base=FACTS["base"],
        qk_norm=False,
    )
    decoder = Decoder(config).eval()
    weights = {
        name: torch.from_numpy(tensors[name] * tensors[f"{name}.scales"][:, None])
        for name, _ in decoder.named_parameters()
    }
    decoder.load_state_dict(weights, strict=False)
    return decoder


@torch.no_grad()
def read(model, tokens, silenced=None):
    """The weights of every head and the probabilities of the next token."""
    weights, width = [], model.config.head_width

    def record(attention, arguments):
        weights.append(attention.weights(*arguments[:2])[0].numpy())

    def silence(_, arguments):
        heads = arguments[0].unflatten(-1, (-1, width)).clone()
        heads[..., silenced["head"], :] = 0
        return (heads.flatten(-2),)

    hooks = [block.attention.register_forward_pre_hook(record) for block in model.blocks]
    if silenced is not None:
        hooks.append(model.blocks[silenced["layer"]].attention.output.register_forward_pre_hook(silence))
    hidden = model(causal_input(torch.tensor([[BOS, *tokens]]), torch.tensor([0])))
    for hook in hooks:
        hook.remove()
    return np.stack(weights), model.logits(hidden[0, -1]).softmax(dim=-1).numpy()


def square(rows):
    """Rows of growing length, filled up with zeros."""
    return np.array([row + [0.0] * (len(rows) - len(row)) for row in rows])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("silenced", [None, {"layer": 1, "head": 2}])
def test_every_head_and_guess_is_that_of_pytorch(page, model, vocabulary, text, silenced):
    found = page.evaluate(READING, [text, silenced])
    assert found["tokens"] == vocabulary.encode(text).tolist()
    weights, following = read(model, found["tokens"], silenced)
    shown = np.array([[square(rows) for rows in heads] for heads in found["weights"]])
    # PyTorch computes in float32 and the page in float64.
    np.testing.assert_allclose(shown, weights, atol=2e-5)
    np.testing.assert_allclose(found["next"], following, atol=2e-5)


def test_switching_off_the_head_that_looks_at_anna_changes_little_and_another_much(page):
    she, text = FACTS["tokens"].index("▁she"), "When Anna met Paul,"
    assert page.evaluate(READING, [text, None])["weights"][2][0][-1][2] > 0.99
    assert page.evaluate(READING, [text, {"layer": 2, "head": 0}])["next"][she] > 0.98
    assert page.evaluate(READING, [text, {"layer": 1, "head": 2}])["next"][she] < 0.7


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(
        st.text(
            st.sampled_from("abcxyzABTQ  .,?:'%C3B8_1-é\u2581\t\u00a0\u0085\ufeffπ😀") | st.characters(), max_size=40
        )
        | st.lists(st.sampled_from(["Tom", " the", "key", "  ", "?", "%C3%A9", "%C3%28", "zorbing", "\n"])).map(
            "".join
        ),
        max_size=20,
    )
)
def test_any_text_has_the_tokens_of_the_tokenizer(page, vocabulary, texts):
    assert page.evaluate(TOKENS, texts) == [tokens.tolist() for tokens in vocabulary.encode_all(texts)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("When Anna met Paul,", "▁she"),
        ("When Paul met Anna,", "▁he"),
        ("The keys near the box", "▁are"),
        ("The key near the flowers", "▁is"),
        ("moon green fox river. Once more: moon green fox", "▁ri"),
    ],
)
def test_the_model_guesses_what_the_page_says(page, text, word):
    following = page.evaluate(READING, [text, None])["next"]
    assert FACTS["tokens"][int(np.argmax(following))] == word
    assert max(following) > 0.9


def test_the_file_says_where_it_comes_from_and_what_was_measured():
    assert ABOUT["license"] == "MIT"
    assert "generates" in ABOUT["origin"]
    measured = FACTS["measured"]
    assert len(measured["heads"]) == FACTS["layers"] * FACTS["heads"]
    assert 0.5 < measured["right"] < 1


def test_the_file_has_integers_and_scales_only():
    kinds = {entry["dtype"] for _, entry in deserialize(CONTENT)}
    assert kinds == {"I8", "F32"}
    assert len(CONTENT) <= 370_000
