"""Functions of serving kernels as subjects: pages, packed sequences, quantized caches, trees, latents, merging, ranks.

docs/kernels.md has the signature of each function. Arrays are converted at the border, by position.
"""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any, Literal, get_args

import numpy as np

from regard.conformance.adapters.arrays import Arrays, Function, JaxArrays, NumpyArrays, TorchArrays
from regard.conformance.adapters.ranks import run_processes, run_threads
from regard.conformance.subject import KernelTraits, Spec, Subject
from regard.core.errors import InputError

Framework = Literal["torch", "jax", "numpy"]
_ARRAYS: Mapping[str, type[Arrays]] = {"torch": TorchArrays, "jax": JaxArrays, "numpy": NumpyArrays}
_SPEC = Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True)
_AXES = ("page", "slot", "head", "dim")
_GROUPED_AXES = ("batch", "head", "position", "dim")


class KernelSubject(Subject):
    """Functions of one framework's arrays, by the names of operations.

    Args:
        functions: the functions, some of which may be None.
        spec: what they compute.
        framework: whose arrays they take; by default, what the first function is written with.
        traits: what they declare besides.
    """

    def __init__(
        self,
        functions: Mapping[str, Function | None],
        spec: Spec | None,
        framework: Framework | None,
        traits: KernelTraits,
    ) -> None:
        self.functions = {name: function for name, function in functions.items() if function is not None}
        first = next(iter(self.functions.values()), None)
        if first is None or not all(map(callable, self.functions.values())):
            raise InputError(f"{type(self).__name__} needs functions. See docs/kernels.md for their arguments.")
        self.name, self.spec, self.traits = getattr(first, "__name__", type(first).__name__), spec or _SPEC, traits
        self.framework = framework or _framework_of(first)
        if self.framework not in get_args(Framework):
            raise InputError(f"There is no framework {self.framework!r}. Use one of {', '.join(get_args(Framework))}.")
        self.arrays = _ARRAYS[self.framework](self.spec.dtype, self.spec.device)

    def in_dtype(self, dtype: str) -> "KernelSubject":
        """The same functions on arrays of another dtype."""
        other = copy.copy(self)
        other.arrays = type(self.arrays)(dtype, self.spec.device)
        return other

    def run_kernel(self, operation: str, *arguments: Any) -> tuple[np.ndarray, ...]:
        """What a function gives, as numpy's arrays; what it changes among its arguments changes here, too."""
        with self.arrays.quietly():
            given = [self.arrays.array(each) if isinstance(each, np.ndarray) else each for each in arguments]
            found = getattr(self, f"run_{operation}", self.functions.get(operation))
            if found is None:
                raise NotImplementedError(f"there is no function to {operation}")
            result = found(*given)
            for ours, theirs in zip(arguments, given, strict=True):
                if isinstance(ours, np.ndarray):
                    ours[...] = self.as_numpy(theirs)
            return tuple(map(self.as_numpy, result if isinstance(result, tuple | list) else (result,)))

    def as_numpy(self, x: Any) -> np.ndarray:
        """numpy's array, whoever made it."""
        return x.copy() if isinstance(x, np.ndarray) else self.arrays.numpy(x)


def _framework_of(function: Function) -> Framework:
    """The framework that a function is written with, else one that its file imports."""
    while isinstance(function, functools.partial):
        function = function.func
    plain = function if inspect.isroutine(function) else type(function).__call__
    plain = getattr(inspect.unwrap(plain), "__func__", inspect.unwrap(plain))
    used = _packages_used(plain, set())
    imported = {_package(each) for each in getattr(plain, "__globals__", {}).values()}
    named = [name for packages in (used, imported) for name in get_args(Framework) if name in packages]
    return next(iter(named), "numpy")


def _packages_used(function: Any, seen: set[Any]) -> set[str]:
    """The packages that a function and the functions that it calls by name are written with."""
    seen.add(function)
    pending, found = [function.__code__] if hasattr(function, "__code__") else [], set()
    while pending:
        code = pending.pop()
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
        for value in filter(None, map(function.__globals__.get, code.co_names)):
            found.add(_package(value))
            if inspect.isfunction(value) and value not in seen:
                found |= _packages_used(value, seen)
    return found


def _package(value: Any) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


