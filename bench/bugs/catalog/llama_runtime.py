"""Bugs of the Llama-like layer in how it runs: cache, positions, dropout, batches, gradients, paths, memory."""

from bugs.bug import edits

bug = edits("llama")

MERGE = "mixed.transpose(1, 2).reshape(batch, length, -1)"
PAST = "past = 0 if cache is None else cache[0].shape[2]"
ANGLES = "cos, sin = self.rotary(positions, x.dtype)"
ALLOWED = "allowed = self.allowed(length, keys.shape[2], mask)"
MIXED = "return weights @ values, weights"
CHUNK = "part = allowed[:, :, start : start + 3]"
JOINED = "keys = torch.cat((cache[0], keys), dim=2)"

BUGS = (
    bug(
        "no-past-offset",
        "cache",
        "new queries are aligned with the first keys",
        ("[:, None] + past", "[:, None]"),
        or_family=("mask",),
    ),
    bug(
        "cache-order",
        "cache",
        "new keys are put before old ones",
        (JOINED, JOINED.replace("cache[0], keys", "keys, cache[0]")),
    ),
    bug(
        "cache-order-of-values",
        "cache",
        "new values are put before old ones",
        ("(cache[1], values)", "(values, cache[1])"),
    ),
    bug(
        "cache-swapped",
        "cache",
        "cached keys and values are swapped",
        ("(keys, values)\n\n    def core", "(values, keys)\n\n    def core"),
    ),
    bug(
        "cache-restarts",
        "cache",
        "positions restart at zero at every step",
        ("torch.arange(past, past + length)", "torch.arange(length)"),
        or_family=("positions",),
    ),
    bug(
        "cache-one-ahead",
        "cache",
        "positions after the cache are one too large",
        (PAST, PAST + " + 1"),
        or_family=("positions",),
    ),
    bug(
        "cache-counts-heads",
        "cache",
        "the past length is read from the head axis",
        (PAST, PAST.replace("shape[2]", "shape[1]")),
        or_family=("positions",),
    ),
    bug(
        "one-token-unturned",
        "cache",
        "a single token is not rotated",
        (ANGLES, "cos, sin = self.rotary(positions * (length > 1), x.dtype)"),
        or_family=("positions", "rotary", "shape"),
    ),
    bug(
        "padding-lost-at-decode",
        "padding",
        "padding is ignored for a single query",
        (ALLOWED, ALLOWED.replace("mask)", "mask if length > 1 else None)")),
        or_family=("cache",),
    ),
    bug(
        "cache-in-place",
        "cache",
        "the caller's cache is emptied when it is concatenated",
        (JOINED, JOINED + "\n            cache[0].zero_()"),
        or_family=("in-place",),
    ),
    bug("positions-ignored", "positions", "given positions are ignored", ("if positions is None:", "if True:")),
    bug(
        "positions-of-first-row",
        "positions",
        "the first row's positions are used for all rows",
        (ANGLES, ANGLES.replace("positions,", "positions[:1],")),
        or_family=("batch",),
    ),
    bug(
        "positions-from-first",
        "positions",
        "only the first of the given positions is used",
        (ANGLES, ANGLES.replace("positions,", "positions[:, :1] + torch.arange(length),")),
    ),
    bug(
        "dropout-left-on",
        "dropout",
        "dropout is also applied outside training",
        ("self.dropout, self.training)", "self.dropout, True)"),
    ),
    bug(
        "batch-and-time-mixed",
        "batch",
        "batch and time are mixed up at the end",
        (MERGE, "mixed.permute(2, 0, 1, 3).reshape(batch, length, -1)"),
    ),
    bug(
        "keys-of-first-row",
        "batch",
        "all rows attend to the first row's keys",
        ("queries @ keys.tr", "queries @ keys[:1].tr"),
    ),
    bug(
        "keys-detached",
        "gradient",
        "no gradient flows into keys",
        ("keys = repeat_kv(keys, self", "keys = repeat_kv(keys.detach(), self"),
    ),
    bug(
        "weights-detached",
        "gradient",
        "the weights have no gradient",
        (MIXED, MIXED.replace("weights @", "weights.detach() @")),
    ),
    bug(
        "chunks-start-over",
        "path",
        "every chunk gets the mask of the first one",
        (CHUNK, "part = allowed[:, :, : min(3, queries.shape[2] - start)]"),
    ),
    bug(
        "chunks-forget-the-past",
        "path",
        "a chunk does not see the keys before it",
        (CHUNK, f"{CHUNK}.clone()\n            part[..., :start] = False"),
    ),
    bug(
        "weights-unmasked",
        "mask",
        "the weights returned are those before the mask",
        (MIXED, "return weights @ values, torch.softmax(queries @ keys.transpose(-2, -1) * self.head_width**-0.5, -1)"),
        seen="spec",
        or_family=("softmax",),
    ),
    bug(
        "input-clipped-in-place",
        "in-place",
        "the caller's input is clipped in place",
        ("self.v_proj(x)", "self.v_proj(x.clamp_(-2, 2))"),
    ),
    bug(
        "strides-assumed",
        "shape",
        "the input is read as if it were contiguous",
        ("self.q_proj(x)", "self.q_proj(x.as_strided(x.shape, (length * x.shape[2], x.shape[2], 1)))"),
        or_family=("in-place", "batch"),
    ),
    bug(
        "at-most-twelve-keys",
        "shape",
        "only the first twelve tokens are used as keys",
        (
            "columns = torch.arange(num_keys)[None, :]",
            "columns = torch.arange(num_keys)[None, :]\n        columns = columns + 10**6 * (columns >= 12)",
        ),
        or_family=("mask", "window"),
    ),
)
