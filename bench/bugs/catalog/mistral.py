"""Bugs of the Mistral-like layer: sliding window, rolling cache, grouped heads, torch's fused attention."""

from bugs.bug import edits

bug = edits("mistral")

NEAR = "(query_index - key_index < self.window)"
WHOLE = "visible[None, None] & mask[:, None, None, -num_keys:]"
FUSED = "F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)"
REPEATED = "keys.repeat_interleave(groups, dim=1), values.repeat_interleave(groups, dim=1)"
MERGE = "mixed.transpose(1, 2).contiguous().view(batch, length, -1)"
KEPT = "return RollingCache(keys[:, :, first:], values[:, :, first:], num_seen)"
INDEX = "torch.arange(num_keys - num_queries, num_keys).unsqueeze(-1)"
VIEW = "fused = self.wkv(x).view(batch, length, 2, self.num_kv_heads, self.head_width)"

BUGS = (
    bug("window-one-more", "window", "the window has one key too many", (NEAR, NEAR.replace("<", "<="))),
    bug("window-one-less", "window", "the window has one key too few", (NEAR, NEAR.replace("window)", "window - 1)"))),
    bug("window-missing", "window", "the window is not applied", (f" & {NEAR}", "")),
    bug("window-doubled", "window", "the window is twice as long", ("window: int = 4", "window: int = 8")),
    bug(
        "window-in-blocks",
        "window",
        "blocks instead of a sliding window",
        (NEAR, "(query_index // self.window == key_index // self.window)"),
    ),
    bug(
        "window-outside",
        "window",
        "only what lies outside the window is seen",
        (NEAR, "((query_index - key_index >= self.window) | (key_index == query_index))"),
    ),
    bug(
        "window-lost-with-mask",
        "window",
        "the window is forgotten if there is a mask",
        (WHOLE, "(key_index <= query_index)[None, None] & mask[:, None, None, -num_keys:]"),
        or_family=("padding",),
    ),
    bug(
        "window-forward",
        "mask",
        "the window extends as far ahead as back",
        ("(key_index <= query_index) & ", "(key_index - query_index < self.window) & "),
    ),
    bug("future-seen", "mask", "all later keys are seen", ("(key_index <= query_index) & ", "")),
    bug(
        "cache-one-more",
        "cache",
        "the cache keeps one key more than needed",
        ("keep = self.window - 1", "keep = self.window"),
        is_equivalent="the mask hides what lies outside the window",
    ),
    bug(
        "cache-one-less",
        "cache",
        "the cache keeps one key too few",
        ("keep = self.window - 1", "keep = self.window - 2"),
        or_family=("window",),
    ),
    bug(
        "cache-keeps-first-values",
        "cache",
        "the cache keeps the first values",
        (KEPT, KEPT.replace("values[:, :, first:]", "values[:, :, : keys.shape[2] - first]")),
    ),
    bug(
        "seen-is-kept",
        "cache",
        "positions count the tokens kept, not those seen",
        ("cache.num_seen if", "cache.keys.shape[2] if"),
        or_family=("positions",),
    ),
    bug(
        "seen-not-added",
        "cache",
        "only the last chunk counts as seen",
        ("num_seen + length)", "length)"),
        or_family=("positions",),
    ),
    bug(
        "rows-from-the-top",
        "cache",
        "new queries are aligned with the first keys",
        (INDEX, "torch.arange(num_queries).unsqueeze(-1)"),
        or_family=("mask",),
    ),
    bug(
        "cache-unturned",
        "cache",
        "keys are cached before they are rotated",
        ("self.remember(keys,", "self.remember(rotate(keys, cos[:, :, -1:], -sin[:, :, -1:]),"),
        or_family=("rotary", "positions"),
    ),
    bug(
        "cache-order-of-values",
        "cache",
        "new values are put before old ones",
        ("[cache.values, values]", "[values, cache.values]"),
    ),
    bug(
        "padding-from-the-start",
        "padding",
        "the mask's first columns are used for the last keys",
        ("-num_keys:]", ":num_keys]"),
        or_family=("cache",),
    ),
    bug(
        "padding-or",
        "padding",
        "real keys are visible outside the window too",
        (WHOLE, WHOLE.replace("&", "|")),
        or_family=("mask",),
    ),
    bug(
        "padding-alone",
        "mask",
        "with a padding mask, the causal mask is lost",
        (WHOLE, "mask[:, None, None, -num_keys:].expand(-1, -1, num_queries, -1)"),
        or_family=("padding",),
    ),
    bug(
        "positions-ignored-at-decode",
        "positions",
        "given positions are ignored after the first step",
        ("if positions is None:", "if positions is None or cache is not None:"),
        or_family=("cache",),
    ),
    bug(
        "positions-ignored",
        "positions",
        "given positions are ignored",
        ("if positions is None:", "if positions is None or positions.ndim == 2:"),
    ),
    bug(
        "sine-sign",
        "rotary",
        "one of the two sines has the wrong sign",
        ("right * cos + left * sin", "right * cos - left * sin"),
    ),
    bug(
        "cosine-of-one-half",
        "rotary",
        "the second half keeps its length",
        ("right * cos + left * sin", "right + left * sin"),
    ),
    bug("theta-of-llama", "rotary", "base 10000 instead of a million", ("1_000_000.0", "10_000.0"), seen="spec"),
    bug(
        "exponent-halved",
        "rotary",
        "exponent i/d instead of 2i/d",
        ("(-2 * steps / self.head_width)", "(-steps / self.head_width)"),
        seen="spec",
    ),
    bug(
        "keys-and-values-interleaved",
        "projection",
        "the fused matrix is read head by head",
        (VIEW, "fused = self.wkv(x).view(batch, length, self.num_kv_heads, 2, self.head_width).transpose(2, 3)"),
        seen="spec",
    ),
    bug(
        "keys-tiled",
        "kv-heads",
        "keys are tiled while values are repeated",
        (REPEATED, "keys.repeat(1, groups, 1, 1), values.repeat_interleave(groups, dim=1)"),
        seen="spec",
    ),
    bug(
        "one-kv-head",
        "kv-heads",
        "only the first key head is used",
        (REPEATED, "keys[:, :1].expand_as(queries[:, :, :1] + keys[:, :1]), values.repeat_interleave(groups, dim=1)"),
        seen="spec",
    ),
    bug(
        "kv-heads-reversed",
        "kv-heads",
        "groups take key heads in reverse",
        (REPEATED, "keys.flip(1).repeat_interleave(groups, dim=1), values.flip(1).repeat_interleave(groups, dim=1)"),
        seen="spec",
    ),
    bug(
        "scale-missing",
        "scale",
        "logits are not scaled",
        (FUSED, FUSED.replace("=visible", "=visible, scale=1.0")),
        seen="spec",
    ),
    bug(
        "scale-twice",
        "scale",
        "queries are scaled before the fused kernel scales",
        (FUSED, FUSED.replace("(queries,", "(queries * self.head_width**-0.5,")),
        seen="spec",
    ),
    bug(
        "dropout-left-on",
        "dropout",
        "the fused kernel applies dropout",
        (FUSED, FUSED.replace("=visible", "=visible, dropout_p=0.1")),
    ),
    bug(
        "mask-added-as-one",
        "mask",
        "the boolean mask is added as 0 and 1",
        (FUSED, FUSED.replace("=visible", "=visible.to(queries.dtype)")),
    ),
    bug("mask-inverted", "mask", "hidden and visible are swapped", (FUSED, FUSED.replace("=visible", "=~visible"))),
    bug(
        "batch-and-time-mixed",
        "batch",
        "time is read as batch",
        (MERGE, "mixed.permute(2, 0, 1, 3).contiguous().view(batch, length, -1)"),
    ),
    bug(
        "values-detached",
        "gradient",
        "no gradient flows into values",
        (FUSED, FUSED.replace("keys, values", "keys, values.detach()")),
    ),
    bug(
        "queries-in-bfloat16",
        "precision",
        "queries are rounded to bfloat16",
        (FUSED, FUSED.replace("(queries", "(queries.bfloat16().to(x.dtype)")),
    ),
)
