"""Anything that can be checked, made a subject."""

import sys
from collections.abc import Callable
from typing import Any

from regard.conformance.adapters.arrays import Arrays, JaxArrays, NumpyArrays, TorchArrays, numpy_dtype
from regard.conformance.adapters.cores import CoreLayer, RawFunction
from regard.conformance.adapters.layers import FunctionLayer
from regard.conformance.adapters.probing import returned_or_error, sample
from regard.conformance.adapters.signatures import is_raw, parameter_names
from regard.conformance.subject import Projections, Spec, Subject
from regard.core.errors import InputError

Given = Callable[[Any], Projections]


def adapt(
    target: Any,
    spec: Spec | None = None,
    *,
    name: str | None = None,
    redraw: bool = True,
    projections: Given | None = None,
) -> Subject:
    """The target as a subject; one that is a subject already stays as it is.

    A target is a function f(x) or f(q, k, v) of numpy, torch or jax, a torch module, a Hugging Face model, a flax or
    keras layer, or a factory without arguments that makes one. `redraw=False` keeps the weights of modules; they are
    drawn afresh otherwise, in a copy. `projections(target)` says where a layer keeps its matrices, if it is not where
    others do.
    """
    if isinstance(target, type) and issubclass(target, Subject):
        target = target()
    if isinstance(target, Subject):
        return target if spec is None else _declared(target, spec)
    if getattr(target, "is_factory", False):
        return adapt(target(), spec, name=name, redraw=redraw, projections=projections)
    subject = _adapted(target, spec, name or _name(target), redraw=redraw)
    return subject if projections is None else _with(subject, projections)


def _adapted(target: Any, spec: Spec | None, name: str, *, redraw: bool) -> Subject:
    for framework, make in (("torch", _of_torch), ("flax", _of_flax), ("keras", _of_keras)):
        if framework in sys.modules:
            subject = make(target, spec, name, redraw=redraw)
            if subject is not None:
                return subject
    if not callable(target):
        raise InputError(
            f"{name} is {_an(type(target).__name__)}, which cannot be called. "
            "Give a function, a torch module, a factory, or a subclass of regard.conformance.subject.Subject."
        )
    return _of_function(target, spec or Spec(), name)


def _of_torch(target: Any, spec: Spec | None, name: str, *, redraw: bool) -> Subject | None:
    import torch

    from regard.conformance.adapters import torch_attention as own
    from regard.conformance.adapters.torch_layers import ModuleLayer

    if target is torch.nn.functional.scaled_dot_product_attention:
        return own.sdpa_layer(spec or Spec(), name=name)
    if getattr(target, "__name__", "") == "flex_attention" and "torch" in getattr(target, "__module__", ""):
        return own.flex_layer(spec or Spec(), name=name)
    if not isinstance(target, torch.nn.Module):
        return None
    if isinstance(target, torch.nn.MultiheadAttention):
        return own.MultiheadLayer(target, spec, name=name, redraw=redraw)
    if isinstance(target, torch.nn.TransformerEncoderLayer | torch.nn.TransformerEncoder):
        return own.EncoderLayer(target, spec, name=name, redraw=redraw)
    if "transformers" in sys.modules and hasattr(target, "_from_config"):
        from regard.conformance.adapters.huggingface import HuggingFaceModel

        return HuggingFaceModel(target, spec, name=name, redraw=redraw)
    if is_raw(parameter_names(target.forward)) and not any(each.ndim > 1 for each in target.parameters()):
        return _raw(target.forward, spec or Spec(), name, TorchArrays)
    return ModuleLayer(target, spec, name=name, redraw=redraw)


def _of_flax(target: Any, spec: Spec | None, name: str, *, redraw: bool) -> Subject | None:
    del redraw
    from flax import nnx

    from regard.conformance.adapters.flax_layers import FlaxLayer

    return FlaxLayer(target, spec, name=name) if isinstance(target, nnx.MultiHeadAttention) else None


def _of_keras(target: Any, spec: Spec | None, name: str, *, redraw: bool) -> Subject | None:
    del redraw
    import keras

    from regard.conformance.adapters.keras_layers import KerasLayer

    kinds = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)
    return KerasLayer(target, spec, name=name) if isinstance(target, kinds) else None


def _of_function(function: Callable[..., Any], spec: Spec, name: str) -> Subject:
    """A function of numpy's arrays if it takes those and gives them back, else of a framework that is imported."""
    raw = is_raw(parameter_names(function))
    kinds: list[type[Arrays]] = [NumpyArrays]
    kinds += [kind for package, kind in (("torch", TorchArrays), ("jax", JaxArrays)) if package in sys.modules]
    tries = [_tried(function, spec, kind, raw=raw) for kind in kinds]
    fitting = [kind for kind, error in zip(kinds, tries, strict=True) if error is None]
    if not fitting:
        shape = "[batch, head, position, width]" if raw else f"[batch, position, {spec.width}]"
        names = [kind.__name__.removesuffix("Arrays").lower() for kind in kinds]
        told = "; ".join(f"{each}: {why}" for each, why in zip(names, tries, strict=True))
        raise InputError(
            f"{name} does not take an array {shape} and give one back. {told}. "
            "Declare its width in the spec, or wrap it in a function that does."
        )
    if raw:
        return _raw(function, spec, name, fitting[0])
    return FunctionLayer(function, spec, name=name, arrays=fitting[0](spec.dtype, spec.device)).probed()


def _tried(function: Callable[..., Any], spec: Spec, kind: Callable[..., Arrays], *, raw: bool) -> str | None:
    """None if the function takes and gives the framework's arrays, else what went wrong."""
    arrays = kind(spec.dtype, spec.device)
    if raw:
        shapes = [(2, heads, 5, spec.head_width) for heads in (spec.num_heads, spec.num_kv_heads or 1)]
    else:
        shapes = [(2, 5, spec.width)]
    inputs = [arrays.array(sample(*shape).astype(numpy_dtype(spec.dtype))) for shape in shapes]
    inputs = [inputs[0], inputs[1], inputs[1]] if raw else inputs
    for given in (inputs, [_flat(each) for each in inputs]):
        found, error = returned_or_error(lambda given=given: function(*given))
        found = found[0] if isinstance(found, tuple | list) else found
        if error is None and isinstance(found, type(inputs[0])) and found.shape[:-1] == given[0].shape[:-1]:
            return None
    return str(error).strip().splitlines()[0] if error is not None else f"it gives {_an(type(found).__name__)}"


def _flat(x: Any) -> Any:
    return x[0] if x.ndim == 3 else x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _raw(function: Callable[..., Any], spec: Spec, name: str, kind: Callable[..., Arrays]) -> CoreLayer:
    arrays = kind(spec.dtype, spec.device)
    attend = RawFunction(function).fitted(spec, arrays)
    return CoreLayer(attend, spec, name=name, arrays=arrays, takes=attend.takes)


def _with(subject: Subject, projections: Given) -> Subject:
    """The subject with matrices found by the caller's own means."""
    kind = type(subject)
    told = type(kind.__name__, (kind,), {"projections": lambda self: projections(getattr(self, "module", self))})
    subject.__class__ = told
    subject.capabilities = subject.capabilities | {"weights"}
    return subject


def _declared(subject: Subject, spec: Spec) -> Subject:
    from dataclasses import asdict

    return subject.declared(**asdict(spec))


def _name(target: Any) -> str:
    return getattr(target, "__name__", None) or type(target).__name__


def _an(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"
