"""What a callable's parameters say about it: raw attention or a layer, and which options it takes."""

import inspect
from collections.abc import Callable
from typing import Any

_MASKS = ("mask", "attention_mask", "padding_mask", "pad_mask", "attn_mask")
_POSITIONS = ("positions", "position_ids", "input_pos")
_CACHES = ("cache", "kv_cache", "past", "past_key_value", "past_key_values", "layer_past")
_CAUSAL = ("causal", "is_causal", "use_causal_mask")
_OPTIONS = {"mask": _MASKS, "positions": _POSITIONS, "cache": _CACHES, "causal": _CAUSAL}


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that can be given by hand; none for a builtin that hides them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    hidden = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind not in hidden)


def is_raw(names: tuple[str, ...]) -> bool:
    """True for f(queries, keys, values, …), whatever the three are called.

    >>> is_raw(("q", "k", "v", "mask")), is_raw(("query", "key", "value")), is_raw(("x", "mask"))
    (True, True, False)
    """
    first = [name.lower().lstrip("x_")[:1] for name in names[:3]]
    return first == ["q", "k", "v"]


def option_names(names: tuple[str, ...]) -> dict[str, str]:
    """For each option that the callable takes, what it calls it.

    >>> option_names(("x", "attention_mask", "position_ids"))
    {'mask': 'attention_mask', 'positions': 'position_ids'}
    """
    found = {option: [name for name in known if name in names] for option, known in _OPTIONS.items()}
    return {option: chosen[0] for option, chosen in found.items() if chosen}
