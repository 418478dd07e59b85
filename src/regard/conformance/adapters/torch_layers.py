"""torch modules as subjects."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import TorchArrays
from regard.conformance.adapters.drawing import redrawn
from regard.conformance.adapters.layers import Layer, padding_mask
from regard.conformance.adapters.probing import returned_or_error, sample
from regard.conformance.adapters.projecting import find_projections
from regard.conformance.adapters.signatures import is_raw, option_names, parameter_names
from regard.conformance.subject import Projections, Spec


class TorchLayer(Layer):
    """A torch module, copied, its weights drawn afresh, in eval mode. A subclass says in `forward` how it is called.

    `forward(x)` gets and gives tensors; if it names `mask` (True is a real token) or `positions`, laws use them.
    """

    def __init__(self, module: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        import torch

        self.spec = spec or Spec()
        self.name = name or type(module).__name__
        self.arrays = TorchArrays(self.spec.dtype, self.spec.device)
        own = copy.deepcopy(module)
        own = redrawn(own) if redraw else own
        self.module = own.to(device=self.spec.device, dtype=getattr(torch, self.spec.dtype)).eval()
        self.settled(*self.shown())

    def shown(self) -> set[str]:
        """The capabilities that the class has beyond those of every torch layer."""
        named = {"mask", "positions"} & set(parameter_names(self.forward))
        return named | ({"weights"} if find_projections(self.module, self.spec) is not None else set())

    def projections(self) -> Projections:
        """The matrices, where they have the usual names."""
        found = find_projections(self.module, self.spec)
        assert found is not None, "weights are among the capabilities only if they were found"
        return found

    def in_dtype(self, dtype: str) -> "TorchLayer":
        """A copy of the module in another dtype."""
        import torch

        other = copy.copy(self)
        other.module = copy.deepcopy(self.module).to(dtype=getattr(torch, dtype))
        other.arrays = TorchArrays(dtype, self.spec.device)
        other.spec = replace(self.spec, dtype=dtype)
        return other


class ModuleLayer(TorchLayer):
    """A module whose conventions are read off its signature.

    forward(x), forward(q, k, v) with projections of its own, or a whole model on embeddings; a mask and positions under
    the usual names; a cache if `forward(x, cache=None)` returns (y, cache).
    """

    def forward(self, x: Any, **options: Any) -> Any:
        """The module's output, the first of several."""
        found = self._called(x, options)
        return found[0] if isinstance(found, tuple | list) else found

    def shown(self) -> set[str]:
        """What the module takes without complaint."""
        x = sample(2, 5, self.spec.width).astype(np.float32)
        tried = {"mask": np.ones((2, 5), dtype=bool), "positions": np.arange(5)[None].repeat(2, axis=0)}
        shown = set(super().shown())
        for option, value in tried.items():
            if option in self._names() and returned_or_error(_calling(self, x, option, value))[1] is None:
                shown.add(option)
        if "cache" in self._names() and self._gives_cache(x):
            shown.add("cache")
        if _has_norms(self.module):
            shown.discard("weights")
        return shown

    def empty_cache(self, batch: int) -> Any:
        """What the module makes, else None."""
        make = getattr(self.module, "empty_cache", None)
        return None if make is None else make(batch)

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """One call with a copy of the cache, so that one which is changed in place stays as it is."""
        with self.arrays.quietly():
            given = {**self._given(options), "cache": copy.deepcopy(cache)}
            y, longer = self._called(self.native(x), given)[:2]
        return self.numpy(y), longer

    def _called(self, x: Any, options: Mapping[str, Any]) -> Any:
        said = dict(options)
        if said.get("mask") is not None:
            said["mask"] = padding_mask(said["mask"], self.spec.mask, self)
        names, all_names = self._names(), parameter_names(self.module.forward)
        given = {names[option]: value for option, value in said.items()}
        if "cache" in said and "use_cache" in all_names:
            given["use_cache"] = True
        return self.module(*([x] * 3 if is_raw(all_names) else [x]), **given)

    def _names(self) -> dict[str, str]:
        return option_names(parameter_names(self.module.forward))

    def _gives_cache(self, x: np.ndarray) -> bool:
        found, error = returned_or_error(lambda: self.step(x, self.empty_cache(x.shape[0])))
        return error is None and found[1] is not None


def _calling(layer: Layer, x: np.ndarray, option: str, value: np.ndarray) -> Callable[[], Any]:
    return lambda: layer.call(x, **{option: value})


def _has_norms(module: Any) -> bool:
    """A block with norms is more than the attention that an oracle knows, unless they are those of queries and keys."""
    return any(
        "norm" in type(part).__name__.lower() and name.rpartition(".")[2] not in ("q_norm", "k_norm")
        for name, part in module.named_modules()
    )
