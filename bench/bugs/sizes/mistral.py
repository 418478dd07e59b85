"""Bugs of the Mistral-like layer that need a size: windows and pages, ring buffers, long chunks."""

from bugs.bug import edits

bug = edits("mistral")

VISIBLE = "visible = (key_index <= query_index) & (query_index - key_index < self.window)"
KEEP = "keep = self.window - 1"
SEEN = "num_seen = cache.num_seen if cache is not None else 0"
JOINED = "if cache is not None:\n            keys = torch.cat"
PADDED = "visible[None, None] & mask[:, None, None, -num_keys:]"
FREQUENCIES = "angles = positions.to(torch.float64)[:, None, :, None] * frequencies"
MIXED = "mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)"

BUGS = (
    bug(
        "window-ends-at-page",
        "window",
        "the window does not cross the border of a page of 16 keys",
        (VISIBLE, VISIBLE + "\n        visible &= key_index // 16 == query_index // 16"),
        or_family=("block", "mask"),
    ),
    bug(
        "window-ends-at-chunk-of-64",
        "window",
        "a long input goes in chunks of 64, and the window does not reach into the chunk before",
        (VISIBLE, VISIBLE + "\n        visible &= key_index // 64 == query_index // 64"),
        or_family=("block", "mask"),
    ),
    bug(
        "eviction-at-page-border",
        "cache",
        "whenever a page of 16 is full, one key too many is dropped",
        (KEEP, "keep = self.window - 1 - (num_seen % 16 == 0)"),
        or_family=("window",),
    ),
    bug(
        "ring-wraps-one-early",
        "cache",
        "once the ring of 24 tokens is full, it holds one key less",
        (KEEP, "keep = self.window - 1 - (num_seen > 24)"),
        or_family=("window",),
    ),
    bug(
        "positions-modulo-64",
        "cache",
        "positions of new tokens start again after 64 tokens",
        (SEEN, "num_seen = cache.num_seen % 64 if cache is not None else 0"),
        or_family=("positions", "rotary"),
    ),
    bug(
        "long-chunk-drops-cache",
        "cache",
        "a chunk longer than eight tokens is attended without the cache",
        (JOINED, "if cache is not None and length <= 8:\n            keys = torch.cat"),
    ),
    bug(
        "window-by-blocks",
        "window",
        "the window is rounded to blocks of 16 keys for inputs beyond 64",
        (
            VISIBLE,
            VISIBLE + "\n        if num_keys > 64:\n"
            "            first = (query_index - self.window + 1).clamp(min=0) // 16 * 16\n"
            "            visible = (key_index <= query_index) & (key_index >= first)",
        ),
        or_family=("block", "mask"),
    ),
    bug(
        "distance-in-int8",
        "window",
        "distances are stored in eight bits, so that keys 128 back are visible again",
        (VISIBLE, VISIBLE.replace("query_index - key_index <", "(query_index - key_index).to(torch.int8) <")),
        or_family=("block", "mask"),
    ),
    bug(
        "padding-of-four-rows",
        "batch",
        "rows beyond the fourth take its padding",
        (PADDED, "visible[None, None] & mask[torch.arange(len(mask)).clamp(max=3)][:, None, None, -num_keys:]"),
        or_family=("padding",),
    ),
    bug(
        "angles-of-row-modulo-six",
        "batch",
        "row b takes the positions of row b mod 6",
        (FREQUENCIES, FREQUENCIES.replace("positions.to", "positions[torch.arange(len(positions)) % 6].to")),
        or_family=("positions", "padding"),
    ),
    bug(
        "last-tile-without-window",
        "window",
        "the last tile of 32 queries, when incomplete, sees all earlier keys",
        (
            VISIBLE,
            VISIBLE + "\n        visible |= (key_index <= query_index) & (query_index >= max(num_keys // 32, 1) * 32)",
        ),
        or_family=("block", "mask"),
    ),
    bug(
        "values-of-previous-page",
        "block",
        "the first slot of every page of 32 holds the value of the slot before",
        (
            MIXED,
            "place = torch.arange(values.shape[2])\n"
            "        values = values[:, :, place - ((place > 0) & (place % 32 == 0)).long()]\n        " + MIXED,
        ),
        or_family=("cache",),
    ),
)
