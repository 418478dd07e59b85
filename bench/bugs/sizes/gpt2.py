"""Bugs of the GPT-2-like layer that need a size: the position table, the buffer of the mask, long chunks."""

from bugs.bug import edits

bug = edits("gpt2")

PLACED = "x = x + self.wpe(positions)"
TRIANGLE = "torch.tril(torch.ones(max_positions, max_positions, dtype=torch.bool))"
FAST = 'if mask is None and cache is None and path != "eager":'
POSITIONS = "positions = torch.arange(past, past + length).unsqueeze(0)"
WEIGHTS = "att = F.softmax(att, dim=-1) * visible"
MERGED = "y = y.transpose(1, 2).contiguous().view(batch, length, width)"
SEEN = "visible = visible & mask.view(mask.size(0), 1, 1, -1)"

BUGS = (
    bug(
        "table-skips-a-row-past-32",
        "positions",
        "from position 32 on, the table is read one row too late",
        (PLACED, "x = x + self.wpe((positions + (positions >= 32)).clamp(max=63))"),
        seen="spec",
    ),
    bug(
        "last-position-unreachable",
        "positions",
        "position 63 takes the row of position 62",
        (PLACED, "x = x + self.wpe(positions.clamp(max=62))"),
        seen="spec",
    ),
    bug(
        "mask-buffer-of-32-repeated",
        "mask",
        "the triangle is built for 32 positions and repeated",
        (TRIANGLE, "torch.tril(torch.ones(32, 32, dtype=torch.bool)).repeat(2, 2)"),
        or_family=("block", "path"),
    ),
    bug(
        "fast-path-for-long-chunks",
        "cache",
        "chunks of more than eight tokens take the fast path, which aligns them with the first key",
        (FAST, 'if mask is None and (cache is None or length > 8) and path != "eager":'),
        or_family=("mask",),
    ),
    bug(
        "cached-positions-stop-at-40",
        "cache",
        "new tokens after the fortieth keep its position",
        (POSITIONS, "positions = torch.arange(min(past, 40), min(past, 40) + length).unsqueeze(0)"),
        or_family=("positions",),
    ),
    bug(
        "eager-tile-of-32",
        "path",
        "the step-by-step path drops the first key from query 32 on",
        (
            WEIGHTS,
            WEIGHTS
            + "\n        att = torch.cat((att[:, :, :32], att[:, :, 32:] * (torch.arange(att.size(-1)) > 0)), 2)",
        ),
        or_family=("mask", "block", "cache"),
    ),
    bug(
        "large-batches-reversed",
        "batch",
        "batches above five go in two parts that are joined in the wrong order",
        (MERGED, MERGED + "\n        y = y if batch <= 5 else torch.cat((y[batch // 2 :], y[: batch // 2]))"),
    ),
    bug(
        "padding-past-48",
        "padding",
        "padding past the 48th key is not hidden",
        (SEEN, "visible = visible & (mask | (torch.arange(mask.size(1)) >= 48)).view(mask.size(0), 1, 1, -1)"),
        or_family=("mask", "block"),
    ),
)
