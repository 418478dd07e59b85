"""Attention of rows in which little may be seen, such as packed documents, by machine code of our own."""

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.core.axes import Bool, Float
from regard.training.model.kernel_data import Chance, Heads, Outcome, Size, Task

# Tiles and vectors are at most as wide as this.
_MULTIPLE = 16
# The shares of a head lie in memory as a whole, 16 MB at this length; longer rows were not measured.
_LONGEST = 2048


def is_packable(heads: tuple[Tensor, Tensor, Tensor], bias: Tensor) -> bool:
    """Whether there is machine code for these: it works on one thread, and for training, where gradients are wanted.

    PyTorch does the rest. What dropout drops is not the same in both.
    """
    queries, (batch, _, length, width) = heads[0], heads[0].shape
    return (
        queries.requires_grad
        and not bias.requires_grad
        and queries.is_cpu
        and all(each.shape == queries.shape and each.dtype is queries.dtype for each in heads)
        and {queries.dtype, bias.dtype} <= {torch.float32, torch.bfloat16}
        and 0 < batch == len(bias)
        and length % _MULTIPLE == 0
        and width % _MULTIPLE == 0
        and 0 < length <= _LONGEST
        and torch.get_num_threads() == 1
        and not torch.compiler.is_compiling()
        and _code() is not None
    )


def seen_tiles(bias: Float[Tensor, "batch head query key"]) -> Bool[Tensor, " tile"]:
    """Of each tile of the logits whether a key of it is seen by a query of it, in any head."""
    code, (batch, _, queries, keys) = _code(), bias.shape
    tops = bias.amax(dim=1).view(batch, queries // code.ROWS, code.ROWS, keys // code.LANES, code.LANES)
    return (tops != -torch.inf).any(dim=4).any(dim=2).flatten()


def attend_packed(
    heads: tuple[Tensor, Tensor, Tensor],
    bias: Float[Tensor, "batch #head place place"],
    tiles: Bool[Tensor, " tile"],
    *,
    scale: float,
    dropout: float = 0.0,
) -> Float[Tensor, "batch head place width"]:
    """softmax(s·QKᵀ + B)V of `heads` Q, K and V, from tiles that are seen; shares are dropped as `dropout` says."""
    return _Packed.apply(*heads, bias, tiles, scale, dropout)


class _Packed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        *tensors, ctx.scale, dropout = given
        ctx.chance = _chance(dropout)
        made, logs = _blank(tensors[0]), tensors[0].new_empty(tensors[0].shape[:3], dtype=torch.float32)
        _code().attend(*_task(ctx, *tensors), _heads(made), logs.view(-1).numpy())
        ctx.save_for_backward(*tensors, made, logs)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, made, logs = ctx.saved_tensors
        found = [_blank(made) for _ in range(3)]
        outcome = Outcome(_heads(made), logs.view(-1).numpy(), _heads(gradient))
        _code().find_gradients(*_task(ctx, *tensors), outcome, tuple(map(_heads, found)))
        return (*found, None, None, None, None)


@cache
def _code() -> ModuleType | Any:
    """The functions that Numba compiles; nothing where it is missing, is switched off, or has no place to keep them."""
    try:
        from numba.core import config

        from regard.training.model import kernel
    except (ImportError, OSError, RuntimeError):
        return None
    return None if getattr(config, "DISABLE_JIT", False) else kernel


def _task(ctx: Any, *tensors: Tensor) -> tuple[Task, Size]:
    """Tensors as the machine code reads them."""
    queries, keys, values, bias, tiles = tensors
    code, (batch, heads, length, width) = _code(), queries.shape
    task = Task(
        queries=_heads(queries),
        keys=_heads(keys),
        values=_heads(values),
        bias=_heads(bias.expand(batch, heads, length, length)),
        tiles=tiles.numpy(),
        scale=np.float32(ctx.scale),
        chance=ctx.chance,
    )
    return task, Size(batch, heads, length, width, length * width + 2 * code.LANES, length + code.LANES)


def _chance(dropout: float) -> Chance:
    """What is to be dropped, drawn from PyTorch's random numbers."""
    seed, other_seed = torch.randint(2**32, (2,)).tolist() if dropout else (0, 0)
    return Chance(
        seed=np.uint32(seed),
        other_seed=np.uint32(other_seed),
        limit=np.uint32(min(round(dropout * 2**32), 2**32 - 1)),
        growth=np.float32(1 / (1 - dropout)),
    )


def _blank(like: Tensor) -> Tensor:
    """Room for as many heads, with those of a place side by side, as the next product wants them."""
    batch, heads, length, width = like.shape
    return like.new_empty(batch, length, heads, width).transpose(1, 2)


def _heads(tensor: Tensor) -> Heads:
    """A tensor's own memory as a flat array; a copy of it where vectors do not lie in one piece."""
    tensor = tensor.detach() if tensor.stride(-1) == 1 else tensor.detach().contiguous()
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    flat = tensor.as_strided((reach,), (1,))
    values = flat.view(torch.int16) if flat.dtype is torch.bfloat16 else flat
    return Heads(values.numpy(), *tensor.stride()[:3])
