"""Bugs of the BERT-like layer: bidirectional, padded keys, two paths, biases."""

from bugs.bug import edits

bug = edits("encoder")

SOFTMAX = "F.softmax(scores, dim=-1)"
ADDED = f"scores = scores + bias\n        probabilities = {SOFTMAX}"
POWERS = "(powers := (scores - scores.amax(-1, keepdim=True)).exp())"
SCALE = "scores = scores / math.sqrt(self.head_width)"
LEAST = "padding * torch.finfo(like.dtype).min"
FUSED = "attn_mask=bias,"
MIXED = "return torch.matmul(probabilities, values), probabilities"
QUERY = "self.transpose_for_scores(self.query(x))"
KEY = "self.transpose_for_scores(self.key(x))"
VALUE = "self.transpose_for_scores(self.value(x))"
LAST = "return self.output(context), probabilities, None"
HEADS = "shape = (*x.shape[:-1], self.num_heads, self.head_width)\n        return x.view(shape).permute(0, 2, 1, 3)"

BUGS = (
    bug(
        "padding-inverted",
        "padding",
        "tokens are hidden, padding is seen",
        ("padding = 1.0 - mask", "padding = 0.0 + mask"),
    ),
    bug(
        "padding-hides-queries",
        "padding",
        "the mask is applied along queries instead of keys",
        ("mask[:, None, None, :]", "mask[:, None, :, None]"),
    ),
    bug(
        "padding-constant",
        "padding",
        "padded logits get −1e4",
        (LEAST, "padding * -1e4"),
        or_family=("mask", "softmax", "precision"),
    ),
    bug("padding-too-weak", "padding", "padded logits get −5", (LEAST, "padding * -5.0"), or_family=("mask",)),
    bug(
        "padding-multiplied",
        "padding",
        "padded logits become zero",
        ("scores = scores + bias", "scores = scores * (bias == 0)"),
        or_family=("mask",),
    ),
    bug(
        "padding-after-softmax",
        "padding",
        "padded weights are dropped after softmax",
        (ADDED, f"probabilities = {SOFTMAX} * (bias == 0)\n        else:\n            probabilities = {SOFTMAX}"),
        or_family=("softmax", "mask"),
    ),
    bug(
        "padding-added-positive",
        "padding",
        "padding attracts instead of hiding",
        (LEAST, "padding * torch.finfo(like.dtype).max"),
    ),
    bug(
        "padding-ignored-alone",
        "padding",
        "padding is ignored in a batch of one",
        ("self.extended_mask(mask, x)", "self.extended_mask(mask if len(x) > 1 else None, x)"),
        or_family=("batch",),
    ),
    bug(
        "padding-of-first-row",
        "padding",
        "the first row's padding mask is used for all rows",
        ("mask[:, None, None, :]", "mask[:1, None, None, :]"),
        or_family=("batch",),
    ),
    bug("softmax-over-queries", "softmax", "softmax along queries", (SOFTMAX, "F.softmax(scores, dim=-2)")),
    bug(
        "softmax-epsilon",
        "softmax",
        "1e-6 in the denominator",
        (SOFTMAX, f"{POWERS} / (powers.sum(-1, keepdim=True) + 1e-6)"),
        or_family=("precision",),
    ),
    bug(
        "softmax-without-sum",
        "softmax",
        "exponentials are divided by the number of keys",
        (SOFTMAX, f"{POWERS} / powers.shape[-1]"),
    ),
    bug("softmax-sigmoid", "softmax", "sigmoid instead of softmax", (SOFTMAX, "torch.sigmoid(scores)")),
    bug(
        "softmax-maximum-detached",
        "softmax",
        "the maximum is subtracted without a gradient",
        (SOFTMAX, "F.softmax(scores - scores.amax(-1, keepdim=True).detach(), dim=-1)"),
        is_equivalent="the softmax does not depend on what is subtracted",
    ),
    bug(
        "scale-by-length",
        "scale",
        "√length instead of √head_width",
        (SCALE, SCALE.replace("self.head_width", "scores.shape[-1]")),
        seen="spec",
    ),
    bug("scale-missing", "scale", "logits are not scaled", (SCALE, ""), seen="spec"),
    bug(
        "causal",
        "mask",
        "a query sees only earlier keys",
        (
            SCALE,
            SCALE
            + "\n        scores = scores + torch.full_like(scores, -1e9).triu(1 + scores.shape[-1] - scores.shape[-2])",
        ),
    ),
    bug(
        "own-key-hidden",
        "mask",
        "a token does not see itself",
        (SCALE, SCALE + "\n        scores = scores + torch.full_like(scores, -1e9).triu(0).tril(0)"),
    ),
    bug(
        "dropout-left-on",
        "dropout",
        "dropout is also applied outside training",
        ("self.dropout(probabilities)", "F.dropout(probabilities, 0.1)"),
    ),
    bug(
        "fused-ignores-padding",
        "path",
        "the fused path has no mask",
        (FUSED, "attn_mask=None,"),
        or_family=("padding",),
    ),
    bug(
        "fused-inverts-padding",
        "path",
        "the fused path reads the bias as a boolean",
        (FUSED, "attn_mask=None if bias is None else bias.bool(),"),
        or_family=("padding",),
    ),
    bug(
        "fused-unscaled",
        "path",
        "the fused path is not scaled",
        (FUSED, "attn_mask=bias, scale=1.0,"),
        or_family=("scale",),
    ),
    bug(
        "fused-causal",
        "path",
        "the fused path is causal without a mask",
        (FUSED, "attn_mask=bias, is_causal=bias is None,"),
        or_family=("mask",),
    ),
    bug(
        "heads-interleaved",
        "heads",
        "a head takes every fourth coordinate",
        (HEADS, "return x.unflatten(-1, (self.head_width, self.num_heads)).permute(0, 3, 1, 2)"),
        seen="spec",
    ),
    bug(
        "context-interleaved",
        "heads",
        "the output is written coordinate by coordinate",
        ("context.permute(0, 2, 1, 3)", "context.permute(0, 2, 3, 1)"),
        seen="spec",
    ),
    bug(
        "key-bias-lost",
        "projection",
        "the key's bias is left out",
        (KEY, KEY.replace("self.key(x)", "x @ self.key.weight.T")),
        is_equivalent="a key bias adds the same number to all logits of a query",
    ),
    bug(
        "query-bias-lost",
        "projection",
        "the query's bias is left out",
        (QUERY, QUERY.replace("self.query(x)", "x @ self.query.weight.T")),
        seen="spec",
    ),
    bug(
        "value-bias-lost",
        "projection",
        "the value's bias is left out",
        (VALUE, VALUE.replace("self.value(x)", "x @ self.value.weight.T")),
        seen="spec",
    ),
    bug("queries-are-keys", "projection", "queries are computed with the key matrix", (QUERY, KEY), seen="spec"),
    bug(
        "keys-of-neighbour",
        "batch",
        "each row attends to the next row's keys",
        (KEY, KEY.replace("self.key(x)", "self.key(x.roll(1, 0))")),
    ),
    bug(
        "values-of-first-row",
        "batch",
        "values come from the first row",
        (VALUE, VALUE.replace("self.value(x)", "self.value(x[:1]).expand(len(x), -1, -1)")),
    ),
    bug(
        "centred-over-batch",
        "batch",
        "keys are centered over the batch",
        (KEY, KEY.replace("self.key(x)", "self.key(x - x.mean(0, keepdim=True))")),
    ),
    bug(
        "positions-left-in",
        "positions",
        "queries grow with their index",
        (
            QUERY,
            QUERY.replace(
                "self.query(x)", "self.query(x * torch.linspace(1, 1.5, x.shape[1], dtype=x.dtype)[:, None])"
            ),
        ),
    ),
    bug(
        "output-over-input",
        "in-place",
        "the output is written over the input",
        (LAST, LAST.replace("self.output(context)", "x.copy_(self.output(context))")),
    ),
    bug(
        "output-in-float32",
        "precision",
        "the output is rounded to float32",
        (LAST, LAST.replace("(context)", "(context).float().to(x.dtype)")),
        is_lawful="nothing changes in float32; many float64 layers compute in float32 internally, which is allowed",
    ),
    bug(
        "flat-view",
        "shape",
        "the input must be contiguous",
        (QUERY, QUERY.replace("self.query(x)", "self.query(x.view(-1, x.shape[-1])).view(x.shape)")),
    ),
    bug(
        "logits-returned",
        "softmax",
        "logits are returned as weights",
        (MIXED, MIXED.replace("values), probabilities", "values), scores")),
        seen="spec",
    ),
    bug(
        "values-detached",
        "gradient",
        "half of the gradient into values is lost",
        (MIXED, MIXED.replace("values)", "values.lerp(values.detach(), 0.5))")),
    ),
)
