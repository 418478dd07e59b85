"""Four caches and their bugs: names are `ListCache`, `ListCache_bug`, …"""

import numpy as np
import torch

import regard

H, D = 2, 8
WIDTH = H * D
G = np.random.default_rng(5)
LAYERS = [[G.standard_normal((WIDTH, WIDTH)) / 4 * s for s in (1.6, 1.6, 1.0, 1.0)] for _ in range(2)]
FREQ = 10000.0 ** (-np.arange(0, D, 2) / D)


def rot(x, pos):  # x [b, t, h, d], pos [t]
    a = pos[:, None] * FREQ
    c, s = np.cos(a)[None, :, None], np.sin(a)[None, :, None]
    x1, x2 = x[..., : D // 2], x[..., D // 2 :]
    return np.concatenate([x1 * c - x2 * s, x1 * s + x2 * c], -1)


def heads(x):
    return x.reshape(*x.shape[:2], H, D)


def attend(q, k, v, mask):  # mask [tq, tk]
    z = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(D)
    z = np.where(mask[None, None], z, -1e30)
    p = np.exp(z - z.max(-1, keepdims=True)) * mask[None, None]
    p = p / np.maximum(p.sum(-1, keepdims=True), 1e-30)
    return np.einsum("bhqk,bkhd->bqhd", p, v).reshape(q.shape[0], q.shape[1], WIDTH)


def full_pass(x, depth, window=None):
    x = np.asarray(x, np.float64)
    t = np.arange(x.shape[1])
    mask = t[None, :] <= t[:, None]
    if window:
        mask &= t[:, None] - t[None, :] < window
    for wq, wk, wv, wo in LAYERS[:depth]:
        q, k, v = rot(heads(x @ wq), t), rot(heads(x @ wk), t), heads(x @ wv)
        x = x + attend(q, k, v, mask) @ wo
    return x


class ListCache:
    """(k, v) lists per layer, two layers."""

    bug = None
    spec = regard.Spec(width=WIDTH, num_heads=H, depth=2, causal=True, positions="rotary")
    shared = None

    def full(self, x):
        return full_pass(x, 2)

    def start(self, batch):
        seq = {"k": [[], []], "v": [[], []], "n": 0, "batch": batch, "last": 0}
        if self.bug == "start_shared":
            if self.shared is None or self.shared["batch"] != batch:
                self.shared = seq
            return self.shared
        return seq

    def append(self, seq, x):
        x = np.asarray(x, np.float64)
        t, n = x.shape[1], seq["n"]
        pos = np.arange(n, n + t)
        if self.bug == "chunk_positions_restart" and t > 1:
            pos = np.arange(t)
        if self.bug == "decode_position_off" and t == 1 and n > 0:
            pos = pos - 1
        total = n + t
        mask = np.arange(total)[None, :] <= (n + np.arange(t))[:, None]
        if self.bug == "chunk_topleft" and t > 1 and n:
            mask = np.arange(total)[None, :] <= np.arange(t)[:, None]
        if self.bug == "chunk_unmasked" and t > 1:
            mask = np.ones_like(mask)
        if self.bug == "decode_not_self" and t == 1 and n:
            mask[:, -1] = False
        for layer, (wq, wk, wv, wo) in enumerate(LAYERS):
            q, k, v = rot(heads(x @ wq), pos), rot(heads(x @ wk), pos), heads(x @ wv)
            seq["k"][layer].append(k)
            seq["v"][layer].append(v)
            if self.bug == "second_layer_drops_oldest" and layer == 1 and total > 5:
                m = mask.copy()
                m[:, 0] = False
            else:
                m = mask
            kk, vv = np.concatenate(seq["k"][layer], 1), np.concatenate(seq["v"][layer], 1)
            if self.bug == "rerotate" and n:
                kk = np.concatenate([rot(kk[:, :n], np.arange(n)), kk[:, n:]], 1)
            x = x + attend(q, kk, vv, m) @ wo
        seq["n"], seq["last"] = total, t
        return x

    def _cut(self, seq, length):
        for layer in range(2):
            for name in "kv":
                if not seq[name][layer]:
                    continue
                joined = np.concatenate(seq[name][layer], 1)
                joined = joined[:, :length]
                seq[name][layer] = [joined] if length else []

    def crop(self, seq, length):
        if self.bug == "crop_zero_ignored" and length == 0:
            return
        self._cut(seq, length)
        seq["n"] = length

    def reject(self, seq, count):
        if self.bug == "reject_one_less" and count > 1:
            count -= 1
        if self.bug == "reject_all":
            count = seq["last"]
        self._cut(seq, seq["n"] - count)
        seq["n"] -= count

    def fork(self, seq):
        if self.bug == "fork_same":
            return seq
        copy = {
            "k": [list(c) for c in seq["k"]],
            "v": [list(c) for c in seq["v"]],
            "n": seq["n"],
            "batch": seq["batch"],
            "last": seq["last"],
        }
        if self.bug == "fork_shares_v":
            copy["v"] = seq["v"]
        if self.bug == "fork_shares_second_layer":
            copy["k"][1], copy["v"][1] = seq["k"][1], seq["v"][1]
        return copy

    def reorder(self, seq, order):
        order = np.asarray(order)
        if self.bug == "reorder_inverse":
            inverse = np.zeros_like(order)
            inverse[order] = np.arange(len(order))
            order = inverse
        for layer in range(2):
            if self.bug == "reorder_first_layer" and layer == 1:
                continue
            for name in "kv":
                if self.bug == "reorder_k_only" and name == "v":
                    continue
                seq[name][layer] = [c[order] for c in seq[name][layer]]

    def swap_out(self, seq):
        if self.bug == "swap_half":
            return {
                **seq,
                "k": [[c.astype(np.float16) for c in layer] for layer in seq["k"]],
                "v": [[c.astype(np.float16) for c in layer] for layer in seq["v"]],
            }
        if self.bug == "swap_last_chunk" and len(seq["k"][0]) > 1:
            return {**seq, "k": [[*layer[:-1], 0 * layer[-1]] for layer in seq["k"]], "v": seq["v"]}
        return {**seq}

    def swap_in(self, saved):
        seq = {**saved}
        if self.bug == "swap_position":
            seq["n"] = 0
            self_k = sum(c.shape[1] for c in seq["k"][0])
            if self_k:
                seq["n"] = self_k - 1
        return seq

    def reset(self, seq):
        seq["k"], seq["v"] = [[], []], [[], []]
        seq["n"] = 0


LIST_BUGS = {
    "start_shared": "all sequences share the storage of the first",
    "chunk_positions_restart": "positions of a chunk restart at zero",
    "decode_position_off": "the position of a decoded token is one too small",
    "chunk_topleft": "the causal mask of a chunk is aligned top-left",
    "chunk_unmasked": "tokens of a chunk see later ones of the chunk",
    "decode_not_self": "a decoded token does not see itself",
    "second_layer_drops_oldest": "the second layer does not see the first token beyond five tokens",
    "rerotate": "cached keys are rotated again at every step",
    "crop_zero_ignored": "cropping to zero is ignored",
    "reject_one_less": "rejecting several tokens drops one too few",
    "reject_all": "rejecting drops the whole last append",
    "fork_same": "fork returns the same sequence",
    "fork_shares_v": "forked sequences share the list of values",
    "fork_shares_second_layer": "forked sequences share the second layer",
    "reorder_inverse": "reorder uses the inverse permutation",
    "reorder_first_layer": "reorder leaves the second layer",
    "reorder_k_only": "reorder leaves the values",
    "swap_half": "swapped out in half precision",
    "swap_last_chunk": "the keys of the last chunk are lost in a swap",
    "swap_position": "the position is one too small after a swap",
}


class BufferCache:
    """Preallocated torch buffers with a position, one layer."""

    bug = None
    size = 48
    spec = regard.Spec(width=WIDTH, num_heads=H, causal=True, positions="rotary", max_positions=48)

    def full(self, x):
        return torch.tensor(full_pass(np.asarray(x), 1))

    def start(self, batch):
        k, v = (torch.zeros(batch, self.size, H, D, dtype=torch.float64) for _ in range(2))
        return {"k": k, "v": v, "pos": 0, "top": 0}

    def append(self, seq, x):
        x = torch.as_tensor(np.asarray(x), dtype=torch.float64)
        b, t, _ = x.shape
        pos = seq["pos"]
        wq, wk, wv, wo = (torch.tensor(w) for w in LAYERS[0])
        places = np.arange(pos, pos + t)
        if self.bug == "position_from_top":
            places = np.arange(seq["top"], seq["top"] + t)
        q, k = (torch.tensor(rot(heads((x @ w).numpy()), places)) for w in (wq, wk))
        v = (x @ wv).view(b, t, H, D)
        at = pos
        if self.bug == "chunk_written_one_early" and t > 1 and pos > 0:
            at = pos - 1
        if self.bug == "row_zero_decode" and t == 1:
            k, v = k[:1].expand(b, -1, -1, -1), v[:1].expand(b, -1, -1, -1)
        if self.bug == "wrap_16":
            for i in range(t):
                seq["k"][:, (at + i) % 16], seq["v"][:, (at + i) % 16] = k[:, i], v[:, i]
        else:
            seq["k"][:, at : at + t], seq["v"][:, at : at + t] = k, v
        seq["pos"] = pos + t
        seq["top"] = max(seq["top"], seq["pos"])
        end = seq["pos"]
        if self.bug == "sees_high_water":
            end = seq["top"]
        if self.bug == "decode_sees_all" and t == 1:
            end = self.size
        kk, vv = seq["k"][:, :end], seq["v"][:, :end]
        mask = (
            np.arange(end)[None, :] <= places[:, None]
            if self.bug not in ("sees_high_water", "decode_sees_all")
            else (np.ones((t, end), bool) if t == 1 else np.arange(end)[None, :] <= (pos + np.arange(t))[:, None])
        )
        if self.bug == "position_from_top":
            mask = np.arange(end)[None, :] <= (pos + np.arange(t))[:, None]
        y = attend(q.numpy(), kk.numpy(), vv.numpy(), mask)
        return x + torch.tensor(y) @ wo

    def crop(self, seq, length):
        if self.bug == "crop_by":
            length = max(seq["pos"] - length, 0)
        seq["pos"] = length
        if self.bug not in ("sees_high_water", "position_from_top"):
            seq["top"] = length

    def reject(self, seq, count):
        seq["pos"] -= count
        if self.bug == "reject_zeroes_kept":
            seq["k"][:, seq["pos"] - 1 :] = 0
        if self.bug not in ("sees_high_water", "position_from_top"):
            seq["top"] = seq["pos"]

    def reset(self, seq):
        seq["k"].zero_()
        seq["v"].zero_()
        if self.bug != "reset_keeps_position":
            seq["pos"] = seq["top"] = 0

    def fork(self, seq):
        if self.bug == "fork_aliases_values":
            return {**seq, "k": seq["k"].clone()}
        return {**seq, "k": seq["k"].clone(), "v": seq["v"].clone()}

    def reorder(self, seq, order):
        order = torch.as_tensor(np.asarray(order))
        if self.bug == "reorder_in_place_overlap":
            for i, j in enumerate(order.tolist()):
                seq["k"][i], seq["v"][i] = seq["k"][j].clone(), seq["v"][j].clone()
            return
        if self.bug == "reorder_misses_last":
            n = max(seq["pos"] - 1, 0)
            seq["k"][:, :n], seq["v"][:, :n] = seq["k"][order, :n], seq["v"][order, :n]
            return
        seq["k"], seq["v"] = seq["k"][order], seq["v"][order]

    def swap_out(self, seq):
        n = seq["pos"] // 4 * 4 if self.bug == "swap_whole_blocks" else seq["pos"]
        return seq["k"][:, :n].clone(), seq["v"][:, :n].clone(), seq["pos"]

    def swap_in(self, saved):
        k, v, pos = saved
        seq = self.start(len(k))
        seq["k"][:, : k.shape[1]], seq["v"][:, : v.shape[1]] = k, v
        if self.bug == "swap_exchanges":
            seq["k"], seq["v"] = seq["v"], seq["k"]
        seq["pos"] = seq["top"] = pos
        return seq


BUFFER_BUGS = {
    "position_from_top": "after a rollback, positions go on from the highest one reached",
    "chunk_written_one_early": "a later chunk overwrites the last cached token",
    "row_zero_decode": "decoding stores row 0's keys and values in all rows",
    "wrap_16": "writes wrap around silently after 16 tokens",
    "sees_high_water": "after a rollback, a decoded token sees the dropped tokens",
    "decode_sees_all": "a decoded token sees the empty slots of the buffer",
    "crop_by": "crop takes the length for the number of tokens to drop",
    "reject_zeroes_kept": "rejecting clears the last token that should stay",
    "reset_keeps_position": "reset clears the buffers but not the position",
    "fork_aliases_values": "forks share the buffer of values",
    "reorder_in_place_overlap": "reorder overwrites rows that are still needed",
    "reorder_misses_last": "reorder leaves out the last token",
    "swap_whole_blocks": "a swap saves whole blocks of four only",
    "swap_exchanges": "a swap exchanges keys and values",
}


class RingCache:
    """A ring buffer for a window of 4, one layer, torch."""

    bug = None
    W = 4
    spec = regard.Spec(width=WIDTH, num_heads=H, causal=True, window=4, positions="rotary")

    def full(self, x):
        return full_pass(x, 1, window=4)

    def start(self, batch):
        size = self.W + (self.bug == "ring_large")
        return {"k": np.zeros((batch, size, H, D)), "v": np.zeros((batch, size, H, D)), "at": np.full(size, -1), "n": 0}

    def append(self, seq, x):
        x = np.asarray(x, np.float64)
        wq, wk, wv, wo = LAYERS[0]
        _b, t, _ = x.shape
        pos = np.arange(seq["n"], seq["n"] + t)
        rpos = pos % 8 if self.bug == "position_wraps" else pos
        q, k, v = rot(heads(x @ wq), rpos), rot(heads(x @ wk), rpos), heads(x @ wv)
        size = seq["k"].shape[1]
        window = self.W + 1 if self.bug == "ring_large" else self.W
        if self.bug == "write_before_read":
            for i in range(t):
                s = pos[i] % size
                seq["k"][:, s], seq["v"][:, s], seq["at"][s] = k[:, i], v[:, i], pos[i]
            kk, vv, at = seq["k"], seq["v"], seq["at"]
            mask = (at[None] >= 0) & (at[None] <= pos[:, None]) & (pos[:, None] - at[None] < window)
            y = attend(q, kk, vv, mask)
        else:
            kk, vv = np.concatenate([seq["k"], k], 1), np.concatenate([seq["v"], v], 1)
            at = np.concatenate([seq["at"], pos])
            mask = (at[None] >= 0) & (at[None] <= pos[:, None]) & (pos[:, None] - at[None] < window)
            if self.bug == "oldest_missing_after_wrap" and seq["n"] >= size:
                mask &= ~(pos[:, None] - at[None] == window - 1)
            y = attend(q, kk, vv, mask)
            for i in range(t):
                s = pos[i] % size
                if self.bug == "wrap_slot_zero" and pos[i] >= size:
                    s = 0
                seq["k"][:, s], seq["v"][:, s], seq["at"][s] = k[:, i], v[:, i], pos[i]
        seq["n"] += t
        return x + y @ wo

    def fork(self, seq):
        if self.bug == "fork_shares_ring":
            return {**seq, "at": seq["at"].copy()}
        return {name: (c.copy() if isinstance(c, np.ndarray) else c) for name, c in seq.items()}

    def crop(self, seq, length):
        if seq["n"] - length > 0 and seq["n"] > self.W and self.bug != "crop_behind_ring":
            raise NotImplementedError("the ring has forgotten what would be needed")
        seq["at"] = np.where(seq["at"] >= length, -1, seq["at"])
        seq["n"] = length

    def reset(self, seq):
        if self.bug != "reset_keeps_places":
            seq["at"][:] = -1
        seq["n"] = 0


RING_BUGS = {
    "ring_large": "the window is one too wide",
    "position_wraps": "rotary positions wrap around at eight",
    "write_before_read": "a chunk overwrites slots that its first tokens still need",
    "oldest_missing_after_wrap": "after the ring is full, the oldest token of the window is not seen",
    "wrap_slot_zero": "after the first round all tokens go to slot 0",
    "fork_shares_ring": "forks share the ring",
    "crop_behind_ring": "crop goes on though the ring has forgotten what is needed",
    "reset_keeps_places": "reset keeps the places of old tokens",
}


class PagedCache:
    """Pages of four slots in one pool, reference counts, copy on write, prefix table."""

    bug = None
    P, N = 4, 64
    spec = regard.Spec(width=WIDTH, num_heads=H, causal=True, positions="rotary", max_positions=40)

    def __init__(self):
        self.k, self.v = np.zeros((self.N, self.P, H, D)), np.zeros((self.N, self.P, H, D))
        self.free, self.refs, self.known = list(range(self.N)), np.zeros(self.N, int), {}

    def full(self, x):
        return full_pass(x, 1)

    def start(self):
        return {"pages": [], "n": 0, "tokens": []}

    def _new(self):
        if not self.free:
            raise MemoryError("no page is free")
        page = self.free.pop(0)
        self.refs[page] = 1
        self._forget(page)
        return page

    def _forget(self, page):
        if self.bug != "stale_prefix":
            self.known = {key: p for key, p in self.known.items() if p != page}

    def append(self, seq, x):
        x = np.asarray(x, np.float64)
        t, n = x.shape[1], seq["n"]
        need = -(-(n + t) // self.P) - len(seq["pages"]) + 1
        if need > len(self.free):
            raise MemoryError("no page is free")
        wq, wk, wv, wo = LAYERS[0]
        pos = np.arange(n, n + t)
        q, k, v = rot(heads(x @ wq), pos), rot(heads(x @ wk), pos), heads(x @ wv)
        for i in range(t):
            slot = (n + i) % self.P
            index = (n + i) // self.P
            if index == len(seq["pages"]):
                seq["pages"].append(self._new())
            page = seq["pages"][index]
            if self.refs[page] > 1 and self.bug != "no_copy_on_write":
                fresh = self._new()
                self.refs[page] -= 1
                self.k[fresh], self.v[fresh] = self.k[page], self.v[page]
                if self.bug == "copy_misses_values":
                    self.v[fresh] = 0
                seq["pages"][index] = page = fresh
            self._forget(page)
            self.k[page, slot], self.v[page, slot] = k[0, i], v[0, i]
            seq["tokens"].append(x[0, i].tobytes())
            if slot == self.P - 1:
                self.known[self._key(seq["tokens"], index)] = page
        seq["n"] = total = n + t
        pages = seq["pages"]
        if self.bug == "last_page_of_two_swapped" and len(pages) > 2:
            pages = [*pages[:-2], pages[-1], pages[-2]]
        kk, vv = (pool[pages].reshape(1, -1, H, D)[:, :total] for pool in (self.k, self.v))
        if self.bug == "border_token_lost" and total % self.P == 1 and total > 1:
            kk = kk.copy()
            kk[:, total - 2] = 0
        y = attend(q, kk, vv, np.arange(total)[None, :] <= pos[:, None])
        return x + y @ wo

    def _key(self, tokens, index):
        if self.bug == "prefix_by_page":
            return tuple(tokens[index * self.P : (index + 1) * self.P])
        return tuple(tokens[: (index + 1) * self.P])

    def fork(self, seq):
        for page in seq["pages"]:
            self.refs[page] += self.bug != "fork_not_counted"
        return {"pages": list(seq["pages"]), "n": seq["n"], "tokens": list(seq["tokens"])}

    def _drop(self, page):
        self.refs[page] -= 1
        if (self.refs[page] <= 0 or self.bug == "release_shared") and page not in self.free:
            self.free.insert(0, page)

    def release(self, seq):
        for page in seq["pages"]:
            self._drop(page)

    def crop(self, seq, length):
        keep = -(-length // self.P)
        if self.bug == "crop_keeps_page" and length % self.P == 0 and len(seq["pages"]) > keep:
            keep += 1
            while len(seq["pages"]) > keep:
                self._drop(seq["pages"].pop())
            seq["n"], seq["tokens"] = length, seq["tokens"][:length]
            seq["pages"].insert(0, seq["pages"].pop())
            return
        while len(seq["pages"]) > keep:
            self._drop(seq["pages"].pop())
        seq["n"], seq["tokens"] = length, seq["tokens"][:length]

    def prefix_hit(self, x):
        x = np.asarray(x, np.float64)
        tokens = [x[0, i].tobytes() for i in range(x.shape[1])]
        pages = []
        while (len(pages) + 1) * self.P <= len(tokens):
            page = self.known.get(self._key(tokens, len(pages)))
            if page is None:
                break
            pages.append(page)
        for page in pages:
            if self.refs[page] == 0 and page in self.free:
                self.free.remove(page)
            self.refs[page] += 1
        n = len(pages) * self.P
        if self.bug == "prefix_counts_one_more" and pages and n < len(tokens):
            n += 1
            pages.append(self._new())
        return {"pages": pages, "n": n, "tokens": tokens[:n]}, n


PAGED_BUGS = {
    "stale_prefix": "the prefix table still names pages that were given to others",
    "no_copy_on_write": "a shared page is written without a copy",
    "copy_misses_values": "copy on write copies the keys only",
    "last_page_of_two_swapped": "the last two pages are exchanged if there are more than two",
    "border_token_lost": "the first token of a page does not see the last key of the page before",
    "prefix_by_page": "prefixes are found by the content of a page alone",
    "fork_not_counted": "a fork does not count its references",
    "release_shared": "a released sequence frees pages that others share",
    "crop_keeps_page": "cropping to a page border keeps a page, and the table is out of step",
    "prefix_counts_one_more": "a prefix hit claims one token more than it has",
}

SUBJECTS, NOTES = {}, {}
for style, bugs in {
    ListCache: LIST_BUGS,
    BufferCache: BUFFER_BUGS,
    RingCache: RING_BUGS,
    PagedCache: PAGED_BUGS,
}.items():
    SUBJECTS[style.__name__], NOTES[style.__name__] = style, None
    for bug, note in bugs.items():
        name = f"{style.__name__}_{bug}"
        SUBJECTS[name], NOTES[name] = type(name, (style,), {"bug": bug, "__module__": __name__}), note
