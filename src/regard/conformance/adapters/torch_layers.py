"""torch modules as subjects, and what torch itself offers.

That is MultiheadAttention, encoder layers, scaled_dot_product_attention and flex_attention.
"""

import copy
import copyreg
import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import TorchArrays
from regard.conformance.adapters.functions import CoreLayer
from regard.conformance.adapters.layers import Layer, parameter_names, returned_or_error, sample
from regard.conformance.adapters.projections import find_projections, numbers
from regard.conformance.adapters.torch_parameters import (
    parameter_gradients,
    parameters_of,
    parts_in_use,
    set_parameters,
)
from regard.conformance.subject import LayerParameter, Projections, Spec

# For a fan-in of 32; wider layers get smaller weights, so that the size of outputs stays.
_STD, _FAN_IN, _LARGEST = 0.12, 32, 0.2
_LENGTH = 8
# Copies of more parameters than these take too long.
_MOST_PARAMETERS = 2**22
# Memory that was never written to often holds such numbers.
_UNINITIALISED = 1e6
# Modules with static methods on their instances can be copied too.
copyreg.pickle(staticmethod, lambda method: (staticmethod, (method.__func__,)))
_TABLES = ("freq", "slope", "rotary", "alibi", "sinusoid")


class TorchLayer(Layer):
    """A torch module in eval mode: a copy, with weights drawn anew. A subclass says in `forward` how it is called.

    `forward(x)` takes and returns tensors; if it names `mask` (True is a real token) or `positions`, laws use them.
    """

    def __init__(self, module: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        import torch

        self.spec = spec or Spec()
        self.name = name or type(module).__name__
        self.arrays = TorchArrays(self.spec.dtype, self.spec.device)
        own = copy.deepcopy(module)
        if redraw:
            redraw_weights(own)
        self.module = own.to(device=self.spec.device, dtype=getattr(torch, self.spec.dtype)).eval()
        self.prepare()
        num_parameters = sum(each.numel() for each in self.module.parameters())
        can_change = num_parameters <= _MOST_PARAMETERS and self.is_given_all()
        self.set_capabilities(self.own_capabilities() | ({"parameters"} if can_change else set()))

    def prepare(self) -> None:
        """Called before the capabilities are asked for: what the class finds out about its module."""

    def own_capabilities(self) -> set[str]:
        """What the class can do beyond what every torch layer can."""
        named = {"mask", "positions"} & set(parameter_names(self.forward))
        return named | ({"weights"} if find_projections(self.module, self.spec) is not None else set())

    def is_given_all(self) -> bool:
        """True if calls give the module all that it takes, so that none of its parameters waits for something else."""
        return True

    def projections(self) -> Projections:
        """The matrices, where they have the usual names."""
        found = find_projections(self.module, self.spec)
        assert found is not None, "weights are among the capabilities only if they were found"
        return found

    def attention_module(self) -> Any:
        """What is checked of the module: all of it, unless a subclass looks at a part."""
        return self.module

    def parameters(self) -> dict[str, LayerParameter]:
        """Those that are trained, of the parts that calls use: an adapter may look at a part of a model."""
        module, found = self.attention_module(), parameters_of(self.attention_module())
        tokens = self.native(sample(1, _LENGTH, self.spec.width))
        with self.arrays.quietly():
            used, error = returned_or_error(lambda: parts_in_use(module, lambda: self.forward(tokens)))
        return found if error is not None else {name: each for name, each in found.items() if each.module in used}

    def parameter_gradients(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
        """By autograd."""
        tokens, given, weights = self.native(x), self._native_options(options), self.native(direction)
        return parameter_gradients(
            self.attention_module(), self.parameters(), lambda: self.forward(tokens, **given), weights
        )

    def with_parameters(self, values: Mapping[str, np.ndarray]) -> "TorchLayer":
        """A copy of the module with other numbers."""
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        set_parameters(other.attention_module(), values)
        return other

    def in_dtype(self, dtype: str) -> "TorchLayer":
        """A copy of the module in another dtype."""
        import torch

        other = copy.copy(self)
        other.module = copy.deepcopy(self.module).to(dtype=getattr(torch, dtype))
        other.arrays = TorchArrays(dtype, self.spec.device)
        other.spec = replace(self.spec, dtype=dtype)
        return other


def redraw_weights(module: Any, *, seed: int = 0) -> None:
    """Draws matrices, biases and gates of zero from a normal distribution; norms, buffers and tables stay.

    The outputs of a freshly initialised layer are too small to show a leak. Gains that were never initialised become 1.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in _drawable(module):
            std = _STD * (_FAN_IN / parameter.shape[-1]) ** 0.5 if parameter.ndim > 1 else _STD
            drawn = torch.randn(parameter.shape, generator=generator) * (min(std, _LARGEST) if parameter.ndim else 1.0)
            parameter.copy_(drawn.to(parameter.dtype))
        for parameter in module.parameters():
            if parameter.is_floating_point() and not (parameter.abs() < _UNINITIALISED).all():
                parameter.fill_(1.0)


def _drawable(module: Any) -> list[Any]:
    found: dict[int, Any] = {}
    for name, part in module.named_modules():
        if "norm" in type(part).__name__.lower() or any(table in name.lower() for table in _TABLES):
            continue
        for label, parameter in part.named_parameters(recurse=False):
            is_table = any(table in label.lower() for table in _TABLES)
            is_gate = parameter.ndim < 2 and not parameter.any()
            is_drawn = parameter.is_floating_point() and (parameter.ndim > 1 or "bias" in label or is_gate)
            is_frozen = not parameter.requires_grad and not hasattr(part, "in_features")
            if is_drawn and not is_table and not is_frozen:
                found[id(parameter)] = parameter
    return list(found.values())


class MultiheadLayer(TorchLayer):
    """nn.MultiheadAttention as self-attention: its padding mask is True for padding, its attn_mask True for hidden."""

    def __init__(self, module: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        spec = spec or Spec(width=module.embed_dim, num_heads=module.num_heads, causal=False, positions="none")
        super().__init__(module, spec, name=name or "torch:MultiheadAttention", redraw=redraw)

    def forward(self, x: Any, mask: Any = None, form: str = "bool") -> Any:
        """Without weights, which takes the fast path where there is one."""
        return self._call_module(x, mask, form=form, need_weights=False)[0]

    def own_capabilities(self) -> set[str]:
        """Its matrices are always known, unless it has keys of its own."""
        has_more = self.module.bias_k is not None or self.module.add_zero_attn
        return {"mask", "returned"} | (set() if has_more else {"weights"})

    def mask_forms(self) -> tuple[str, ...]:
        """Its padding mask may be bool or added to the logits."""
        return ("additive",)

    def call_with_weights(self, x: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The output and every head's weights."""
        with self.arrays.quietly():
            given = None if mask is None else self.native(mask)
            y, weights = self._call_module(self.native(x), given, need_weights=True, average_attn_weights=False)
        return self.numpy(y), self.numpy(weights)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """With weights, and with gradients, which rules the fast path out."""
        return {**super().paths(), "need_weights": lambda x, mask=None: self.call_with_weights(x, mask=mask)[0]}

    def projections(self) -> Projections:
        """The three parts of in_proj_weight, or the three matrices for keys and values of other widths."""
        own = self.module
        if own.in_proj_weight is not None:
            three = own.in_proj_weight.chunk(3)
        else:
            three = (own.q_proj_weight, own.k_proj_weight, own.v_proj_weight)
        biases = (None, None, None) if own.in_proj_bias is None else own.in_proj_bias.chunk(3)
        found = [*zip(three, biases, strict=True), (own.out_proj.weight, own.out_proj.bias)]
        pairs = [(numbers(matrix).T, None if bias is None else numbers(bias)) for matrix, bias in found]
        return Projections.from_pairs(dict(zip(("query", "key", "value", "output"), pairs, strict=True)))

    def _call_module(self, x: Any, mask: Any, form: str = "bool", **options: Any) -> tuple[Any, Any]:
        x = x if self.module.batch_first else x.transpose(0, 1)
        hidden = _hidden(self, x.shape[1 if self.module.batch_first else 0])
        padding = None if mask is None else ~mask
        if padding is not None and form == "additive":
            padding = self.native(np.where(self.numpy(padding), -np.inf, 0.0))
            hidden = None if hidden is None else self.native(np.where(self.numpy(hidden), -np.inf, 0.0))
        y, weights = self.module(x, x, x, key_padding_mask=padding, attn_mask=hidden, **options)
        return (y if self.module.batch_first else y.transpose(0, 1)), weights


class EncoderLayer(TorchLayer):
    """nn.TransformerEncoderLayer, nn.TransformerEncoder and whatever else takes src_key_padding_mask."""

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Post-norm or pre-norm, as the module is."""
        first = self.module.layers[0] if hasattr(self.module, "layers") else self.module
        is_first = bool(first.self_attn.batch_first)
        padding = None if mask is None else ~mask
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*nested tensors")
            hidden = _hidden(self, x.shape[1])
            y = self.module(x if is_first else x.transpose(0, 1), hidden, src_key_padding_mask=padding)
        return y if is_first else y.transpose(0, 1)

    def own_capabilities(self) -> set[str]:
        """A mask and no more."""
        return {"mask"}


def _hidden(layer: TorchLayer, length: int) -> Any:
    """[query, key], True where a query may not look; None if it may look everywhere."""
    if not layer.spec.causal:
        return None
    return layer.native(~np.tril(np.ones((length, length), dtype=bool)))


def torch_function_layer(function: str, spec: Spec, *, name: str) -> CoreLayer:
    """scaled_dot_product_attention, or flex_attention, not compiled: causality is a mask_mod, padding a score_mod."""
    arrays, is_flex = TorchArrays(spec.dtype, spec.device), function == "flex_attention"
    # flex_attention has no backward pass on the CPU.
    arrays.has_gradient = not (is_flex and spec.device == "cpu")
    return CoreLayer(_flex if is_flex else sdpa, spec, name=name, arrays=arrays, takes=frozenset({"mask", "causal"}))


def sdpa(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    """F.scaled_dot_product_attention with a mask and the causal flag at once."""
    import torch
    import torch.nn.functional as F

    if mask is not None and causal:
        ahead = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        mask, causal = mask & ~ahead, False
    is_grouped = q.shape[1] != k.shape[1]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=is_grouped)


def _flex(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    import torch
    from torch.nn.attention import flex_attention as flex

    wide: Any = None if mask is None else mask.expand(q.shape[0], -1, -1, -1)
    infinity = float("inf")
    block = _causal_block(q.shape[2], k.shape[2], str(q.device)) if causal else None
    before = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    # Unfused either way on a CPU; without this, every new mask is traced for a second.
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    try:
        modified = None if wide is None else lambda z, b, h, i, j: torch.where(wide[b, 0, i, j], z, -infinity)  # noqa: ARG005
        return flex.flex_attention(q, k, v, modified, block_mask=block, enable_gqa=q.shape[1] != k.shape[1])
    finally:
        flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = before


@functools.cache
def _causal_block(queries: int, keys: int, device: str) -> Any:
    """Cached, since a block mask is slow to make and laws ask for the same one again and again."""
    from torch.nn.attention.flex_attention import create_block_mask

    # flex_attention counts the parameters of what it is given, so nothing may be wrapped around it.
    return create_block_mask(lambda b, h, i, j: i >= j, None, None, queries, keys, device=device)  # noqa: ARG005
