"""Correct kernels, written without a look at the oracle: torch's own attention, and the usual formulas."""

import math
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from regard import Spec

GROUPED = Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True)


def attend(q: Any, k: Any, v: Any, seen: Any, scale: float | None = None) -> Any:
    """[query, head, width] over [key, kv_head, width]."""
    heads = (each.transpose(0, 1)[None] for each in (q, k, v))
    return scaled_dot_product_attention(*heads, attn_mask=seen, scale=scale, enable_gqa=True)[0].transpose(0, 1)


def visible(num_queries: int, num_keys: int, window: int | None = None) -> Any:
    places = torch.arange(num_keys - num_queries, num_keys)[:, None] - torch.arange(num_keys)
    return (places >= 0) & (places < (window or math.inf))


def paged(q: Any, key_pages: Any, value_pages: Any, table: Any, lengths: Any, window: int | None = None) -> Any:
    """q is [sequence, head, width], or has an axis of queries after the first."""
    is_single, outputs = q.ndim == 3, []
    q = q[:, None] if is_single else q
    for row in range(len(q)):
        n = int(lengths[row])
        k, v = (pool[table[row].long()].flatten(0, 1)[:n] for pool in (key_pages, value_pages))
        outputs.append(attend(q[row], k, v, visible(q.shape[1], n, window)) if n else torch.zeros_like(q[row]))
    out = torch.stack(outputs)
    return out[:, 0] if is_single else out


def paged_densely(q: Any, key_pages: Any, value_pages: Any, table: Any, lengths: Any) -> Any:
    """All rows at once: whatever the table names is gathered, then masked in logits and values."""
    k, v = (pool[table.long()].flatten(1, 2) for pool in (key_pages, value_pages))
    real = torch.arange(k.shape[1]) < lengths[:, None]
    k, v = (each.masked_fill(~real[..., None, None], 0).repeat_interleave(2, dim=2) for each in (k, v))
    logits = torch.einsum("shd,skhd->shk", q, k) / math.sqrt(q.shape[-1])
    weights = logits.masked_fill(~real[:, None], -math.inf).softmax(-1)
    return torch.einsum("shk,skhd->shd", weights.nan_to_num(), v)


