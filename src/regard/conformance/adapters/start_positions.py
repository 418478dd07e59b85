"""Modules that keep their cache in buffers of their own and are told where the new tokens start (`start_pos`)."""

import copy
from typing import Any

import numpy as np

from regard.conformance.adapters.calling import start_name
from regard.conformance.adapters.layers import returned_or_error, sample
from regard.conformance.adapters.modules import ModuleLayer
from regard.conformance.subject import CacheLimits


def has_buffers_of_tokens(module: Any) -> bool:
    """True if `forward` takes a start position and some submodule keeps a tensor with "cache" in its name."""
    is_kept = any("cache" in name and place[name].ndim > 2 for place, name in _tensors(module))
    return is_kept and start_name(module) is not None


def _tensors(module: Any) -> list[tuple[dict[str, Any], str]]:
    """Where the buffers of a module and its submodules are, registered or not."""
    import torch

    places = [place for part in module.modules() for place in (vars(part), part._buffers)]
    return [(place, name) for place in places for name, value in place.items() if isinstance(value, torch.Tensor)]


class StartPositionLayer(ModuleLayer):
    """A cache is the number of tokens in it: to crop or to reset it is to start earlier."""

    cache_limits = CacheLimits(is_in_place=True, is_single=True)
    is_decoder = True

    def own_capabilities(self) -> set[str]:
        """Also a cache, if what was written at an earlier start is seen."""
        x = sample(2, 5, self.spec.width).astype(np.float32)

        def is_used() -> bool:
            later, _ = self.step(x[:, 3:4], self.step(x[:, :3], 0)[1])
            return bool((later != self.call(x[:, 3:4])).any())

        found, error = returned_or_error(is_used)
        if not found:
            self._note("cache", f"{start_name(self.module)} has no effect" if error is None else str(error))
            return super().own_capabilities()
        # A ring does not get back what it has overwritten.
        moves_back = {"crop", "reject", "reset"} if self.spec.window is None else {"reset"}
        return super().own_capabilities() | {"cache"} | moves_back

    def new_session(self) -> "StartPositionLayer":
        """A copy of the module."""
        # What was written while gradients were recorded cannot be copied.
        for place, name in _tensors(self.module):
            place[name] = place[name].detach()
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        return other

    def empty_cache(self, batch: int) -> int:
        """No tokens."""
        del batch
        return 0

    def step(self, x: np.ndarray, cache: int, **options: Any) -> tuple[np.ndarray, int]:
        """A call with the number of earlier tokens as the start."""
        with self.arrays.quietly():
            tokens = self.native(x)
            given = {**self._given(tokens, self._native_options(options)), start_name(self.module): cache}
            y = self.plan.output(self.module, tokens, given, self.spec.head_width)
        return self.numpy(y), cache + x.shape[1]

    def crop_cache(self, cache: int, length: int) -> int:
        """The length."""
        del cache
        return length

    def reject_cache(self, cache: int, count: int) -> int:
        """The length that is left."""
        return cache - count

    def reset_cache(self, cache: int) -> int:
        """No tokens."""
        del cache
        return 0
