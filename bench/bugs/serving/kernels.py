"""Kernels and their bugs: names are `paged`, `paged_bug`, …"""

import functools
import math

import torch

import regard

S = regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True)
SC = 8**-0.5
SUBJECTS, NOTES = {}, {}


def add(name, subject, note=None):
    SUBJECTS[name], NOTES[name] = subject, note


def soft(z):
    return torch.softmax(z, -1)


# -- paged -------------------------------------------------------------------------------------------------------------
def paged(q, kp, vp, table, lengths, bug=None):
    n, pages_max = table.shape
    P = kp.shape[1]
    if bug == "first_table":
        table = table[:1].expand(n, -1)
    slots = torch.arange(pages_max * P)
    k = kp[table.long()].reshape(n, pages_max * P, *kp.shape[2:])
    v = vp[table.long()].reshape(n, pages_max * P, *vp.shape[2:])
    if bug == "page_floor":
        limit = (lengths // P * P).clamp(min=1)
    elif bug == "one_more":
        limit = (lengths + 1).clamp(max=pages_max * P)
    elif bug == "one_less":
        limit = torch.where(lengths > P, lengths - 1, lengths)
    elif bug == "page_ceil":
        limit = (lengths + P - 1) // P * P
    elif bug == "first_length":
        limit = lengths[:1].expand(n)
    elif bug == "full_last_page":
        limit = torch.where(lengths % P == 0, lengths - P, lengths).clamp(min=1)
    else:
        limit = lengths
    seen = slots[None] < limit[:, None]
    if bug == "kv_tile":
        k, v = k.repeat(1, 1, 2, 1), v.repeat(1, 1, 2, 1)
    else:
        k, v = k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)
    if bug != "nan_values":
        v = torch.where(seen[:, :, None, None], v, torch.zeros_like(v))
    if bug == "nan_keys":
        z = torch.einsum("nhd,nkhd->nhk", q, k) * SC + torch.where(seen, 0.0, -1e30)[:, None]
    else:
        z = torch.einsum("nhd,nkhd->nhk", q, torch.where(seen[:, :, None, None], k, torch.zeros_like(k))) * SC
        z = z.masked_fill(~seen[:, None], -1e30)
    w = soft(z)
    if bug == "no_scale":
        w = soft(z / SC)
    if bug == "split_no_rescale":  # flash decoding over two halves, merged by a plain mean of halves
        half = z.shape[-1] // 2
        if half:
            a, b = soft(z[..., :half]), soft(z[..., half:])
            la, lb = z[..., :half].logsumexp(-1), z[..., half:].logsumexp(-1)
            pa = torch.sigmoid((la - lb) * 0.5)
            w = torch.cat([a * pa[..., None], b * (1 - pa)[..., None]], -1)
    return torch.einsum("nhk,nkhd->nhd", w, v)


PAGED = {
    "first_table": "all rows use the table of the first",
    "page_floor": "only whole pages are read",
    "one_more": "one slot too many is read",
    "one_less": "sequences longer than a page lose their last token",
    "page_ceil": "all slots of the last page are read",
    "first_length": "all rows have the length of the first",
    "full_last_page": "a full last page is left out",
    "kv_tile": "key heads are tiled instead of repeated",
    "nan_values": "values of hidden slots are multiplied by zero",
    "nan_keys": "keys of hidden slots enter the logits before the mask is added",
    "no_scale": "logits are not scaled",
    "split_no_rescale": "two halves are merged with half the difference of their log-sum-exps",
}


