"""Mistakes in the bidirectional layer with an additive mask."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("encoder")

BUGS = (
    bug(
        "fresh-mask-not-inverted",
        "padding",
        "a mask of tokens is read as a mask of padding",
        ("padding = 1.0 - mask[:, None, None, :].to(like.dtype)", "padding = mask[:, None, None, :].to(like.dtype)"),
        or_family=("mask",),
    ),
    bug(
        "fresh-ten-thousand-is-not-infinity",
        "padding",
        "padding is masked with −10,000, so that a row of padding still has a softmax",
        ("return padding * torch.finfo(like.dtype).min", "return padding * -10000.0"),
        or_family=("mask", "softmax"),
    ),
    bug(
        "fresh-core-triangle-without-offset",
        "mask",
        "the causal mask starts at the first key, whatever the numbers of queries and keys",
        (".triu(1 + keys.shape[2] - queries.shape[2])", ".triu(1)"),
    ),
    bug(
        "fresh-softmax-over-heads",
        "softmax",
        "the softmax is taken over the heads, as old torch did without dim",
        ("probabilities = F.softmax(scores, dim=-1)", "probabilities = F.softmax(scores, dim=1)"),
        or_family=("heads",),
    ),
    bug(
        "fresh-fused-mask-as-bool",
        "path",
        "the additive mask is cast to bool for the fused kernel, which inverts it",
        ("attn_mask=bias, dropout_p=dropout", "attn_mask=None if bias is None else bias.bool(), dropout_p=dropout"),
        or_family=("padding", "mask"),
    ),
    bug(
        "fresh-fused-dropout-always-on",
        "dropout",
        "the fused kernel drops weights outside training",
        ("dropout = self.dropout.p if self.training else 0.0", "dropout = self.dropout.p"),
        or_family=("path",),
    ),
    bug(
        "fresh-heads-by-view",
        "heads",
        "heads come before positions by a view instead of a permutation",
        (
            "        shape = (*x.shape[:-1], self.num_heads, self.head_width)\n"
            "        return x.view(shape).permute(0, 2, 1, 3)\n",
            "        return x.view(x.shape[0], self.num_heads, -1, self.head_width)\n",
        ),
        or_family=("shape",),
    ),
    bug(
        "fresh-scaled-by-number-of-keys",
        "scale",
        "logits are divided by the root of the number of keys",
        ("scores = scores / math.sqrt(self.head_width)", "scores = scores / math.sqrt(keys.shape[-2])"),
        or_family=("shape",),
    ),
    bug(
        "fresh-values-by-key-matrix",
        "projection",
        "a copied line: values are computed with the key matrix",
        ("self.transpose_for_scores(self.value(x))", "self.transpose_for_scores(self.key(x))"),
        seen="spec",
    ),
    bug(
        "fresh-probabilities-in-bfloat16",
        "precision",
        "probabilities pass through bfloat16",
        (
            "probabilities = self.dropout(probabilities)",
            "probabilities = self.dropout(probabilities.bfloat16()).to(values.dtype)",
        ),
        or_family=("softmax",),
    ),
    bug(
        "fresh-logits-clamped",
        "softmax",
        "logits are clamped against overflow, far below where it would begin",
        (
            "        scores = scores / math.sqrt(self.head_width)\n",
            "        scores = (scores / math.sqrt(self.head_width)).clamp(-5.0, 5.0)\n",
        ),
        or_family=("precision", "sink/softcap", "path"),
    ),
)
