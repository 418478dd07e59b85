"""Mistakes in the layer with ALiBi and one matrix interleaved by head."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("bloom")

BUGS = (
    bug(
        "fresh-fused-matrix-not-interleaved",
        "projection",
        "the fused matrix is read as all queries, all keys, all values",
        (
            "fused = fused.view(*fused.shape[:2], self.num_heads, 3, self.head_width).transpose(1, 2)",
            "fused = fused.view(*fused.shape[:2], 3, self.num_heads, self.head_width).permute(0, 3, 1, 2, 4)",
        ),
        or_family=("heads",),
        seen="spec",
    ),
    bug(
        "fresh-extra-slopes-in-sequence",
        "alibi",
        "the extra heads take the next slopes of the larger power one by one, instead of every other one",
        ("range(1, 1 + 2 * (num_heads - closest), 2)", "range(1, 1 + num_heads - closest)"),
        seen="spec",
    ),
    bug(
        "fresh-bias-scaled-too",
        "alibi",
        "the scale is applied after the bias was added",
        (
            "        scores = torch.matmul(queries, keys) * self.inv_norm_factor\n"
            "        scores = scores + self.bias(length, num_keys, scores.dtype)\n",
            "        scores = torch.matmul(queries, keys)\n"
            "        scores = (scores + self.bias(length, num_keys, scores.dtype)) * self.inv_norm_factor\n",
        ),
        or_family=("scale",),
        seen="spec",
    ),
    bug(
        "fresh-one-future-token",
        "mask",
        "the causal mask starts one diagonal too late",
        ("hidden.triu(diagonal=1 + num_keys - num_queries)", "hidden.triu(diagonal=2 + num_keys - num_queries)"),
    ),
    bug(
        "fresh-kept-keys-scaled-in-place",
        "in-place",
        "keys are scaled in place before they go to the cache, and again in every step",
        (
            "        scores = torch.matmul(queries, keys) * self.inv_norm_factor\n",
            "        keys *= self.inv_norm_factor\n        scores = torch.matmul(queries, keys)\n",
        ),
        or_family=("cache", "scale"),
    ),
    bug(
        "fresh-heads-merged-across",
        "heads",
        "the head width comes before the heads when they are merged",
        ("context = context.permute(0, 2, 1, 3).reshape", "context = context.permute(0, 2, 3, 1).reshape"),
        or_family=("projection",),
        seen="spec",
    ),
    bug(
        "fresh-input-viewed-flat",
        "shape",
        "the input is flattened by view, which fails for one that is not contiguous",
        (
            "self.split(self.query_key_value(x))",
            "self.split(self.query_key_value(x.view(-1, width)).view(batch, length, -1))",
        ),
    ),
    bug(
        "fresh-slopes-over-all-eight",
        "alibi",
        "slopes are 2^(−8h/H) although the number of heads is no power of two",
        (
            "    return torch.tensor(slopes, dtype=torch.float64)",
            "    slopes = [2 ** (-8 * head / num_heads) for head in range(1, num_heads + 1)]\n"
            "    return torch.tensor(slopes, dtype=torch.float64)",
        ),
        seen="spec",
    ),
    bug(
        "fresh-padding-left-out-of-renormalising",
        "softmax",
        "padding is masked only by zeroing weights after the softmax",
        (
            "scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)",
            "scores = scores.masked_fill(self.hidden(length, num_keys, None), torch.finfo(scores.dtype).min)",
        ),
        or_family=("padding", "mask"),
    ),
    bug(
        "fresh-old-values-after-new",
        "cache",
        "new values are put before the cached ones",
        ("values = torch.cat((past_values, values), dim=-2)", "values = torch.cat((values, past_values), dim=-2)"),
    ),
    bug(
        "fresh-distance-without-sign",
        "alibi",
        "the distance is taken without its sign",
        ("distance = query_index - key_index\n", "distance = (query_index - key_index).abs()\n"),
        is_equivalent="the distance differs only for future keys, which are hidden",
    ),
    bug(
        "fresh-distance-from-first-query",
        "alibi",
        "distances do not count the cached tokens",
        ("query_index = torch.arange(num_keys - num_queries, num_keys)", "query_index = torch.arange(num_queries)"),
        is_equivalent="all logits of one query and head shift by the same amount, which does not change the softmax",
    ),
)
