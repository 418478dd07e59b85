"""Bugs of the Bloom-like layer that need a size: tables of biases, tiles of the mask, split keys."""

from bugs.bug import edits

bug = edits("bloom")

DISTANCE = "distance = query_index - key_index"
TRIU = "hidden = hidden.triu(diagonal=1 + num_keys - num_queries)[None, None]"
VALUES = "values = torch.cat((past_values, values), dim=-2)"
PADDING = "padding = ~mask"
SOFTMAX = "weights = F.softmax(scores, dim=-1)"
MIX = "context = torch.matmul(weights, values)"

BUGS = (
    bug(
        "distance-table-of-64",
        "alibi",
        "distances above 63 count as 63",
        (DISTANCE, DISTANCE + "\n        distance = distance.clamp(max=63)"),
    ),
    bug(
        "bias-repeats-after-32",
        "alibi",
        "the table of biases has 32 entries and is repeated",
        (DISTANCE, DISTANCE + "\n        distance = distance % 32"),
    ),
    bug(
        "bias-counts-blocks",
        "alibi",
        "beyond 16 the distance is counted in blocks of 16",
        (DISTANCE, DISTANCE + "\n        distance = torch.where(distance < 16, distance, distance // 16 * 16)"),
    ),
    bug(
        "mask-by-tiles-of-32",
        "mask",
        "tiles above the diagonal are skipped, but the diagonal tile is masked only if it is complete",
        (
            TRIU,
            "offset = num_keys - num_queries\n"
            "        rows = torch.arange(num_queries)[:, None] + offset\n"
            "        end = (rows // 32 + 1) * 32\n"
            "        columns = torch.arange(num_keys)[None]\n"
            "        hidden = ((columns > rows) & ((end <= num_keys) | (rows < 32)))[None, None]",
        ),
        or_family=("block",),
    ),
    bug(
        "values-shifted-at-page",
        "cache",
        "when the cache has exactly a multiple of 16 values, the new value lands one slot early",
        (
            VALUES,
            VALUES + "\n            if past_values.shape[-2] % 16 == 0:\n"
            "                values = values.index_copy(-2, torch.tensor([past_values.shape[-2] - 1]), "
            "values[..., past_values.shape[-2], :].unsqueeze(-2))",
        ),
    ),
    bug(
        "padding-of-first-rows",
        "padding",
        "only the first four rows have their padding hidden",
        (PADDING, PADDING + "\n            padding = padding & (torch.arange(len(mask)) < 4)[:, None]"),
        or_family=("batch",),
    ),
    bug(
        "padding-beyond-32-ignored",
        "padding",
        "the padding mask is read in its first 32 columns",
        (PADDING, PADDING + "\n            padding = padding & (torch.arange(mask.shape[1]) < 32)"),
        or_family=("block", "mask"),
    ),
    bug(
        "split-keys-last-part",
        "cache",
        "one query with more than 48 keys uses the last half of the keys only",
        (
            SOFTMAX,
            "if length == 1 and num_keys > 48:\n"
            "            scores = scores.masked_fill(torch.arange(num_keys) < num_keys // 2, "
            "torch.finfo(scores.dtype).min)\n        " + SOFTMAX,
        ),
        or_family=("softmax", "block", "window"),
    ),
    bug(
        "first-key-of-tile-twice",
        "block",
        "the first key of every tile of 16 but the first is counted twice",
        (
            SOFTMAX,
            "column = torch.arange(num_keys)\n"
            "        twice = (column > 0) & (column % 16 == 0)\n"
            "        weights = F.softmax(scores + twice.to(scores.dtype) * math.log(2), dim=-1)",
        ),
        or_family=("softmax", "mask"),
    ),
    bug(
        "batch-of-more-than-five",
        "batch",
        "a launch covers five rows, later rows repeat the fifth's weights",
        (MIX, "weights = weights[torch.arange(batch).clamp(max=4)]\n        " + MIX),
    ),
)
