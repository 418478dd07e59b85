"""Matrix products, norms and activations, and their gradients, against PyTorch's."""

import pytest
import torch
import torch.nn.functional as F

from regard.training.model import layers
from regard.training.model.layers import Dense, rms_norm, squared_relu

SHAPES = [(7, 16), (2, 3, 16), (16,), (0, 16)]
needs_onednn = pytest.mark.skipif(layers._ONEDNN is None, reason="oneDNN is not used on this machine")


def _with_gradients(dense: Dense, x: torch.Tensor, product) -> list[torch.Tensor]:
    """The product, and the gradients of a loss that weighs each of its numbers differently."""
    inputs = [x.clone().requires_grad_(), *(p.detach().clone().requires_grad_() for p in dense.parameters())]
    made = product(*inputs)
    loss = (made * torch.linspace(-1, 2, made.numel()).view_as(made)).sum()
    return [made.detach(), *torch.autograd.grad(loss, inputs)]


@pytest.mark.parametrize("outputs", [5, 16, 40])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_gradients_are_those_of_pytorch(shape, has_bias, outputs):
    torch.manual_seed(0)
    dense, x = Dense(16, outputs, has_bias=has_bias), torch.randn(shape)
    found = _with_gradients(
        dense, x, lambda x, *w: torch.func.functional_call(dense, dict(zip(("weight", "bias"), w, strict=False)), (x,))
    )
    expected = _with_gradients(dense, x, F.linear)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("outputs", [5, 16, 40])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("is_one_number", [False, True])
def test_what_is_not_contiguous_is_read_as_it_stands(is_one_number, has_bias, outputs):
    torch.manual_seed(0)
    dense, x = Dense(16, outputs, has_bias=has_bias), torch.randn(16, 3, 4).permute(2, 1, 0).requires_grad_()
    drawn = torch.randn(()).expand(outputs, 3, 4) if is_one_number else torch.randn(outputs, 3, 4)
    gradient, inputs = drawn.permute(2, 1, 0), [x, *dense.parameters()]
    found = torch.autograd.grad(dense(x), inputs, gradient)
    expected = torch.autograd.grad(F.linear(*inputs), inputs, gradient)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@needs_onednn
def test_onednn_makes_float32_products_and_their_gradients(monkeypatch):
    called, onednn = [], layers._ONEDNN

    def noted(x, weight, *more):
        called.append((x.dtype, tuple(x.shape), tuple(weight.shape)))
        return onednn(x, weight, *more)

    monkeypatch.setattr(layers, "_ONEDNN", noted)
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for outputs in (5, 40):
            Dense(16, outputs)(torch.randn(3, 16, dtype=dtype).requires_grad_()).sum().backward()
    narrow = [((3, 16), (5, 16)), ((3, 5), (16, 5)), ((5, 3), (16, 3))]
    wide = [((3, 16), (40, 16)), ((3, 40), (16, 40)), ((16, 3), (40, 3))]
    assert called == [(torch.float32, *shapes) for shapes in narrow + wide]


def test_gradients_add_up():
    torch.manual_seed(0)
    dense, x = Dense(16, 40), torch.randn(3, 16)
    for _ in range(2):
        dense(x).square().sum().backward()
    (once,) = torch.autograd.grad(F.linear(x, dense.weight).square().sum(), [dense.weight])
    torch.testing.assert_close(dense.weight.grad, 2 * once)


@needs_onednn
def test_gradients_have_no_gradients():
    x = torch.randn(3, 16, requires_grad=True)
    (first,) = torch.autograd.grad(Dense(16, 5)(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_multiplied_in_their_own_dtype(dtype):
    dense, x = Dense(16, 5, has_bias=True), torch.randn(3, 16, dtype=dtype)
    assert dense(x).dtype is dtype
    torch.testing.assert_close(dense(x), F.linear(x, dense.weight.to(dtype), dense.bias.to(dtype)))


def test_a_build_without_onednn_multiplies_too(monkeypatch):
    dense, x = Dense(16, 5, has_bias=True), torch.randn(3, 16)
    expected = dense(x)
    monkeypatch.setattr(layers, "_ONEDNN", None)
    torch.testing.assert_close(dense(x), expected)


@pytest.fixture
def x():
    return torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)


def test_vectors_are_scaled_to_mean_square_one(x):
    assert torch.allclose(rms_norm(x), torch.nn.functional.rms_norm(x, (5,)), atol=1e-7)
    assert torch.isfinite(rms_norm(torch.zeros(2, 4))).all()


@pytest.mark.parametrize("function", [rms_norm, squared_relu])
def test_gradients_are_the_true_ones(function, x):
    assert torch.autograd.gradcheck(function, x, atol=1e-6)


def test_negative_numbers_become_zero():
    assert squared_relu(torch.tensor([-2.0, 0.0, 3.0])).tolist() == [0.0, 0.0, 9.0]
