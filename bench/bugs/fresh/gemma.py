"""Mistakes in the layer with normalized queries and keys, a softcap and one key head."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("gemma")

BUGS = (
    bug(
        "fresh-gain-without-one",
        "scale",
        "the norm multiplies by the weight instead of 1 + weight",
        ("return normed * (1.0 + self.weight)", "return normed * self.weight"),
        or_family=("projection",),
        seen="spec",
    ),
    bug(
        "fresh-norm-over-positions",
        "scale",
        "the mean square is taken over all positions as well, later ones included",
        ("x.pow(2).mean(-1, keepdim=True)", "x.pow(2).mean((-2, -1), keepdim=True)"),
        or_family=("mask", "cache", "positions"),
    ),
    bug(
        "fresh-norm-over-heads",
        "scale",
        "the mean square is taken over all heads together",
        ("x.pow(2).mean(-1, keepdim=True)", "x.pow(2).mean((1, -1), keepdim=True)"),
        or_family=("heads",),
        seen="spec",
    ),
    bug(
        "fresh-norm-after-rotation",
        "rotary",
        "queries and keys are normalized after they were rotated, and the gain breaks the pairs",
        (
            "        q, k = self.q_norm(q), self.k_norm(k)\n"
            "        q, k = rotated(q, positions, 10_000.0), rotated(k, positions, 10_000.0)\n",
            "        q, k = rotated(q, positions, 10_000.0), rotated(k, positions, 10_000.0)\n"
            "        q, k = self.q_norm(q), self.k_norm(k)\n",
        ),
        or_family=("positions", "scale"),
    ),
    bug(
        "fresh-one-norm-for-both",
        "projection",
        "keys are normalized with the gain of the queries",
        ("q, k = self.q_norm(q), self.k_norm(k)", "q, k = self.q_norm(q), self.q_norm(k)"),
        or_family=("scale",),
        seen="spec",
    ),
    bug(
        "fresh-cap-without-division",
        "sink/softcap",
        "logits are not divided by the cap before the tanh",
        ("torch.tanh(scores / self.softcap) * self.softcap", "torch.tanh(scores) * self.softcap"),
        or_family=("scale",),
        seen="spec",
    ),
    bug(
        "fresh-hidden-logits-capped",
        "sink/softcap",
        "hidden logits are filled before the cap, so that they keep their share of the softmax",
        (
            "scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)",
            "scores = torch.tanh(scores.masked_fill(blocked, -1e4) / self.softcap) * self.softcap",
        ),
        or_family=("mask", "softmax", "padding"),
    ),
    bug(
        "fresh-scaled-by-head-width",
        "scale",
        "the scale is that of the head width, not the one the model sets",
        ("self.softcap = query_scalar**-0.5, cap", "self.softcap = self.head_width**-0.5, cap"),
        seen="spec",
    ),
    bug(
        "fresh-scale-after-cap",
        "sink/softcap",
        "logits are capped before they are scaled",
        (
            "        scores = torch.matmul(q * self.scaling, k.transpose(2, 3))\n"
            "        scores = torch.tanh(scores / self.softcap) * self.softcap\n",
            "        scores = torch.matmul(q, k.transpose(2, 3))\n"
            "        scores = torch.tanh(scores / self.softcap) * self.softcap * self.scaling\n",
        ),
        or_family=("scale",),
        seen="spec",
    ),
    bug(
        "fresh-mask-forgotten-after-prefill",
        "padding",
        "padding is hidden in the first call only",
        ("self.attend(q, k, v, mask)", "self.attend(q, k, v, mask if cache is None else None)"),
        or_family=("cache", "mask"),
    ),
    bug(
        "fresh-batch-taken-for-length",
        "batch",
        "the projection is viewed as if positions came before sequences",
        (
            ".view(batch, length, self.num_heads + 2, self.head_width).transpose(1, 2)",
            ".view(length, batch, self.num_heads + 2, self.head_width).permute(1, 2, 0, 3)",
        ),
        or_family=("shape", "mask", "positions"),
    ),
    bug(
        "fresh-norm-without-its-gradient",
        "gradient",
        "the root mean square is detached",
        ("torch.rsqrt(x.pow(2).mean", "torch.rsqrt(x.detach().pow(2).mean"),
    ),
    bug(
        "fresh-logits-returned",
        "softmax",
        "the logits are returned as weights",
        ("return torch.matmul(weights, v), weights", "return torch.matmul(weights, v), scores"),
        or_family=("path", "shape"),
    ),
    bug(
        "fresh-pairs-written-interleaved",
        "rotary",
        "coordinates are read half-split and written interleaved",
        (
            "return torch.cat((pairs.real, pairs.imag), dim=-1).to(x.dtype)",
            "return torch.stack((pairs.real, pairs.imag), dim=-1).flatten(-2).to(x.dtype)",
        ),
        is_equivalent="queries and keys are permuted in the same way, so their products do not change",
    ),
)
