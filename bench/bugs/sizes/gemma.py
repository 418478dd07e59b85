"""Bugs of the Gemma-like layer that need a size: scales and masks that change with length, a cache that doubles."""

from bugs.bug import edits

bug = edits("gemma")

CAP = "scores = torch.tanh(scores / self.softcap) * self.softcap"
BLOCKED = "blocked = torch.full((num_queries, num_keys), True).triu(num_keys - num_queries + 1)[None, None]"
JOINED = 'k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)'
TURNED = "q, k = rotated(q, positions, 10_000.0), rotated(k, positions, 10_000.0)"
PADDED = "blocked = blocked | ~mask[:, None, None]"
WEIGHTS = "weights = F.softmax(scores, dim=-1).masked_fill(blocked, 0)"
POSITIONS = "positions = torch.arange(length).add(past).expand(batch, length)"
MIX = "mixed, weights = self.attend(q, k, v, mask)"

BUGS = (
    bug(
        "scale-grows-past-32",
        "scale",
        "beyond 32 keys the logits are multiplied by log(keys) / log(32)",
        (CAP, CAP + "\n        scores = scores * max(1.0, float(torch.tensor(scores.shape[-1]).log()) / 3.465736)"),
        or_family=("mask", "sink/softcap"),
    ),
    bug(
        "block-mask-past-64",
        "mask",
        "beyond 64 keys a block of 16 keys is visible as soon as its first key is",
        (
            BLOCKED,
            BLOCKED + "\n        if num_keys > 64:\n"
            "            row = torch.arange(num_keys - num_queries, num_keys)[:, None]\n"
            "            blocked = (torch.arange(num_keys) // 16 > row // 16)[None, None]",
        ),
        or_family=("block",),
    ),
    bug(
        "cache-doubles-with-zeros",
        "cache",
        "when the cache passes 16 keys, an empty slot is kept in front of the new ones",
        (
            JOINED,
            'if cache["k"].shape[2] == 16:\n'
            "                empty = torch.zeros_like(k[:, :, :1])\n"
            "                k, v = torch.cat([empty, k], 2), torch.cat([empty, v], 2)\n"
            "                mask = None if mask is None else torch.cat([mask, mask[:, -1:]], 1)\n"
            "            " + JOINED,
        ),
    ),
    bug(
        "queries-clipped-at-63",
        "rotary",
        "queries past position 63 are rotated as if they were there",
        (TURNED, TURNED.replace("rotated(q, positions,", "rotated(q, positions.clamp(max=63),")),
        or_family=("positions",),
    ),
    bug(
        "padding-of-row-modulo-three",
        "batch",
        "row b takes the padding of row b mod 3",
        (PADDED, PADDED.replace("mask[:,", "mask[torch.arange(len(mask)) % 3][:,")),
        or_family=("padding",),
    ),
    bug(
        "last-row-of-tile-uniform",
        "block",
        "the last query of each full tile of 64 gets the weights of the query before",
        (
            WEIGHTS,
            WEIGHTS + "\n        row = torch.arange(num_queries)\n"
            "        weights = weights[:, :, row - (row % 64 == 63).long()]",
        ),
        or_family=("mask",),
    ),
    bug(
        "cached-positions-restart-at-page",
        "cache",
        "a new page of 32 keys starts with the position of the token before",
        (POSITIONS, "positions = torch.arange(length).add(past - (past > 0 and past % 32 == 0)).expand(batch, length)"),
        or_family=("positions", "rotary"),
    ),
    bug(
        "split-decode-loses-first-page",
        "cache",
        "with more than four pages of 16 keys, one new token does not read the first",
        (
            MIX,
            "if length == 1 and k.shape[2] > 64:\n"
            "            k, v, mask = k[:, :, 16:], v[:, :, 16:], None if mask is None else mask[:, 16:]\n        "
            + MIX,
        ),
        or_family=("window", "block"),
    ),
)
