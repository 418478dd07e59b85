"""The refutations that `check_public.jsonl` calls confirmed, each by the package and torch alone, without Regard.

`python bench/public_reproductions.py FOLDER` prints a line per refutation: what was measured, and what was right.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch


def main() -> None:
    """Prints what each layer does."""
    sys.path.extend(sys.argv[1:])
    torch.manual_seed(0)
    for find in (performer, fully_masked, nystrom, routed):
        for line in find():
            print(line)


def performer() -> Iterator[str]:
    """GRAD: the maximum is detached, and a constant is added to the features, so that it does not cancel."""
    own = import_module("performer_pytorch.performer_pytorch")
    layers = {
        "Attention": (own.Attention(8, heads=2, dim_head=4), lambda layer, x: layer(x)),
        "CrossAttention": (own.CrossAttention(8, heads=2, dim_head=4), lambda layer, x: layer(x, context=x)),
        "FastAttention": (own.FastAttention(4), lambda layer, x: layer(*(x.view(1, 3, 2, 4).transpose(1, 2),) * 3)),
    }
    for name, (layer, call) in layers.items():
        layer.double().eval()
        x, step = 3 * torch.randn(1, 3, 8).double().requires_grad_(), torch.randn(1, 3, 8).double()
        (slope,) = torch.autograd.grad(call(layer, x).sum(), x)
        found = sum(sign * call(layer, x + sign * 1e-6 * step).sum() for sign in (1, -1)) / 2e-6
        yield f"performer {name} GRAD: autograd {(slope * step).sum():.6g}, finite differences {found:.6g}"


def fully_masked() -> Iterator[str]:
    """EMPTY: −∞ for all keys of a query gives NaN."""
    x, hidden = torch.randn(4, 1, 32), torch.ones(1, 4, dtype=torch.bool)
    esm = import_module("esm.multihead_attention").MultiheadAttention(32, 4)
    yield f"esm EMPTY: {esm(x, x, x, key_padding_mask=hidden)[0].isnan().all()}"
    kind, config = import_module("torchscale.component.multihead_attention").MultiheadAttention, _Switches()
    scale = kind(config, 32, 4, self_attention=True)
    rows = x.transpose(0, 1)
    yield f"torchscale EMPTY: {scale(rows, rows, rows, key_padding_mask=hidden)[0].isnan().all()}"
    tsai = import_module("tsai.models.TabFusionTransformer")
    masked = tsai._MultiheadAttention(32, 4, 8, 8)(rows, rows, rows, attn_mask=hidden.expand(4, 4))[0]
    yield f"tsai MultiheadAttention EMPTY: {masked.isnan().all()}"
    heads = torch.randn(1, 2, 4, 8)
    core = tsai._ScaledDotProductAttention(8)(heads, heads.mT, heads, attn_mask=hidden.expand(4, 4))[0]
    yield f"tsai ScaledDotProductAttention EMPTY: {core.isnan().all()}"


class _Switches:
    """Arguments that are all off."""

    def __getattr__(self, name: str) -> Any:
        return False


def nystrom() -> Iterator[str]:
    """The largest sum is that of all rows, and what the layer adds before the input is seen without a mask."""
    layer = import_module("nystrom_attention.nystrom_attention").NystromAttention(32, num_landmarks=8).eval()
    x, ones = 3 * torch.randn(2, 6, 32), torch.ones(2, 6, dtype=torch.bool)
    other = torch.cat([x[:1], 10 * x[1:]])
    yield f"nystrom BATCH: row 0 moves by {(layer(other) - layer(x))[0].abs().max():.2g} with row 1"
    yield f"nystrom ONES: {(layer(x, mask=ones) - layer(x)).abs().max():.2g} between a mask of ones and none"
    yield from _padding("nystrom", layer, x)


def routed() -> Iterator[str]:
    """Tokens are routed in another way with a mask, and by how many there are."""
    kind = import_module("colt5_attention.transformer_block").ConditionalRoutedAttention
    layer = kind(32, num_heavy_tokens_q=4, num_heavy_tokens_kv=4).eval()
    x, ones = 3 * torch.randn(2, 6, 32), torch.ones(2, 6, dtype=torch.bool)
    yield f"routed ONES: {(layer(x, mask=ones) - layer(x)).abs().max():.2g} between a mask of ones and none"
    yield from _padding("routed", layer, x)


def _padding(name: str, layer: Any, x: torch.Tensor) -> Iterator[str]:
    """Rows alone, without a mask, against the same rows padded or beside a masked one."""
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[:, 4:] = False
    for law, factor in (("PAD", 1), ("MASKFORCE", 300)):
        moved = (layer(factor * x, mask=mask)[:, :4] - layer(factor * x[:, :4])).abs().max()
        yield f"{name} {law}: real rows move by {moved:.2g} with padding, inputs {factor} times as large"
    hidden = torch.ones(2, 6, dtype=torch.bool)
    hidden[1] = False
    other = (layer(x, mask=hidden) - layer(x))[0].abs().max()
    yield f"{name} EMPTY: row 0 moves by {other:.2g} if row 1 is masked"


if __name__ == "__main__":
    main()
