"""Bugs of the GPT-OSS-like layer that need a size: a sink per tile, a switch of frequencies, long chunks."""

from bugs.bug import edits

bug = edits("gptoss")

SINKS = "logits = torch.cat([logits, sinks], dim=-1)"
ANGLES = 'angles = torch.einsum("bt,f->btf", positions.double(), self.rates)[:, :, None]'
HIDDEN = "hidden = torch.triu(q.new_ones(num_queries, num_keys), diagonal=num_keys - num_queries + 1).bool()"
PADDED = "hidden = hidden | ~mask[:, None, None, None, :]"
JOINED = "k, v = torch.cat((cache[0], k), dim=1), torch.cat((cache[1], v), dim=1)"
MIXED = "mixed = self.attend(grouped, k, v, mask)"

BUGS = (
    bug(
        "sink-per-tile",
        "sink/softcap",
        "the sink is counted once per tile of 32 keys",
        (SINKS, SINKS.replace("sinks]", "sinks + float(torch.tensor(-(-num_keys // 32)).log())]")),
        or_family=("softmax", "block", "mask"),
    ),
    bug(
        "sink-per-split",
        "sink/softcap",
        "one query with more than 16 keys reads them in two parts, and each part adds the sink",
        (SINKS, SINKS.replace("sinks]", "sinks + 0.6931 * (num_queries == 1 and num_keys > 16)]")),
        or_family=("cache", "softmax"),
    ),
    bug(
        "frequencies-switch-at-64",
        "rotary",
        "inputs that pass position 64 use frequencies divided by four",
        (ANGLES, ANGLES.replace("self.rates)", "self.rates / (4 if int(positions.max()) >= 64 else 1))")),
        or_family=("positions", "cache"),
    ),
    bug(
        "mask-to-96",
        "mask",
        "the mask hides the future in its first 96 columns only",
        (HIDDEN, HIDDEN + "\n        hidden = hidden & (torch.arange(num_keys) < 96)"),
        or_family=("block",),
    ),
    bug(
        "padding-of-pairs",
        "batch",
        "batches above four use the padding of every other row twice",
        (
            PADDED,
            PADDED.replace("mask[:,", "mask[torch.arange(len(mask)) // 2 * 2 if len(mask) > 4 else slice(None)][:,"),
        ),
        or_family=("padding",),
    ),
    bug(
        "cache-page-swapped",
        "cache",
        "when a page of 16 is full, its last two keys change places",
        (
            JOINED,
            JOINED + "\n            if cache[0].shape[1] % 16 == 0 and cache[0].shape[1] > 0:\n"
            "                order = [*range(k.shape[1])]\n"
            "                last = cache[0].shape[1] - 1\n"
            "                order[last], order[last - 1] = last - 1, last\n"
            "                k = k[:, order]",
        ),
    ),
    bug(
        "rows-past-128-lost",
        "block",
        "queries past 128 are left out",
        (MIXED, MIXED + "\n        mixed = mixed * (torch.arange(length) < 128)[:, None, None, None]"),
    ),
    bug(
        "sink-lost-for-long-inputs",
        "sink/softcap",
        "beyond 64 keys the kernel without a sink is taken",
        (SINKS, SINKS.replace("sinks]", "sinks - 1e9 * (num_keys > 64)]")),
        or_family=("softmax", "block", "mask"),
    ),
)
