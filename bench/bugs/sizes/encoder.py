"""Bugs of the BERT-like layer that need a size: tiles of keys and queries, truncated masks, micro-batches."""

from bugs.bug import edits

bug = edits("encoder")

SOFTMAX = "probabilities = F.softmax(scores, dim=-1)"
MIXED = "return torch.matmul(probabilities, values), probabilities"
PADDING = "padding = 1.0 - mask[:, None, None, :].to(like.dtype)"
FUSED = "dropout = self.dropout.p if self.training else 0.0"
CONTEXT = "context, probabilities = attend(queries, keys, values, bias)"

BUGS = (
    bug(
        "last-key-of-odd-tile",
        "block",
        "beyond 16 keys the last one is lost unless their number is a multiple of 16",
        (
            SOFTMAX,
            "num_keys = scores.shape[-1]\n"
            "        if num_keys > 16 and num_keys % 16:\n"
            "            scores = torch.cat((scores[..., :-1], scores[..., -1:] - 1e9), dim=-1)\n        " + SOFTMAX,
        ),
        or_family=("mask", "softmax"),
    ),
    bug(
        "overlapping-last-tile",
        "block",
        "the last tile of 32 queries starts 32 before the end, and its rows are written from the tile's nominal start",
        (
            CONTEXT,
            CONTEXT + "\n        length = x.shape[1]\n"
            "        if length > 32 and length % 32:\n"
            "            rest = length % 32\n"
            "            context = torch.cat((context[:, :, : length - rest], context[:, :, length - 32 : "
            "length - 32 + rest]), dim=2)",
        ),
        or_family=("shape",),
    ),
    bug(
        "softmax-per-tile",
        "softmax",
        "each tile of 32 keys has its own softmax, and the tiles are averaged",
        (
            SOFTMAX,
            "tiles = scores.split(32, dim=-1)\n"
            "        probabilities = torch.cat([tile.softmax(-1) / len(tiles) for tile in tiles], dim=-1)",
        ),
        or_family=("block",),
    ),
    bug(
        "mask-read-to-64",
        "padding",
        "the mask is read in its first 64 columns, the rest counts as tokens",
        (PADDING, PADDING + "\n        padding = padding * (torch.arange(mask.shape[1]) < 64)"),
        or_family=("block", "mask"),
    ),
    bug(
        "micro-batches-of-four",
        "batch",
        "micro-batches of four rows all use the first one's mask",
        (PADDING, PADDING.replace("mask[:,", "mask[torch.arange(len(mask)) % 4][:,")),
        or_family=("padding",),
    ),
    bug(
        "fused-without-mask-when-aligned",
        "path",
        "the fused kernel drops the mask if the length is a multiple of 16",
        (FUSED, FUSED + "\n        bias = None if keys.shape[2] % 16 == 0 else bias"),
        or_family=("padding", "mask"),
    ),
    bug(
        "values-beyond-128",
        "block",
        "the matrix product reads 128 values",
        (MIXED, "return torch.matmul(probabilities[..., :128], values[..., :128, :]), probabilities"),
        or_family=("mask",),
    ),
    bug(
        "rows-of-seventh-batch",
        "batch",
        "from the seventh row on, the batch index runs one behind",
        (CONTEXT, CONTEXT + "\n        row = torch.arange(len(x))\n        context = context[row - (row >= 6).long()]"),
    ),
    bug(
        "single-token-unprojected",
        "shape",
        "a single token is returned without the output matrix",
        (
            "return self.output(context), probabilities, None",
            "return (context if x.shape[1] == 1 else self.output(context)), probabilities, None",
        ),
        or_family=("projection", "block", "mask"),
    ),
)
