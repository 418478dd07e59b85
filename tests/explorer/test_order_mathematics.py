"""The layer of part 3 in a real browser, on random sentences, against the Python functions."""

import numpy as np
import pytest

from regard.analysis.closed_forms.order import LayerWeights, causal_softmax, layer, relu, softmax
from regard.attention import attention_weights, causal_mask
from regard.positions.rotary import Rotary
from regard.positions.sinusoidal import Sinusoidal

CLOSE = 1e-12
WIDTH = 8
WORDS = "dog bites man the old a quick brown fox jumps over lazy Hund beißt Mann 狗 咬 人".split()
LAYER = """({words, order, seed, choice}) => {
    const tokens = regard.embeddings(words, 8);
    const weights = regard.layerWeights(8, seed);
    return { tokens, weights, ...regard.layer(tokens, weights, choice) };
}"""


def sentences(count):
    rng = np.random.default_rng(11)
    for _ in range(count):
        words = [str(word) for word in rng.choice(WORDS, size=int(rng.integers(1, 10)))]
        choice = {"isCausal": bool(rng.random() < 0.5), "base": float(np.exp(rng.uniform(np.log(10), np.log(1e5))))}
        yield words, int(rng.integers(0, 1000)), choice


def python_weights(found, count):
    given = {name: np.array(value) for name, value in found.items()}
    return LayerWeights(
        query=given["query"],
        key=given["key"],
        value=given["value"],
        inner=given["inner"],
        outer=given["outer"],
        inner_bias=given["innerBias"][None],
        outer_bias=given["outerBias"][None],
        scale=1 / np.sqrt(WIDTH),
        ones=np.ones((count, 1)),
    )


def agree(found, expected):
    found, expected = np.array(found), np.asarray(expected)
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= CLOSE * np.abs(expected).max()))


@pytest.mark.parametrize("codes", ["none", "sinusoidal"])
def test_outputs_are_those_of_the_layer_that_the_claims_are_about(page, codes):
    for words, seed, choice in sentences(25):
        found = page.evaluate(LAYER, {"words": words, "seed": seed, "choice": {**choice, "codes": codes}})
        tokens, places = np.array(found["tokens"]), np.arange(len(words))
        placed = Sinusoidal(base=choice["base"]).add(tokens, places) if codes == "sinusoidal" else tokens
        share = causal_softmax if choice["isCausal"] else softmax
        assert agree(found["output"], layer(placed, python_weights(found["weights"], len(words)), share=share))


def test_rotary_attention_is_that_of_the_reference(page):
    for words, seed, choice in sentences(25):
        found = page.evaluate(LAYER, {"words": words, "seed": seed, "choice": {**choice, "codes": "rotary"}})
        tokens, places = np.array(found["tokens"]), np.arange(len(words))
        code = Rotary(base=choice["base"])
        weights = python_weights(found["weights"], len(words))
        mask = causal_mask(len(words), len(words)) if choice["isCausal"] else None
        attention = attention_weights(
            code.rotate(tokens @ weights.query, places), code.rotate(tokens @ weights.key, places), mask=mask
        )
        assert agree(found["attention"], attention)
        inner = relu(attention @ tokens @ weights.value @ weights.inner + weights.inner_bias)
        assert agree(found["output"], inner @ weights.outer + weights.outer_bias)


def test_a_word_always_has_the_same_vector_and_other_words_have_others(page):
    found = page.evaluate("words => regard.embeddings(words, 8)", ["dog", "man", "Dog"])
    assert found[0] == found[2]
    assert found[0] != found[1]
