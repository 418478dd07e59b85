"""Mistakes in the layer with grouped heads, half-split rotary positions and a cache."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("llama")

BUGS = (
    bug(
        "fresh-angles-of-first-row",
        "positions",
        "the angles are those of the first sequence of the batch, for all of them",
        ("angles = positions[:, :, None].to(torch.float64)", "angles = positions[:1, :, None].to(torch.float64)"),
        or_family=("batch", "rotary"),
    ),
    bug(
        "fresh-past-from-head-axis",
        "cache",
        "the number of cached tokens is read from the axis of heads",
        ("past = 0 if cache is None else cache[0].shape[2]", "past = 0 if cache is None else cache[0].shape[1]"),
        or_family=("positions", "rotary"),
    ),
    bug(
        "fresh-stale-rotary-table",
        "positions",
        "cosines and sines are kept from the last call of the same shape, whatever its positions were",
        (
            "        angles = torch.cat((angles, angles), dim=-1)[:, None]\n"
            "        return angles.cos().to(dtype), angles.sin().to(dtype)\n",
            "        angles = torch.cat((angles, angles), dim=-1)[:, None]\n"
            "        if getattr(self, '_table_key', None) != (angles.shape, dtype):\n"
            "            self._table_key = (angles.shape, dtype)\n"
            "            self._table = angles.cos().to(dtype), angles.sin().to(dtype)\n"
            "        return self._table\n",
        ),
        or_family=("cache", "rotary"),
    ),
    bug(
        "fresh-tiled-kv-heads",
        "kv-heads",
        "key and value heads are tiled over the query heads, not repeated one by one",
        (
            "x = x[:, :, None].expand(batch, heads, num_groups, length, width)",
            "x = x[:, None].expand(batch, num_groups, heads, length, width)",
        ),
        or_family=("heads",),
        seen="spec",
    ),
    bug(
        "fresh-mask-by-product",
        "mask",
        "hidden logits become zero before the softmax, so that they still take their share",
        (
            "scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)",
            "scores = scores * allowed.to(scores.dtype)",
        ),
        or_family=("softmax", "padding"),
    ),
    bug(
        "fresh-mask-on-query-axis",
        "padding",
        "the padding mask hides queries where it should hide keys",
        ("allowed = allowed & mask[:, None, None, :]", "allowed = allowed & mask[:, None, -num_queries:, None]"),
        or_family=("mask",),
    ),
    bug(
        "fresh-rotary-table-in-bfloat16",
        "precision",
        "cosines and sines pass through bfloat16",
        (
            "return angles.cos().to(dtype), angles.sin().to(dtype)",
            "cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()\n        return cos.to(dtype), sin.to(dtype)",
        ),
        or_family=("rotary",),
    ),
    bug(
        "fresh-dropout-always-on",
        "dropout",
        "functional dropout is called without training=False",
        ("F.dropout(weights, self.dropout, self.training)", "F.dropout(weights, self.dropout)"),
    ),
    bug(
        "fresh-chunk-builds-own-triangle",
        "path",
        "each chunk of queries gets a causal mask that ends at the last key",
        (
            "part = allowed[:, :, start : start + 3]",
            "rows = min(3, queries.shape[2] - start)\n"
            "            part = self.allowed(rows, keys.shape[2], None) & allowed[:, :, -1:]",
        ),
        or_family=("mask",),
    ),
    bug(
        "fresh-heads-merged-without-transpose",
        "heads",
        "heads are laid side by side without moving them behind the positions",
        ("mixed = mixed.transpose(1, 2).reshape(batch, length, -1)", "mixed = mixed.reshape(batch, length, -1)"),
        or_family=("shape", "mask"),
    ),
    bug(
        "fresh-no-gradient-through-rotation",
        "gradient",
        "no_grad, meant for the table of angles, covers the rotation of queries and keys",
        ("def apply_rotary(x: Tensor", "@torch.no_grad()\ndef apply_rotary(x: Tensor"),
    ),
    bug(
        "fresh-sine-not-negated",
        "rotary",
        "rotate_half forgets the minus sign",
        ("return torch.cat((-second, first), dim=-1)", "return torch.cat((second, first), dim=-1)"),
        or_family=("positions",),
    ),
    bug(
        "fresh-core-mask-overwritten",
        "mask",
        "the mask of a non-causal call is applied before all pairs are allowed",
        (
            "        allowed = allowed if causal else torch.ones_like(allowed)\n"
            "        if mask is not None:\n"
            "            allowed = allowed & mask\n",
            "        if mask is not None:\n"
            "            allowed = allowed & mask\n"
            "        allowed = allowed if causal else torch.ones_like(allowed)\n",
        ),
        or_family=("padding",),
    ),
)
