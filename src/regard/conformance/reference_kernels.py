"""Correct kernels in numpy, short and slow; broken examples of laws are these with one step changed."""

from typing import Any

import numpy as np

from regard.attention import AttentionRule, attend, causal_mask, repeat_heads
from regard.conformance.adapters.kernels import (
    LatentKernel,
    MergeKernel,
    PagedKernel,
    ParallelKernel,
    QuantizedKernel,
    TreeKernel,
    VarlenKernel,
)
from regard.conformance.adapters.ranks import RankComm

_ZERO_IF_EMPTY = AttentionRule(empty="zero")


def attend_tokens(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray | None = None) -> np.ndarray:
    """[query, head, width] over [key, kv_head, width]; by default, queries are the last tokens and see none later."""
    if not (len(q) and len(k)):
        return np.zeros_like(q)
    if seen is None:
        seen = causal_mask(len(q), len(k), align="bottom-right")
    heads, keys, values = (np.moveaxis(each, 0, 1) for each in (q, k, v))
    keys, values = (repeat_heads(each, len(heads)) for each in (keys, values))
    return np.moveaxis(attend(heads, keys, values, mask=seen, rule=_ZERO_IF_EMPTY), 0, 1)


def paged(
    q: np.ndarray, key_pages: np.ndarray, value_pages: np.ndarray, block_table: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Each sequence gathered from its pages."""
    page_size = key_pages.shape[1]
    outputs = []
    for queries, pages, length in zip(q, block_table, lengths, strict=True):
        own = pages[: -(-int(length) // page_size)]
        k, v = (pool[own].reshape(-1, *pool.shape[2:])[:length] for pool in (key_pages, value_pages))
        outputs.append(attend_tokens(queries, k, v))
    return np.stack(outputs)


def write(k: np.ndarray, v: np.ndarray, key_pages: np.ndarray, value_pages: np.ndarray, slots: np.ndarray) -> None:
    """Tokens put into their slots; those with a negative one are padding."""
    real, page_size = slots >= 0, key_pages.shape[1]
    for pool, tokens in ((key_pages, k), (value_pages, v)):
        pool[slots[real] // page_size, slots[real] % page_size] = tokens[real]


def varlen(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, starts_q: np.ndarray, starts_k: np.ndarray, *_: int
) -> np.ndarray:
    """Sequence after sequence, aligned at their last tokens."""
    out = np.zeros_like(q)
    for row in range(len(starts_q) - 1):
        own, keys = slice(starts_q[row], starts_q[row + 1]), slice(starts_k[row], starts_k[row + 1])
        out[own] = attend_tokens(q[own], k[keys], v[keys])
    return out


def quantize(k: np.ndarray, v: np.ndarray) -> Any:
    """Integers from −127 to 127 and a step per token and head."""
    stored = []
    for x in (k, v):
        step = np.maximum(np.abs(x).max(axis=-1, keepdims=True), 1e-20) / 127
        stored.append((np.round(x / step).astype(np.int8), step))
    return stored


def dequantize(stored: Any) -> tuple[np.ndarray, ...]:
    """Integers times steps."""
    return tuple((integers * step).astype(step.dtype) for integers, step in stored)


def attend_stored(q: np.ndarray, stored: Any) -> np.ndarray:
    """Attention over what was stored."""
    k, v = (repeat_heads(each, q.shape[1]) for each in dequantize(stored))
    return attend(q, k, v)


def ancestors(parents: np.ndarray) -> np.ndarray:
    """[node, node]: True for a node's ancestors and itself."""
    seen = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            seen[node] |= seen[parent]
    return seen


def tree(q: np.ndarray, k: np.ndarray, v: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Each node sees the prefix, its ancestors and itself."""
    prefix = np.ones((q.shape[1], k.shape[1] - q.shape[1]), dtype=bool)
    seen = [np.hstack([prefix, ancestors(own)]) for own in parents]
    return np.stack([attend_tokens(*row) for row in zip(q, k, v, seen, strict=True)])


def tree_positions(parents: np.ndarray, prefix: int) -> np.ndarray:
    """The prefix and the number of ancestors."""
    return np.stack([prefix + ancestors(own).sum(axis=1) - 1 for own in parents])


def latent(q_nope: np.ndarray, q_rope: np.ndarray, latents: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    """Queries absorb w_uk, attend over latents, and w_uv expands the result."""
    k_rope, w_uk, w_uv = rest
    absorbed = np.einsum("bqhd,hdl->bqhl", q_nope, w_uk)
    queries = np.moveaxis(np.concatenate([absorbed, q_rope], axis=-1), 2, 1)
    keys, values = (np.repeat(each[:, None], len(w_uk), axis=1) for each in (np.dstack([latents, k_rope]), latents))
    rule = AttentionRule(scale=(q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5)
    seen = causal_mask(queries.shape[2], keys.shape[2], align="bottom-right")
    mixed = attend(queries, keys, values, mask=seen, rule=rule)
    return np.einsum("bhql,hdl->bqhd", mixed, w_uv)


def merge(out_a: np.ndarray, lse_a: np.ndarray, out_b: np.ndarray, lse_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each part weighted by its share of the exponentials."""
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isfinite(top), top, 0).astype(lse_a.dtype)
    shares = np.stack([np.exp(lse_a - top), np.exp(lse_b - top)])
    total = shares.sum(axis=0)
    weights = shares / np.where(total > 0, total, 1)
    out = weights[0][..., None] * out_a + weights[1][..., None] * out_b
    return out, np.where(total > 0, top + np.log(np.where(total > 0, total, 1)), -np.inf)


def gathered(q: np.ndarray, k: np.ndarray, v: np.ndarray, comm: RankComm) -> np.ndarray:
    """Keys and values of all ranks, in contiguous pieces; each query sees those up to itself."""
    lengths = [len(each) for each in comm.all_gather(q)]
    k, v = (np.concatenate(comm.all_gather(each)) for each in (k, v))
    end = sum(lengths[: comm.rank + 1])
    return attend_tokens(q, k[:end], v[:end])


def paged_kernel(attend: Any = paged, **options: Any) -> PagedKernel:
    """The correct kernel, or one with another function."""
    return PagedKernel(attend, chunk=True, framework="numpy", **{"write": write, "padding_slot": -1, **options})


def varlen_kernel(attend: Any = varlen) -> VarlenKernel:
    """The correct kernel, or one with another function."""
    return VarlenKernel(attend, framework="numpy")


def quantized_kernel(
    quantize: Any = quantize, dequantize: Any = dequantize, attend: Any = attend_stored
) -> QuantizedKernel:
    """The correct kernel, or one with other functions."""
    return QuantizedKernel(quantize, dequantize, attend=attend, framework="numpy")


def tree_kernel(attend: Any = tree, positions: Any = tree_positions) -> TreeKernel:
    """The correct kernel, or one with other functions."""
    return TreeKernel(attend, positions=positions, framework="numpy")


def latent_kernel(attend: Any = latent, expanded: Any = latent) -> LatentKernel:
    """The correct kernel, or one with other functions."""
    return LatentKernel(attend, expanded=expanded, framework="numpy")


def merge_kernel(function: Any = merge) -> MergeKernel:
    """The correct kernel, or one with another function."""
    return MergeKernel(function, framework="numpy")


def parallel_kernel(attend: Any = gathered, **options: Any) -> ParallelKernel:
    """The correct kernel, or one with another function."""
    return ParallelKernel(attend, **{"framework": "numpy", "uneven": True, **options})
