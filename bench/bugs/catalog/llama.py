"""Bugs of the Llama-like layer in what it computes: mask, scale, softmax, rotary positions, heads."""

from bugs.bug import edits

bug = edits("llama")

SCALED = " * self.head_width**-0.5"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
HIDE = "scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)"
ZERO = "weights = weights.masked_fill(~allowed, 0.0)"
TURN = "queries, keys = apply_rotary(queries, cos, sin), apply_rotary(keys, cos, sin)"
SPLIT = "x.view(batch, length, num_heads, self.head_width).transpose(1, 2)"
TWICE = "torch.cat((angles, angles), dim=-1)[:, None]"
GIVEN = "        if mask is not None:\n            allowed = allowed & mask[:, None, None, :]"

BUGS = (
    bug("own-key-hidden", "mask", "a query does not see its own key", ("columns <= rows", "columns < rows")),
    bug("next-key-seen", "mask", "a query sees the next key", ("columns <= rows", "columns <= rows + 1")),
    bug("mask-transposed", "mask", "the causal mask is transposed", ("columns <= rows", "columns >= rows")),
    bug("mask-after-softmax", "mask", "hidden weights are zeroed after softmax only", (HIDE, "")),
    bug("mask-multiplied", "mask", "hidden logits become zero instead of −∞", (HIDE, "scores = scores * allowed")),
    bug(
        "mask-constant",
        "mask",
        "hidden logits are −1e4 instead of the lowest float",
        ("torch.finfo(scores.dtype).min", "-1e4"),
        or_family=("softmax", "precision"),
    ),
    bug(
        "padding-of-first-row",
        "padding",
        "the first row's padding mask is used for all rows",
        ("mask[:, None, None, :]", "mask[:1, None, None, :]"),
    ),
    bug(
        "padding-inverted",
        "padding",
        "padding is visible and tokens are hidden",
        ("& mask[:, None, None, :]", "& ~mask[:, None, None, :]"),
    ),
    bug(
        "padding-hides-queries",
        "padding",
        "the mask is applied along queries instead of keys",
        ("mask[:, None, None, :]", "mask[:, None, -num_queries:, None]"),
    ),
    bug(
        "empty-rows-uniform", "padding", "a query that sees no key averages all values", (ZERO, ""), or_family=("mask",)
    ),
    bug(
        "padding-only-in-batches",
        "padding",
        "padding is ignored in a batch of one",
        (GIVEN, GIVEN.replace("is not None", "is not None and len(mask) > 1")),
        or_family=("batch",),
    ),
    bug("scale-missing", "scale", "logits are not scaled", (SCALED, ""), seen="spec"),
    bug(
        "scale-by-width",
        "scale",
        "√width instead of √head_width",
        (SCALED, " * (self.num_heads * self.head_width) ** -0.5"),
        seen="spec",
    ),
    bug("scale-squared", "scale", "1 / head_width", (SCALED, " / self.head_width"), seen="spec"),
    bug("softmax-over-queries", "softmax", "softmax along the wrong axis", (SOFTMAX, SOFTMAX.replace("-1", "-2"))),
    bug(
        "softmax-overflows",
        "softmax",
        "the maximum is not subtracted before exp",
        (SOFTMAX, "weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)"),
        or_family=("precision",),
    ),
    bug(
        "softmax-in-bfloat16",
        "precision",
        "softmax rounds to bfloat16",
        (SOFTMAX, "weights = torch.softmax(scores.bfloat16(), dim=-1).to(scores.dtype)"),
    ),
    bug(
        "softmax-in-float32",
        "precision",
        "the softmax is computed in float32 whatever the layer's precision",
        (SOFTMAX, "weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)"),
        is_lawful="most public layers compute the softmax in float32 on purpose, so float64 layers lose digits",
    ),
    bug("only-queries-turned", "rotary", "keys are not rotated", (TURN, "queries = apply_rotary(queries, cos, sin)")),
    bug(
        "values-turned",
        "rotary",
        "values are rotated too",
        (TURN, "queries, keys, values = (apply_rotary(each, cos, sin) for each in (queries, keys, values))"),
    ),
    bug(
        "turned-backwards",
        "rotary",
        "the angle has the wrong sign",
        ("+ rotate_half(x)", "- rotate_half(x)"),
        seen="spec",
    ),
    bug(
        "half-not-negated", "rotary", "(second, first) without the minus sign", ("(-second, first)", "(second, first)")
    ),
    bug(
        "angles-interleaved",
        "rotary",
        "interleaved angles on split halves",
        (TWICE, "angles.repeat_interleave(2, -1)[:, None]"),
    ),
    bug(
        "pairs-interleaved",
        "rotary",
        "interleaved pairs, split angles",
        ("x.chunk(2, dim=-1)", "x[..., ::2], x[..., 1::2]"),
    ),
    bug(
        "base-tenth",
        "rotary",
        "base 1000 instead of 10000",
        ("self.base**-exp", "(self.base / 10) ** -exp"),
        seen="spec",
    ),
    bug(
        "exponent-doubled",
        "rotary",
        "exponent 4i/d instead of 2i/d",
        ("4) / self.head_width", "4) * 2 / self.head_width"),
        seen="spec",
    ),
    bug(
        "positions-in-bfloat16",
        "precision",
        "positions above 256 are rounded",
        ("positions[:, :, None].to(torch.float64)", "positions[:, :, None].to(torch.bfloat16).to(torch.float64)"),
        or_family=("rotary", "positions"),
    ),
    bug(
        "cosines-in-half",
        "precision",
        "cosines are rounded to float16",
        ("angles.cos().to(dtype)", "angles.cos().half().to(dtype)"),
        or_family=("rotary",),
    ),
    bug(
        "heads-without-transpose",
        "heads",
        "positions are read as heads",
        (SPLIT, "x.view(batch, num_heads, length, self.head_width)"),
    ),
    bug(
        "merge-without-transpose",
        "heads",
        "heads and positions are mixed up at the end",
        ("mixed.transpose(1, 2).reshape(batch, length, -1)", "mixed.reshape(batch, length, -1)"),
    ),
    bug(
        "kv-heads-tiled",
        "kv-heads",
        "head h takes key head h mod 2 instead of h div 2",
        ("x[:, :, None].expand(batch, heads, num_groups,", "x[:, None].expand(batch, num_groups, heads,"),
        seen="spec",
    ),
    bug(
        "values-tiled",
        "kv-heads",
        "values are tiled while keys are repeated",
        (
            "repeat_kv(values, self.num_heads // self.num_kv_heads)",
            "values.repeat(1, self.num_heads // values.shape[1], 1, 1)",
        ),
        seen="spec",
    ),
    bug(
        "values-are-keys",
        "projection",
        "values are computed with the key matrix",
        ("self.v_proj(x)", "self.k_proj(x)"),
        seen="spec",
    ),
    bug(
        "output-transposed",
        "projection",
        "the output matrix is transposed",
        ("self.o_proj(mixed)", "mixed @ self.o_proj.weight"),
        seen="spec",
    ),
)
