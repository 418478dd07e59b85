"""JAX, flax, keras, rotary-embedding-torch and x-transformers, each where it is installed."""

import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import zoo
from regard.conformance.adapters.zoo import ZooEntry

_NAMES = (
    "jax.nn.dot_product_attention causal",
    "flax nnx.MultiHeadAttention grouped",
    "keras GroupQueryAttention causal",
    "rotary_embedding_torch partial",
    "x-transformers Decoder rotary",
)


def _entry(name: str) -> ZooEntry:
    entry = zoo()[name]
    if not entry.is_installed:
        pytest.skip(f"{name} is not installed")
    return entry


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.filterwarnings("ignore")
def test_the_laws_that_need_little_hold(name: str):
    entry = _entry(name)
    assert set(broken(entry.subject(), "CAUSAL", "PAD", "BATCH", "DET", "CACHE")) <= set(entry.expect)


@pytest.mark.parametrize("name", _NAMES[:4])
@pytest.mark.filterwarnings("ignore")
def test_the_oracle_agrees_where_the_weights_are_known(name: str):
    assert outcomes(_entry(name).subject(), "SPEC") == {"SPEC": "holds"}