def paged_online(q: Any, key_pages: Any, value_pages: Any, table: Any, lengths: Any) -> Any:
    """Page after page, with a running maximum and sum."""
    out = torch.zeros_like(q)
    size = key_pages.shape[1]
    for row in range(len(q)):
        top = torch.full(q.shape[1:2], -math.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(q[row])
        for number in range(-(-int(lengths[row]) // size)):
            left = min(size, int(lengths[row]) - number * size)
            k, v = (
                pool[table[row, number], :left].repeat_interleave(2, dim=1).transpose(0, 1)
                for pool in (key_pages, value_pages)
            )
            logits = torch.einsum("hd,hkd->hk", q[row], k) / math.sqrt(q.shape[-1])
            new = torch.maximum(top, logits.amax(-1))
            weights, keep = torch.exp(logits - new[:, None]), torch.exp(top - new)
            total, top = total * keep + weights.sum(-1), new
            mixed = mixed * keep[:, None] + torch.einsum("hk,hkd->hd", weights, v)
        out[row] = mixed / total[:, None].clamp(min=1e-30)
    return out


def write(k: Any, v: Any, key_pages: Any, value_pages: Any, slots: Any) -> Any:
    new = []
    for pool, tokens in ((key_pages, k), (value_pages, v)):
        flat = pool.clone().flatten(0, 1)
        flat[slots] = tokens
        new.append(flat.view_as(pool))
    return tuple(new)


def varlen(q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any, longest_q: int, longest_k: int) -> Any:
    """One mask over the whole packed array, and NaN kept out of the values."""
    assert longest_q <= len(q)
    assert longest_k <= len(k)
    ids = [
        torch.bucketize(torch.arange(len(x)), s[1:].contiguous(), right=True) for x, s in ((q, starts_q), (k, starts_k))
    ]
    ends = [
        s[1:].long().index_select(0, i.clamp(max=len(s) - 2)) for s, i in zip((starts_q, starts_k), ids, strict=True)
    ]
    back = [end - torch.arange(len(end)) for end in ends]
    real_q, real_k = (i < len(starts_q) - 1 for i in ids)
    seen = (ids[0][:, None] == ids[1]) & (back[1] >= back[0][:, None]) & real_q[:, None] & real_k
    q = torch.where(real_q[:, None, None], q, 0)
    k, v = (torch.where(real_k[:, None, None], each, 0) for each in (k, v))
    return torch.where(seen.any(-1)[:, None, None], attend(q, k, v, seen | ~seen.any(-1)[:, None]), 0)


def tree(q: Any, k: Any, v: Any, parents: Any) -> Any:
    rows = []
    for row in range(len(q)):
        nodes, prefix = q.shape[1], k.shape[1] - q.shape[1]
        seen = torch.zeros(nodes, prefix + nodes, dtype=torch.bool)
        seen[:, :prefix] = True
        for node in range(nodes):
            at = node
            while at >= 0:
                seen[node, prefix + at] = True
                at = int(parents[row, at])
        rows.append(attend(q[row], k[row], v[row], seen))
    return torch.stack(rows)


def tree_positions(parents: Any, prefix: int) -> Any:
    depths = torch.zeros_like(parents)
    for node in range(parents.shape[1]):
        above = parents[:, node]
        depths[:, node] = torch.where(above >= 0, depths.gather(1, above.clamp(min=0)[:, None])[:, 0] + 1, 0)
    return prefix + depths


def latent_expanded(q_nope: Any, q_rope: Any, latents: Any, k_rope: Any, w_uk: Any, w_uv: Any) -> Any:
    k = torch.einsum("bkl,hdl->bkhd", latents, w_uk)
    v = torch.einsum("bkl,hdl->bkhd", latents, w_uv)
    k = torch.cat([k, k_rope[:, :, None].expand(-1, -1, k.shape[2], -1)], -1)
    q = torch.cat([q_nope, q_rope], -1)
    heads = (each.transpose(1, 2) for each in (q, k, v))
    return scaled_dot_product_attention(*heads, attn_mask=visible(q.shape[1], k.shape[1])).transpose(1, 2)


def latent_absorbed(q_nope: Any, q_rope: Any, latents: Any, k_rope: Any, w_uk: Any, w_uv: Any) -> Any:
    absorbed = torch.einsum("bqhd,hdl->bqhl", q_nope, w_uk)
    logits = torch.einsum("bqhl,bkl->bhqk", absorbed, latents) + torch.einsum("bqhr,bkr->bhqk", q_rope, k_rope)
    logits = logits / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    weights = logits.masked_fill(~visible(*logits.shape[-2:]), -math.inf).softmax(-1)
    return torch.einsum("bqhl,hdl->bqhd", torch.einsum("bhqk,bkl->bqhl", weights, latents), w_uv)


def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    lse = torch.logaddexp(lse_a, lse_b)
    shares = [torch.nan_to_num(torch.exp(each - lse)) for each in (lse_a, lse_b)]
    return out_a * shares[0][..., None] + out_b * shares[1][..., None], lse


def ring(q: Any, k: Any, v: Any, comm: Any, split: str = "contiguous") -> Any:
    """Keys and values go around; causality by places in the whole sequence."""

    def places(rank: int) -> Any:
        if split == "contiguous":
            return rank * len(q) + torch.arange(len(q))
        half = torch.arange(len(q) // 2)
        return torch.cat([rank * len(half) + half, (2 * comm.world_size - 1 - rank) * len(half) + half])

    out, lse, passed = torch.zeros_like(q), torch.full(q.shape[:2], -math.inf), (k, v)
    for step in range(comm.world_size):
        source = (comm.rank - step) % comm.world_size
        keys, values = (each.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for each in passed)
        logits = torch.einsum("qhd,khd->qhk", q, keys) / math.sqrt(q.shape[-1])
        logits = logits.masked_fill((places(source) > places(comm.rank)[:, None])[:, None], -math.inf)
        part = logits.logsumexp(-1)
        weights = torch.nan_to_num(torch.exp(logits - part[..., None]))
        out, lse = merge(out, lse, torch.einsum("qhk,khd->qhd", weights, values), part)
        passed = comm.ring(passed)
    return out


class Quantizer:
    """Integers of some bits over groups along axes, with a zero point or without."""

    def __init__(self, bits: int = 8, key_axes: tuple[int, ...] = (3,), *, zero_point: bool = False) -> None:
        self.bits, self.axes, self.zero_point = bits, (key_axes, (3,)), zero_point

    def quantize(self, k: Any, v: Any) -> Any:
        return [self._stored(x, axes) for x, axes in zip((k, v), self.axes, strict=True)]

    def _stored(self, x: Any, axes: tuple[int, ...]) -> Any:
        if self.zero_point:
            low = x.amin(axes, keepdim=True)
            step = ((x.amax(axes, keepdim=True) - low) / (2**self.bits - 1)).clamp(min=1e-12)
            return torch.round((x - low) / step).to(torch.uint8), step, low
        most = 2 ** (self.bits - 1) - 1
        step = (x.abs().amax(axes, keepdim=True) / most).clamp(min=1e-12)
        return torch.round(x / step).clamp(-most, most).to(torch.int8), step, torch.zeros_like(step)

    def dequantize(self, stored: Any) -> Any:
        return tuple(integers * step + low for integers, step, low in stored)

    def attend(self, q: Any, stored: Any) -> Any:
        k, v = self.dequantize(stored)
        return scaled_dot_product_attention(q, k, v, enable_gqa=True)