class PagedKernel(KernelSubject):
    """Attention over keys and values in pages, and a function that writes them.

    Args:
        attend: attend(q, key_pages, value_pages, block_table, lengths) -> out.
        spec: heads, scale, softcap and window.
        write: write(k, v, key_pages, value_pages, slots), in place or returning both pools.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
        options: `page_size` (4), `chunk` (False; True if q has an axis of queries), `layout` ("page slot head dim"),
            `padding_slot` (None) and `garbage` ("any" or "finite").

    >>> PagedKernel(lambda q, key_pages, value_pages, block_table, lengths: q, page_size=16).traits.page_size
    16
    """

    def __init__(
        self,
        attend: Function,
        spec: Spec | None = None,
        *,
        write: Function | None = None,
        framework: Framework | None = None,
        **options: Any,
    ) -> None:
        layout = options.pop("layout", " ".join(_AXES)).split()
        if sorted(layout) != sorted(_AXES):
            raise InputError(f"The layout is {' '.join(layout)!r}. Write the axes {', '.join(_AXES)} in some order.")
        traits = KernelTraits(takes_chunks=options.pop("chunk", False), **options)
        super().__init__({"attend": attend, "write": write}, spec, framework, traits)
        self.order = [_AXES.index(axis) for axis in layout]
        self.capabilities = frozenset({"paged", "float64", "kernel", *(["writer"] if write is not None else [])})

    def run_kernel(self, operation: str, *arguments: Any) -> tuple[np.ndarray, ...]:
        """Pools are passed on, and come back, in the declared layout."""
        pools, back = (1, 2) if operation == "attend" else (2, 3), np.argsort(self.order)
        given = [
            np.ascontiguousarray(each.transpose(self.order)) if place in pools else each
            for place, each in enumerate(arguments)
        ]
        results = super().run_kernel(operation, *given)
        for place in pools:
            arguments[place][...] = given[place].transpose(back)
        return results if operation == "attend" else tuple(each.transpose(back) for each in results)

    def run_attend(self, q: Any, *rest: Any) -> Any:
        """Without chunks, there is no axis of queries."""
        attend = self.functions["attend"]
        return attend(q, *rest) if self.traits.takes_chunks else attend(q[:, 0], *rest)[:, None]

    def run_write(self, k: Any, v: Any, key_pages: Any, value_pages: Any, slots: Any) -> Any:
        """The pools after writing."""
        written = self.functions["write"](k, v, key_pages, value_pages, slots)
        return (key_pages, value_pages) if written is None else written


class VarlenKernel(KernelSubject):
    """Attention over packed sequences.

    Args:
        attend: attend(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k) -> out.
        spec: heads, scale, softcap, window, causal and align.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
        garbage: "finite" if rows after the last offset have to be finite.
    """

    capabilities = frozenset({"varlen", "float64", "kernel"})

    def __init__(
        self,
        attend: Function,
        spec: Spec | None = None,
        *,
        framework: Framework | None = None,
        garbage: Literal["any", "finite"] = "any",
    ) -> None:
        super().__init__({"attend": attend}, spec, framework, KernelTraits(garbage=garbage))

    def run_gradient(self, q: Any, k: Any, v: Any, direction: Any, *rest: Any) -> Any:
        """∂⟨direction, out⟩ by q, k and v."""
        if not self.arrays.has_gradient:
            raise NotImplementedError(f"{self.framework} has no gradients")
        attend = self.functions["attend"]
        if self.framework == "jax":
            import jax

            return jax.grad(lambda *heads: (attend(*heads, *rest) * direction).sum(), argnums=(0, 1, 2))(q, k, v)
        import torch

        with torch.enable_grad():
            heads = [each.detach().requires_grad_() for each in (q, k, v)]
            out = attend(*heads, *rest)
            if not getattr(out, "requires_grad", False):
                raise NotImplementedError("the output has no gradient")
            found = torch.autograd.grad((out * direction).sum(), heads, allow_unused=True)
        return [torch.zeros_like(x) if each is None else each for x, each in zip(heads, found, strict=True)]


class QuantizedKernel(KernelSubject):
    """Keys and values that are stored as small integers.

    Args:
        quantize: quantize(k, v) -> stored.
        dequantize: dequantize(stored) -> (k, v).
        spec: heads, scale and softcap.
        attend: attend(q, stored) -> out.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
        options: `bits` (8), `key_groups` and `value_groups` ("dim"), `group_size` (None) and `zero_point` (False).
    """

    def __init__(
        self,
        quantize: Function,
        dequantize: Function,
        spec: Spec | None = None,
        *,
        attend: Function | None = None,
        framework: Framework | None = None,
        **options: Any,
    ) -> None:
        traits = KernelTraits(**options)
        for groups in (traits.key_groups, traits.value_groups):
            if not groups or not set(groups.split()) <= set(_GROUPED_AXES):
                raise InputError(f"Groups are over {groups!r}. Name some of the axes {', '.join(_GROUPED_AXES)}.")
        super().__init__({"quantize": quantize, "dequantize": dequantize, "attend": attend}, spec, framework, traits)
        self.capabilities = frozenset({"quantized", "float64", "kernel", *(["stored"] if attend is not None else [])})

    def run_restore(self, k: Any, v: Any) -> Any:
        """Keys and values after they were stored."""
        return tuple(self.functions["dequantize"](self.functions["quantize"](k, v)))

    def run_attend(self, q: Any, k: Any, v: Any) -> Any:
        """Attention over stored keys and values."""
        return self.functions["attend"](q, self.functions["quantize"](k, v))


