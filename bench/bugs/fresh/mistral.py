"""Mistakes in the layer with a sliding window and a cache that forgets."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("mistral")

BUGS = (
    bug(
        "fresh-window-one-too-wide",
        "window",
        "the window holds one key more than declared",
        ("(query_index - key_index < self.window)", "(query_index - key_index <= self.window)"),
        or_family=("mask",),
    ),
    bug(
        "fresh-position-is-length-of-cache",
        "cache",
        "the length of the cache is taken for the number of tokens seen",
        ("kept = self.remember(keys, values, num_seen + length)", "kept = self.remember(keys, values, keys.shape[2])"),
        or_family=("positions", "rotary"),
    ),
    bug(
        "fresh-window-to-both-sides",
        "window",
        "the window reaches as far ahead as back",
        (
            "visible = (key_index <= query_index) & (query_index - key_index < self.window)",
            "visible = (query_index - key_index).abs() < self.window",
        ),
        or_family=("mask",),
    ),
    bug(
        "fresh-mask-of-forgotten-keys",
        "padding",
        "the mask's first columns are taken for the keys that are left, not its last",
        ("mask[:, None, None, -num_keys:]", "mask[:, None, None, :num_keys]"),
        or_family=("cache", "window", "mask"),
    ),
    bug(
        "fresh-only-keys-repeated-in-order",
        "kv-heads",
        "key heads are repeated one by one, value heads are tiled",
        ("values.repeat_interleave(groups, dim=1)", "values.repeat(1, groups, 1, 1)"),
        or_family=("heads",),
        seen="spec",
    ),
    bug(
        "fresh-scaled-twice",
        "scale",
        "queries are scaled by hand although the kernel scales",
        (
            "F.scaled_dot_product_attention(queries, keys,",
            "F.scaled_dot_product_attention(queries * self.head_width**-0.5, keys,",
        ),
        seen="spec",
    ),
    bug(
        "fresh-slot-taken-for-position",
        "positions",
        "the slot in the rolling buffer is used as the position",
        (
            "positions = (num_seen + torch.arange(length)).repeat(batch, 1)",
            "positions = ((num_seen + torch.arange(length)) % self.window).repeat(batch, 1)",
        ),
        or_family=("rotary", "cache", "window"),
    ),
    bug(
        "fresh-positions-interleaved-over-batch",
        "batch",
        "positions are repeated elementwise and then reshaped into rows",
        (
            "(num_seen + torch.arange(length)).repeat(batch, 1)",
            "(num_seen + torch.arange(length)).repeat_interleave(batch).view(batch, length)",
        ),
        or_family=("positions", "rotary"),
    ),
    bug(
        "fresh-sine-of-wrong-sign",
        "rotary",
        "the second half is rotated the other way than the first",
        ("right * cos + left * sin", "right * cos - left * sin"),
        or_family=("positions",),
    ),
    bug(
        "fresh-default-base",
        "rotary",
        "the base is the usual 10,000",
        ("self.window, self.rope_theta = window, 1_000_000.0", "self.window, self.rope_theta = window, 10_000.0"),
        or_family=("positions",),
        seen="spec",
    ),
    bug(
        "fresh-keys-and-values-by-head",
        "projection",
        "the matrix of keys and values is read head by head",
        (
            "        fused = self.wkv(x).view(batch, length, 2, self.num_kv_heads, self.head_width)\n"
            "        keys, values = fused.permute(2, 0, 3, 1, 4)\n",
            "        fused = self.wkv(x).view(batch, length, self.num_kv_heads, 2, self.head_width)\n"
            "        keys, values = fused.permute(3, 0, 2, 1, 4)\n",
        ),
        or_family=("kv-heads", "heads"),
        seen="spec",
    ),
    bug(
        "fresh-first-keys-kept",
        "cache",
        "the cache keeps its first keys once it is full",
        (
            "return RollingCache(keys[:, :, first:], values[:, :, first:], num_seen)",
            "return RollingCache(keys[:, :, :keep], values[:, :, :keep], num_seen)",
        ),
        or_family=("window",),
    ),
    bug(
        "fresh-one-kept-too-few",
        "cache",
        "the cache forgets a key that the next query should still see",
        ("keep = self.window - 1", "keep = self.window - 2"),
        or_family=("window",),
    ),
)
