"""JAX, flax, keras, rotary-embedding-torch and x-transformers, each where it is installed."""

import os
from typing import Any

import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import zoo
from regard.conformance.adapters.zoo import ZooEntry
from regard.conformance.check import check
from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.subject import Spec

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


def _flax_linen(diagonal: int) -> Any:
    nn = pytest.importorskip("flax.linen")
    jnp = pytest.importorskip("jax.numpy")

    class Causal(nn.Module):
        features: int = 32

        @nn.compact
        def __call__(self, x, deterministic: bool):
            q, k, v = jnp.split(nn.Dense(3 * self.features)(x), 3, axis=-1)
            scores = jnp.where(jnp.tri(x.shape[1], k=diagonal, dtype=bool), q @ k.swapaxes(-1, -2) / 32**0.5, -1e9)
            mixed = nn.Dropout(0.5, deterministic=deterministic)(nn.softmax(scores, axis=-1) @ v)
            return nn.Dense(x.shape[-1])(mixed)

    return Causal()


def _flax_nnx() -> Any:
    nnx = pytest.importorskip("flax.nnx")
    jax = pytest.importorskip("jax")

    class Masked(nnx.Module):
        def __init__(self, d_model: int, *, rngs):
            self.qkv, self.out = nnx.Linear(d_model, 3 * d_model, rngs=rngs), nnx.Linear(d_model, d_model, rngs=rngs)

        def __call__(self, x, mask=None):
            q, k, v = jax.numpy.split(self.qkv(x), 3, axis=-1)
            scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
            scores = scores if mask is None else jax.numpy.where(mask[:, None], scores, -1e30)
            return self.out(jax.nn.softmax(scores, axis=-1) @ v)

    return Masked


def test_layers_of_flax_that_people_wrote_are_functions_of_tokens():
    subject, _ = build_subject(CheckRequest(target=_flax_nnx()))
    assert outcomes(subject, "PAD", "PERM", "GRAD") == dict.fromkeys(("GRAD", "PAD", "PERM"), "holds")
    assert not broken(build_subject(CheckRequest(target=_flax_linen(0)))[0], "CAUSAL", "DET", "PREFIX")
    wrong = CheckRequest(target=_flax_linen(-1), spec=Spec(causal=True))
    [verdict] = check(wrong.target, wrong.spec, laws="CAUSAL").verdicts
    assert "diagonal is excluded" in str(verdict.diagnosis[0])


@pytest.mark.filterwarnings("ignore")
def test_layers_of_keras_that_people_wrote_are_functions_of_tokens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "torch"))
    keras = pytest.importorskip("keras")

    class Attend(keras.layers.Layer):
        def build(self, shape):
            self.qkv, self.out = keras.layers.Dense(3 * shape[-1]), keras.layers.Dense(shape[-1])
            self.qkv.build(shape)
            self.out.build(shape)

        def call(self, inputs, training=True):
            q, k, v = keras.ops.split(self.qkv(inputs), 3, axis=-1)
            weights = keras.ops.softmax(q @ keras.ops.swapaxes(k, 1, 2) / q.shape[-1] ** 0.5, axis=-1)
            return self.out(keras.random.dropout(weights, 0.5) @ v if training else weights @ v)

    subject, _ = build_subject(CheckRequest(target=Attend()))
    assert outcomes(subject, "BATCH", "DET", "PERM") == dict.fromkeys(("BATCH", "DET", "PERM"), "holds")
