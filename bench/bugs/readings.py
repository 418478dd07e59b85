"""The projections of each layer, read from its parameters: what an oracle needs, and out of reach of the bugs."""

from collections.abc import Mapping

import numpy as np
from torch import nn

from bugs.subjects import as_array
from regard.conformance.subject import Projections

__all__ = ["read_bloom", "read_cross", "read_encoder", "read_gemma", "read_gpt2", "read_gptj", "read_gptoss"]
__all__ += ["read_llama", "read_mistral"]


def _arrays(module: nn.Module) -> Mapping[str, np.ndarray]:
    return {name: as_array(value) for name, value in module.named_parameters()}


def read_llama(module: nn.Module) -> Projections:
    """Four plain matrices."""
    at = _arrays(module)
    query, key, value, output = (at[f"{name}_proj.weight"].T for name in "qkvo")
    return Projections(query=query, key=key, value=value, output=output)


def read_gptj(module: nn.Module) -> Projections:
    """Four matrices, a bias at the end."""
    at = _arrays(module)
    query, key, value = (at[f"{name}_proj.weight"].T for name in "qkv")
    output, bias = at["out_proj.weight"].T, at["out_proj.bias"]
    return Projections(query=query, key=key, value=value, output=output, output_bias=bias)


def read_bloom(module: nn.Module) -> Projections:
    """One matrix whose columns go head by head, and within a head query, key, value."""
    at = _arrays(module)
    width, head_width = 48, 8
    matrix = at["query_key_value.weight"].T.reshape(width, -1, 3, head_width)
    bias = at["query_key_value.bias"].reshape(-1, 3, head_width)
    query, key, value = (matrix[:, :, part].reshape(width, -1) for part in range(3))
    # Six heads have the slopes of four, then the first and third of eight.
    slopes = np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])
    return Projections(
        query=query,
        key=key,
        value=value,
        output=at["dense.weight"].T,
        query_bias=bias[:, 0].reshape(-1),
        key_bias=bias[:, 1].reshape(-1),
        value_bias=bias[:, 2].reshape(-1),
        output_bias=at["dense.bias"],
        extra={"slopes": slopes},
    )


def read_mistral(module: nn.Module) -> Projections:
    """Keys and values fused, keys first."""
    at = _arrays(module)
    key, value = np.split(at["wkv.weight"].T, 2, axis=1)
    return Projections(query=at["wq.weight"].T, key=key, value=value, output=at["wo.weight"].T)


def read_encoder(module: nn.Module) -> Projections:
    """Four matrices with biases."""
    at = _arrays(module)
    names = ("query", "key", "value", "output")
    query, key, value, output = (at[f"{name}.weight"].T for name in names)
    query_bias, key_bias, value_bias, output_bias = (at[f"{name}.bias"] for name in names)
    return Projections(
        query=query,
        key=key,
        value=value,
        output=output,
        query_bias=query_bias,
        key_bias=key_bias,
        value_bias=value_bias,
        output_bias=output_bias,
    )


def read_gpt2(module: nn.Module) -> Projections:
    """Query, key and value side by side; the position table is added to the input."""
    at = _arrays(module)
    query, key, value = np.split(at["c_attn_weight"], 3, axis=1)
    query_bias, key_bias, value_bias = np.split(at["c_attn_bias"], 3)
    return Projections(
        query=query,
        key=key,
        value=value,
        output=at["c_proj_weight"],
        query_bias=query_bias,
        key_bias=key_bias,
        value_bias=value_bias,
        output_bias=at["c_proj_bias"],
        extra={"positions": at["wpe.weight"]},
    )


def read_cross(module: nn.Module) -> Projections:
    """Keys and values fused, keys first; biases everywhere."""
    at = _arrays(module)
    key, value = np.split(at["to_kv.weight"].T, 2, axis=1)
    key_bias, value_bias = np.split(at["to_kv.bias"], 2)
    return Projections(
        query=at["to_q.weight"].T,
        key=key,
        value=value,
        output=at["to_out.0.weight"].T,
        query_bias=at["to_q.bias"],
        key_bias=key_bias,
        value_bias=value_bias,
        output_bias=at["to_out.0.bias"],
    )


def read_gemma(module: nn.Module) -> Projections:
    """One matrix: the query heads, the key head, the value head. The gain of a norm is one plus its weight."""
    at = _arrays(module)
    query, key, value = np.split(at["qkv_proj.weight"].T, [32, 40], axis=1)
    gains = {"query_norm": 1 + at["q_norm.weight"], "key_norm": 1 + at["k_norm.weight"]}
    return Projections(query=query, key=key, value=value, output=at["o_proj.weight"].T, extra=gains)


def read_gptoss(module: nn.Module) -> Projections:
    """One matrix for all, with biases, and one sink per head."""
    at = _arrays(module)
    query, key, value = np.split(at["qkv.weight"].T, [32, 48], axis=1)
    query_bias, key_bias, value_bias = np.split(at["qkv.bias"], [32, 48])
    return Projections(
        query=query,
        key=key,
        value=value,
        output=at["out.weight"].T,
        query_bias=query_bias,
        key_bias=key_bias,
        value_bias=value_bias,
        output_bias=at["out.bias"],
        extra={"sinks": at["sinks"]},
    )
