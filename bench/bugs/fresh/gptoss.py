"""Mistakes in the layer with one sink per head."""

from bugs.bug import edits

__all__ = ["BUGS"]

bug = edits("gptoss")

BUGS = (
    bug(
        "fresh-first-column-dropped",
        "sink/softcap",
        "the sink is the last column, but the first is dropped",
        ("weights = F.softmax(logits, dim=-1)[..., :-1]", "weights = F.softmax(logits, dim=-1)[..., 1:]"),
        or_family=("softmax", "mask"),
    ),
    bug(
        "fresh-sinks-across-groups",
        "sink/softcap",
        "sinks are assigned to heads with the group as the slower axis",
        (
            "self.sinks.view(1, self.num_kv_heads, -1, 1, 1).expand",
            "self.sinks.view(1, -1, self.num_kv_heads, 1, 1).transpose(1, 2).expand",
        ),
        or_family=("heads", "kv-heads"),
        seen="spec",
    ),
    bug(
        "fresh-sinks-scaled",
        "sink/softcap",
        "sinks are divided by the root of the width like logits",
        (
            "logits = torch.cat([logits, sinks], dim=-1)",
            "logits = torch.cat([logits, sinks / self.head_width**0.5], dim=-1)",
        ),
        or_family=("scale",),
        seen="spec",
    ),
    bug(
        "fresh-sink-not-shifted",
        "sink/softcap",
        "the largest logit is subtracted the logits, but not off the sink",
        (
            "        logits = torch.cat([logits, sinks], dim=-1)\n"
            "        weights = F.softmax(logits, dim=-1)[..., :-1]\n",
            "        largest = logits.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)\n"
            "        powers = torch.exp(logits - largest)\n"
            "        weights = powers / (powers.sum(dim=-1, keepdim=True) + torch.exp(sinks))\n",
        ),
        or_family=("softmax",),
        seen="spec",
    ),
    bug(
        "fresh-groups-across-heads",
        "kv-heads",
        "query heads are assigned to key heads in turn",
        (
            "grouped = q.unflatten(2, (self.num_kv_heads, -1))",
            "grouped = q.unflatten(2, (-1, self.num_kv_heads)).transpose(2, 3)",
        ),
        or_family=("heads",),
        seen="spec",
    ),
    bug(
        "fresh-new-keys-before-old",
        "cache",
        "new keys and values are put before the cached ones",
        (
            "k, v = torch.cat((cache[0], k), dim=1), torch.cat((cache[1], v), dim=1)",
            "k, v = torch.cat((k, cache[0]), dim=1), torch.cat((v, cache[1]), dim=1)",
        ),
        or_family=("mask", "padding"),
    ),
    bug(
        "fresh-own-key-hidden",
        "mask",
        "a query does not see its own key, and the sink keeps the first row from breaking",
        ("diagonal=num_keys - num_queries + 1", "diagonal=num_keys - num_queries"),
    ),
    bug(
        "fresh-gap-after-cache",
        "positions",
        "the first token after the cache skips a position",
        ("past = 0 if cache is None else cache[0].shape[1]", "past = 0 if cache is None else cache[0].shape[1] + 1"),
        or_family=("cache", "rotary"),
    ),
    bug(
        "fresh-values-turned",
        "rotary",
        "values are rotated with the keys",
        (
            "q, k = self.rope(q, positions), self.rope(k, positions)",
            "q, k, v = (self.rope(part, positions) for part in (q, k, v))",
        ),
        or_family=("positions",),
    ),
    bug(
        "fresh-cached-keys-turned-again",
        "cache",
        "keys from the cache are rotated once more in every step",
        (
            "k, v = torch.cat((cache[0], k), dim=1)",
            "past_positions = torch.arange(past).expand(batch, past)\n"
            "            k, v = torch.cat((self.rope(cache[0], past_positions), k), dim=1)",
        ),
        or_family=("rotary", "positions"),
    ),
    bug(
        "fresh-mask-replaces-triangle",
        "mask",
        "with a padding mask, the future is no longer hidden",
        ("hidden = hidden | ~mask[:, None, None, None, :]", "hidden = ~mask[:, None, None, None, :]"),
        or_family=("padding",),
    ),
    bug(
        "fresh-sink-share-given-back",
        "sink/softcap",
        "the weight taken by the sink is given back",
        (
            "        weights = F.softmax(logits, dim=-1)[..., :-1]\n",
            "        weights = F.softmax(logits, dim=-1)[..., :-1]\n"
            "        weights = F.normalize(weights, p=1.0, dim=-1)\n",
        ),
        or_family=("softmax",),
        seen="spec",
    ),
)
