"""What torch itself offers: MultiheadAttention, encoder layers, scaled_dot_product_attention, flex_attention."""

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import TorchArrays
from regard.conformance.adapters.cores import CoreLayer
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.subject import Projections, Spec


class MultiheadLayer(TorchLayer):
    """nn.MultiheadAttention as self-attention: its padding mask is True for padding, its attn_mask True for hidden."""

    def __init__(self, module: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        spec = spec or Spec(width=module.embed_dim, num_heads=module.num_heads, causal=False, positions="none")
        super().__init__(module, spec, name=name or "torch:MultiheadAttention", redraw=redraw)

    def forward(self, x: Any, mask: Any = None, form: str = "bool") -> Any:
        """Without weights, which takes the fast path where there is one."""
        return self._attended(x, mask, form=form, need_weights=False)[0]

    def shown(self) -> set[str]:
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
            y, weights = self._attended(self.native(x), given, need_weights=True, average_attn_weights=False)
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
        biases = [None] * 3 if own.in_proj_bias is None else [_numbers(each) for each in own.in_proj_bias.chunk(3)]
        return Projections(
            query=_numbers(three[0]).T,
            key=_numbers(three[1]).T,
            value=_numbers(three[2]).T,
            output=_numbers(own.out_proj.weight).T,
            query_bias=biases[0],
            key_bias=biases[1],
            value_bias=biases[2],
            output_bias=None if own.out_proj.bias is None else _numbers(own.out_proj.bias),
        )

    def _attended(self, x: Any, mask: Any, form: str = "bool", **options: Any) -> tuple[Any, Any]:
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
        is_first = _is_batch_first(self.module)
        hidden = _hidden(self, x.shape[1])
        padding = None if mask is None else ~mask
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*nested tensors")
            y = self.module(x if is_first else x.transpose(0, 1), hidden, src_key_padding_mask=padding)
        return y if is_first else y.transpose(0, 1)

    def shown(self) -> set[str]:
        """A mask and no more."""
        return {"mask"}


def sdpa_layer(spec: Spec, *, name: str = "torch:scaled_dot_product_attention") -> CoreLayer:
    """F.scaled_dot_product_attention; it takes a mask or the causal flag, not both."""
    takes = frozenset({"mask", "causal"})
    return CoreLayer(_sdpa, spec, name=name, arrays=TorchArrays(spec.dtype, spec.device), takes=takes)


def flex_layer(spec: Spec, *, name: str = "torch:flex_attention") -> CoreLayer:
    """flex_attention, not compiled; causality is a mask_mod, padding a score_mod."""
    takes = frozenset({"mask", "causal"})
    arrays = TorchArrays(spec.dtype, spec.device)
    arrays.has_gradient = spec.device != "cpu"  # There is no backward pass on the CPU.
    return CoreLayer(_flex, spec, name=name, arrays=arrays, takes=takes)


def _sdpa(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
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
    """A mask_mod takes long to make, and it is asked for again and again."""
    from torch.nn.attention.flex_attention import create_block_mask

    # flex_attention counts the parameters of what it is given, so nothing may be wrapped around it.
    return create_block_mask(lambda b, h, i, j: i >= j, None, None, queries, keys, device=device)  # noqa: ARG005


def _hidden(layer: TorchLayer, length: int) -> Any:
    """[query, key], True where a query may not look; None if it may look everywhere."""
    if not layer.spec.causal:
        return None
    return layer.native(~np.tril(np.ones((length, length), dtype=bool)))


def _is_batch_first(module: Any) -> bool:
    first = module.layers[0] if hasattr(module, "layers") else module
    return bool(first.self_attn.batch_first)


def _numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().double().numpy().copy()
