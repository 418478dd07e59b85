"""Bugs of the cross-attention layer: unequal lengths, a softmax by hand, a path by blocks of keys."""

from bugs.bug import edits

bug = edits("cross")

SEEN = "visible = None if mask is None else mask[:, None, None, :]"
MAXIMUM = "torch.exp(logits - logits.amax(dim=-1, keepdim=True)) * visible"
SHARE = "return powers / torch.where(total > 0, total, 1.0)"
SUM = "total = powers.sum(dim=-1, keepdim=True)"
MIX = 'torch.einsum("bhqk,bhkd->bhqd", weights, v), weights'
HEADS = "x.unflatten(-1, (self.num_heads, self.head_width)).transpose(1, 2)"
BLOCK = 'torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, block]) * self.scale'
OUT = "self.to_out(mixed.transpose(1, 2).flatten(-2))"
OFFSET = "offset = keys.shape[2] - queries.shape[2]"

BUGS = (
    bug(
        "padding-hides-queries",
        "padding",
        "the memory's mask is applied along queries",
        (SEEN, SEEN.replace("None, None, :]", "None, :, None]")),
    ),
    bug(
        "padding-inverted",
        "padding",
        "padding is visible and tokens are hidden",
        (SEEN, SEEN.replace("else mask", "else ~mask")),
    ),
    bug(
        "padding-of-first-row",
        "padding",
        "the first row's padding mask is used for all rows",
        (SEEN, SEEN.replace("mask[:,", "mask[:1,")),
        or_family=("batch",),
    ),
    bug(
        "padding-contiguous",
        "padding",
        "the mask is reduced to the number of tokens, as if padding were on the right",
        (SEEN, SEEN.replace("mask[", "mask.sort(dim=1, descending=True)[0][")),
        or_family=("mask",),
    ),
    bug(
        "padding-soft",
        "padding",
        "padded keys keep a hundredth of their weight",
        (
            MAXIMUM,
            MAXIMUM.replace("* visible", "* visible.to(logits.dtype).clamp(min=0.01)").replace(
                "logits - ", "logits.clamp(min=-50) - "
            ),
        ),
        or_family=("mask",),
    ),
    bug(
        "empty-rows-uniform",
        "padding",
        "a query that sees no key averages all values",
        (MAXIMUM, MAXIMUM.replace(" * visible", "")),
        or_family=("mask", "softmax"),
    ),
    bug(
        "softmax-overflows",
        "softmax",
        "the maximum is not subtracted before exp",
        (MAXIMUM, "torch.exp(logits) * visible"),
        or_family=("precision",),
    ),
    bug(
        "softmax-global-maximum",
        "softmax",
        "the maximum of the whole batch is subtracted",
        (MAXIMUM, "torch.exp(logits - logits.amax()) * visible"),
        or_family=("precision", "batch"),
    ),
    bug(
        "softmax-maximum-of-queries",
        "softmax",
        "each key's maximum is subtracted",
        (MAXIMUM, MAXIMUM.replace("dim=-1", "dim=-2")),
    ),
    bug("softmax-epsilon", "softmax", "1e-3 in the denominator", (SHARE, "return powers / (total + 1e-3)")),
    bug(
        "softmax-clamped",
        "softmax",
        "a total below one counts as one",
        (SHARE, "return powers / total.clamp(min=1.0)"),
        is_equivalent="the largest exponential is one, so the total over visible keys is at least one",
    ),
    bug(
        "softmax-base-two",
        "softmax",
        "2 to the logit instead of e",
        (MAXIMUM, MAXIMUM.replace("torch.exp(", "torch.exp2(")),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "total-over-heads",
        "softmax",
        "weights are normalized over the heads as well",
        (SUM, "total = powers.sum(dim=(1, -1), keepdim=True)"),
        or_family=("heads",),
    ),
    bug("total-detached", "gradient", "the denominator has no gradient", (SUM, SUM + ".detach()")),
    bug(
        "weights-transposed",
        "softmax",
        "values are mixed by the transposed weights",
        (MIX, MIX.replace("bhqk,", "bhkq,")),
        or_family=("shape", "mask"),
    ),
    bug(
        "weights-by-square-root",
        "softmax",
        "values are mixed by the square roots of the weights",
        (MIX, MIX.replace("weights, v)", "weights.sqrt(), v)")),
    ),
    bug(
        "scale-inverted",
        "scale",
        "logits are multiplied by √head_width",
        ("self.scale = self.head_width**-0.5", "self.scale = self.head_width**0.5"),
        seen="spec",
    ),
    bug(
        "scale-of-keys",
        "scale",
        "1/√heads instead of 1/√head_width",
        ("self.scale = self.head_width**-0.5", "self.scale = num_heads**-0.5"),
        seen="spec",
    ),
    bug(
        "heads-interleaved",
        "heads",
        "a head takes every fourth coordinate",
        (HEADS, "x.unflatten(-1, (self.head_width, self.num_heads)).permute(0, 3, 1, 2)"),
        seen="spec",
    ),
    bug(
        "keys-and-values-swapped",
        "projection",
        "keys and values are swapped",
        ("k, v = self.to_kv", "v, k = self.to_kv"),
        seen="spec",
    ),
    bug(
        "kv-bias-lost",
        "projection",
        "the bias of keys and values is left out",
        ("self.to_kv(memory)", "(memory @ self.to_kv.weight.T)"),
        seen="spec",
    ),
    bug(
        "dropout-left-on",
        "dropout",
        "dropout is applied to the output outside training",
        (OUT, f"torch.dropout({OUT}, 0.1, True)"),
    ),
    bug(
        "batch-pooled",
        "batch",
        "all rows share one memory",
        ("self.to_kv(memory)", "self.to_kv(memory.mean(0, keepdim=True).expand_as(memory))"),
    ),
    bug(
        "memory-in-place",
        "in-place",
        "the memory is normalized in place",
        ("self.to_kv(memory)", "self.to_kv(memory.sub_(memory.mean(-1, keepdim=True)))"),
        or_family=("projection",),
    ),
    bug(
        "logits-in-bfloat16",
        "precision",
        "logits are rounded to bfloat16",
        ("q, k) * self.scale", "q, k).bfloat16().to(q.dtype) * self.scale"),
    ),
    bug(
        "blocks-total-not-shrunk",
        "path",
        "the running total is not rescaled",
        ("total = total * shrink +", "total = total +"),
        or_family=("softmax",),
    ),
    bug(
        "blocks-values-not-shrunk",
        "path",
        "the running output is not rescaled",
        ("mixed = mixed * shrink +", "mixed = mixed +"),
        or_family=("softmax",),
    ),
    bug(
        "blocks-maximum-of-last",
        "path",
        "the maximum is that of the last block",
        ("largest = highest", "largest = logits.amax(dim=-1, keepdim=True)"),
        or_family=("softmax",),
    ),
    bug(
        "blocks-mask-of-first",
        "path",
        "every block gets the first one's mask",
        ("visible[..., block]", "visible[..., : logits.shape[-1]]"),
        or_family=("padding", "mask"),
    ),
    bug(
        "blocks-drop-the-rest",
        "path",
        "keys after the last full block are lost",
        ("range(0, k.shape[2], self.chunk)", "range(0, max(k.shape[2] - self.chunk, 0) + 1, self.chunk)"),
        or_family=("mask", "shape"),
    ),
    bug(
        "blocks-unscaled",
        "path",
        "the path by blocks is not scaled",
        (BLOCK, BLOCK.replace(" * self.scale", "")),
        or_family=("scale",),
    ),
    bug(
        "core-aligned-at-the-top",
        "mask",
        "a causal core is aligned to the first key",
        (".tril(offset)", ".tril()"),
        seen="spec",
        or_family=("cache",),
    ),
    bug(
        "core-offset-reversed",
        "mask",
        "the offset of a causal core has the wrong sign",
        (OFFSET, "offset = queries.shape[2] - keys.shape[2]"),
        seen="spec",
        or_family=("cache",),
    ),
    bug(
        "core-forgets-padding",
        "padding",
        "a causal core ignores its mask",
        ("else past & mask", "else past"),
        seen="spec",
        or_family=("mask",),
    ),
    bug(
        "core-ignores-causal",
        "mask",
        "a causal core sees the future if there is a mask",
        ("else past & mask", "else mask"),
        seen="spec",
    ),
)
