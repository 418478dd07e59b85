"""Products by oneDNN are those of PyTorch, with their gradients, and are not needed."""

import pytest
import torch
import torch.nn.functional as F

from regard.model import linear
from regard.model.linear import Dense

SHAPES = [(7, 16), (2, 3, 16), (16,), (0, 16)]
needs_onednn = pytest.mark.skipif(linear._ONEDNN is None, reason="this build of PyTorch has no oneDNN")


def _with_gradients(dense: Dense, x: torch.Tensor, product) -> list[torch.Tensor]:
    """The product, and the gradients of a loss that weighs each of its numbers differently."""
    inputs = [x.clone().requires_grad_(), *(p.detach().clone().requires_grad_() for p in dense.parameters())]
    made = product(*inputs)
    loss = (made * torch.linspace(-1, 2, made.numel()).view_as(made)).sum()
    return [made.detach(), *torch.autograd.grad(loss, inputs)]


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_gradients_are_those_of_pytorch(shape, has_bias):
    torch.manual_seed(0)
    dense, x = Dense(16, 5, has_bias=has_bias), torch.randn(shape)
    found = _with_gradients(
        dense, x, lambda x, *w: torch.func.functional_call(dense, dict(zip(("weight", "bias"), w, strict=False)), (x,))
    )
    expected = _with_gradients(dense, x, F.linear)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@needs_onednn
def test_inputs_that_are_not_contiguous_are_read_as_they_stand():
    dense, x = Dense(16, 5), torch.randn(16, 3, 4).permute(2, 1, 0)
    torch.testing.assert_close(dense(x), F.linear(x, dense.weight))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_multiplied_in_their_own_dtype(dtype):
    dense, x = Dense(16, 5, has_bias=True), torch.randn(3, 16, dtype=dtype)
    assert dense(x).dtype is dtype
    torch.testing.assert_close(dense(x), F.linear(x, dense.weight.to(dtype), dense.bias.to(dtype)))


def test_a_build_without_onednn_multiplies_too(monkeypatch):
    dense, x = Dense(16, 5, has_bias=True), torch.randn(3, 16)
    expected = dense(x)
    monkeypatch.setattr(linear, "_ONEDNN", None)
    torch.testing.assert_close(dense(x), expected)


@needs_onednn
def test_a_frozen_matrix_gets_no_gradient():
    dense, x = Dense(16, 5, has_bias=True).requires_grad_(False), torch.randn(3, 16, requires_grad=True)
    dense(x).sum().backward()
    assert dense.weight.grad is None
    torch.testing.assert_close(x.grad, dense.weight.sum(dim=0).expand(3, 16))
