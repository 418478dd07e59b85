"""Mistakes in the layer with learned positions and a fast and an eager path."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("gpt2")

BUGS = (
    bug(
        "fresh-positions-added-in-place",
        "in-place",
        "positions are added to the caller's input",
        ("x = x + self.wpe(positions)", "x += self.wpe(positions)"),
        or_family=("positions", "gradient"),
    ),
    bug(
        "fresh-positions-from-one",
        "positions",
        "positions start at one if none are given",
        (
            "positions = torch.arange(past, past + length).unsqueeze(0)",
            "positions = torch.arange(past + 1, past + length + 1).unsqueeze(0)",
        ),
    ),
    bug(
        "fresh-fast-path-with-cache",
        "cache",
        "the fast path is taken after a cache as well, and its causal mask starts at the first key",
        ('if mask is None and cache is None and path != "eager":', 'if mask is None and path != "eager":'),
        or_family=("mask", "path"),
    ),
    bug(
        "fresh-fast-path-forgets-mask",
        "padding",
        "the fast path is taken although there is a mask",
        ('if mask is None and cache is None and path != "eager":', 'if cache is None and path != "eager":'),
        or_family=("mask", "path"),
    ),
    bug(
        "fresh-output-matrix-transposed",
        "projection",
        "the output matrix is used in the layout of nn.Linear",
        ("return y @ self.c_proj_weight + self.c_proj_bias", "return y @ self.c_proj_weight.T + self.c_proj_bias"),
        seen="spec",
    ),
    bug(
        "fresh-output-bias-before-matrix",
        "projection",
        "the output bias is added before the matrix",
        ("return y @ self.c_proj_weight + self.c_proj_bias", "return (y + self.c_proj_bias) @ self.c_proj_weight"),
        seen="spec",
    ),
    bug(
        "fresh-mask-shared-by-batch",
        "batch",
        "a key is hidden from every sequence if it is padding in one",
        (
            "visible = visible & mask.view(mask.size(0), 1, 1, -1)",
            "visible = visible & mask.all(dim=0).view(1, 1, 1, -1)",
        ),
        or_family=("padding", "mask"),
    ),
    bug(
        "fresh-eager-scaled-by-width",
        "scale",
        "the eager path divides by the root of the whole width",
        ("(1.0 / math.sqrt(k.size(-1)))", "(1.0 / math.sqrt(self.width))"),
        or_family=("path",),
    ),
    bug(
        "fresh-empty-rows-uniform",
        "padding",
        "a query that sees nothing takes the mean of all values",
        ("att = F.softmax(att, dim=-1) * visible", "att = F.softmax(att, dim=-1)"),
        or_family=("softmax", "mask"),
    ),
    bug(
        "fresh-keys-and-queries-swapped",
        "projection",
        "the fused matrix is split in the wrong order",
        ("q, k, v = fused.split(self.width, dim=2)", "k, q, v = fused.split(self.width, dim=2)"),
        seen="spec",
    ),
    bug(
        "fresh-position-of-first-sequence",
        "positions",
        "all sequences get the positions of the first",
        ("x = x + self.wpe(positions)", "x = x + self.wpe(positions[0])"),
        or_family=("batch",),
    ),
    bug(
        "fresh-positions-added-twice",
        "positions",
        "the position codes are added again before the projection",
        (
            "fused = x @ self.c_attn_weight + self.c_attn_bias",
            "fused = (x + self.wpe.weight[past : past + length]) @ self.c_attn_weight + self.c_attn_bias",
        ),
    ),
    bug(
        "fresh-single-query-not-causal",
        "mask",
        "the kernel is told not to mask if there is one query",
        ("is_causal=True", "is_causal=length > 1"),
        is_equivalent="a single query without a cache sees the single key either way",
    ),
)
