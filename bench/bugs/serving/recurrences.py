"""Recurrences and their bugs: names are `kind` or `kind_bug`."""

import functools
import itertools

import numpy as np
import torch

import regard

SUBJECTS, NOTES = {}, {}


def add(name, note=None, **arguments):
    SUBJECTS[name], NOTES[name] = regard.Recurrence(name=name, **arguments), note


# -- gated linear attention, recurrent, chunked and packed (torch) -----------------------------------------------------
def gla(q, k, v, g, state=None, mask=None, bug=None):
    b, t, h, kk = k.shape
    s = torch.zeros(b, h, kk, v.shape[-1], dtype=k.dtype) if state is None else state
    if bug == "state_half" and state is not None:
        s = s.to(torch.bfloat16).to(k.dtype)
    if bug == "decay_at_call" and state is not None:
        s = s * torch.exp(g[:, 0])[..., None]
    ys = []
    for i in range(t):
        decay = torch.exp(g[:, i])[..., None]
        update = torch.einsum("bhk,bhv->bhkv", k[:, i], v[:, i])
        if bug == "decay_after":
            new = (s + update) * decay
        elif bug == "exp2":
            new = s * torch.exp2(g[:, i])[..., None] + update
        elif bug == "mean_decay":
            new = s * decay.mean(2, keepdim=True) + update
        else:
            new = s * decay + update
        if mask is not None and bug != "mask_ignored":
            m = mask[:, i, None, None, None]
            new = torch.where(m, new, s * decay) if bug == "mask_decays" else torch.where(m, new, s)
        read = s if bug == "read_old" else new
        ys.append(torch.einsum("bhkv,bhk->bhv", read, q[:, i]))
        s = new
    y = torch.stack(ys, 1)
    if bug == "detach":
        s = s.detach()
    return y, s


def gla_chunked(q, k, v, g, state=None, bug=None, size=16):
    b, t, h, kk = k.shape
    s = torch.zeros(b, h, kk, v.shape[-1], dtype=k.dtype) if state is None else state
    if bug == "ignores_state":
        s = torch.zeros_like(s)
    ys = []
    for a in range(0, t, size):
        qc, kc, vc, gc = (x[:, a : a + size] for x in (q, k, v, g))
        n = qc.shape[1]
        if bug == "drops_tail" and n < size and a > 0:
            ys.append(torch.zeros_like(vc))
            continue
        c = gc.cumsum(1)
        if bug == "exclusive" and a > 0:
            c = c - gc
        inter = torch.einsum("bthk,bhkv->bthv", qc * c.exp(), s)
        rel = torch.exp(c[:, :, None] - c[:, None, :]).clamp(max=1e30)
        w = torch.einsum("bihk,bijhk,bjhk->bijh", qc, rel, kc)
        keep = torch.ones(n, n, dtype=torch.bool).tril(-1 if bug == "strict" else 0)
        w = w.masked_fill(~keep[None, :, :, None], 0.0)
        ys.append(inter + torch.einsum("bijh,bjhv->bihv", w, vc))
        tail = torch.exp(c[:, -1:] - c)
        if bug == "no_tail_decay":
            tail = torch.ones_like(tail)
        add_ = torch.einsum("bthk,bthv->bhkv", kc * tail, vc)
        s = s * c[:, -1].exp()[..., None] + add_
        if bug == "detach_between":
            s = s.detach()
        if bug == "border_twice" and a > 0:
            s = s * gc[:, -1].exp()[..., None]
    return torch.cat(ys, 1), s


def gla_packed(q, k, v, g, cu_seqlens, state=None, bug=None):
    ys, states = [], []
    borders = [int(c) for c in cu_seqlens]
    carried = None
    for i, (a, b) in enumerate(itertools.pairwise(borders)):
        st = None if state is None else state[i : i + 1]
        if bug == "leak" and carried is not None:
            st = carried if st is None else st + 0 * carried
        if bug == "state_of_first" and state is not None:
            st = state[:1]
        if a == b:
            states.append(torch.zeros(1, k.shape[2], k.shape[3], v.shape[3], dtype=k.dtype) if st is None else st)
            if bug == "empty_skips":
                states.pop()
                states.append(
                    states[-1] if states else torch.zeros(1, k.shape[2], k.shape[3], v.shape[3], dtype=k.dtype)
                )
            continue
        if bug == "border_off" and a > 0:
            y, s = gla(*(x[:, a - 1 : b] for x in (q, k, v, g)), state=st)
            y = y[:, 1:]
        else:
            y, s = gla(*(x[:, a:b] for x in (q, k, v, g)), state=st)
        carried = s
        ys.append(y)
        states.append(s)
    y = torch.cat(ys, 1) if ys else torch.zeros_like(v)
    return y, torch.cat(states, 0)


