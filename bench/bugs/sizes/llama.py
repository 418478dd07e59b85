"""Bugs of the Llama-like layer that need a size: tiles of queries and keys, tables, a cache that grows."""

from bugs.bug import edits

bug = edits("llama")

MIX = "mixed, weights = attend(queries, keys, values, allowed)"
COLUMNS = "columns = torch.arange(num_keys)[None, :]"
PAST = "past = num_keys - num_queries"
MASKED = "allowed = allowed & mask[:, None, None, :]"
ANGLES = "angles = positions[:, :, None].to(torch.float64)"
KEYS = "keys = torch.cat((cache[0], keys), dim=2)"
PART = "part = allowed[:, :, start : start + 3]"
SCORES = "scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)\n"

BUGS = (
    bug(
        "tile-of-64-drops-last-row",
        "block",
        "queries are written in tiles of 64, the last row of a full tile is left out",
        (MIX, f"{MIX}\n        mixed = mixed.clone()\n        mixed[:, :, 63::64] = 0"),
    ),
    bug(
        "last-tile-of-keys-skipped",
        "block",
        "beyond one tile of 16 keys, the last incomplete tile is not read",
        (
            SCORES,
            "full = max(scores.shape[-1] // 16 * 16, 16)\n"
            "        allowed = allowed & (torch.arange(scores.shape[-1]) < full)\n        " + SCORES,
        ),
        or_family=("mask",),
    ),
    bug(
        "mask-of-128-clamped",
        "mask",
        "the causal mask has 128 columns, later keys share the last",
        (COLUMNS, "columns = torch.arange(num_keys).clamp(max=127)[None, :]"),
        or_family=("block",),
    ),
    bug(
        "key-index-in-int8",
        "mask",
        "key indices are stored in eight bits, so that key 128 has index −128",
        (COLUMNS, "columns = torch.arange(num_keys).to(torch.int8)[None, :]"),
        or_family=("block",),
    ),
    bug(
        "padding-of-row-modulo-four",
        "batch",
        "row b takes the padding of row b mod 4",
        (MASKED, MASKED.replace("mask[:,", "mask[torch.arange(len(mask)) % 4][:,")),
        or_family=("padding",),
    ),
    bug(
        "table-of-32-clamped",
        "rotary",
        "the table of angles has 32 rows, later positions take the last",
        (ANGLES, ANGLES.replace("positions[", "positions.clamp(max=31)[")),
        or_family=("positions",),
    ),
    bug(
        "table-grown-by-one-too-few",
        "rotary",
        "past 64 positions the table is extended from position 63",
        (ANGLES, ANGLES.replace("positions[", "(positions - (positions >= 64).long())[")),
        or_family=("positions",),
    ),
    bug(
        "cache-grows-without-the-newest",
        "cache",
        "when the buffer doubles at 32 keys, the newest key is not copied",
        (
            KEYS,
            "new = torch.zeros_like(keys) if cache[0].shape[2] == 32 else keys\n"
            "            keys = torch.cat((cache[0], new), dim=2)",
        ),
    ),
    bug(
        "long-chunk-forgets-the-past",
        "cache",
        "a chunk of 16 or more new tokens is masked as if nothing came before",
        (PAST, "past = num_keys - num_queries if num_queries < 16 else 0"),
        or_family=("mask",),
    ),
    bug(
        "tiles-not-rescaled",
        "softmax",
        "each tile of 32 keys subtracts its own maximum",
        (
            SOFTMAX,
            "tiles = scores.split(32, dim=-1)\n"
            "        powers = torch.cat([(t - t.amax(-1, keepdim=True)).exp() for t in tiles], dim=-1)\n"
            "        powers = powers.masked_fill(~allowed, 0.0)\n"
            "        weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)\n",
        ),
        or_family=("block",),
    ),
    bug(
        "split-keys-averaged",
        "cache",
        "one query with more than 32 keys reads them in two halves and averages both results",
        (
            SOFTMAX,
            "weights = torch.softmax(scores, dim=-1)\n"
            "        if scores.shape[2] == 1 and scores.shape[3] > 32:\n"
            "            halves = scores.tensor_split(2, dim=-1)\n"
            "            weights = torch.cat([h.softmax(-1) / 2 for h in halves], dim=-1)\n",
        ),
        or_family=("softmax", "block"),
    ),
    bug(
        "decoding-reads-32-keys",
        "cache",
        "the kernel for one query reads the last 32 keys only",
        (
            COLUMNS,
            "columns = torch.arange(num_keys)[None, :]\n"
            "        columns = columns + (num_queries == 1) * (columns < num_keys - 32) * num_keys",
        ),
        or_family=("window", "block"),
    ),
    bug(
        "chunks-of-32-start-over",
        "path",
        "the path in chunks takes the first chunk's mask for all chunks of 32",
        (
            "for start in range(0, queries.shape[2], 3):\n            " + PART,
            "for start in range(0, queries.shape[2], 3):\n"
            "            offset = start if start < 30 else start - 30\n"
            "            part = allowed[:, :, offset : offset + 3][:, :, : queries.shape[2] - start]",
        ),
        or_family=("mask", "block"),
    ),
    bug(
        "diagonal-tile-skipped",
        "block",
        "a tile of 32 queries reads key tiles of 16 up to its first query, not its last",
        (
            COLUMNS,
            "columns = torch.arange(num_keys)[None, :]\n"
            "        columns = columns + (columns // 16 > rows // 32 * 2) * num_keys",
        ),
        or_family=("mask",),
    ),
    bug(
        "large-batch-by-halves",
        "batch",
        "batches above four go in two halves, the second with the first half's keys",
        (
            MIX,
            "if batch > 4:\n            keys = torch.cat((keys[: batch // 2], keys[: batch - batch // 2]))\n        "
            + MIX,
        ),
    ),
)
