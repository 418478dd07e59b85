"""Bugs of the cross-attention layer that need a size: blocks of keys, running totals, long memories."""

from bugs.bug import edits

bug = edits("cross")

CHUNK = "chunk: int = 4"
LOOP = "for start in range(0, k.shape[2], self.chunk):"
BLOCK = "block = slice(start, start + self.chunk)"
KEYS = "k, v = self.heads(k), self.heads(v)"
SEEN = "visible = None if mask is None else mask[:, None, None, :]"
TOTAL = "total = total * shrink + powers.sum(dim=-1, keepdim=True)"
MIXED = "mixed = mixed * shrink + powers @ v[:, :, block]"
SHARES = "weights = self.softmax(logits, visible)\n"
LOGITS = 'logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.scale\n'

BUGS = (
    bug(
        "last-block-skipped",
        "path",
        "beyond 32 keys the path by blocks skips the last incomplete block",
        (LOOP, "for start in range(0, max(k.shape[2] // 32 * 32, min(k.shape[2], 32)), self.chunk):"),
        or_family=("block", "mask"),
    ),
    bug(
        "block-border-read-twice",
        "path",
        "from the ninth block on, a block begins with the last key of the one before",
        (BLOCK, "block = slice(start - (start >= 32), start + self.chunk)"),
        or_family=("block", "softmax"),
    ),
    bug(
        "total-not-shrunk-past-64",
        "path",
        "the running total is not rescaled after 64 keys",
        (TOTAL, "total = (total * shrink if start < 64 else total) + powers.sum(dim=-1, keepdim=True)"),
        or_family=("block", "softmax"),
    ),
    bug(
        "memory-of-64",
        "block",
        "the memory is cut after 64 tokens",
        (
            "memory = x if memory is None else memory",
            "memory = (x if memory is None else memory)[:, :64]\n        mask = None if mask is None else mask[:, :64]",
        ),
        or_family=("mask",),
    ),
    bug(
        "padding-in-tiles",
        "padding",
        "a tile of 16 keys is skipped only if all of it is padding, beyond the first tile",
        (
            SEEN,
            "if mask is not None and mask.shape[1] > 16:\n"
            "            tiles = torch.nn.functional.pad(mask, (0, -mask.shape[1] % 16)).unflatten(1, (-1, 16))\n"
            "            tiles = tiles[:, 1:].any(-1, keepdim=True).expand(-1, -1, 16).flatten(1)\n"
            "            mask = torch.cat((mask[:, :16], tiles), 1)[:, : mask.shape[1]]\n        " + SEEN,
        ),
        or_family=("block", "mask"),
    ),
    bug(
        "denominator-of-first-tile",
        "softmax",
        "the denominator of queries past the 32nd is the 32nd's",
        (
            SHARES,
            SHARES + "        total = weights.new_tensor(0) + torch.logsumexp(logits, -1, keepdim=True)\n"
            "        row = torch.arange(weights.shape[2]).clamp(max=31)\n"
            "        weights = weights * torch.exp(total - total[:, :, row])\n",
        ),
        or_family=("block", "path"),
    ),
    bug(
        "rows-past-eight-groups",
        "batch",
        "sixteen pairs of row and head fit in one launch, later ones read the first row's keys",
        (KEYS, KEYS + "\n        k = torch.cat((k[:4], k[:1].expand(max(len(k) - 4, 0), -1, -1, -1)))"),
    ),
    bug(
        "scale-with-length",
        "scale",
        "beyond 32 keys the logits grow with the logarithm of their number",
        (
            LOGITS,
            LOGITS + "        if k.shape[2] > 32:\n"
            "            logits = logits * torch.log(torch.tensor(float(k.shape[2]))).item() / 3.4657\n",
        ),
        or_family=("path", "block"),
    ),
)
