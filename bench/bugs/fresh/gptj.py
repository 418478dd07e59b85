"""Mistakes in the layer with interleaved rotary positions on a part of each head."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("gptj")

BUGS = (
    bug(
        "fresh-past-added-to-given-positions",
        "positions",
        "the number of cached tokens is added to positions that already include it",
        (
            "            positions = torch.arange(num_past, num_past + x.shape[1]).expand(x.shape[:2])\n",
            "            positions = torch.arange(x.shape[1]).expand(x.shape[:2])\n"
            "        positions = positions + num_past\n",
        ),
        or_family=("cache", "rotary"),
    ),
    bug(
        "fresh-angles-tiled",
        "rotary",
        "angles are tiled as for half-split pairs, while the pairs are neighbours",
        (
            "    sin = sin.repeat_interleave(2, dim=-1)\n    cos = cos.repeat_interleave(2, dim=-1)\n",
            "    sin = torch.cat((sin, sin), dim=-1)\n    cos = torch.cat((cos, cos), dim=-1)\n",
        ),
        or_family=("positions",),
    ),
    bug(
        "fresh-rates-without-factor-two",
        "rotary",
        "the exponents run over 0, 1, 2, … instead of 0, 2, 4, …",
        (
            "torch.arange(0, rotary_width, 2, dtype=torch.float64)",
            "torch.arange(rotary_width // 2, dtype=torch.float64)",
        ),
        or_family=("positions",),
        seen="spec",
    ),
    bug(
        "fresh-last-coordinates-turned",
        "rotary",
        "the last coordinates of each head are rotated, not the first",
        (
            "turned, rest = x[..., : self.rotary_width], x[..., self.rotary_width :]",
            "rest, turned = x[..., : -self.rotary_width], x[..., -self.rotary_width :]",
        ),
        or_family=("positions",),
        seen="spec",
    ),
    bug(
        "fresh-first-rows-of-triangle",
        "mask",
        "queries after a cache get the first rows of the causal mask",
        (".tril()[num_keys - num_queries : num_keys]", ".tril()[:num_queries]"),
        or_family=("cache",),
    ),
    bug(
        "fresh-scaled-by-rotary-width",
        "scale",
        "logits are divided by the root of the rotated width",
        ("self.scale_attn = self.head_width**0.5", "self.scale_attn = self.rotary_width**0.5"),
        seen="spec",
    ),
    bug(
        "fresh-angles-in-bfloat16",
        "precision",
        "positions and rates are multiplied in bfloat16",
        (
            'torch.einsum("bt,f->btf", positions.to(torch.float64), inverse)',
            'torch.einsum("bt,f->btf", positions.to(torch.bfloat16), inverse.to(torch.bfloat16))',
        ),
        or_family=("rotary", "positions"),
    ),
    bug(
        "fresh-cache-updated-in-place",
        "in-place",
        "the caller's cache is updated in place, so that it cannot be stepped from twice",
        (
            '        cache = {"keys": keys, "values": values}\n',
            "        cache = cache if cache else {}\n        cache.update(keys=keys, values=values)\n",
        ),
        or_family=("cache",),
    ),
    bug(
        "fresh-keys-not-turned",
        "rotary",
        "only queries are rotated",
        ("keys = self.rotate(keys, positions).permute(0, 2, 1, 3)", "keys = keys.permute(0, 2, 1, 3)"),
        or_family=("positions",),
    ),
    bug(
        "fresh-output-squeezed",
        "shape",
        "a batch of one loses its axis",
        ("self.out_proj(self.merge_heads(mixed))", "self.out_proj(self.merge_heads(mixed)).squeeze(0)"),
        or_family=("batch",),
    ),
    bug(
        "fresh-turns-the-other-way",
        "rotary",
        "the sign of the rotation is reversed, for queries and keys alike",
        ("torch.stack((-odd, even), dim=-1)", "torch.stack((odd, -even), dim=-1)"),
        or_family=("positions",),
        seen="spec",
    ),
)