def write(k, v, kp, vp, slots, bug=None):
    P = kp.shape[1]
    for i, slot in enumerate(slots.tolist()):
        if slot < 0 and bug != "write_padding":
            continue
        page, at = slot // P, slot % P
        if bug == "write_next" and at == P - 1:
            page, at = (page + 1) % kp.shape[0], 0
        kp[page, at] = k[i]
        vp[page, at] = k[i] if bug == "write_k_as_v" else v[i]
        if bug == "write_clears_rest" and at == 0:
            kp[page, 1:] = 0
    if bug == "write_last_twice" and len(slots) and slots[-1] >= 0:
        vp[(int(slots[-1]) // P + 1) % kp.shape[0], 0] = v[-1]


WRITE = {
    "write_padding": "padding tokens are written to the last slot of the pool",
    "write_next": "the last slot of a page is written to the next page",
    "write_k_as_v": "keys are written as values",
    "write_clears_rest": "a write to the first slot clears the rest of the page",
    "write_last_twice": "the last value is also written to the page after",
}
add("paged", regard.PagedKernel(paged, S, page_size=4, write=write, padding_slot=-1))
for b, note in PAGED.items():
    add(f"paged_{b}", regard.PagedKernel(functools.partial(paged, bug=b), S, page_size=4, framework="torch"), note)
for b, note in WRITE.items():
    add(
        f"paged_{b}",
        regard.PagedKernel(
            paged, S, page_size=4, write=functools.partial(write, bug=b), padding_slot=-1, framework="torch"
        ),
        note,
    )


# -- varlen ------------------------------------------------------------------------------------------------------------
class _NoTail(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, end):
        ctx.end = end
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        g[ctx.end :] = 1.0
        return g, None


def varlen(q, k, v, cq, ck, mq, mk, bug=None):
    out = torch.zeros_like(q)
    if bug == "grad_tail":
        k = _NoTail.apply(k, int(ck[-1]))
    starts_q, starts_k = cq.tolist(), ck.tolist()
    if bug == "skip_empty_shift":
        keep = [i for i in range(len(starts_q) - 1) if starts_q[i + 1] > starts_q[i]]
        spans = [(starts_q[i], starts_q[i + 1], starts_k[j], starts_k[j + 1]) for j, i in enumerate(keep)]
    else:
        spans = list(zip(starts_q, starts_q[1:], starts_k, starts_k[1:], strict=False))
    if bug == "last_to_end" and spans:
        a, b, c, d = spans[-1]
        spans[-1] = (a, b, c, len(k))
    if bug == "one_document":
        spans = [(0, starts_q[-1], 0, starts_k[-1])]
    for a, b, c, d in spans:
        if a == b:
            continue
        if bug == "max_clamped" and d - c > 16:
            c = d - 16  # noqa: PLW2901 - the bug
        if bug == "overlap" and c > 0:
            c -= 1  # noqa: PLW2901 - the bug
        kk, vv = k[c:d].repeat_interleave(2, 1), v[c:d].repeat_interleave(2, 1)
        if bug == "detach_values":
            vv = vv.detach()
        z = torch.einsum("qhd,khd->hqk", q[a:b], kk) * SC
        offset = (d - c) - (b - a)
        if bug == "topleft":
            offset = 0
        seen = torch.arange(d - c)[None] <= torch.arange(b - a)[:, None] + offset
        if bug == "noncausal":
            seen[:] = True
        if bug == "strict":
            seen = torch.arange(d - c)[None] < torch.arange(b - a)[:, None] + offset
            seen[:, 0] = True
        z = z.masked_fill(~seen, -torch.inf)
        out[a:b] = torch.einsum("hqk,khd->qhd", soft(z), vv)
    return out


VARLEN = {
    "skip_empty_shift": "empty sequences shift the keys of later ones",
    "last_to_end": "the last sequence sees the rows after the last offset",
    "one_document": "offsets are ignored",
    "max_clamped": "sequences longer than 16 see their last 16 keys only",
    "overlap": "a sequence sees the last key of the one before",
    "detach_values": "values get no gradient",
    "topleft": "the causal mask is aligned top-left",
    "noncausal": "later keys are seen",
    "strict": "a query does not see its own key",
    "grad_tail": "gradients after the last offset are not zero",
}
SV = regard.Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True, align="bottom-right")
add("varlen", regard.VarlenKernel(varlen, SV))
for b, note in VARLEN.items():
    add(f"varlen_{b}", regard.VarlenKernel(functools.partial(varlen, bug=b), SV, framework="torch"), note)


# -- quantised ---------------------------------------------------------------------------------------------------------
def quantize(k, v, bug=None):
    def one(x):
        top = x.abs().amax(-1, keepdim=True)
        if bug == "per_tensor":
            top = x.abs().max().expand_as(top)
        if bug == "signed_max":
            top = x.amax(-1, keepdim=True).clamp(min=1e-6)
        step = top / 127
        if bug == "step_128":
            step = top / 100
        step = step.clamp(min=0.001) if bug == "floor_eps" else torch.where(step == 0, torch.ones_like(step), step)
        r = x / step
        code = torch.floor(r) if bug == "floor" else torch.round(r)
        code = code.clamp(-127, 127)
        if bug == "wrap":
            code = ((torch.round(r * 1.02) + 128) % 256) - 128
        if bug == "seven_bits":
            code = torch.round(r / 2) * 2
        return code.to(torch.int16), step

    a, b = one(k), one(v)
    if bug == "scale_of_first_row":
        a = (a[0], a[1][:1].expand_as(a[1]))
    if bug == "exchanged":
        a, b = b, a
    if bug == "k_step_for_v":
        b = (b[0], a[1])
    return a, b


def dequantize(stored, bug=None):
    (ck, sk), (cv, sv) = stored
    k, v = ck.float() * sk, cv.float() * sv
    if bug == "half_step":
        k = k + 1.1 * sk
    return k, v


def attend_q(q, stored, bug=None):
    k, v = dequantize(stored)
    (_ck, sk), (cv, sv) = stored
    if bug == "attend_no_v_scale":
        v = cv.float() * sv.mean()
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    z = q @ k.transpose(-1, -2) * SC
    if bug == "attend_scale_twice":
        z = z * sk.repeat_interleave(2, 1).transpose(-1, -2) / sk.mean()
    return soft(z) @ v


QUANT = {
    "per_tensor": "one step for the whole tensor",
    "signed_max": "the largest number instead of the largest size",
    "step_128": "a step that is too large by a quarter",
    "floor_eps": "small steps are raised to a thousandth",
    "floor": "rounded down",
    "wrap": "codes wrap around instead of saturating",
    "seven_bits": "the last bit is lost",
    "scale_of_first_row": "all rows are scaled like the first",
    "exchanged": "keys and values are exchanged",
    "k_step_for_v": "values are scaled with the steps of the keys",
}
add("quant", regard.QuantizedKernel(quantize, dequantize, S, attend=attend_q))
for b, note in QUANT.items():
    add(
        f"quant_{b}", regard.QuantizedKernel(functools.partial(quantize, bug=b), dequantize, S, framework="torch"), note
    )
add(
    "quant_half_step",
    regard.QuantizedKernel(quantize, functools.partial(dequantize, bug="half_step"), S, framework="torch"),
    "keys come back shifted by a step",
)
for b, note in {
    "attend_no_v_scale": "values get the mean step",
    "attend_scale_twice": "steps of keys are applied twice",
}.items():
    add(
        f"quant_{b}",
        regard.QuantizedKernel(quantize, dequantize, S, attend=functools.partial(attend_q, bug=b), framework="torch"),
        note,
    )


# -- trees -------------------------------------------------------------------------------------------------------------
def tree(q, k, v, parents, bug=None):
    B, N = parents.shape
    prefix = k.shape[1] - N
    seen = torch.zeros(B, N, k.shape[1], dtype=torch.bool)
    seen[:, :, :prefix] = True
    for b in range(B):
        row = parents[0] if bug == "row_zero" else parents[b]
        for n in range(N):
            at, steps = n, 0
            while at >= 0:
                seen[b, n, prefix + at] = True
                at = int(row[at])
                steps += 1
                if bug == "two_levels" and steps == 2:
                    break
            if bug == "siblings":
                for m in range(n):
                    if int(row[m]) == int(row[n]):
                        seen[b, n, prefix + m] = True
            if bug == "all_earlier":
                seen[b, n, prefix : prefix + n + 1] = True
            if bug == "no_self" and int(row[n]) >= 0:
                seen[b, n, prefix + n] = False
    if bug == "last_prefix_hidden" and prefix > 1:
        seen[:, :, prefix - 1] = False
    if bug == "root_misses_prefix" and prefix:
        for b in range(B):
            for n in range(1, N):
                if int(parents[b, n]) < 0:
                    seen[b, n, :prefix] = False
    kk, vv = k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)
    z = torch.einsum("bqhd,bkhd->bhqk", q, kk) * SC
    z = z.masked_fill(~seen[:, None], -1e30)
    return torch.einsum("bhqk,bkhd->bqhd", soft(z), vv)


