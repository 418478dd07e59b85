"""The projections of each layer, read from its parameters: what an oracle needs, and out of reach of the bugs."""

from collections.abc import Iterable, Mapping

import numpy as np
from torch import nn

from bugs.subjects import as_array
from regard.conformance.subject import Projections

__all__ = ["read_bloom", "read_cross", "read_encoder", "read_gemma", "read_gpt2", "read_gptj", "read_gptoss"]
__all__ += ["read_llama", "read_mistral"]

_PARTS = ("query", "key", "value", "output")


def _arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: as_array(value) for name, value in module.named_parameters()}


def _projections(
    matrices: Iterable[np.ndarray],
    biases: Iterable[np.ndarray | None] = (None,) * 4,
    extra: Mapping[str, np.ndarray] | None = None,
) -> Projections:
    """From the matrices and biases of queries, keys, values and output, in this order."""
    pairs = zip(matrices, biases, strict=True)
    return Projections.from_pairs(dict(zip(_PARTS, pairs, strict=True)), extra)


def read_llama(module: nn.Module) -> Projections:
    """Four plain matrices."""
    at = _arrays(module)
    return _projections(at[f"{name}_proj.weight"].T for name in "qkvo")


def read_gptj(module: nn.Module) -> Projections:
    """Four matrices, a bias at the end."""
    at = _arrays(module)
    matrices = [at[f"{name}_proj.weight"].T for name in ("q", "k", "v", "out")]
    return _projections(matrices, (None, None, None, at["out_proj.bias"]))


def read_bloom(module: nn.Module) -> Projections:
    """One matrix whose columns go head by head, and within a head query, key, value."""
    at = _arrays(module)
    width, head_width = 48, 8
    matrix = at["query_key_value.weight"].T.reshape(width, -1, 3, head_width)
    bias = at["query_key_value.bias"].reshape(-1, 3, head_width)
    matrices = [*(matrix[:, :, part].reshape(width, -1) for part in range(3)), at["dense.weight"].T]
    biases = [*(bias[:, part].reshape(-1) for part in range(3)), at["dense.bias"]]
    # Six heads have the slopes of four, then the first and third of eight.
    slopes = np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])
    return _projections(matrices, biases, {"slopes": slopes})


def read_mistral(module: nn.Module) -> Projections:
    """Keys and values fused, keys first."""
    at = _arrays(module)
    return _projections([at["wq.weight"].T, *np.split(at["wkv.weight"].T, 2, axis=1), at["wo.weight"].T])


def read_encoder(module: nn.Module) -> Projections:
    """Four matrices with biases."""
    at = _arrays(module)
    return _projections((at[f"{name}.weight"].T for name in _PARTS), (at[f"{name}.bias"] for name in _PARTS))


def read_gpt2(module: nn.Module) -> Projections:
    """Query, key and value side by side; the position table is added to the input."""
    at = _arrays(module)
    matrices = [*np.split(at["c_attn_weight"], 3, axis=1), at["c_proj_weight"]]
    biases = [*np.split(at["c_attn_bias"], 3), at["c_proj_bias"]]
    return _projections(matrices, biases, {"positions": at["wpe.weight"]})


def read_cross(module: nn.Module) -> Projections:
    """Keys and values fused, keys first; biases everywhere."""
    at = _arrays(module)
    matrices = [at["to_q.weight"].T, *np.split(at["to_kv.weight"].T, 2, axis=1), at["to_out.0.weight"].T]
    return _projections(matrices, [at["to_q.bias"], *np.split(at["to_kv.bias"], 2), at["to_out.0.bias"]])


def read_gemma(module: nn.Module) -> Projections:
    """One matrix: the query heads, the key head, the value head. The gain of a norm is one plus its weight."""
    at = _arrays(module)
    gains = {"query_norm": 1 + at["q_norm.weight"], "key_norm": 1 + at["k_norm.weight"]}
    matrices = [*np.split(at["qkv_proj.weight"].T, [32, 40], axis=1), at["o_proj.weight"].T]
    return _projections(matrices, extra=gains)


def read_gptoss(module: nn.Module) -> Projections:
    """One matrix for all, with biases, and one sink per head."""
    at = _arrays(module)
    matrices = [*np.split(at["qkv.weight"].T, [32, 48], axis=1), at["out.weight"].T]
    biases = [*np.split(at["qkv.bias"], [32, 48]), at["out.bias"]]
    return _projections(matrices, biases, {"sinks": at["sinks"]})
