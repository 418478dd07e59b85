"""Inside a Hugging Face model: its attention module by itself, and the attention function that this calls."""

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from regard.conformance.adapters.projecting import is_fused

_NAME = "regard_capture"
_QUERIES = ("q_proj", "query", "q", "to_q", "q_a_proj", "Wqkv", "q_lin")


@functools.cache
def forward_names(kind: type) -> tuple[str, ...]:
    """What the parameters of a module's `forward` are called."""
    return tuple(inspect.signature(kind.forward).parameters)[1:]


class _Reached(Exception):
    """Raised to leave the model once its attention has answered."""


class Attention:
    """One attention module inside a model that runs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.names = forward_names(type(module))

    def output(self, run: Callable[[], Any], x: Any) -> Any:
        """The module's output if it gets x; the rest of the model is not run."""
        kept: list[Any] = []

        def swap(_: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            given = {**dict(zip(self.names, args, strict=False)), **options}
            given[self.names[0]] = x
            if given.get("residual") is not None:
                given["residual"] = x * 0
            return (), given

        def keep(_: Any, __: Any, found: Any) -> None:
            kept.append(found[0] if isinstance(found, tuple | list) else found)
            raise _Reached

        hooks = [self.module.register_forward_pre_hook(swap, with_kwargs=True), self.module.register_forward_hook(keep)]
        try:
            run()
        except _Reached:
            pass
        finally:
            for hook in hooks:
                hook.remove()
        return kept[0]


def first_attention(model: Any) -> Any:
    """The first module that has projections of its own, None if none has."""
    for _, module in model.named_modules():
        children = dict(module.named_children())
        if "attention" in type(module).__name__.lower() and (is_fused(module) or any(q in children for q in _QUERIES)):
            return module
    return None


def captured(model: Any, width: int) -> Callable[[Any, Any, Any, Any], Any] | None:
    """attend(q, k, v, bias) as the model's first attention calls it, None where it does not use the interface."""
    import torch

    copied = copy.deepcopy(model)
    module = first_attention(copied)
    implementation = model.config._attn_implementation
    original = _interface(module, implementation)
    if original is None or not _registered():
        return None
    calls: list[dict[str, Any]] = []
    module.regard_calls = calls
    try:
        copied.set_attn_implementation(_NAME)
        x = torch.zeros(1, 3, width, dtype=next(copied.parameters()).dtype)
        Attention(module).output(lambda: copied(inputs_embeds=x), x)
    except (AttributeError, ImportError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    if not calls:
        return None
    options = {name: value for name, value in calls[0].items() if name not in ("position_ids", "is_causal")}

    def attend(q: Any, k: Any, v: Any, bias: Any) -> Any:
        found = original(module, q, k, v, bias, **options)[0]
        return found.transpose(1, 2)

    return attend


def masked(shape: tuple[int, int, int], mask: np.ndarray | None, *, causal: bool) -> np.ndarray:
    """[batch, query, key]: the mask, and no look ahead of the last key's alignment if causal."""
    seen = np.ones(shape, dtype=bool) if mask is None else np.broadcast_to(mask, shape).copy()
    if causal:
        _, queries, keys = shape
        seen &= np.arange(keys)[None, :] <= (np.arange(queries) + keys - queries)[:, None]
    return seen


def _interface(module: Any, implementation: str) -> Callable[..., Any] | None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if module is None:
        return None
    own = sys.modules[type(module).__module__]
    if implementation in (None, "eager"):
        return getattr(own, "eager_attention_forward", None)
    return ALL_ATTENTION_FUNCTIONS.get(implementation)


def _registered() -> bool:
    """True once transformers knows our capturing function, which only hands on what it is given."""
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def capture(module: Any, q: Any, k: Any, v: Any, mask: Any, **options: Any) -> Any:
        if hasattr(module, "regard_calls"):
            module.regard_calls.append(options)
        return sdpa_attention_forward(module, q, k, v, mask, **options)

    AttentionInterface.register(_NAME, capture)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    return True
