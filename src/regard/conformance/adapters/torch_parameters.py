"""What a torch module learns: its parameters by name, their gradients, and how to change them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.projections import numbers
from regard.conformance.subject import LayerParameter

_GAINS = ("weight", "scale", "gamma", "g")


def parameters_of(module: Any) -> dict[str, LayerParameter]:
    """Those that are trained, without embeddings: rows of these stay unused where their ids or positions do."""
    from torch import nn

    found = {}
    for owner, part in module.named_modules():
        if isinstance(part, nn.Embedding | nn.EmbeddingBag):
            continue
        for label, parameter in part.named_parameters(recurse=False):
            if parameter.requires_grad and parameter.is_floating_point():
                name = f"{owner}.{label}" if owner else label
                found[name] = LayerParameter(
                    values=numbers(parameter), kind=_kind_of(part, label, parameter), module=owner
                )
    return found


def parts_in_use(module: Any, call: Callable[[], Any]) -> set[str]:
    """The names of the parts that a call runs, and of those that lie right inside one: it could have used them."""
    ran: set[str] = set()
    parts = dict(module.named_modules())
    hooks = [
        part.register_forward_pre_hook(lambda *_, name=name: ran.add(name), with_kwargs=True)
        for name, part in parts.items()
    ]
    try:
        call()
    finally:
        for hook in hooks:
            hook.remove()
    return {name for name in parts if name in ran or _around(name, parts) in ran}


def _around(name: str, parts: Mapping[str, Any]) -> str:
    """The name of the part that a part lies in, lists aside: these are never run."""
    from torch import nn

    around = name.rpartition(".")[0]
    return _around(around, parts) if around and isinstance(parts[around], nn.ModuleList | nn.ModuleDict) else around


def parameter_gradients(
    module: Any, names: Iterable[str], call: Callable[[], Any], direction: Any
) -> dict[str, np.ndarray]:
    """The gradients of ⟨direction, call()⟩ with respect to the parameters of these names."""
    import torch

    known = dict(module.named_parameters(remove_duplicate=False))
    chosen = {name: known[name] for name in names}
    with torch.enable_grad():
        gradients = torch.autograd.grad((call() * direction).sum(), [*chosen.values()], allow_unused=True)
    pairs = zip(chosen.items(), gradients, strict=True)
    return {name: numbers(torch.zeros_like(own) if found is None else found) for (name, own), found in pairs}


def set_parameters(module: Any, values: Mapping[str, np.ndarray]) -> None:
    """Writes other numbers into the parameters of these names."""
    import torch

    known = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, array in values.items():
            known[name].copy_(torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)))


def _kind_of(module: Any, label: str, parameter: Any) -> Any:
    if parameter.ndim == 2 and label == "weight" and (hasattr(module, "in_features") or hasattr(module, "nf")):
        return "matrix"
    if parameter.ndim == 1:
        return "gain" if "norm" in type(module).__name__.lower() and label in _GAINS else "vector"
    return "other"