class TreeKernel(KernelSubject):
    """Attention of drafted tokens that form trees after a common prefix.

    Args:
        attend: attend(q, k, v, parents) -> out.
        spec: heads, scale and softcap.
        positions: positions(parents, prefix) -> the position of each node.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
    """

    def __init__(
        self,
        attend: Function | None = None,
        spec: Spec | None = None,
        *,
        positions: Function | None = None,
        framework: Framework | None = None,
    ) -> None:
        super().__init__({"attend": attend, "positions": positions}, spec, framework, KernelTraits())
        own = {"nodes": attend, "depths": positions}
        self.capabilities = frozenset(
            {"tree", "float64", "kernel", *(name for name, given in own.items() if given is not None)}
        )


class LatentKernel(KernelSubject):
    """Attention over latents that keys and values are expanded from (MLA).

    Args:
        attend: attend(q_nope, q_rope, latents, k_rope, w_uk, w_uv) -> out.
        spec: heads, scale and softcap.
        expanded: another path to the same.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
        widths: `latent_width` (16) and `rotary_width` (4).
    """

    def __init__(
        self,
        attend: Function,
        spec: Spec | None = None,
        *,
        expanded: Function | None = None,
        framework: Framework | None = None,
        **widths: Any,
    ) -> None:
        super().__init__({"attend": attend, "expanded": expanded}, spec, framework, KernelTraits(**widths))
        self.capabilities = frozenset({"latent", "float64", "kernel", *(["expanded"] if expanded is not None else [])})


class MergeKernel(KernelSubject):
    """Merging of two partial results by their log-sum-exps.

    Args:
        merge: merge(out_a, lse_a, out_b, lse_b) -> (out, lse).
        spec: heads.
        base: the base of the logarithm, "e" or "2".
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
    """

    capabilities = frozenset({"merge", "float64", "kernel"})

    def __init__(
        self,
        merge: Function,
        spec: Spec | None = None,
        *,
        base: Literal["e", "2"] = "e",
        framework: Framework | None = None,
    ) -> None:
        super().__init__({"merge": merge}, spec, framework, KernelTraits(base=base))


class ParallelKernel(KernelSubject):
    """Attention of ranks that share a sequence.

    Args:
        attend: attend(q, k, v, comm) -> out, called by each rank with its own tokens.
        spec: heads, scale, softcap, causal and window.
        framework: "torch", "jax" or "numpy"; by default, what the function is written with.
        ranks: "simulated" by threads, "gloo" for processes of torch.distributed, or "both".
        options: `split` ("contiguous" or "zigzag") and `uneven` (False).
    """

    def __init__(
        self,
        attend: Function,
        spec: Spec | None = None,
        *,
        framework: Framework | None = None,
        ranks: Literal["both", "simulated", "gloo"] = "both",
        **options: Any,
    ) -> None:
        super().__init__({"attend": attend}, spec, framework, KernelTraits(**options))
        if self.traits.split == "zigzag" and self.traits.uneven:
            raise InputError("Zigzag pieces are equal. Drop uneven=True, or split contiguously.")
        ways = {"simulated", "gloo"} if ranks == "both" else {ranks}
        self.capabilities = frozenset(
            {"parallel", "float64", "kernel", *ways} - ({"gloo"} if self.framework != "torch" else set())
        )

    def run_simulated(self, *parts: list[np.ndarray]) -> Any:
        """The outputs of all ranks, one thread each."""
        return run_threads(self._ranks(parts))

    def run_processes(self, *parts: list[np.ndarray]) -> Any:
        """The outputs of all ranks, one process each."""
        return run_processes(self._ranks(parts))

    def _ranks(self, parts: tuple[list[np.ndarray], ...]) -> list[Callable[[Any], np.ndarray]]:
        def work(heads: tuple[np.ndarray, ...], comm: Any) -> np.ndarray:
            return self.as_numpy(self.functions["attend"](*map(self.arrays.array, heads), comm))

        return [functools.partial(work, heads) for heads in zip(*parts, strict=True)]
