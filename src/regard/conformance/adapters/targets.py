"""Targets of a check: what a name or an object stands for, as a subject.

Names are "hf:LlamaForCausalLM", "torch:MultiheadAttention", "mlx:llama", "llama.cpp:tiny", "pkg.module:name" and
"path/to/file.py:name".
"""

import ast
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

from regard.conformance.adapters.arrays import TorchArrays
from regard.conformance.adapters.cached_decoders import CachedDecoder, DecoderLayer
from regard.conformance.adapters.caches import CacheEngine, is_cache_engine
from regard.conformance.adapters.construction import BuiltLayer, build, makes_layers
from regard.conformance.adapters.functions import function_subject
from regard.conformance.adapters.layer_functions import layer_function
from regard.conformance.adapters.layers import is_bare_attention, parameter_names
from regard.conformance.adapters.llama_cpp import LlamaSequences
from regard.conformance.adapters.mlx import MlxCaches
from regard.conformance.adapters.recurrences import RecurrenceLayer
from regard.conformance.adapters.sizes import bare_findings, sized
from regard.conformance.recurrence import Recurrence
from regard.conformance.subject import Projections, Spec, Subject
from regard.conformance.verdict import error_line
from regard.core.errors import InputError, did_you_mean

# What to install where a file or module imports one of these frameworks.
_EXTRAS: Mapping[str, str] = {"torch": "torch", "transformers": "hf", "jax": "jax", "flax": "zoo", "keras": "zoo"}
# The prefix of arguments that are for calls and not for building.
_FORWARD = "forward."
_TORCH = (
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerEncoder",
    "scaled_dot_product_attention",
    "flex_attention",
)


def adapt(
    target: Any,
    spec: Spec | None = None,
    *,
    name: str | None = None,
    redraw: bool = True,
    projections: Callable[[Any], Projections] | None = None,
) -> Subject:
    """The target as a subject; one that is a subject already stays as it is.

    Args:
        target: a function f(x) or f(q, k, v) of numpy, torch or jax, a torch module, a Hugging Face model, a flax or
            keras layer, or a factory without arguments that makes one.
        spec: what the layer is meant to be.
        name: what reports call it.
        redraw: draw the weights of modules anew, in a copy; False keeps them.
        projections: maps the layer to its matrices, if they do not have the usual names.
    """
    # What a layer was built with says its sizes where nothing else does.
    target, arguments = (target.layer, target.arguments) if isinstance(target, BuiltLayer) else (target, {})
    if isinstance(target, type) and issubclass(target, Subject):
        target = target()
    if isinstance(target, Subject):
        return target if spec is None else target.declared(**spec.changes())
    if getattr(target, "is_factory", False):
        return adapt(target(), spec, name=name, redraw=redraw, projections=projections)
    if isinstance(target, Recurrence):
        return RecurrenceLayer(target, spec, name=name)
    if isinstance(target, CachedDecoder):
        return DecoderLayer(target, spec, name=name)
    subject = _adapted(target, spec, name or _name(target), redraw=redraw, arguments=arguments)
    if projections is not None:
        kind, find = type(subject), projections
        # A subclass, since a copy of the subject in another dtype has other matrices.
        subject.__class__ = type(
            kind.__name__, (kind,), {"projections": lambda self: find(getattr(self, "module", self))}
        )
        subject.capabilities = subject.capabilities | {"weights"}
    return subject


def _adapted(target: Any, spec: Spec | None, name: str, *, redraw: bool, arguments: Mapping[str, Any]) -> Subject:
    if is_cache_engine(target):
        return CacheEngine(target, spec, name=name)
    subject = _library_subject(target, spec, name)
    function = layer_function(target) if subject is None else target
    if subject is None and function is target and "torch" in sys.modules:
        subject = _torch_subject(target, spec, name, redraw=redraw, arguments=arguments)
    if subject is None and not callable(target):
        missing = "Its append is missing. " if callable(getattr(target, "start", None)) else ""
        raise InputError(
            f"{name} cannot be called. {missing}"
            "Give a function, a torch module, a factory, a cache with start and append, "
            "or a subclass of regard.conformance.subject.Subject."
        )
    return function_subject(function, spec or Spec(), name) if subject is None else subject


def _library_subject(target: Any, spec: Spec | None, name: str) -> Subject | None:
    """Attention that flax and keras themselves offer."""
    from regard.conformance.adapters.other_libraries import FlaxLayer, KerasLayer

    if "flax" in sys.modules:
        from flax import nnx

        if isinstance(target, nnx.MultiHeadAttention):
            return FlaxLayer(target, spec, name=name)
    if "keras" in sys.modules:
        import keras

        if isinstance(target, keras.layers.MultiHeadAttention | keras.layers.GroupQueryAttention):
            return KerasLayer(target, spec, name=name)
    return None