add("gla", function=gla, kind="gated_linear", chunked=gla_chunked, chunk_size=16, packed=gla_packed)
for b, note in {
    "state_half": "the state is rounded to half precision between calls",
    "decay_at_call": "the state is decayed once more at the start of a call",
    "decay_after": "the update is decayed too",
    "exp2": "decays in base two",
    "mean_decay": "one decay for all channels",
    "mask_ignored": "padding enters the state",
    "mask_decays": "padding decays the state",
    "read_old": "outputs are read before the update",
    "detach": "the returned state is detached",
}.items():
    add(f"gla_{b}", note, function=functools.partial(gla, bug=b), kind="gated_linear")
for b, note in {
    "ignores_state": "the chunked form ignores the given state",
    "drops_tail": "a last incomplete chunk is dropped",
    "exclusive": "from the second chunk on, the decay of the token itself is left out",
    "strict": "tokens of a chunk do not see themselves",
    "no_tail_decay": "keys enter the carried state without their decay",
    "detach_between": "the state is detached between chunks",
    "border_twice": "the decay at a chunk's border is applied twice",
}.items():
    add(
        f"glachunk_{b}",
        note,
        function=gla,
        kind="gated_linear",
        chunked=functools.partial(gla_chunked, bug=b),
        chunk_size=16,
    )
for b, note in {
    "leak": "the state crosses document borders",
    "state_of_first": "all documents start from the first one's state",
    "border_off": "a document begins with the last token of the one before",
}.items():
    add(f"glapack_{b}", note, function=gla, kind="gated_linear", packed=functools.partial(gla_packed, bug=b))


# -- gated delta (torch, in place) -------------------------------------------------------------------------------------
def delta(q, k, v, g, beta, state=None, bug=None):
    b, t, h, kk = k.shape
    s = torch.zeros(b, h, kk, v.shape[-1], dtype=k.dtype) if state is None else state
    if bug != "in_place":
        s = s.clone()
    ys = []
    for i in range(t):
        e = g[:, i].exp()[..., None, None]
        old = s.clone() if bug == "error_before_decay" else None
        s *= e
        base = old if old is not None else s
        error = v[:, i] - torch.einsum("bhkv,bhk->bhv", base, k[:, i])
        bt = beta[:, i][..., None]
        if bug == "beta_on_error_only":
            error = bt * v[:, i] - torch.einsum("bhkv,bhk->bhv", base, k[:, i])
        elif bug == "no_beta":
            pass
        else:
            error = error * bt
        if bug == "no_erase":
            error = v[:, i] * bt
        s += torch.einsum("bhk,bhv->bhkv", k[:, i], error)
        ys.append(torch.einsum("bhkv,bhk->bhv", s, k[:, i] if bug == "reads_with_key" else q[:, i]))
    return torch.stack(ys, 1), s


_CARRY = {}


def delta_global(q, k, v, g, beta, state=None):
    if state is None and "s" in _CARRY and _CARRY["s"].shape[0] == len(q):
        state = _CARRY["s"]
    y, s = delta(q, k, v, g, beta, state)
    _CARRY["s"] = s.clone()
    return y, s


add("delta", function=delta, kind="gated_delta", reset=torch.zeros_like)
for b, note in {
    "in_place": "the given state is written to",
    "error_before_decay": "the error is taken before the decay",
    "beta_on_error_only": "beta multiplies the value only",
    "no_beta": "beta is left out",
    "no_erase": "nothing is erased",
    "reads_with_key": "outputs are read with the key",
}.items():
    add(f"delta_{b}", note, function=functools.partial(delta, bug=b), kind="gated_delta")
add("delta_global", "a state survives from one sequence to the next", function=delta_global, kind="gated_delta")
add(
    "delta_reset_partial",
    "reset clears the first head only",
    function=delta,
    kind="gated_delta",
    reset=lambda s: torch.cat([0 * s[:, :1], s[:, 1:]], 1),
)


