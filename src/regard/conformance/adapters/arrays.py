"""Frameworks: how the arrays of each are made, read back and differentiated."""

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from regard.conformance.law import dtype_of

Function = Callable[..., Any]
# Optimising and fusing takes XLA three times as long as compiling, and each kernel runs only a few times.
_UNOPTIMISED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
_QUICK: tuple[dict[str, Any], ...] = ({**_UNOPTIMISED, "xla_cpu_use_fusion_emitters": False}, _UNOPTIMISED, {})


class Arrays:
    """One framework. Arrays that it makes never share memory with those that it was given.

    `module` has its functions. `records` says that code may take another path while gradients are recorded.
    """

    module: str
    has_gradient: bool = False
    records: bool = False

    def __init__(self, dtype: str = "float32", device: str = "cpu") -> None:
        self.dtype, self.device = dtype, device

    def array(self, x: np.ndarray) -> Any:
        """The framework's array; floats take the dtype."""
        raise NotImplementedError

    def numpy(self, x: Any) -> np.ndarray:
        """numpy's array."""
        raise NotImplementedError

    def stack(self, rows: list[Any]) -> Any:
        """The framework's arrays as rows of one."""
        return importlib.import_module(self.module).stack(rows)

    def run(self, function: Function, x: Any, options: dict[str, Any]) -> Any:
        """function(x, **options), compiled if the framework is slow otherwise."""
        return function(x, **options)

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """A context for plain calls: no gradients are recorded, and sums are always taken in the same order."""
        yield

    def gradient(self, function: Function, x: np.ndarray, direction: np.ndarray, options: dict[str, Any]) -> np.ndarray:
        """∂⟨direction, f(x, **options)⟩/∂x."""
        raise NotImplementedError


class NumpyArrays(Arrays):
    """numpy itself."""

    module = "numpy"

    def array(self, x: np.ndarray) -> np.ndarray:
        """A copy in the dtype."""
        return x.astype(dtype_of(self.dtype), order="C") if _is_float(x) else x.copy()

    def numpy(self, x: Any) -> np.ndarray:
        """The array."""
        return np.asarray(x)

    def run(self, function: Function, x: Any, options: dict[str, Any]) -> Any:
        """In the dtype of the arrays: numpy's scalars are float64, and x / np.sqrt(8) is then as wide."""
        found = function(x, **options)
        return found.astype(dtype_of(self.dtype)) if getattr(found, "dtype", None) == np.float64 else found


class TorchArrays(Arrays):
    """PyTorch, on one thread."""

    module = "torch"
    has_gradient = True
    records = True

    def array(self, x: np.ndarray) -> Any:
        """A tensor on the device."""
        import torch

        if not _is_float(x):
            return torch.tensor(x, device=self.device)
        wide = torch.tensor(np.ascontiguousarray(x, dtype=np.float64), device=self.device)
        return wide.to(getattr(torch, self.dtype))

    def numpy(self, x: Any) -> np.ndarray:
        """The tensor's values."""
        import torch

        x = x.detach().cpu()
        if x.dtype == torch.bfloat16:
            return x.float().numpy().astype(dtype_of("bfloat16"))
        return x.contiguous().numpy().copy()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """No gradients, one thread."""
        import torch

        with _one_thread(), torch.no_grad():
            yield

    def gradient(self, function: Function, x: np.ndarray, direction: np.ndarray, options: dict[str, Any]) -> np.ndarray:
        """By autograd."""
        import torch

        with _one_thread(), torch.enable_grad():
            leaf = self.array(x).requires_grad_()
            (function(leaf, **options) * self.array(direction)).sum().backward()
        return np.zeros_like(x) if leaf.grad is None else self.numpy(leaf.grad)


class JaxArrays(Arrays):
    """JAX on the CPU. Functions are compiled as a whole: operation by operation, each shape takes seconds."""

    module = "jax.numpy"
    has_gradient = True

    def __init__(self, dtype: str = "float32", device: str = "cpu") -> None:
        super().__init__(dtype, device)
        self._compiled: dict[Any, Any] = {}

    def run(self, function: Function, x: Any, options: dict[str, Any]) -> Any:
        """Compiled once per shape."""
        import jax

        if function not in self._compiled:
            self._compiled[function] = jax.jit(function, compiler_options=_quick_options())
        return self._compiled[function](x, **options)

    def array(self, x: np.ndarray) -> Any:
        """A JAX array."""
        import jax.numpy as jnp

        with self.quietly():
            return jnp.array(x.astype(dtype_of(self.dtype)) if _is_float(x) else x, copy=True)

    def numpy(self, x: Any) -> np.ndarray:
        """The array's values."""
        return np.array(x)

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """float64 is a global setting of JAX."""
        import jax

        with jax.enable_x64(self.dtype == "float64"), jax.default_matmul_precision("highest"):
            yield

    def gradient(self, function: Function, x: np.ndarray, direction: np.ndarray, options: dict[str, Any]) -> np.ndarray:
        """By jax.grad, compiled once per shape."""
        import jax

        def total(leaf: Any, weights: Any, given: dict[str, Any]) -> Any:
            return (function(leaf, **given) * weights).sum()

        with self.quietly():
            compiled = jax.jit(jax.grad(total), compiler_options=_quick_options())
            gradient = self._compiled.setdefault(("gradient", function), compiled)
            return np.array(gradient(self.array(x), self.array(direction), options))


class MlxArrays(Arrays):
    """MLX, for caches."""

    module = "mlx.core"

    def array(self, x: np.ndarray) -> Any:
        """An MLX array."""
        import mlx.core as mx

        return mx.array(x.astype(np.float32)).astype(getattr(mx, self.dtype)) if _is_float(x) else mx.array(x)

    def numpy(self, x: Any) -> np.ndarray:
        """The array's values."""
        import mlx.core as mx

        return np.array(x.astype(mx.float32))


@functools.cache
def _quick_options() -> dict[str, Any]:
    """The first options for quick compilation that this version of JAX knows."""
    import jax

    for options in _QUICK:
        try:
            jax.jit(lambda x: x, compiler_options=options)(0.0)
        except jax.errors.JaxRuntimeError:
            continue
        return options
    return {}


@contextmanager
def _one_thread() -> Iterator[None]:
    """torch on one thread, so that sums are always taken in the same order."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _is_float(x: np.ndarray) -> bool:
    return x.dtype.kind not in "biu"