def _torch_subject(
    target: Any, spec: Spec | None, name: str, *, redraw: bool, arguments: Mapping[str, Any]
) -> Subject | None:
    import torch

    from regard.conformance.adapters import modules, resetting, start_positions, torch_layers

    is_flex = getattr(target, "__name__", "") == "flex_attention" and "torch" in getattr(target, "__module__", "")
    if is_flex or target is torch.nn.functional.scaled_dot_product_attention:
        return torch_layers.torch_function_layer(target.__name__, spec or Spec(), name=name)
    if not isinstance(target, torch.nn.Module):
        return None
    if isinstance(target, torch.nn.MultiheadAttention):
        return torch_layers.MultiheadLayer(target, spec, name=name, redraw=redraw)
    if isinstance(target, torch.nn.TransformerEncoderLayer | torch.nn.TransformerEncoder):
        return torch_layers.EncoderLayer(target, spec, name=name, redraw=redraw)
    if "transformers" in sys.modules and hasattr(target, "_from_config"):
        from regard.conformance.adapters.huggingface import HuggingFaceModel

        return HuggingFaceModel(target, spec, name=name, redraw=redraw)
    has_matrices = any(each.ndim > 1 for each in target.parameters())
    if is_bare_attention(parameter_names(target.forward)) and not has_matrices:
        found, used = sized(spec or Spec(), bare_findings(target, arguments))
        subject = function_subject(target.forward, found, name, {"torch": TorchArrays})
        subject.findings = (*used, *subject.findings)
        return subject
    kind = modules.ModuleLayer
    if start_positions.has_buffers_of_tokens(target):
        kind = start_positions.StartPositionLayer
    elif resetting.has_reset(target):
        kind = resetting.ResettingLayer
    return kind(target, spec, name=name, redraw=redraw, arguments=arguments)


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))


