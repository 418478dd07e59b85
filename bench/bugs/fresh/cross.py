"""Mistakes in the layer with keys from another sequence."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("cross")

BUGS = (
    bug(
        "fresh-no-maximum-taken-off",
        "softmax",
        "exp of the unshifted logits overflows",
        ("torch.exp(logits - logits.amax(dim=-1, keepdim=True)) * visible", "torch.exp(logits) * visible"),
        or_family=("precision",),
    ),
    bug(
        "fresh-one-maximum-for-all",
        "softmax",
        "the largest logit of the whole batch is subtracted, so that other rows underflow",
        ("torch.exp(logits - logits.amax(dim=-1, keepdim=True))", "torch.exp(logits - logits.amax())"),
        or_family=("precision", "batch"),
    ),
    bug(
        "fresh-total-with-epsilon",
        "softmax",
        "a small number is added to the total against division by zero",
        ("return powers / torch.where(total > 0, total, 1.0)", "return powers / (total + 1e-4)"),
        or_family=("precision",),
    ),
    bug(
        "fresh-blocks-mix-not-rescaled",
        "path",
        "the running output is not rescaled when the maximum rises",
        ("mixed = mixed * shrink + powers @ v[:, :, block]", "mixed = mixed + powers @ v[:, :, block]"),
        or_family=("softmax",),
    ),
    bug(
        "fresh-last-block-dropped",
        "path",
        "keys after the last full block are left out",
        ("range(0, k.shape[2], self.chunk)", "range(0, max(k.shape[2] - self.chunk + 1, 1), self.chunk)"),
        or_family=("shape", "mask"),
    ),
    bug(
        "fresh-queries-scaled-in-every-block",
        "path",
        "queries are scaled in place once for each block",
        (
            '            logits = torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, block]) * self.scale\n',
            '            q *= self.scale\n            logits = torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, block])\n',
        ),
        or_family=("scale", "in-place"),
    ),
    bug(
        "fresh-keys-and-values-swapped",
        "projection",
        "keys and values are split in the wrong order",
        ("k, v = self.to_kv(memory).chunk(2, dim=-1)", "v, k = self.to_kv(memory).chunk(2, dim=-1)"),
        seen="spec",
    ),
    bug(
        "fresh-offset-of-wrong-sign",
        "mask",
        "the causal mask is shifted the wrong way if there are more keys than queries",
        ("offset = keys.shape[2] - queries.shape[2]", "offset = queries.shape[2] - keys.shape[2]"),
    ),
    bug(
        "fresh-head-is-faster-axis",
        "heads",
        "the head is the faster axis of the projections",
        (
            "return x.unflatten(-1, (self.num_heads, self.head_width)).transpose(1, 2)",
            "return x.unflatten(-1, (self.head_width, self.num_heads)).permute(0, 3, 1, 2)",
        ),
        or_family=("projection",),
        seen="spec",
    ),
    bug(
        "fresh-maximum-of-one-block",
        "path",
        "the running maximum is that of the last block alone, which breaks after a block of padding",
        ("torch.maximum(largest, logits.amax(dim=-1, keepdim=True))", "logits.amax(dim=-1, keepdim=True)"),
        or_family=("softmax", "padding", "precision"),
    ),
    bug(
        "fresh-mask-of-first-sequence",
        "batch",
        "the first sequence's mask is used for all",
        ("None if mask is None else mask[:, None, None, :]", "None if mask is None else mask[:1, None, None, :]"),
        or_family=("padding", "mask"),
    ),
    bug(
        "fresh-weights-cut-from-gradient",
        "gradient",
        "the weights are detached before they multiply the values",
        (
            'return torch.einsum("bhqk,bhkd->bhqd", weights, v), weights',
            'weights = weights.detach()\n        return torch.einsum("bhqk,bhkd->bhqd", weights, v), weights',
        ),
    ),
    bug(
        "fresh-mask-only-in-powers",
        "padding",
        "hidden keys count for the maximum, so that a large padded token makes the rest underflow",
        ("        logits = logits.masked_fill(~visible, -1e30)\n        powers", "        powers"),
        or_family=("softmax", "precision"),
    ),
)
