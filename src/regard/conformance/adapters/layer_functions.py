"""Layers of flax and keras as functions f(x, …) of tokens, in evaluation mode."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

# What public code calls the switch between training and evaluation, and how evaluation is asked for.
_EVALUATION = {"deterministic": True, "train": False, "training": False, "is_training": False}


def layer_function(target: Any) -> Any:
    """A function for a layer of flax or keras; anything else as it is.

    The function has the signature of the layer's call, without the switch between training and evaluation.
    """
    if "flax.linen" in sys.modules and isinstance(target, sys.modules["flax.linen"].Module):
        return _evaluating(_initialised(target), type(target).__call__)
    if "flax.nnx" in sys.modules and isinstance(target, sys.modules["flax.nnx"].Module):
        target.eval()
        return _evaluating(target, type(target).__call__)
    if "keras" in sys.modules and isinstance(target, sys.modules["keras"].layers.Layer):
        return _evaluating(target, type(target).call)
    return target


def _initialised(module: Any) -> Callable[..., Any]:
    """The linen module with parameters drawn at its first call, for that width."""
    drawn: dict[int, Any] = {}

    def apply(x: Any, *given: Any, **options: Any) -> Any:
        import jax

        width = x.shape[-1]
        if width not in drawn:
            with jax.ensure_compile_time_eval():
                drawn[width] = module.init(jax.random.key(0), jax.numpy.zeros(x.shape), *given, **options)
        return module.apply(drawn[width], x, *given, **options)

    return apply


def _evaluating(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the signature of an unbound method, and evaluation asked for where there is a switch."""
    parameters = dict(list(inspect.signature(call).parameters.items())[1:])
    chosen = {name: value for name, value in _EVALUATION.items() if name in parameters}

    @functools.wraps(call)
    def evaluated(*given: Any, **options: Any) -> Any:
        return function(*given, **{**chosen, **options})

    signature = inspect.Signature([each for name, each in parameters.items() if name not in chosen])
    evaluated.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue]
    return evaluated