def load(text: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What the name stands for; a class or a factory is called with the arguments, which may be text."""
    return load_with_findings(text, arguments or {}).layer


def load_with_findings(target: Any, arguments: Mapping[str, Any]) -> BuiltLayer:
    """What a name or a factory stands for, and the arguments that were chosen for it.

    Arguments called "forward.NAME" are for every call of the layer.
    """
    given = {name: literal(value) if isinstance(value, str) else value for name, value in arguments.items()}
    calls = {name.removeprefix(_FORWARD): given.pop(name) for name in list(given) if name.startswith(_FORWARD)}
    built = _load_named(target, given) if isinstance(target, str) else _made(target, given, _name(target))
    return replace(built, layer=_with_options(built.layer, calls)) if calls else built


def _load_named(text: str, given: dict[str, Any]) -> BuiltLayer:
    place, sign, name = text.rpartition(":")
    if not sign or not place or not name:
        raise InputError(
            f"'{text}' names no target. Write pkg.module:name, path/to/file.py:name, "
            "torch:MultiheadAttention or hf:LlamaForCausalLM."
        )
    if place == "hf":
        return BuiltLayer(layer=hf(name, **given)())
    if place == "mlx":
        return BuiltLayer(layer=MlxCaches(name, **given))
    if place == "llama.cpp":
        return BuiltLayer(layer=LlamaSequences(name, **given))
    if place == "torch":
        return BuiltLayer(layer=_load_torch(name, given))
    return _made(load_attribute(text), given, text)


def load_attribute(text: str) -> Any:
    """What the name stands for, not called."""
    place, _, name = text.rpartition(":")
    return _attribute(_imported(place), name, text)


def _with_options(layer: Any, options: Mapping[str, Any]) -> Any:
    """The layer with these options on every call."""
    if not hasattr(layer, "forward"):
        return functools.partial(layer, **options)
    layer.forward = functools.partial(layer.forward, **options)
    return layer


def literal(text: str) -> Any:
    """A number, a bool, None or a list of them if the text reads as one, else the text; nothing is evaluated.

    >>> literal("64"), literal("0.5"), literal("true"), literal("rotary")
    (64, 0.5, True, 'rotary')
    """
    words = {"true": True, "false": False, "none": None, "yes": True, "no": False}
    if text.strip().lower() in words:
        return words[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def hf(class_name: str, *, part: str = "model", cache: str = "dynamic", **config: Any) -> Callable[[], Subject]:
    """A factory for a Hugging Face class with a tiny random configuration.

    Args:
        class_name: a class of transformers, such as "LlamaForCausalLM".
        part: "model", or "attention" for its first attention module alone, where laws can check most.
        cache: the class of caches: "dynamic" (which keeps windows where the model has them), "recording" (the same, and
            tokens can be rejected from windows and convolutions), "static" or "quantized".
        config: settings of its configuration to change.
    """
    from regard.conformance.adapters.huggingface import HuggingFaceCache

    if cache not in get_args(HuggingFaceCache):
        raise InputError(f"A Hugging Face target has no cache '{cache}'. Give {', '.join(get_args(HuggingFaceCache))}.")
    if part not in ("model", "attention"):
        raise InputError(f"A Hugging Face target has no part '{part}'. Give model or attention.")

    def build() -> Subject:
        _require("transformers")
        _require("torch", "hf")
        from regard.conformance.adapters.huggingface import AttentionPart, HuggingFaceModel, build_model

        model = build_model(class_name, **config)
        label = f"hf:{class_name}" + (" attention" if part == "attention" else "")
        subject = AttentionPart(model, name=label) if part == "attention" else HuggingFaceModel(model, name=label)
        return subject if cache == "dynamic" else subject.with_cache(cast(HuggingFaceCache, cache))

    build.is_factory = True  # pyright: ignore[reportFunctionMemberAccess]
    build.__name__ = f"hf:{class_name}"
    return build


def _require(package: str, extra: str | None = None) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        advice = _installation(extra or _EXTRAS[package])
        raise InputError(f"This needs {package}, which cannot be imported: {error_line(error)}.{advice}") from error


def _installation(extra: str) -> str:
    return f" Run: pip install 'regard[{extra}]'."


def _load_torch(name: str, given: dict[str, Any]) -> Any:
    torch = _require("torch")
    if name not in _TORCH:
        raise InputError(f"There is no torch:{name}. Give one of {', '.join(_TORCH)}, or torch.nn:{name}.")
    if name == "scaled_dot_product_attention":
        return _without_arguments(torch.nn.functional.scaled_dot_product_attention, given, name)
    if name == "flex_attention":
        from torch.nn.attention.flex_attention import flex_attention

        return _without_arguments(flex_attention, given, name)
    if name == "MultiheadAttention":
        usual = {"embed_dim": 32, "num_heads": 4, "batch_first": True}
        return build(torch.nn.MultiheadAttention, {**usual, **given}, name).layer
    depth = given.pop("num_layers", 2)
    usual = {"d_model": 32, "nhead": 4, "dim_feedforward": 64, "batch_first": True, "dropout": 0.0}
    layer = build(torch.nn.TransformerEncoderLayer, {**usual, **given}, name).layer
    return layer if name == "TransformerEncoderLayer" else torch.nn.TransformerEncoder(layer, depth)


def _without_arguments(function: Any, given: Mapping[str, Any], name: str) -> Any:
    if given:
        raise InputError(
            f"torch:{name} is a function and takes no arguments, but {', '.join(given)} was given. "
            "Declare them in the spec."
        )
    return function


def _imported(place: str) -> ModuleType:
    """The module of that name, or in that file."""
    path = Path(place)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise InputError(f"There is no file {place}. Give the path of a Python file that exists.")
    try:
        return import_file(f"regard_target_{path.stem}", path) if is_file else importlib.import_module(place)
    except Exception as error:
        raise InputError(f"{place} cannot be imported: {error_line(error)}{_import_hint(error, is_file)}") from error


def _import_hint(error: Exception, is_file: bool) -> str:
    """What may help, behind the error's own words."""
    framework = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if framework in _EXTRAS:
        return f".{_installation(_EXTRAS[framework])}"
    return "" if is_file else ". Check its spelling and the path."


def import_file(name: str, path: Path) -> ModuleType:
    """The module in a file, under that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a file that ends in .py has a loader"
    assert spec.loader is not None, "a file that ends in .py has a loader"
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _attribute(module: ModuleType, name: str, text: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [each for each in dir(found) if not each.startswith("_")][:8]
            owner = text.partition(":")[0] if found is module else getattr(found, "__name__", type(found).__name__)
            hint = did_you_mean(part, dir(found)) or f"It has {', '.join(public) or 'nothing'}."
            raise InputError(f"{owner} has no {part}. {hint}")
        found = getattr(found, part)
    return found


def call_factory(target: Any, arguments: Mapping[str, Any], label: str | None = None) -> Any:
    """What a factory makes, anything else as it is. A factory is a class, or a function that needs no more arguments.

    >>> call_factory(dict, {"a": 1}), call_factory(len, {})
    ({'a': 1}, <built-in function len>)
    """
    return _made(target, arguments, label or _name(target)).layer


def _made(target: Any, arguments: Mapping[str, Any], label: str) -> BuiltLayer:
    is_function = inspect.isroutine(target) or isinstance(target, functools.partial)
    is_factory = inspect.isclass(target) or getattr(target, "is_factory", False)
    if is_factory or (is_function and (arguments or not _needs_arguments(target) or makes_layers(target))):
        return build(target, arguments, label)
    if arguments:
        raise InputError(f"'{label}' is an instance and takes no arguments, but {', '.join(arguments)} was given.")
    return BuiltLayer(layer=target)


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        each.default is inspect.Parameter.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in parameters
    )
