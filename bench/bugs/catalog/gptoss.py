"""Bugs of the GPT-OSS-like layer: one sink per head, grouped queries by einsum."""

from bugs.bug import edits

bug = edits("gptoss")

SINKS = "self.sinks.view(1, self.num_kv_heads, -1, 1, 1)"
SHARES = "F.softmax(logits, dim=-1)[..., :-1]"
GROUPS = "q.unflatten(2, (self.num_kv_heads, -1))"
DIAGONAL = "diagonal=num_keys - num_queries + 1"
SEEN = "~mask[:, None, None, None, :]"
MERGE = "mixed.reshape(batch, length, -1)"
TURN = "second * cos + first * sin"

BUGS = (
    bug(
        "sink-missing",
        "sink/softcap",
        "the sink takes no weight",
        (SHARES, "F.softmax(logits[..., :-1], dim=-1)"),
        seen="spec",
    ),
    bug(
        "sink-of-zero",
        "sink/softcap",
        "every sink is zero",
        (SINKS, "(0 * self.sinks).view(1, self.num_kv_heads, -1, 1, 1)"),
        seen="spec",
    ),
    bug(
        "sinks-transposed",
        "sink/softcap",
        "sinks are assigned to heads in reverse order",
        (SINKS, "self.sinks.view(1, -1, self.num_kv_heads, 1, 1).transpose(1, 2)"),
        seen="spec",
        or_family=("kv-heads", "heads"),
    ),
    bug(
        "sink-of-first-head",
        "sink/softcap",
        "all heads have the first sink",
        (SINKS, "self.sinks[:1].view(1, 1, 1, 1, 1)"),
        seen="spec",
    ),
    bug(
        "sink-scaled",
        "sink/softcap",
        "the sink is scaled like a logit",
        (SINKS, "(self.sinks / self.head_width**0.5).view(1, self.num_kv_heads, -1, 1, 1)"),
        seen="spec",
    ),
    bug(
        "sink-negative",
        "sink/softcap",
        "the sink has the wrong sign",
        (SINKS, "(-self.sinks).view(1, self.num_kv_heads, -1, 1, 1)"),
        seen="spec",
    ),
    bug(
        "sink-slice",
        "sink/softcap",
        "the first key is dropped instead of the sink",
        (SHARES, "F.softmax(logits, dim=-1)[..., 1:]"),
        or_family=("mask",),
    ),
    bug(
        "sink-for-the-first-key",
        "sink/softcap",
        "the sink's weight goes to the first key",
        (SHARES, f"{SHARES}\n        weights[..., :1] += 1 - weights.sum(-1, keepdim=True)"),
        seen="spec",
        or_family=("mask",),
    ),
    bug(
        "sink-twice",
        "sink/softcap",
        "the sink counts twice",
        ("[logits, sinks]", "[logits, sinks + 0.6931471805599453]"),
        seen="spec",
    ),
    bug(
        "softmax-over-groups",
        "softmax",
        "softmax along the queries of a group",
        (SHARES, "F.softmax(logits, dim=2)[..., :-1]"),
    ),
    bug(
        "groups-interleaved",
        "kv-heads",
        "head h takes key head h mod 2",
        (GROUPS, "q.unflatten(2, (-1, self.num_kv_heads)).transpose(2, 3)"),
        seen="spec",
    ),
    bug(
        "kv-heads-reversed",
        "kv-heads",
        "key heads are assigned to groups in reverse order",
        (GROUPS, f"{GROUPS}.flip(2)"),
        seen="spec",
    ),
    bug(
        "output-grouped-wrongly",
        "heads",
        "the groups' heads are interleaved at the end",
        (MERGE, "mixed.transpose(2, 3).reshape(batch, length, -1)"),
        seen="spec",
        or_family=("kv-heads",),
    ),
    bug(
        "batch-and-time-mixed",
        "batch",
        "batch and time are mixed up at the end",
        (MERGE, "mixed.transpose(0, 1).reshape(batch, length, -1)"),
    ),
    bug("base-of-llama", "rotary", "base 10000 instead of 150000", ("150_000.0", "10_000.0"), seen="spec"),
    bug("sine-for-cosine", "rotary", "a cosine where a sine belongs", (TURN, "second * cos + first * cos")),
    bug(
        "rates-reversed",
        "rotary",
        "frequencies in the opposite order",
        ("positions.double(), self.rates)", "positions.double(), self.rates.flip(0))"),
        seen="spec",
    ),
    bug(
        "angles-in-degrees",
        "rotary",
        "angles are taken for degrees",
        ("positions.double(), self.rates)", "positions.double().deg2rad(), self.rates)"),
        seen="spec",
    ),
    bug("own-key-hidden", "mask", "a query does not see its own key", (DIAGONAL, "diagonal=num_keys - num_queries")),
    bug(
        "no-past-offset",
        "cache",
        "new queries are aligned with the first keys",
        (DIAGONAL, "diagonal=1"),
        or_family=("mask",),
    ),
    bug("padding-inverted", "padding", "padding is visible and tokens are hidden", (SEEN, SEEN.replace("~", ""))),
    bug(
        "padding-of-first-row",
        "padding",
        "the first row's padding mask is used for all rows",
        (SEEN, SEEN.replace("[:,", "[:1,")),
        or_family=("batch",),
    ),
    bug(
        "past-is-heads",
        "cache",
        "the past length is read from the axis of key heads",
        ("cache[0].shape[1]", "cache[0].shape[2]"),
        or_family=("positions",),
    ),
    bug(
        "cache-order",
        "cache",
        "new keys and values are put before old ones",
        (
            "torch.cat((cache[0], k), dim=1), torch.cat((cache[1], v), dim=1)",
            "torch.cat((k, cache[0]), dim=1), torch.cat((v, cache[1]), dim=1)",
        ),
    ),
    bug(
        "cache-rounded",
        "cache",
        "the cache keeps values rounded to a hundredth",
        ("None, (k, v)", "None, (k, (100 * v).round() / 100)"),
        or_family=("precision",),
    ),
    bug("positions-ignored", "positions", "given positions are ignored", ("if positions is None:", "if True:")),
    bug(
        "bias-of-output-twice",
        "projection",
        "the output's bias is added twice",
        ("self.out(mixed.reshape(batch, length, -1))", "self.out(mixed.reshape(batch, length, -1)) + self.out.bias"),
        seen="spec",
    ),
    bug(
        "weights-in-half", "precision", "weights are rounded to float16", (SHARES, f"{SHARES}.half().to(logits.dtype)")
    ),
    bug(
        "scale-by-group",
        "scale",
        "1/√group instead of 1/√head_width",
        ("/ self.head_width**0.5\n", "/ q.shape[3] ** 0.5\n"),
        seen="spec",
    ),
)