def positions(parents, prefix, bug=None):
    B, N = parents.shape
    found = torch.zeros(B, N, dtype=torch.long)
    for b in range(B):
        for n in range(N):
            p = int(parents[b, n])
            found[b, n] = prefix if p < 0 else found[b, p] + 1
            if bug == "by_index":
                found[b, n] = prefix + n
            if bug == "from_one" and p < 0:
                found[b, n] = prefix + 1
    return found


TREE = {
    "row_zero": "all rows use the first tree",
    "two_levels": "a node sees its parent but not its grandparent",
    "siblings": "a node sees its earlier siblings",
    "all_earlier": "a node sees all earlier nodes",
    "no_self": "a node does not see itself",
    "last_prefix_hidden": "the last token of the prefix is hidden",
    "root_misses_prefix": "a second root does not see the prefix",
}
add("tree", regard.TreeKernel(tree, S, positions=positions))
for b, note in TREE.items():
    add(f"tree_{b}", regard.TreeKernel(functools.partial(tree, bug=b), S, framework="torch"), note)
for b, note in {"by_index": "positions count nodes", "from_one": "roots are one too far"}.items():
    add(f"tree_{b}", regard.TreeKernel(tree, S, positions=functools.partial(positions, bug=b), framework="torch"), note)


# -- latent ------------------------------------------------------------------------------------------------------------
SL = regard.Spec(num_heads=4, num_kv_heads=4, head_width=8, causal=True)


