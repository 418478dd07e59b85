"""Bugs of the Bloom-like layer: ALiBi and a projection fused head by head."""

from bugs.bug import edits

bug = edits("bloom")

DISTANCE = "distance = query_index - key_index"
VIEW = "fused.view(*fused.shape[:2], self.num_heads, 3, self.head_width).transpose(1, 2)"
DIAGONAL = "diagonal=1 + num_keys - num_queries"
BIAS = "scores + self.bias(length, num_keys, scores.dtype)"
PARTS = "fused[..., 1, :], fused[..., 2, :]"
HIDDEN = "hidden = self.hidden(length, num_keys, mask)"
SOFTMAX = "F.softmax(scores, dim=-1)"
MERGE = "context.permute(0, 2, 1, 3).reshape(batch, length, width)"

BUGS = (
    bug("slopes-positive", "alibi", "distant keys get more weight", ("(-self.slopes", "(self.slopes"), seen="spec"),
    bug(
        "slopes-reversed",
        "alibi",
        "slopes in the opposite order of heads",
        ("= alibi_slopes(num_heads)", "= alibi_slopes(num_heads).flip(0)"),
        seen="spec",
    ),
    bug(
        "slopes-sorted",
        "alibi",
        "slopes are sorted over heads",
        ("= alibi_slopes(num_heads)", "= alibi_slopes(num_heads).sort(descending=True)[0]"),
        seen="spec",
    ),
    bug(
        "slopes-of-twice-the-heads",
        "alibi",
        "the slopes are those of twice as many heads",
        ("(math.log2(closest) - 3)", "(math.log2(closest) - 2)"),
        seen="spec",
    ),
    bug(
        "slopes-from-zero", "alibi", "the first slope is one", ("range(1, closest + 1)", "range(closest)"), seen="spec"
    ),
    bug(
        "extra-slopes-in-sequence",
        "alibi",
        "extra heads take each next slope, not every other",
        ("range(1, 1 + 2 * (num_heads - closest), 2)", "range(1, 1 + num_heads - closest)"),
        seen="spec",
    ),
    bug(
        "alibi-of-one-head",
        "alibi",
        "all heads have the first slope",
        ("self.slopes[:, None, None]", "self.slopes[:1, None, None]"),
        seen="spec",
    ),
    bug(
        "alibi-scaled",
        "alibi",
        "the bias is scaled like the logits",
        (BIAS, BIAS.replace("self.bias", "self.inv_norm_factor * self.bias")),
        seen="spec",
    ),
    bug(
        "alibi-lost",
        "alibi",
        "the bias is the same for all keys",
        (DISTANCE, "distance = query_index + 0 * key_index"),
        or_family=("positions",),
    ),
    bug(
        "alibi-saturates",
        "alibi",
        "distances above four count as four",
        (DISTANCE, DISTANCE + "\n        distance = distance.clamp(max=4)"),
        seen="spec",
    ),
    bug(
        "alibi-squared",
        "alibi",
        "the distance is squared",
        (DISTANCE, "distance = (query_index - key_index) ** 2"),
        seen="spec",
    ),
    bug(
        "alibi-by-rank",
        "precision",
        "distances count from the longest: the same weights, but large biases that bfloat16 rounds",
        (DISTANCE, "distance = num_keys - 1 - key_index"),
        seen="spec",
        or_family=("alibi",),
    ),
    bug(
        "alibi-absolute",
        "alibi",
        "the absolute distance is used",
        (DISTANCE, "distance = (query_index - key_index).abs()"),
        is_equivalent="causal queries see no negative distances",
    ),
    bug(
        "alibi-restarts",
        "alibi",
        "new queries count from zero while decoding",
        ("torch.arange(num_keys - num_queries, num_keys)[:, None]", "torch.arange(num_queries)[:, None]"),
        is_equivalent="adding a constant to a row does not change its softmax",
    ),
    bug(
        "alibi-of-new-keys",
        "cache",
        "the bias of old keys is that of the first new one",
        (DISTANCE, DISTANCE + "\n        distance = distance.clamp(max=max(num_queries - 1, 0))"),
        or_family=("alibi",),
    ),
    bug(
        "parts-before-heads",
        "projection",
        "the fused matrix is read part by part",
        (VIEW, "fused.view(*fused.shape[:2], 3, self.num_heads, self.head_width).permute(0, 3, 1, 2, 4)"),
        seen="spec",
        or_family=("heads",),
    ),
    bug(
        "keys-and-values-swapped",
        "projection",
        "keys and values are swapped",
        (PARTS, "fused[..., 2, :], fused[..., 1, :]"),
        seen="spec",
    ),
    bug(
        "bias-lost",
        "projection",
        "the fused bias is left out",
        ("self.query_key_value(x)", "F.linear(x, self.query_key_value.weight)"),
        seen="spec",
    ),
    bug(
        "residual-added",
        "projection",
        "the input is added to the output",
        ("self.dense(context), w", "x + self.dense(context), w"),
        seen="spec",
    ),
    bug("own-key-hidden", "mask", "a query does not see its own key", (DIAGONAL, "diagonal=num_keys - num_queries")),
    bug("next-key-seen", "mask", "a query sees the next key", (DIAGONAL, "diagonal=2 + num_keys - num_queries")),
    bug(
        "no-past-offset",
        "cache",
        "new queries are aligned with the first keys",
        (DIAGONAL, "diagonal=1"),
        or_family=("mask",),
    ),
    bug(
        "padding-inverted", "padding", "padding is visible and tokens are hidden", ("padding = ~mask", "padding = mask")
    ),
    bug(
        "padding-lost-with-cache",
        "padding",
        "padding is ignored once there is a cache",
        (HIDDEN, HIDDEN.replace("mask)", "mask if cache is None else None)")),
        or_family=("cache",),
    ),
    bug(
        "padding-replaces-triangle",
        "padding",
        "with a padding mask, future keys are visible",
        ("hidden = hidden | padding", "hidden = (hidden & False) | padding"),
        or_family=("mask",),
    ),
    bug(
        "scale-by-width",
        "scale",
        "√width instead of √head_width",
        ("math.sqrt(self.head_width)", "math.sqrt(width)"),
        seen="spec",
    ),
    bug("scale-missing", "scale", "logits are not scaled", (" * self.inv_norm_factor", ""), seen="spec"),
    bug("cache-order", "cache", "new keys are put before old ones", ("(past_keys, keys)", "(keys, past_keys)")),
    bug(
        "cache-keeps-old",
        "cache",
        "the cache is never extended",
        ("weights, (keys, values)", "weights, (keys, values) if cache is None else cache"),
    ),
    bug(
        "heads-interleaved",
        "heads",
        "the output is written coordinate by coordinate",
        (MERGE, MERGE.replace("2, 1, 3", "2, 3, 1")),
        seen="spec",
    ),
    bug(
        "merge-without-permute",
        "heads",
        "heads and positions are mixed up",
        (MERGE, "context.reshape(batch, length, width)"),
    ),
    bug("logits-in-half", "precision", "logits are rounded to float16", (BIAS, f"({BIAS}).half().to(scores.dtype)")),
    bug(
        "dropout-left-on",
        "dropout",
        "dropout is also applied outside training",
        ("self.attention_dropout(weights)", "F.dropout(weights, 0.05)"),
    ),
    bug(
        "softmax-one",
        "softmax",
        "one is added to the denominator",
        (SOFTMAX, "F.softmax(F.pad(scores, (0, 1)), dim=-1)[..., :-1]"),
        or_family=("sink/softcap",),
    ),
    bug(
        "values-detached",
        "gradient",
        "no gradient flows into values",
        ("torch.matmul(weights, values)", "torch.matmul(weights, values.detach())"),
    ),
    bug(
        "weights-transposed",
        "softmax",
        "the weights returned are transposed",
        ("self.dense(context), weights", "self.dense(context), weights.transpose(-1, -2)"),
        seen="spec",
        or_family=("shape", "mask"),
    ),
)
