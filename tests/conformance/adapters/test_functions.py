"""Functions of numpy: what their signatures and a few calls say about them."""

import numpy as np
import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import adapt
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.subject import Projections, Spec
from regard.core.errors import InputError

_RNG = np.random.default_rng(0)
_MATRICES = {name: _RNG.standard_normal((32, 32)) / np.sqrt(32) for name in ("query", "key", "value", "output")}


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _bare(q, k, v, mask=None, causal=False):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.tril(np.ones(scores.shape[-2:], dtype=bool)) if causal else np.ones(scores.shape[-2:], dtype=bool)
    seen = seen if mask is None else seen & mask
    return _softmax(np.where(seen, scores, np.finfo(scores.dtype).min)).astype(q.dtype) @ v


def _layer(x, mask=None):
    q, k, v = (x @ _MATRICES[part].astype(x.dtype) for part in ("query", "key", "value"))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(32)
    scores = scores if mask is None else np.where(mask[:, None, :], scores, np.finfo(x.dtype).min)
    return _softmax(scores).astype(x.dtype) @ v @ _MATRICES["output"].astype(x.dtype)


def test_a_subject_stays_as_it_is():
    honest = ReferenceLayer(Spec(causal=True))
    assert adapt(honest) is honest
    assert adapt(honest, Spec(causal=False)).spec.causal is False


def test_a_bare_function_becomes_a_layer_with_all_that_it_can():
    subject = adapt(_bare, Spec(causal=True, positions="none"), name="mine")
    assert subject.has("core", "weights", "mask", "float64")
    assert not subject.has("gradient")
    assert broken(subject) == {}
    assert outcomes(subject, "SPEC", "CAUSAL", "PAD") == dict.fromkeys(("CAUSAL", "PAD", "SPEC"), "holds")


def test_a_bare_function_that_looks_ahead_is_caught():
    def unmasked(q, k, v, causal=False):
        return _bare(q, k, v)

    assert {"CAUSAL", "PREFIX", "SPEC"} <= set(broken(adapt(unmasked, Spec(causal=True, positions="none"))))


def test_a_layer_with_a_mask():
    subject = adapt(_layer, Spec(num_heads=1, causal=False, positions="none"))
    assert subject.has("mask", "float64", "native")
    assert not subject.has("weights")
    assert broken(subject) == {}


def test_masks_are_given_in_the_declared_convention():
    def dropping(x, mask=None):
        return _layer(x, None if mask is None else ~mask)

    drop, keep = (Spec(num_heads=1, causal=False, positions="none", mask=kind) for kind in ("drop", "keep"))
    assert broken(adapt(dropping, drop), "PAD", "JUNK") == {}
    assert "PAD" in broken(adapt(dropping, keep), "PAD", "JUNK")

    def adding(q, k, v, mask=None):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = scores if mask is None else scores + np.maximum(mask, -1e30).astype(q.dtype)
        return _softmax(scores).astype(q.dtype) @ v

    assert broken(adapt(adding, Spec(causal=False, positions="none", mask="additive")), "PAD", "JUNK", "SPEC") == {}


def test_weights_can_be_given_by_hand():
    def where(layer):
        return Projections(**_MATRICES)

    spec = Spec(num_heads=1, causal=False, positions="none")
    assert outcomes(adapt(_layer, spec, projections=where), "SPEC") == {"SPEC": "holds"}
    swapped = {**_MATRICES, "key": _MATRICES["value"]}
    assert "SPEC" in broken(adapt(_layer, spec, projections=lambda _: Projections(**swapped)), "SPEC")


def test_functions_of_one_sequence_and_of_flat_heads_are_called_as_they_like():
    def alone(x):
        assert x.ndim == 2
        return _layer(x[None])[0]

    assert broken(adapt(alone, Spec(num_heads=1, causal=False, positions="none"))) == {}

    def flat(q, k, v):
        assert q.ndim == 3
        return _bare(q, k, v)

    assert broken(adapt(flat, Spec(causal=False, positions="none"))) == {}


def test_keys_may_be_wanted_transposed():
    def wants_columns(q, k, v):
        return _bare(q, k.swapaxes(-1, -2), v)

    subject = adapt(wants_columns)
    assert str(subject.findings[0].value).endswith("keys transposed")
    assert not broken(subject, "PERM", "BATCH", "DET")


@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_in_blocks_gets_lengths_that_it_takes(is_causal):
    def in_blocks(q, k, v):
        if q.shape[2] % 4:
            raise ValueError("no multiple of 4")
        blocks = (each.reshape(*each.shape[:2], -1, 4, each.shape[3]) for each in (q, k, v))
        return _bare(*blocks, causal=is_causal).reshape(q.shape)

    if is_causal:
        subject = adapt(in_blocks, Spec(causal=True))
        assert [each.name for each in subject.findings] == ["layout", "lengths"]
        assert not broken(subject, "CAUSAL", "PREFIX", "DTYPE", "BATCH")
    else:
        with pytest.raises(InputError, match="multiples of 4, and is not causal"):
            adapt(in_blocks)


@pytest.mark.parametrize("target", [3, "text", lambda x: None, lambda x: x[:, :, :3] @ np.ones((4, 4))])
def test_what_cannot_be_a_layer_is_refused_in_one_line(target):
    with pytest.raises(InputError) as caught:
        adapt(target)
    assert "\n" not in str(caught.value)


def _with_matrices(x, Wq, Wk, Wv, Wo, num_heads=4, hides=True):
    q, k, v = (np.moveaxis((x @ w).reshape(*x.shape[:2], num_heads, -1), 2, 1) for w in (Wq, Wk, Wv))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = scores + np.triu(np.full(scores.shape[-2:], -1e9), k=1) * hides
    return np.moveaxis(_softmax(scores) @ v, 1, 2).reshape(x.shape) @ Wo


def test_a_function_that_is_given_its_matrices_reaches_spec_grade():
    subject, findings = build_subject(CheckRequest(target=_with_matrices))
    assert {each.name: each.value for each in findings}["matrices"] == "Wq, Wk, Wv, Wo"
    assert (subject.spec.num_heads, subject.spec.causal) == (4, True)
    assert broken(subject) == {}
    assert outcomes(subject, "SPEC", "DTYPE") == {"DTYPE": "holds", "SPEC": "holds"}

    def swapped(x, Wq, Wk, Wv, Wo):
        return _with_matrices(x, Wq, Wv, Wk, Wo, num_heads=1)

    wrong, _ = build_subject(CheckRequest(target=swapped, spec=Spec(causal=True, positions="none", num_heads=1)))
    assert "weights" not in wrong.capabilities


def test_heads_without_a_default_are_chosen_by_their_name():
    def layer(x, w_qkv, w_o, b_qkv, n_heads):
        parts = np.split(x @ w_qkv + b_qkv, 3, axis=-1)
        q, k, v = (np.moveaxis(each.reshape(*x.shape[:2], n_heads, -1), 2, 1) for each in parts)
        weights = _softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        return np.moveaxis(weights @ v, 1, 2).reshape(x.shape) @ w_o

    subject, _ = build_subject(CheckRequest(target=layer))
    assert outcomes(subject, "SPEC", "PERM") == {"PERM": "holds", "SPEC": "holds"}
