"""Modules that keep their cache to themselves, from call to call, until a method of theirs resets it."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.layers import returned_or_error, sample
from regard.conformance.adapters.modules import ModuleLayer, TokenCache

_RESETS = "reset_cache reset_kv_cache reset_state reset clear_cache clear_kv_cache clear_state".split()
_BATCH = "batch batch_size bsz b num_rows".split()
# Set on a module whose next call goes on where the last one ended.
_GOES_ON = "regard_goes_on"


def has_reset(module: Any) -> bool:
    """True if the module has such a method, and Regard knows what to call it with."""
    return _reset_of(module) is not None


def _reset_of(module: Any) -> Callable[..., Any] | None:
    method = next((found for name in _RESETS if callable(found := getattr(module, name, None))), None)
    if method is None:
        return None
    parameters = inspect.signature(method).parameters.values()
    needed = [each.name.lower() for each in parameters if each.default is inspect.Parameter.empty]
    return method if set(needed) <= {*_BATCH, "device", "dtype"} else None


def _reset_first(module: Any, given: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Before each call, unless it goes on."""
    if getattr(module, _GOES_ON, False):
        return
    x = [*given, *options.values()][0]
    known = {"device": x.device, "dtype": x.dtype, **dict.fromkeys(_BATCH, x.shape[0])}
    method = _reset_of(module)
    assert method is not None, "the class is only for modules that have one"
    names = inspect.signature(method).parameters
    method(**{name: known[name.lower()] for name in names if name.lower() in known})


class ResettingLayer(ModuleLayer):
    """Every call begins anew; a cache is a copy of the module that goes on."""

    def prepare(self) -> None:
        """A hook survives copies of the module."""
        self.module.register_forward_pre_hook(_reset_first, with_kwargs=True)
        super().prepare()

    def own_capabilities(self) -> set[str]:
        """Also a cache, if later calls see earlier ones."""
        x = sample(2, 5, self.spec.width).astype(np.float32)

        def is_used() -> bool:
            later, _ = self.step(x[:, 3:4], self.step(x[:, :3], self.empty_cache(2))[1])
            return bool((later != self.call(x[:, 3:4])).any())

        return super().own_capabilities() | ({"cache"} if returned_or_error(is_used)[0] else set())

    def empty_cache(self, batch: int) -> TokenCache:
        """The module, which its next call resets."""
        del batch
        return TokenCache(kept=self.module)

    def step(self, x: np.ndarray, cache: TokenCache, **options: Any) -> tuple[np.ndarray, TokenCache]:
        """A call of a copy."""
        module = copy.deepcopy(cache.kept)
        setattr(module, _GOES_ON, cache.num_tokens > 0)
        with self.arrays.quietly():
            tokens = self.native(x)
            given = self._given(tokens, self._native_options(options))
            found = self.plan.call(module, tokens, given, self.spec.head_width, cache.num_tokens)
            y = self.numpy(self.plan.output_among(found, tokens))
        return y, TokenCache(kept=module, num_tokens=cache.num_tokens + x.shape[1])
