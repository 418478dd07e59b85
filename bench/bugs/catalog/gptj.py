"""Bugs of the GPT-J-like layer: interleaved rotary positions on a part of each head."""

from bugs.bug import edits

bug = edits("gptj")

PARTS = "turned, rest = x[..., : self.rotary_width], x[..., self.rotary_width :]"
ROWS = "[num_keys - num_queries : num_keys]"
HIDE = "scores = torch.where(visible, scores, torch.finfo(scores.dtype).min)"
SCALE = "scores = scores / self.scale_attn"
SOFTMAX = "F.softmax(scores, dim=-1)"
SEEN = "mask[:, None, None, :]"
KEPT = 'cache = {"keys": keys, "values": values}'
JOINED = 'torch.cat((cache["keys"], keys), dim=-2)'
ANGLES = 'torch.einsum("bt,f->btf", positions.to(torch.float64), inverse)'
RANGE = "torch.arange(num_past, num_past + x.shape[1])"

BUGS = (
    bug(
        "sines-split",
        "rotary",
        "sines half-split, cosines interleaved",
        ("sin.repeat_interleave(2, dim=-1)", "sin.repeat(1, 1, 1, 2)"),
    ),
    bug(
        "pairs-split",
        "rotary",
        "rotated halves with interleaved angles",
        ("torch.stack((-odd, even), dim=-1).flatten(-2)", "torch.cat((-odd, even), dim=-1)"),
    ),
    bug("turned-backwards", "rotary", "the angle has the wrong sign", ("(-odd, even)", "(odd, -even)"), seen="spec"),
    bug("odd-not-negated", "rotary", "(odd, even) without the minus sign", ("(-odd, even)", "(odd, even)")),
    bug(
        "rates-of-head-width",
        "rotary",
        "frequencies are those of a fully rotated head",
        ("torch.float64) / rotary_width", "torch.float64) / 16"),
        seen="spec",
    ),
    bug(
        "whole-head-turned",
        "rotary",
        "all coordinates are rotated instead of eight",
        ("rotary_width: int = 8", "rotary_width: int = 16"),
        seen="spec",
    ),
    bug(
        "half-as-many-turned",
        "rotary",
        "four coordinates are rotated instead of eight",
        ("rotary_width: int = 8", "rotary_width: int = 4"),
        seen="spec",
    ),
    bug(
        "last-part-turned",
        "rotary",
        "the last coordinates are rotated instead of the first",
        (PARTS, "turned, rest = x[..., -self.rotary_width :], x[..., : -self.rotary_width]"),
        seen="spec",
    ),
    bug(
        "rest-dropped",
        "rotary",
        "the coordinates that are not rotated are lost",
        ("torch.cat([turned, rest]", "torch.cat([turned, 0 * rest]"),
        seen="spec",
    ),
    bug("keys-unturned", "rotary", "keys are not rotated", ("keys = self.rotate(keys, positions).p", "keys = keys.p")),
    bug(
        "angles-in-bfloat16",
        "precision",
        "angles are rounded to bfloat16",
        (ANGLES, ANGLES + ".bfloat16()"),
        or_family=("rotary",),
    ),
    bug(
        "positions-from-one",
        "positions",
        "positions start at one",
        (RANGE, "torch.arange(num_past + 1, num_past + 1 + x.shape[1])"),
        is_equivalent="rotary logits depend on differences of positions only",
    ),
    bug(
        "positions-halved",
        "positions",
        "two tokens share a position",
        ("positions.to(torch.float64), i", "(positions // 2).to(torch.float64), i"),
        or_family=("rotary",),
    ),
    bug(
        "past-is-width",
        "cache",
        "the past length is read from the width axis",
        ('cache["keys"].shape[-2] if', 'cache["keys"].shape[-1] if'),
        or_family=("positions",),
    ),
    bug(
        "cache-forgets-first",
        "cache",
        "the cache loses its first key",
        (KEPT, 'cache = {"keys": keys[..., 1:, :], "values": values[..., 1:, :]}'),
    ),
    bug(
        "cache-in-place",
        "cache",
        "the caller's cache grows too",
        (KEPT, "cache = {} if cache is None else cache\n        cache.update(keys=keys, values=values)"),
        or_family=("in-place",),
    ),
    bug(
        "cache-turned-again",
        "cache",
        "cached keys are rotated again",
        (
            JOINED,
            "self.rotate("
            + JOINED
            + ".transpose(1, 2), torch.arange(num_past + x.shape[1])[None] * (num_past > 0)).transpose(1, 2)",
        ),
        or_family=("rotary", "positions"),
    ),
    bug(
        "rows-from-the-top",
        "cache",
        "new queries get the mask of the first ones",
        (ROWS, "[:num_queries]"),
        or_family=("mask",),
    ),
    bug("next-key-seen", "mask", "a query sees the next key", (".tril()", ".tril(1)")),
    bug("mask-transposed", "mask", "the causal mask is transposed", (".tril()", ".triu()")),
    bug("mask-too-weak", "mask", "hidden logits are −10", ("torch.finfo(scores.dtype).min", "-10.0")),
    bug(
        "scale-after-mask",
        "scale",
        "the mask comes before the scale",
        (f"{SCALE}\n        {HIDE}", f"{HIDE}\n        {SCALE}"),
        is_equivalent="a quarter of the smallest number still gets no weight",
    ),
    bug("scale-twice", "scale", "logits are scaled twice", (SCALE, SCALE + "**2"), seen="spec"),
    bug(
        "scale-inverted", "scale", "logits are multiplied by √head_width", (SCALE, SCALE.replace("/", "*")), seen="spec"
    ),
    bug("softmax-over-heads", "softmax", "softmax along the heads", (SOFTMAX, "F.softmax(scores, dim=1)")),
    bug(
        "dropout-left-on",
        "dropout",
        "dropout is also applied outside training",
        ("self.attn_dropout(weights)", "F.dropout(weights, 0.1)"),
    ),
    bug(
        "empty-rows-uniform",
        "padding",
        "a query that sees no key averages all values",
        ("weights = torch.where(visible, weights, 0.0)", ""),
        or_family=("mask",),
    ),
    bug(
        "padding-of-any-row",
        "padding",
        "a key that is real in any row is visible in all rows",
        (SEEN, "mask.any(0)[None, None, None, :]"),
        or_family=("batch",),
    ),
    bug("padding-reversed", "padding", "the mask is read from the end", (SEEN, "mask.flip(1)[:, None, None, :]")),
    bug(
        "heads-interleaved",
        "heads",
        "the output is written coordinate by coordinate",
        ("x.permute(0, 2, 1, 3).cont", "x.permute(0, 2, 3, 1).cont"),
        seen="spec",
    ),
    bug(
        "output-bias-lost",
        "projection",
        "the output's bias is left out",
        ("self.out_proj(self.merge_heads(mixed))", "self.merge_heads(mixed) @ self.out_proj.weight.T"),
        seen="spec",
    ),
    bug(
        "scores-detached",
        "gradient",
        "the logits have no gradient",
        (SCALE, SCALE.replace("= scores", "= scores.detach()")),
    ),
    bug(
        "weights-of-heads-averaged",
        "heads",
        "the weights returned are averaged over heads",
        ("(weights, values), weights", "(weights, values), weights.mean(1, keepdim=True).expand_as(weights)"),
        seen="spec",
    ),
)