def latent(qn, qr, c, kr, uk, uv, bug=None):
    width = 8 if bug == "scale_head" else 20 if bug == "scale_latent" else 12
    scale = width**-0.5
    absorbed = torch.einsum("bqhd,hdl->bqhl", qn, uk[[0, 1, 2, 2]] if bug == "head_uk" else uk)
    z = torch.einsum("bqhl,bkl->bhqk", absorbed, c)
    rope = torch.einsum("bqhr,bkr->bhqk", qr[:, :, :1].expand_as(qr) if bug == "rope_of_head_zero" else qr, kr)
    z = (z if bug == "no_rope" else z + rope) * scale
    Q, K = qn.shape[1], c.shape[1]
    offset = 0 if bug == "topleft" else K - Q
    seen = torch.arange(K)[None] <= torch.arange(Q)[:, None] + offset
    if bug == "decode_hides_last" and Q == 1 and K > 1:
        seen[:, -1] = False
    if bug == "chunk_uncausal" and 1 < Q < K:
        seen[:] = True
    w = soft(z.masked_fill(~seen, -1e30))
    mixed = torch.einsum("bhqk,bkl->bqhl", w, c)
    return torch.einsum("bqhl,hdl->bqhd", mixed, uk if bug == "uk_for_uv" else uv)


LATENT = {
    "scale_head": "the scale leaves out the rotary width",
    "scale_latent": "the scale of the latent width",
    "head_uk": "the last head uses the key matrix of the third",
    "rope_of_head_zero": "all heads use the rotary query of the first",
    "no_rope": "the rotary part is dropped",
    "topleft": "queries are aligned with the first keys",
    "decode_hides_last": "a decoded token does not see itself",
    "chunk_uncausal": "chunks see later tokens",
    "uk_for_uv": "values are expanded with the key matrix",
}
add("latent", regard.LatentKernel(latent, SL))
for b, note in LATENT.items():
    add(f"latent_{b}", regard.LatentKernel(functools.partial(latent, bug=b), SL, framework="torch"), note)


