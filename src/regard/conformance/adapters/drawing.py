"""Weights drawn afresh: freshly initialised layers are too quiet for a leak to be heard."""

from typing import Any

# For a fan-in of 32; wider layers get smaller weights, so that the size of outputs stays.
_STD, _FAN_IN, _LARGEST = 0.12, 32, 0.2
_TABLES = ("freq", "slope", "rotary", "alibi", "sinusoid")


def redrawn(module: Any, *, seed: int = 0) -> Any:
    """The torch module itself, its matrices and biases normal; norms, buffers, frozen parameters and tables stay."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in _drawable(module):
            std = _STD * (_FAN_IN / parameter.shape[-1]) ** 0.5 if parameter.ndim > 1 else _STD
            drawn = torch.randn(parameter.shape, generator=generator) * min(std, _LARGEST)
            parameter.copy_(drawn.to(parameter.dtype))
    return module


def _drawable(module: Any) -> list[Any]:
    found: dict[int, Any] = {}
    for name, part in module.named_modules():
        if "norm" in type(part).__name__.lower() or any(table in name.lower() for table in _TABLES):
            continue
        for label, parameter in part.named_parameters(recurse=False):
            is_table = any(table in label.lower() for table in _TABLES)
            is_drawn = parameter.is_floating_point() and (parameter.ndim > 1 or "bias" in label)
            if parameter.requires_grad and is_drawn and not is_table:
                found[id(parameter)] = parameter
    return list(found.values())
