"""Bugs of the GPT-2-like layer: learned positions, one fused projection, a fast and an eager path."""

from bugs.bug import edits

bug = edits("gpt2")

PLACED = "x = x + self.wpe(positions)"
ORDER = "q, k, v = fused.split(self.width, dim=2)"
FAST = 'if mask is None and cache is None and path != "eager":'
FUSED = "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
ROWS = "self.bias[None, None, num_keys - num_queries : num_keys, :num_keys]"
SEEN = "mask.view(mask.size(0), 1, 1, -1)"
SCALE = "(1.0 / math.sqrt(k.size(-1)))"
MERGE = "y.transpose(1, 2).contiguous().view(batch, length, width)"
HEADS = "x.view(x.size(0), x.size(1), self.num_heads, self.width // self.num_heads).transpose(1, 2)"
TRIANGLE = "torch.tril(torch.ones(max_positions, max_positions, dtype=torch.bool))"
FILL = "fused = x @ self.c_attn_weight + self.c_attn_bias"

BUGS = (
    bug(
        "positions-in-place",
        "in-place",
        "positions are added to the caller's input",
        (PLACED, "x += self.wpe(positions)"),
    ),
    bug("positions-ignored", "positions", "given positions are ignored", ("if positions is None:", "if True:")),
    bug("positions-missing", "positions", "no position is added", (PLACED, "")),
    bug(
        "positions-from-two",
        "positions",
        "the table is read two rows too late",
        (PLACED, "x = x + self.wpe((positions + 2) % 64)"),
        seen="spec",
    ),
    bug(
        "positions-clipped",
        "positions",
        "positions above seven count as seven",
        (PLACED, "x = x + self.wpe(positions.clamp(max=7))"),
    ),
    bug(
        "positions-reversed",
        "positions",
        "positions count from the end",
        (PLACED, "x = x + self.wpe(positions.flip(1))"),
        seen="spec",
    ),
    bug(
        "positions-of-first-row",
        "positions",
        "the first row's positions are used for all rows",
        (PLACED, "x = x + self.wpe(positions[:1])"),
        or_family=("batch",),
    ),
    bug(
        "positions-doubled",
        "positions",
        "positions are added twice",
        (PLACED, "x = x + 2 * self.wpe(positions)"),
        seen="spec",
    ),
    bug(
        "cache-restarts",
        "cache",
        "positions restart at zero at every step",
        ("torch.arange(past, past + length)", "torch.arange(length)"),
        or_family=("positions",),
    ),
    bug(
        "cache-one-behind",
        "cache",
        "positions after the cache are one too small",
        ("cache[0].size(-2) if", "cache[0].size(-2) - 1 if"),
        or_family=("positions",),
    ),
    bug(
        "cache-fast-path",
        "cache",
        "the fast path is used with a cache, aligned at the top",
        (FAST, 'if mask is None and path != "eager":'),
        or_family=("mask",),
    ),
    bug(
        "rows-from-the-top",
        "cache",
        "new queries get the mask of the first ones",
        (ROWS, "self.bias[None, None, :num_queries, :num_keys]"),
        or_family=("mask",),
    ),
    bug(
        "cache-keys-for-values",
        "cache",
        "old keys are used as values",
        ("torch.cat((cache[1], v), dim=-2)", "torch.cat((cache[0], v), dim=-2)"),
    ),
    bug(
        "cache-forgets-last",
        "cache",
        "the cache loses its last token",
        ("weights, (k, v)", "weights, (k[..., :-1, :], v[..., :-1, :])"),
    ),
    bug(
        "query-and-key-swapped",
        "projection",
        "queries and keys are swapped",
        (ORDER, ORDER.replace("q, k, v", "k, q, v")),
        seen="spec",
    ),
    bug(
        "key-and-value-swapped",
        "projection",
        "keys and values are swapped",
        (ORDER, ORDER.replace("q, k, v", "q, v, k")),
        seen="spec",
    ),
    bug(
        "output-transposed",
        "projection",
        "the output matrix is transposed",
        ("y @ self.c_proj_weight", "y @ self.c_proj_weight.T"),
        seen="spec",
    ),
    bug("output-bias-lost", "projection", "the output's bias is left out", (" + self.c_proj_bias", ""), seen="spec"),
    bug(
        "heads-interleaved",
        "heads",
        "a head takes every fourth coordinate",
        (HEADS, "x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)"),
        seen="spec",
    ),
    bug(
        "heads-without-transpose",
        "heads",
        "positions are read as heads",
        (HEADS, "x.reshape(x.size(0), self.num_heads, x.size(1), -1)"),
    ),
    bug(
        "merge-without-transpose",
        "heads",
        "heads and positions are mixed up at the end",
        (MERGE, "y.reshape(batch, length, width)"),
    ),
    bug(
        "eager-scale-by-length",
        "scale",
        "the eager path divides by √length",
        (SCALE, "(1.0 / math.sqrt(k.size(-2)))"),
        or_family=("path",),
    ),
    bug(
        "eager-scale-squared",
        "scale",
        "the eager path divides by head_width",
        (SCALE, "(1.0 / k.size(-1))"),
        or_family=("path",),
    ),
    bug(
        "fast-path-sees-all",
        "mask",
        "the fast path is not causal",
        (FUSED, FUSED.replace("True", "False")),
        or_family=("path",),
    ),
    bug(
        "eager-next-key-seen",
        "mask",
        "the eager path sees the next key",
        (TRIANGLE, TRIANGLE.replace("bool))", "bool), 1)")),
        or_family=("path",),
    ),
    bug(
        "fast-path-ignores-padding",
        "padding",
        "the fast path is used although there is padding",
        (FAST, 'if cache is None and path != "eager":'),
        or_family=("path",),
    ),
    bug(
        "padding-of-all-rows",
        "padding",
        "a key that is padding in any row is hidden in all rows",
        (SEEN, "mask.all(0).view(1, 1, 1, -1)"),
        or_family=("batch",),
    ),
    bug(
        "padding-shifted",
        "padding",
        "the mask is shifted by one token",
        (SEEN, "mask.roll(1, 1).view(mask.size(0), 1, 1, -1)"),
    ),
    bug(
        "empty-rows-uniform",
        "padding",
        "a query that sees no key averages all values",
        (" * visible\n", "\n"),
        or_family=("mask",),
    ),
    bug(
        "padding-renormalised-late",
        "softmax",
        "hidden logits are zero before softmax",
        ("att.masked_fill(~visible, torch.finfo(att.dtype).min)", "att.masked_fill(~visible, 0.0)"),
        or_family=("mask", "path"),
    ),
    bug("keys-detached", "gradient", "no gradient flows into keys", (FUSED, FUSED.replace("q, k", "q, k.detach()"))),
    bug(
        "fused-in-bfloat16",
        "precision",
        "the projection is rounded to bfloat16",
        (FILL, "fused = (x @ self.c_attn_weight + self.c_attn_bias).bfloat16().to(x.dtype)"),
    ),
    bug(
        "dropout-left-on",
        "dropout",
        "the eager path applies dropout outside training",
        ("training=self.training", "training=True"),
        or_family=("path",),
    ),
    bug(
        "fast-path-drops-out",
        "dropout",
        "the fast path applies dropout outside training",
        (FUSED, FUSED.replace("is_causal", "dropout_p=self.attn_pdrop, is_causal")),
        or_family=("path",),
    ),
    bug(
        "first-row-fast",
        "batch",
        "a batch of one is not causal",
        (FUSED, FUSED.replace("True", "batch > 1")),
        or_family=("mask",),
    ),
)
