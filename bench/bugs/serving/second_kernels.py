"""A second set of kernels, in other styles and with other specs, and ten bugs of each: names are `class_bug`.

A bug stands with what it is and the families that a report may name first; both were written before it was tried.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import regard

SUBJECTS, NOTES, FAMILIES = {}, {}, {}
SCALE = 8**-0.5


def add(name: str, build: Callable[[str | None], Any], bugs: dict[str, tuple[str, str]]) -> None:
    """The correct subject of a class and its bugs: what is wrong, and the families that may be named."""
    SUBJECTS[name], NOTES[name], FAMILIES[name] = build(None), None, ()
    for bug, (note, families) in bugs.items():
        key = f"{name}_{bug}"
        SUBJECTS[key], NOTES[key], FAMILIES[key] = build(bug), note, tuple(families.split())


def softmax(z, axis=-1):
    top = z.max(axis, keepdims=True)
    e = np.exp(z - np.where(np.isfinite(top), top, 0))
    return e / np.maximum(e.sum(axis, keepdims=True), 1e-300)


# -- pages: numpy, online softmax over pages, chunks, a window, pools [page, head, slot, dim] --------------------------
WINDOW = 6


def paged(q, keys, values, table, lengths, bug=None):
    out, size = np.zeros_like(q), keys.shape[2]
    flat, start = table.reshape(-1), 0
    for row, length in enumerate(lengths):
        length, count = int(length), q.shape[1]  # noqa: PLW2901
        if length == 0:
            if bug == "stops_at_empty":
                break
            continue
        num_pages = -(-length // size)
        places = np.arange(count) if bug == "queries_first" else length - count + np.arange(count)
        first = max(length - count - WINDOW + 1, 0) // size
        if bug == "skips_edge":
            first = max(length - WINDOW, 0) // size + (length - WINDOW > 0)
        top = np.full((4, count, 1), -np.inf)
        total, sums = np.zeros((4, count, 1)), np.zeros((4, count, 8))
        for index in range(first, num_pages):
            page = flat[start + index] if bug == "table_packed" else table[row, index]
            if bug == "page_zero_is_null" and page == 0:
                continue
            at = index * size + np.arange(size)
            valid = at < length
            k = np.where(valid[None, :, None], keys[page], 0).repeat(2, 0)
            v = np.where(valid[None, :, None], values[page], 0).repeat(2, 0)
            if bug == "values_of_first_page" and index == num_pages - 1 and index > 0:
                v = np.where(valid[None, :, None], values[table[row, 0]], 0).repeat(2, 0)
            distance = places[:, None] - at[None]
            seen = (distance >= 0) & (distance < WINDOW) & valid
            if bug == "window_by_page":
                seen = (distance >= 0) & (places[:, None] // size - at[None] // size < 2) & valid
            if bug == "last_page_uncausal" and index == num_pages - 1:
                seen = (distance < WINDOW) & valid
            z = np.where(seen[None], np.einsum("qhd,hkd->hqk", q[row], k) * SCALE, -np.inf)
            new = np.maximum(top, z.max(-1, keepdims=True))
            safe = np.where(np.isfinite(new), new, 0)
            fade, e = np.exp(np.where(np.isfinite(top), top - safe, -np.inf)), np.exp(z - safe)
            sums = sums + e @ v if bug == "no_rescale" else sums * fade + e @ v
            total, top = total * fade + e.sum(-1, keepdims=True), new
        start += num_pages
        out[row] = (sums / np.maximum(total, 1e-300)).transpose(1, 0, 2)
    return out


def write(k, v, keys, values, slots, bug=None):
    size = keys.shape[2]
    for token, slot in enumerate(slots):
        if bug == "write_first_head":
            keys[slot // size, :1, slot % size], values[slot // size, :1, slot % size] = k[token, :1], v[token, :1]
        else:
            keys[slot // size, :, slot % size], values[slot // size, :, slot % size] = k[token], v[token]


add(
    "second_paged",
    lambda bug: regard.PagedKernel(
        functools.partial(paged, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True, window=WINDOW),
        page_size=4,
        write=functools.partial(write, bug=bug),
        chunk=True,
        layout="page head slot dim",
        framework="numpy",
    ),
    {
        "stops_at_empty": ("rows after an empty sequence are not computed", "paged"),
        "queries_first": ("the queries of a chunk are taken for the first tokens", "paged mask"),
        "skips_edge": ("the page at the window's edge is skipped", "paged window"),
        "table_packed": ("the table is read as if its rows had no unused entries", "paged"),
        "page_zero_is_null": ("page 0 is taken for no page", "paged"),
        "values_of_first_page": ("values of the last page come from the first", "paged"),
        "window_by_page": ("the window ends at a page border", "window paged"),
        "last_page_uncausal": ("queries of a chunk see later tokens of the last page", "mask paged"),
        "no_rescale": ("sums are not rescaled when the maximum grows", "paged softmax merge"),
        "write_first_head": ("only the first head is written", "paged"),
    },
)


# -- packed sequences: torch, one mask from segment numbers, a window, offsets for queries and keys --------------------
class SharedHeadGradient(torch.autograd.Function):
    """Keys repeated for the heads that share them, with a gradient from one of these heads only."""

    @staticmethod
    def forward(ctx, x):
        return x.repeat_interleave(2, 1)

    @staticmethod
    def backward(ctx, g):
        return g[:, ::2].clone()


def varlen(q, k, v, starts_q, starts_k, longest_q, longest_k, bug=None):
    starts_q, starts_k = starts_q.long(), starts_k.long()
    if bug == "query_offsets":
        starts_k = starts_q
    rows_q, rows_k = torch.arange(len(q)), torch.arange(len(k))
    right = bug != "border_to_previous"
    doc_q = torch.searchsorted(starts_q, rows_q, right=right) - 1
    doc_k = torch.searchsorted(starts_k, rows_k, right=right) - 1
    last = len(starts_q) - 1
    if bug == "skips_empty_keys":
        doc_k = torch.unique(doc_k, return_inverse=True)[1] + doc_k.min().clamp(min=0) if len(k) else doc_k
    doc_q, doc_k = doc_q.clamp(min=0), doc_k.clamp(min=0)
    in_q, in_k = doc_q < last, doc_k < last
    doc_q, doc_k = doc_q.clamp(max=last - 1), doc_k.clamp(max=last - 1)
    length_q, length_k = starts_q.diff(), starts_k.diff()
    local_k = rows_k - starts_k[doc_k]
    offset = length_k - length_q
    if bug == "offset_of_first":
        offset = offset[:1].expand_as(offset)
    local_q = rows_q - starts_q[doc_q] + offset[doc_q]
    distance = local_q[:, None] - local_k[None]
    distance_window = rows_q[:, None] - rows_k[None] if bug == "window_by_rows" else distance
    seen = (doc_q[:, None] == doc_k[None]) & (distance >= 0) & (distance_window < 5)
    if bug == "longest_query":
        seen = seen & (local_k < longest_q)[None]
    seen = seen & in_q[:, None] & in_k[None]
    if bug == "smoothed_keys":  # lawful for the softmax, if it did not read the rows after the last offset
        k = k - k.mean(0, keepdim=True)
    k, v = (torch.where(in_k[:, None, None], x, torch.zeros_like(x)) for x in (k, v))
    q = torch.where(in_q[:, None, None], q, torch.zeros_like(q))
    if bug == "third_detached":
        q = torch.where((doc_q >= 2)[:, None, None], q.detach(), q)
    k = SharedHeadGradient.apply(k) if bug == "gradient_of_one_head" else k.repeat_interleave(2, 1)
    v = v.repeat_interleave(2, 1)
    z = torch.einsum("qhd,khd->hqk", q, k) * SCALE
    if bug == "common_maximum":
        top = torch.where(seen, z.detach(), torch.full_like(z, -torch.inf)).amax((1, 2), keepdim=True)
        e = torch.where(seen, (z - top.clamp(min=-1e30)).exp(), torch.zeros_like(z))
        w = e / e.sum(-1, keepdim=True).clamp(min=1e-38)
    else:
        w = torch.where(seen, z, torch.full_like(z, -1e30)).softmax(-1)
        w = torch.where(seen, w, torch.zeros_like(w))
    return torch.einsum("hqk,khd->qhd", w, v)


add(
    "second_varlen",
    lambda bug: regard.VarlenKernel(
        functools.partial(varlen, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True, window=5, align="bottom-right"),
        framework="torch",
    ),
    {
        "query_offsets": ("the offsets of the queries are used for the keys", "varlen"),
        "border_to_previous": ("the first token of a sequence is counted to the one before", "varlen"),
        "skips_empty_keys": ("sequences are numbered without the empty ones, for keys only", "varlen"),
        "offset_of_first": ("all sequences are aligned like the first", "varlen mask"),
        "window_by_rows": ("the window is measured in packed rows", "varlen window mask"),
        "longest_query": ("keys beyond the longest query are cut off", "varlen mask"),
        "smoothed_keys": ("the mean that is taken from the keys includes rows after the last offset", "varlen"),
        "third_detached": ("queries from the third sequence on get no gradient", "gradient varlen"),
        "gradient_of_one_head": ("keys get the gradient of one of the heads that share them", "gradient kv-heads"),
        "common_maximum": ("one maximum for all sequences is taken from the logits", "varlen softmax"),
    },
)


# -- quantised keys and values: numpy, 4 bits with a zero point, keys per channel, values per token, packed in bytes ---
GROUP = 4


def grouped(x, axis):  # […, groups, GROUP], with the axis last
    x = np.moveaxis(x, axis, -1)
    return x.reshape(*x.shape[:-1], -1, GROUP)


def store(x, axis, bug):
    groups = grouped(x, axis)
    if bug == "whole_axis":
        groups = np.moveaxis(x, axis, -1)[..., None, :]
    low, high = groups.min(-1, keepdims=True), groups.max(-1, keepdims=True)
    step = (high - low) / 15
    if bug == "half_steps":
        step, low = step.astype(np.float16).astype(x.dtype), low.astype(np.float16).astype(x.dtype)
    if bug == "zero_clipped":  # a zero point in 0 … 15
        zero = np.clip(np.round(-low / np.where(step == 0, 1, step)), 0, 15)
        low = -zero * step
    if bug == "constant_forgotten":
        low = np.where(step == 0, 0, low)
    safe = np.where(step == 0, 1, step)
    codes = np.clip(np.round((groups - low) / safe), 0, 15)
    if bug == "neighbour_step":
        step = np.roll(step, 1, axis=-2)
    codes = codes.reshape(*codes.shape[:-2], -1).astype(np.uint8)
    packed = codes[..., ::2] | (codes[..., 1::2] << 4)
    if bug == "nibbles_exchanged":
        packed = codes[..., 1::2] | (codes[..., ::2] << 4)
    return packed, step, low, axis


def load(stored, bug=None):
    packed, step, low, axis = stored
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
    if bug == "signed":
        codes = np.where(codes > 7, codes.astype(np.int8) - 16, codes)
    codes = codes.reshape(*codes.shape[:-1], step.shape[-2], -1)
    x = codes * step + low
    if bug == "low_of_row_zero":
        x = codes * step + low[:1]
    return np.moveaxis(x.reshape(*x.shape[:-2], -1), -1, axis).astype(step.dtype)


def quantize(k, v, bug=None):
    return store(k, -1 if bug == "keys_per_token" else 2, bug), store(v, -1, bug)


def dequantize(stored, bug=None):
    return load(stored[0], bug), load(stored[1], bug)


def attend_stored(q, stored, bug=None):
    k, v = dequantize(stored)
    if bug == "attend_no_zero_point":
        packed, step, low, axis = stored[1]
        v = load((packed, step, 0 * low, axis))
    z = np.einsum("bhqd,bhkd->bhqk", q, k.repeat(2, 1)) * SCALE
    return np.einsum("bhqk,bhkd->bhqd", softmax(z), v.repeat(2, 1)).astype(q.dtype)


add(
    "second_quant",
    lambda bug: regard.QuantizedKernel(
        functools.partial(quantize, bug=bug),
        functools.partial(dequantize, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True),
        attend=functools.partial(attend_stored, bug=bug),
        bits=4,
        key_groups="position",
        value_groups="dim",
        group_size=GROUP,
        zero_point=True,
        framework="numpy",
    ),
    {
        "keys_per_token": ("keys are grouped per token instead of per channel", "quantised"),
        "whole_axis": ("the size of a group is ignored", "quantised"),
        "zero_clipped": ("zero points are clipped to 0 … 15", "quantised"),
        "half_steps": ("steps and minima are stored in half precision", "quantised"),
        "signed": ("codes above 7 come back as negative ones", "quantised"),
        "nibbles_exchanged": ("the two codes of a byte are exchanged", "quantised"),
        "constant_forgotten": ("groups of equal numbers come back as zero", "quantised"),
        "neighbour_step": ("groups are scaled with the step of their neighbour", "quantised"),
        "low_of_row_zero": ("all rows get the minima of the first", "quantised"),
        "attend_no_zero_point": ("attention leaves out the minima of values", "quantised"),
    },
)


# -- token trees: numpy, ancestors by doubling, one key and value head -------------------------------------------------
def ancestors(parents, bug=None):
    batch, count = parents.shape
    found = np.zeros((batch, count, count), bool)
    for row in range(batch):
        use = parents[row - 1] if bug == "previous_row" else parents[row]
        jump = np.eye(count, dtype=bool)
        for node in range(count):
            if use[node] >= 0 or bug == "minus_one_is_last":
                jump[node, use[node]] = True
        for _ in range(2 if bug == "two_doublings" else 8):
            jump = (jump.astype(int) @ jump.astype(int)) > 0
        found[row] = jump
    if bug == "transposed":
        found = found.transpose(0, 2, 1)
    if bug == "byte_masks":
        found = np.stack([found[..., node % 8] for node in range(count)], -1)
    if bug == "by_depth":
        depth = depths(parents)
        found = (depth[:, None, :] < depth[:, :, None]) | np.eye(count, dtype=bool)
    return found


def depths(parents):
    depth = np.zeros(parents.shape, np.int64)
    for node in range(parents.shape[1]):
        parent = parents[:, node]
        depth[:, node] = np.where(parent < 0, 0, depth[np.arange(len(parents)), parent] + 1)
    return depth


def tree(q, k, v, parents, bug=None):
    count = parents.shape[1]
    prefix = k.shape[1] - count
    inside = ancestors(parents, bug)
    before = np.ones((len(parents), count, prefix), bool)
    seen = np.concatenate([inside, before] if bug == "tree_first" else [before, inside], -1)
    k, v = k.repeat(4, 2), v.repeat(4, 2)
    z = np.where(seen[:, None], np.einsum("bqhd,bkhd->bhqk", q, k) * SCALE, -np.inf)
    if bug == "parts_averaged" and prefix:
        parts = np.einsum("bhqk,bkhd->bqhd", softmax(z[..., :prefix]), v[:, :prefix])
        return (parts + np.einsum("bhqk,bkhd->bqhd", softmax(z[..., prefix:]), v[:, prefix:])) / 2
    return np.einsum("bhqk,bkhd->bqhd", softmax(z), v)


def places(parents, prefix, bug=None):
    depth = depths(parents)
    if bug == "places_of_first_row":
        depth = np.broadcast_to(depth[:1], depth.shape)
    return depth if bug == "places_without_prefix" else depth + prefix


add(
    "second_tree",
    lambda bug: regard.TreeKernel(
        functools.partial(tree, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=1, head_width=8, causal=True),
        positions=functools.partial(places, bug=bug),
        framework="numpy",
    ),
    {
        "previous_row": ("a row uses the tree of the row before", "tree"),
        "minus_one_is_last": ("a parent of -1 is taken for the last node", "tree"),
        "two_doublings": ("ancestors more than four levels up are hidden", "tree"),
        "transposed": ("nodes see their descendants instead of their ancestors", "tree"),
        "byte_masks": ("masks have eight bits", "tree"),
        "by_depth": ("a node sees all nodes of a smaller depth", "tree"),
        "tree_first": ("the mask has the tree before the prefix", "tree"),
        "parts_averaged": ("prefix and tree are averaged", "tree merge softmax"),
        "places_of_first_row": ("all rows get the positions of the first tree", "tree"),
        "places_without_prefix": ("positions do not count the prefix", "tree"),
    },
)


# -- latent attention: numpy, an absorbed and an expanded path ---------------------------------------------------------
def latent_mask(num_queries, num_keys, bug):
    offset = num_keys - num_queries - (bug == "chunk_sees_one_less" and 1 < num_queries < num_keys)
    return np.arange(num_keys)[None] <= np.arange(num_queries)[:, None] + offset


def absorbed(q, q_rope, latents, k_rope, up_k, up_v, bug=None):
    if bug == "latents_of_first":
        latents = np.broadcast_to(latents[:1], latents.shape)
    if bug == "rope_late":
        k_rope = np.roll(k_rope, 1, axis=1)
    if bug == "normalised_again":
        latents = latents / np.sqrt((latents**2).mean(-1, keepdims=True) + 1e-6)
    if bug == "reshaped":
        up_k = up_k.transpose(0, 2, 1).reshape(up_k.shape)
    if bug == "value_heads_shifted":
        up_v = np.roll(up_v, 1, axis=0)
    scale = 12**-0.5
    rope = np.einsum("bqhr,bkr->bhqk", q_rope, k_rope)
    z = np.einsum("bqhd,hdl,bkl->bhqk", q, up_k, latents)
    z = z * scale + rope if bug == "rope_unscaled" else (z + rope) * scale
    seen = latent_mask(q.shape[1], latents.shape[1], bug)
    weights = softmax(np.where(seen, z, -np.inf))
    if bug == "decode_value_late" and q.shape[1] == 1 and latents.shape[1] > 1:
        weights = weights[..., :-1] / weights[..., :-1].sum(-1, keepdims=True)
        latents = latents[:, :-1]
    return np.einsum("bhqk,bkl,hdl->bqhd", weights, latents, up_v)


def expanded(q, q_rope, latents, k_rope, up_k, up_v, bug=None):
    k, v = np.einsum("bkl,hdl->bkhd", latents, up_k), np.einsum("bkl,hdl->bkhd", latents, up_v)
    scale = 8**-0.5 if bug == "expanded_scale" else 12**-0.5
    z = (np.einsum("bqhd,bkhd->bhqk", q, k) + np.einsum("bqhr,bkr->bhqk", q_rope, k_rope)) * scale
    seen = latent_mask(q.shape[1], latents.shape[1], None)
    if bug == "expanded_uncausal" and q.shape[1] == latents.shape[1]:
        seen = np.ones_like(seen)
    return np.einsum("bhqk,bkhd->bqhd", softmax(np.where(seen, z, -np.inf)), v)


add(
    "second_latent",
    lambda bug: regard.LatentKernel(
        functools.partial(absorbed, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=4, head_width=8, causal=True),
        expanded=functools.partial(expanded, bug=bug),
        framework="numpy",
    ),
    {
        "latents_of_first": ("all rows read the latents of the first", "latent"),
        "rope_late": ("rotary keys are one token late", "latent"),
        "normalised_again": ("latents are normalised a second time", "latent"),
        "reshaped": ("the key matrix is reshaped instead of transposed", "latent"),
        "value_heads_shifted": ("heads use the value matrix of their neighbour", "latent"),
        "rope_unscaled": ("the scale leaves out the rotary part of the logits", "latent scale"),
        "chunk_sees_one_less": ("queries of a chunk do not see themselves", "latent mask"),
        "decode_value_late": ("decoding leaves out the last value", "latent mask"),
        "expanded_scale": ("the expanded path has the scale of the head width", "latent scale"),
        "expanded_uncausal": ("the expanded path is not causal in prefill", "latent mask"),
    },
)


# -- merging: numpy, base two ------------------------------------------------------------------------------------------
def merge(out_a, lse_a, out_b, lse_b, bug=None):
    if bug == "half_lse":
        lse_a, lse_b = lse_a.astype(np.float16).astype(lse_a.dtype), lse_b.astype(np.float16).astype(lse_b.dtype)
    if bug == "clipped":
        lse_a, lse_b = np.where(np.isfinite(lse_a), np.clip(lse_a, -80, 80), lse_a), np.clip(lse_b, None, 80)
    if bug == "tiny_is_empty":
        lse_a, lse_b = np.where(lse_a < -30, -np.inf, lse_a), np.where(lse_b < -30, -np.inf, lse_b)
    if bug == "axes_exchanged":
        lse_b = lse_b.T.reshape(lse_b.shape)
    top = np.maximum(lse_a, lse_b)
    if bug == "maximum_of_all":
        top = np.broadcast_to(top.max(keepdims=True), top.shape)
    safe = np.where(np.isfinite(top), top, 0)
    power = np.exp if bug == "natural_weights" else np.exp2
    a, b = power(lse_a - safe), power(lse_b - safe)
    if bug == "weights_exchanged":
        a, b = b, a
    if bug == "equal_takes_first":
        b = np.where(lse_a == lse_b, 0, b)
    total = a + b
    logarithm = np.log if bug == "natural_lse" else np.log2
    with np.errstate(divide="ignore"):
        lse = safe + logarithm(np.exp2(lse_a - safe) + np.exp2(lse_b - safe))
    total = np.where(total == 0, 1, total)
    if bug == "in_place":
        out_a *= (a / total)[..., None]
        out_a += out_b * (b / total)[..., None]
        return out_a, lse
    return out_a * (a / total)[..., None] + out_b * (b / total)[..., None], lse


add(
    "second_merge",
    lambda bug: regard.MergeKernel(
        functools.partial(merge, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True),
        base="2",
        framework="numpy",
    ),
    {
        "half_lse": ("log-sum-exps are rounded to half precision", "merge precision"),
        "clipped": ("log-sum-exps are clipped to 80", "merge"),
        "tiny_is_empty": ("a part with a small log-sum-exp is taken for an empty one", "merge"),
        "axes_exchanged": ("the second log-sum-exp is read with tokens and heads exchanged", "merge"),
        "maximum_of_all": ("one maximum is taken for all tokens and heads", "merge"),
        "natural_weights": ("weights in base e", "merge"),
        "natural_lse": ("the merged log-sum-exp adds a natural logarithm", "merge"),
        "weights_exchanged": ("each part gets the weight of the other", "merge"),
        "equal_takes_first": ("of two equal parts the second is dropped", "merge"),
        "in_place": ("the first part is overwritten", "merge in-place"),
    },
)


# -- context parallelism: torch, zigzag, all keys gathered -------------------------------------------------------------
def pieces(rank, world, half):
    return torch.cat([rank * half + torch.arange(half), (2 * world - 1 - rank) * half + torch.arange(half)])


def parallel(q, k, v, comm, bug=None):
    half, world = len(q) // 2, comm.world_size
    if bug == "half_precision":
        k, v = k.half().to(k.dtype), v.half().to(v.dtype)
    all_k, all_v = comm.all_gather(k), comm.all_gather(v)
    if bug == "values_of_neighbour" and world > 1:
        all_v = [*all_v[1:], all_v[0]]
    k, v = torch.cat(all_k), torch.cat(all_v)
    mirror = world if bug == "mirror_by_ranks" else 2 * world - 1
    places_k = torch.cat([pieces(rank, world, half) for rank in range(world)])
    mine = torch.cat([comm.rank * half + torch.arange(half), (mirror - comm.rank) * half + torch.arange(half)])
    if bug == "rank_order":
        places_k = torch.arange(len(k))
    if bug == "second_piece_early":
        mine = torch.cat([mine[:half], mine[:half] + half])
    seen = places_k[None] <= mine[:, None]
    own = torch.arange(len(k)) // (2 * half) == comm.rank
    if bug == "own_first_hidden":
        seen[half:] &= ~(own & (torch.arange(len(k)) % (2 * half) < half))[None]
    if bug == "middle_dropped":
        middle = (places_k // half == world) & (world > 1)
        seen &= ~middle[None] | (mine // half == world)[:, None]
    if bug == "other_ranks_seen":
        seen = seen | (~own[None] & (places_k < world * half)[None])
    scale = (8 * world) ** -0.5 if bug == "scale_of_world" else SCALE
    if bug == "heads_tiled":
        k, v = k.repeat(1, 2, 1), v.repeat(1, 2, 1)
    else:
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    z = torch.einsum("qhd,khd->hqk", q, k) * scale
    return torch.einsum("hqk,khd->qhd", z.masked_fill(~seen, -torch.inf).softmax(-1), v)


add(
    "second_parallel",
    lambda bug: regard.ParallelKernel(
        functools.partial(parallel, bug=bug),
        regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True),
        split="zigzag",
        ranks="simulated",
        framework="torch",
    ),
    {
        "half_precision": ("keys and values travel in half precision", "parallel precision"),
        "values_of_neighbour": ("values are those of the next rank", "parallel"),
        "mirror_by_ranks": ("the second piece is mirrored at the number of ranks", "parallel mask"),
        "rank_order": ("gathered keys are taken for a contiguous sequence", "parallel mask"),
        "second_piece_early": ("the second piece is masked as if it followed the first", "parallel mask"),
        "own_first_hidden": ("the second piece does not see the first one of its rank", "parallel mask"),
        "middle_dropped": ("the piece in the middle is seen by itself only", "parallel mask"),
        "other_ranks_seen": ("the first pieces of other ranks are always seen", "parallel mask"),
        "scale_of_world": ("logits are scaled by the number of ranks as well", "parallel scale"),
        "heads_tiled": ("key heads are tiled instead of repeated", "kv-heads parallel"),
    },
)
