"""Bugs of the GPT-J-like layer that need a size: tables, masks of fixed size, static caches."""

from bugs.bug import edits

bug = edits("gptj")

ANGLES = 'angles = torch.einsum("bt,f->btf", positions.to(torch.float64), inverse)'
CAUSAL = "causal = torch.ones(num_keys, num_keys, dtype=torch.bool).tril()[num_keys - num_queries : num_keys]"
BASE = "inverse = 1.0 / (10000 **"
WEIGHTS = "weights = F.softmax(scores, dim=-1)"
STORED = 'cache = {"keys": keys, "values": values}'
ROTATED = "queries = self.rotate(queries, positions).permute(0, 2, 1, 3)"
PAST = 'num_past = cache["keys"].shape[-2] if cache else 0'
MIX = "return torch.matmul(weights, values), weights"

BUGS = (
    bug(
        "table-of-64-clamped",
        "rotary",
        "sines and cosines are tabulated for 64 positions, later ones take the last row",
        (ANGLES, ANGLES.replace("positions.to", "positions.clamp(max=63).to")),
        or_family=("positions",),
    ),
    bug(
        "base-changes-with-length",
        "rotary",
        "past 32 positions the base of all frequencies is doubled",
        (BASE, "inverse = 1.0 / ((20000 if int(positions.max()) >= 32 else 10000) **"),
        or_family=("positions",),
    ),
    bug(
        "mask-of-48-at-the-end",
        "mask",
        "the mask has 48 rows and is aligned at the end of longer inputs",
        (CAUSAL, CAUSAL.replace("tril()", "tril(max(num_keys - 48, 0))")),
        or_family=("block",),
    ),
    bug(
        "last-odd-head",
        "heads",
        "heads go in pairs, the odd one out takes the weights of the head before",
        (
            WEIGHTS,
            WEIGHTS + "\n        weights = weights[:, [h if h % 2 or h + 1 < self.num_heads else h - 1 "
            "for h in range(self.num_heads)]]",
        ),
        seen="spec",
    ),
    bug(
        "keys-rounded-up-to-16",
        "softmax",
        "keys are filled up with zeros to a multiple of 16 once there are more than 16, and the zeros count",
        (
            WEIGHTS,
            "missing = -num_keys % 16 if num_keys > 16 else 0\n"
            "        weights = F.softmax(F.pad(scores, (0, missing)), dim=-1)[..., :num_keys]",
        ),
        or_family=("block", "mask"),
    ),
    bug(
        "static-cache-of-32",
        "cache",
        "the cache keeps the last 32 keys only",
        (STORED, 'cache = {"keys": keys[..., -32:, :], "values": values[..., -32:, :]}'),
        or_family=("window",),
    ),
    bug(
        "queries-of-row-modulo-five",
        "batch",
        "rows are addressed modulo five when keys are read",
        (MIX, "values = values[torch.arange(len(values)) % 5]\n        " + MIX),
    ),
    bug(
        "past-counted-in-pages",
        "cache",
        "beyond 16 cached keys the past is rounded down to full pages of 16",
        (PAST, PAST + "\n        num_past = num_past if num_past < 16 else num_past // 16 * 16"),
        or_family=("positions", "rotary"),
    ),
    bug(
        "queries-beyond-64-not-turned",
        "rotary",
        "the kernel that rotates queries stops at 64 rows",
        (
            ROTATED,
            "turned = self.rotate(queries[:, :64], positions[:, :64])\n"
            "        queries = torch.cat((turned, queries[:, 64:]), dim=1).permute(0, 2, 1, 3)",
        ),
        or_family=("block", "positions"),
    ),
)