# -- short convolution (numpy) -----------------------------------------------------------------------------------------
def conv(x, weight, state=None, mask=None, bug=None):
    b, t, d = x.shape
    past = np.zeros((b, 3, d), x.dtype) if state is None else state
    if mask is not None and bug not in ("padding_enters", "padding_zero"):
        y, rows = np.zeros_like(x), []
        for r in range(b):
            real = np.flatnonzero(mask[r])
            yr, sr = conv(x[r : r + 1, real], weight, past[r : r + 1]) if len(real) else (None, past[r : r + 1])
            if yr is not None:
                y[r, real] = yr[0]
            rows.append(sr)
        return y, np.concatenate(rows)
    if mask is not None and bug == "padding_zero":
        x = x * mask[..., None]
    ext = np.concatenate([past, x], 1)
    w = weight[:, ::-1] if bug == "flipped" else weight
    y = np.sum([ext[:, j : j + t] * w[:, j] for j in range(4)], axis=0)
    if bug == "short_state":
        new = np.concatenate([np.zeros_like(ext[:, :1]), ext[:, -2:]], 1)
    elif bug == "state_from_chunk" and t < 3:
        new = np.concatenate([np.zeros((b, 3 - t, d), x.dtype), x], 1)
    else:
        new = ext[:, -3:]
    if bug == "future" and t > 1:
        y[:, :-1] += 0.1 * x[:, 1:]
    if bug == "row_mix" and b > 1:
        new = new[::-1].copy()
    return y, new.copy()


add("conv", function=conv, kind="short_conv")
for b, note in {
    "flipped": "the filter is reversed",
    "short_state": "the state keeps two tokens instead of three",
    "state_from_chunk": "after a short chunk the state forgets earlier tokens",
    "padding_enters": "padding enters the state",
    "padding_zero": "padding is set to zero but shifts the state",
    "future": "outputs depend on the next token",
    "row_mix": "rows of the state are exchanged",
}.items():
    add(f"conv_{b}", note, function=functools.partial(conv, bug=b), kind="short_conv")


# -- mamba (torch) -----------------------------------------------------------------------------------------------------
def mamba(x, dt, A, B, C, state=None, bug=None):
    b, t, d = x.shape
    h = torch.zeros(b, d, A.shape[1], dtype=x.dtype) if state is None else state
    ys = []
    for i in range(t):
        step = dt[:, i, :, None]
        decay = torch.exp(step * A)
        if bug == "euler":
            decay = 1 + step * A
        if bug == "decay_of_mean":
            decay = torch.exp(step.mean(1, keepdim=True) * A)
        inp = step * x[:, i, :, None] * B[:, i, None]
        if bug == "no_dt":
            inp = x[:, i, :, None] * B[:, i, None]
        h = decay * h + inp
        ys.append((h * (B if bug == "b_for_c" else C)[:, i, None]).sum(-1))
        if bug == "first_token_twice" and i == 0 and state is not None:
            h = h + inp
    return torch.stack(ys, 1), h


add("mamba", function=mamba, kind="mamba")
for b, note in {
    "euler": "the decay is 1 + dt A",
    "decay_of_mean": "one dt for all channels in the decay",
    "no_dt": "the input is not multiplied by dt",
    "b_for_c": "outputs are read with B",
    "first_token_twice": "the first token after a state is added twice",
}.items():
    add(f"mamba_{b}", note, function=functools.partial(mamba, bug=b), kind="mamba")


# -- rwkv (numpy) ------------------------------------------------------------------------------------------------------
def rwkv(r, k, v, w, u, state=None, bug=None):
    b, t, h, kk = k.shape
    s = np.zeros((b, h, kk, v.shape[-1]), k.dtype) if state is None else state
    ys = []
    for i in range(t):
        kv = k[:, i, :, :, None] * v[:, i, :, None, :]
        bonus = kv if bug == "no_bonus" else u[..., None] * kv
        if bug == "bonus_first_only" and (state is not None or i > 0):
            bonus = kv
        ys.append(np.einsum("bhkv,bhk->bhv", s + bonus, r[:, i]))
        s = np.exp(w[:, i])[..., None] * (s + kv) if bug == "decay_update" else np.exp(w[:, i])[..., None] * s + kv
    return np.stack(ys, 1), s


add("rwkv", function=rwkv, kind="rwkv")
for b, note in {
    "no_bonus": "the bonus u is left out",
    "bonus_first_only": "the bonus is given to the first token only",
    "decay_update": "the update is decayed too",
}.items():
    add(f"rwkv_{b}", note, function=functools.partial(rwkv, bug=b), kind="rwkv")