# -- merge -------------------------------------------------------------------------------------------------------------
def merge(oa, la, ob, lb, bug=None):
    m = torch.maximum(la, lb)
    if bug == "no_max":
        ea, eb = la.exp(), lb.exp()
        s = ea + eb
        lse = s.log()
        s = s.clamp(min=1e-38)
    elif bug == "nan_empty":
        ea, eb = (la - m).exp(), (lb - m).exp()
        s = ea + eb
        lse = m + s.log()
    else:
        mm = torch.where(m == -torch.inf, torch.zeros_like(m), m)
        ea, eb = (la - mm).exp(), (lb - mm).exp()
        s = ea + eb
        lse = mm + s.log()
        s = torch.where(s == 0, torch.ones_like(s), s)
    if bug == "base_two":
        ea, eb = torch.exp2(la - mm), torch.exp2(lb - mm)
        s = torch.where(ea + eb == 0, torch.ones_like(ea), ea + eb)
    if bug == "lse_max":
        lse = m
    if bug == "lse_mean":
        lse = lse - math.log(2.0)
    if bug == "head_zero":
        ea, eb = ea[:, :1].expand_as(ea), eb[:, :1].expand_as(eb)
        s = torch.where(ea + eb == 0, torch.ones_like(ea), ea + eb)
    out = (oa * ea[..., None] + ob * eb[..., None]) / s[..., None]
    if bug == "winner":
        out = torch.where((la > lb + 5)[..., None], oa, out)
    if bug == "empty_lse_finite":
        lse = torch.where(lse == -torch.inf, torch.full_like(lse, -1e4), lse)
    return out, lse


MERGE = {
    "no_max": "exponentials without the maximum",
    "nan_empty": "two empty parts give NaN",
    "base_two": "weights in base two, log-sum-exp in base e",
    "lse_max": "the merged log-sum-exp is the maximum",
    "lse_mean": "the merged log-sum-exp is too small by log 2",
    "head_zero": "all heads are weighted like the first",
    "winner": "a part that is ahead by 5 takes all",
    "empty_lse_finite": "two empty parts get a finite log-sum-exp",
}
add("merge", regard.MergeKernel(merge, S))
for b, note in MERGE.items():
    add(f"merge_{b}", regard.MergeKernel(functools.partial(merge, bug=b), S, framework="torch"), note)


# -- context parallel --------------------------------------------------------------------------------------------------
def parallel(q, k, v, comm, bug=None):
    L = len(q)
    me, world = comm.rank, comm.world_size
    mine = me * L + torch.arange(L)
    out, lse = torch.zeros_like(q), torch.full(q.shape[:2], -torch.inf, dtype=q.dtype)
    kk, vv = k, v
    rounds = world - 1 if bug == "last_round" and world > 1 else world
    for step in range(rounds):
        source = (me - step) % world
        if bug == "source_plus":
            source = (me + step) % world
        theirs = source * L + torch.arange(L)
        seen = theirs[None] <= mine[:, None]
        if bug == "own_uncausal" and step == 0:
            seen[:] = True
        if bug == "local_mask":
            seen = torch.arange(L)[None] <= torch.arange(L)[:, None]
        if seen.any():
            z = torch.einsum("qhd,khd->hqk", q, kk.repeat_interleave(2, 1)) * SC
            z = z.masked_fill(~seen, -torch.inf)
            part = z.logsumexp(-1).T
            o = torch.einsum("hqk,khd->qhd", torch.nan_to_num(soft(z)), vv.repeat_interleave(2, 1))
            if bug == "add":
                out, lse = (out + o) / (1 if step == 0 else 2), torch.logaddexp(lse, part)
            else:
                new = torch.logaddexp(lse, part)
                wa, wb = torch.nan_to_num((lse - new).exp()), torch.nan_to_num((part - new).exp())
                if bug == "forget_rescale" and step > 1:
                    wa = torch.ones_like(wa)
                out, lse = out * wa[..., None] + o * wb[..., None], new
        kk, vv = comm.ring((kk, vv))
        if bug == "v_stays":
            vv = v
    return out


PARALLEL = {
    "last_round": "the last part of the ring is never seen",
    "source_plus": "parts are taken for those of the other neighbour",
    "own_uncausal": "tokens see later ones of their own rank",
    "local_mask": "every part is masked as if it were the rank's own",
    "add": "partial results are averaged",
    "forget_rescale": "from the third part on, earlier results are not rescaled",
    "v_stays": "values are not passed on",
}
add("parallel", regard.ParallelKernel(parallel, S, ranks="simulated"))
for b, note in PARALLEL.items():
    add(
        f"parallel_{b}",
        regard.ParallelKernel(functools.partial(parallel, bug=b), S, ranks="simulated", framework="torch"),
        note,
    )
