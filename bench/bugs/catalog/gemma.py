"""Bugs of the Gemma-like layer: normalized queries and keys, capped logits, one key-value head."""

from bugs.bug import edits

bug = edits("gemma")

CAP = "scores = torch.tanh(scores / self.softcap) * self.softcap"
LOGITS = "scores = torch.matmul(q * self.scaling, k.transpose(2, 3))"
FILL = "scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)"
GAIN = "normed * (1.0 + self.weight)"
NORMS = "q, k = self.q_norm(q), self.k_norm(k)"
TURNS = "q, k = rotated(q, positions, 10_000.0), rotated(k, positions, 10_000.0)"
MEAN = "x.pow(2).mean(-1, keepdim=True)"
PAIRS = "torch.complex(x[..., :half].double(), x[..., half:].double())"
PARTS = "q, k, v = fused.split([self.num_heads, 1, 1], dim=1)"
BLOCKED = "blocked = blocked | ~mask[:, None, None]"

BUGS = (
    bug(
        "cap-after-mask",
        "sink/softcap",
        "the mask is capped too",
        (FILL, f"{FILL}\n        {CAP}"),
        or_family=("mask",),
    ),
    bug("cap-missing", "sink/softcap", "logits are not capped", (CAP, ""), seen="spec"),
    bug(
        "cap-not-multiplied",
        "sink/softcap",
        "capped logits stay below one",
        (CAP, "scores = torch.tanh(scores / self.softcap)"),
        seen="spec",
    ),
    bug(
        "cap-not-divided",
        "sink/softcap",
        "tanh of the logit itself, times the cap",
        (CAP, "scores = torch.tanh(scores) * self.softcap"),
        seen="spec",
    ),
    bug(
        "cap-hard",
        "sink/softcap",
        "logits are clamped",
        (CAP, "scores = scores.clamp(-self.softcap, self.softcap)"),
        seen="spec",
    ),
    bug("cap-of-other-model", "sink/softcap", "the cap is 50", ("cap: float = 2.0", "cap: float = 50.0"), seen="spec"),
    bug(
        "cap-before-scale",
        "sink/softcap",
        "the scale is applied to capped logits",
        (f"{LOGITS}\n        {CAP}", f"{LOGITS.replace(' * self.scaling', '')}\n        {CAP} * self.scaling"),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "scale-of-head-width",
        "scale",
        "1/√head_width instead of the declared scale",
        ("query_scalar**-0.5, cap", "self.head_width**-0.5, cap"),
        seen="spec",
    ),
    bug("scale-missing", "scale", "logits are not scaled", ("q * self.scaling", "q"), seen="spec"),
    bug(
        "scale-twice",
        "scale",
        "keys are scaled as well",
        ("k.transpose(2, 3))", "(k * self.scaling).transpose(2, 3))"),
        seen="spec",
    ),
    bug(
        "gain-without-one",
        "projection",
        "weight instead of one plus weight",
        (GAIN, "normed * self.weight"),
        seen="spec",
        or_family=("scale",),
    ),
    bug("gain-missing", "projection", "the norm has no gain", (GAIN, "normed"), seen="spec", or_family=("scale",)),
    bug(
        "key-norm-missing",
        "projection",
        "keys are not normalized",
        (NORMS, "q = self.q_norm(q)"),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "norms-missing",
        "projection",
        "neither queries nor keys are normalized",
        (NORMS, ""),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "norms-swapped",
        "projection",
        "the gains of queries and keys are swapped",
        (NORMS, "q, k = self.k_norm(q), self.q_norm(k)"),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "norm-after-turning",
        "rotary",
        "queries and keys are normalized after they are rotated",
        (f"{NORMS}\n        {TURNS}", f"{TURNS}\n        {NORMS}"),
        or_family=("projection", "scale"),
    ),
    bug(
        "norm-over-positions",
        "projection",
        "the norm is taken over positions",
        (MEAN, MEAN.replace("-1", "-2")),
        or_family=("mask", "shape"),
    ),
    bug(
        "norm-over-heads",
        "heads",
        "the norm is taken over all heads",
        (MEAN, "x.pow(2).mean((1, 3), keepdim=True)"),
        seen="spec",
        or_family=("projection",),
    ),
    bug(
        "norm-centred",
        "projection",
        "the mean is subtracted before the norm is computed",
        (MEAN, "x.var(-1, keepdim=True, unbiased=False)"),
        seen="spec",
        or_family=("scale",),
    ),
    bug(
        "norm-epsilon",
        "precision",
        "the norm's epsilon is 0.1",
        ("self.eps = 1e-6", "self.eps = 0.1"),
        seen="spec",
        or_family=("projection", "scale"),
    ),
    bug(
        "values-normed",
        "projection",
        "values are normalized too",
        (NORMS, "q, k, v = self.q_norm(q), self.k_norm(k), self.k_norm(v)"),
        seen="spec",
    ),
    bug(
        "turned-backwards",
        "rotary",
        "the angle has the wrong sign",
        (".double()) * turns", ".double()) * turns.conj()"),
        seen="spec",
    ),
    bug(
        "pairs-interleaved",
        "rotary",
        "neighbouring coordinates are rotated together",
        (PAIRS, "torch.complex(x[..., ::2].double(), x[..., 1::2].double())"),
        seen="spec",
    ),
    bug(
        "key-base-differs",
        "rotary",
        "keys are rotated with another base",
        ("rotated(k, positions, 10_000.0)", "rotated(k, positions, 1_000.0)"),
    ),
    bug(
        "keys-one-ahead",
        "rotary",
        "keys are one position ahead",
        ("rotated(k, positions,", "rotated(k, positions + 1,"),
        seen="spec",
        or_family=("positions",),
    ),
    bug(
        "turned-in-bfloat16",
        "precision",
        "rotated queries and keys are rounded to bfloat16",
        ("pairs.imag), dim=-1)", "pairs.imag), dim=-1).bfloat16()"),
    ),
    bug(
        "angles-in-float16",
        "precision",
        "frequencies are rounded to float16",
        ("* rates)", "* rates.half())"),
        or_family=("rotary",),
        seen="spec",
    ),
    bug(
        "parts-reordered",
        "projection",
        "keys and values are taken from the front",
        (PARTS, "k, v, q = fused.split([1, 1, self.num_heads], dim=1)"),
        seen="spec",
    ),
    bug(
        "value-is-key",
        "kv-heads",
        "the key head is used as value head",
        (PARTS, f"{PARTS}\n        v = k"),
        seen="spec",
        or_family=("projection",),
    ),
    bug(
        "padding-and",
        "padding",
        "only padded keys of the future are hidden",
        (BLOCKED, BLOCKED.replace("|", "&")),
        or_family=("mask",),
    ),
    bug(
        "padding-unhides",
        "padding",
        "padding is not hidden",
        (BLOCKED, "blocked = blocked | (mask[:, None, None] & False)"),
    ),
    bug(
        "no-past-offset",
        "cache",
        "new queries are aligned with the first keys",
        ("triu(num_keys - num_queries + 1)", "triu(1)"),
        or_family=("mask",),
    ),
    bug(
        "cache-one-behind",
        "cache",
        "positions after the cache are one too small",
        ('cache["k"].shape[2]\n', 'cache["k"].shape[2] - 1\n'),
        or_family=("positions",),
    ),
    bug(
        "cache-unnormed",
        "cache",
        "cached keys are normalized again",
        ('[cache["k"], k], 2)', '[self.k_norm(cache["k"]), k], 2)'),
    ),
    bug(
        "cache-in-place",
        "cache",
        "the caller's cache is changed",
        (
            'weights, {"k": k, "v": v}',
            'weights, {"k": k, "v": v} if cache is None else (cache.update(k=k, v=v), cache)[1]',
        ),
        or_family=("in-place",),
    ),
    bug(
        "output-of-one-head",
        "heads",
        "all heads use the first head's weights",
        ("torch.matmul(weights, v), weights", "torch.matmul(weights[:, :1].expand_as(weights), v), weights"),
        seen="spec",
    ),
)
